//! The page of docs/forms.md, filled in by a real Chromium. Runs with `CMS_TEST_BROWSER=1` only, as
//! `.ci/full` sets it.

use cms_http::Server;
use serde_json::json;

use super::open;
use crate::{
    browser::{Website, register},
    support::{Site, each},
};

/// The page as printed in the docs.
fn printed() -> &'static str {
    let docs = include_str!("../../docs/forms.md");
    let begin = docs.split_once("```html\n").expect("a page").1;
    begin.split_once("\n```").expect("its end").0
}

/// A visitor: answers, sends, and tells what the page then shows. In a block, as the page has names
/// of its own.
const VISITOR: &str = r##"
<pre id="out"></pre>
<!-- Not answered before the page is done: the browser dumps it when everything has loaded. -->
<img src="/hold">
<script>
{
const form = document.querySelector("form"), message = document.querySelector("#message");
function shows(text) {
  return new Promise(resolve => {
    const look = () => message.textContent.includes(text) && resolve(message.textContent);
    new MutationObserver(look).observe(message, {childList: true, subtree: true});
    look();
  });
}
function fill(values) {
  for (const [name, value] of Object.entries(values)) form.elements[name].value = value;
  form.requestSubmit();
}
(async () => {
  const seen = {};
  fill({name: "Ada <b>", mail: "ada@localhost", message: "Hello\nthere"});
  seen.refused = await shows("mail");
  fill({mail: "ada@example.org"});
  seen.taken = await shows("Thank");
  document.getElementById("out").textContent = JSON.stringify(seen);
  fetch("/done");
})();
}
</script>
"##;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_visitor_fills_in_the_printed_page() {
    if std::env::var_os("CMS_TEST_BROWSER").is_none() {
        return;
    }
    let site = Site::open().await;
    open(&site, "contact", json!({"thanks": "Thank you, we answer soon."})).await;
    let server = Server::bind(site.api.clone(), "127.0.0.1:0").await.unwrap();
    let (api, stop) = (format!("http://{}", server.address()), server.stop());
    let running = tokio::spawn(server.run());
    let page = printed().replace("https://cms.example.org", &api);
    let website = Website::of(format!("{page}{VISITOR}"), site.cms.clone()).await;
    register(&site.cms, &website.origin).await;
    let seen = website.visit("/").await;
    assert!(seen["refused"].as_str().unwrap().contains("mail: one address"), "{seen}");
    assert_eq!(seen["taken"], "Thank you, we answer soon.");
    let stored = site.get("/api/backend/forms/submissions?id=1").await;
    assert_eq!(each(&stored["answers"], "value"), ["Ada <b>", "ada@example.org", "Hello\nthere"]);
    assert_eq!(stored["spam"], false);
    let list = site.get("/api/backend/forms/submissions").await;
    assert_eq!(list.as_array().unwrap().len(), 1, "the refused one was not stored");
    stop.now();
    running.await.unwrap();
}
