//! The page of docs/forms.md, filled in by a real Chromium. Runs with `CMS_TEST_BROWSER=1` only, as
//! `.ci/full` sets it.

use std::{process::Stdio, sync::Arc, time::Duration};

use cms_http::Server;
use serde_json::{Value as Json, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    process::Command,
    sync::Notify,
};

use super::open;
use crate::support::Site;

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

async fn website(api: &str) -> String {
    let page = printed().replace("https://cms.example.org", api);
    let html = Arc::new(format!("{page}{VISITOR}"));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let done = Arc::new(Notify::new());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream, html.clone(), done.clone()));
        }
    });
    origin
}

async fn answer(mut stream: TcpStream, html: Arc<String>, done: Arc<Notify>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    let body = match String::from_utf8_lossy(&head).split(' ').nth(1) {
        Some("/") => html.as_str(),
        Some("/hold") => {
            done.notified().await;
            ""
        }
        Some("/done") => {
            done.notify_one();
            ""
        }
        _ => "",
    };
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all(format!("{head}{body}").as_bytes()).await;
}

/// The document as the browser dumps it.
async fn visit(origin: &str) -> String {
    let profile = tempfile::tempdir().unwrap();
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--no-proxy-server", "--disable-background-networking", "--disable-sync"])
        .args(["--disable-component-update", "--disable-dev-shm-usage"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .args(["--dump-dom", &format!("{origin}/")])
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output =
        tokio::time::timeout(Duration::from_secs(60), output).await.expect("the browser ends");
    let output = output.expect("CMS_TEST_BROWSER is set, so chromium must be installed");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

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
    let origin = website(&api).await;
    let register = json!({"origin": origin});
    site.admin("POST /api/backend/origins").json(register).expect(201).await;

    let document = visit(&origin).await;
    let seen =
        document.split_once("<pre id=\"out\">").and_then(|(_, rest)| rest.split_once("</pre>"));
    let seen: Json = seen.and_then(|(seen, _)| serde_json::from_str(seen).ok()).expect(&document);
    assert!(seen["refused"].as_str().unwrap().contains("mail: one address"), "{seen}");
    assert_eq!(seen["taken"], "Thank you, we answer soon.");
    let stored = site.admin("GET /api/backend/forms/submissions?id=1").expect(200).await.data();
    let values: Vec<_> =
        stored["answers"].as_array().unwrap().iter().map(|answer| &answer["value"]).collect();
    assert_eq!(values, ["Ada <b>", "ada@example.org", "Hello\nthere"]);
    assert_eq!(stored["spam"], false);
    let list = site.admin("GET /api/backend/forms/submissions").expect(200).await.data();
    assert_eq!(list.as_array().unwrap().len(), 1, "the refused one was not stored");
    stop.now();
    running.await.unwrap();
}
