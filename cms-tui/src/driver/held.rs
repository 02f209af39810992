//! Two people on one page: values written over, drafts read again, keys that wait.

use cms_http::client::Ask;
use serde_json::{Value as Json, json};

use super::{
    Operator,
    editor::{at_home, headline, on_title},
    seed::with_pages,
};
use crate::calls::Fault;

/// Undo after `write mine over theirs` gives back what stood there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_written_over_comes_back() {
    let site = with_pages().await;
    let mut bob = at_home(&site).await;
    on_title(&mut bob).await.press("e Ctrl-u").await.types("Bob").await;
    let theirs = Ask::patch("/api/backend/pagebuilder").query("widget_id", 1);
    site.does(theirs, json!({"data": {"title": "Ana"}})).await;
    bob.press("Ctrl-s").await.sees("title: theirs Ana · yours Bob");
    bob.press("2").await.sees("title 1 is saved");
    assert_eq!(headline(&site, "title").await, "Bob");
    bob.press("u").await.sees("taken back");
    assert_eq!(headline(&site, "title").await, "Ana");
    // Times.
    bob.press("t Tab").await.types("2027-01-01T00:00:00Z").await;
    let times = json!({"page_id": 1, "publish_at": "2026-12-31T06:00:00Z"});
    site.page("schedule", times).await;
    bob.press("Ctrl-s").await.sees("Somebody changed the page too");
    bob.press("2").await.sees("/ has its times");
    bob.press("u").await.sees("taken back");
    let state = site.draft(1).await;
    assert_eq!(state["publish_at"], "2026-12-31T06:00:00Z");
    assert_eq!(state["take_off_at"], Json::Null);
}

/// A user who has read the page again sends the form without a second question about the same
/// change.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_form_is_about_what_was_looked_at_anew() {
    let site = with_pages().await;
    let theirs = async |data: Json| {
        let set = Ask::patch("/api/backend/pagebuilder").query("widget_id", 1);
        site.does(set, json!({"data": data})).await;
    };
    let mut bob = at_home(&site).await;
    on_title(&mut bob).await.press("e Ctrl-u").await.types("Bob").await;
    theirs(json!({"title": "Ana"})).await;
    bob.press("Ctrl-s").await.sees("title: theirs Ana · yours Bob");
    bob.press("1").await.sees("Nothing was written.").sees("Bob");
    bob.press("Ctrl-s").await.sees("title 1 is saved");
    assert_eq!(headline(&site, "title").await, "Bob");
    bob.press("u").await.sees("taken back");
    assert_eq!(headline(&site, "title").await, "Ana");
    // Later changes of others are kept too, or cause a question of their own.
    bob.press("e Ctrl-u").await.types("Bob").await;
    theirs(json!({"title": "Eve"})).await;
    bob.press("Ctrl-s 1").await.sees("Nothing was written.");
    theirs(json!({"level": "h3"})).await;
    bob.resize(200, 60).press("Ctrl-s").await.sees("both edits are kept");
    assert_eq!(headline(&site, "title").await, "Bob");
    assert_eq!(headline(&site, "level").await, "h3");
}

/// Reading the page again after a refusal leads back to the screen that asked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_leads_back_to_where_it_came_from() {
    let site = with_pages().await;
    let mut ana = Operator::sits_down(&site).await;
    ana.press(": p a g e s Enter P").await.sees("Publish /?");
    let theirs = Ask::patch("/api/backend/pagebuilder").query("widget_id", 1);
    site.does(theirs, json!({"data": {"level": "h3"}})).await;
    ana.press("y").await.sees("Somebody changed the page too");
    ana.press("Enter").await.sees("Nothing was written.").sees("/about").sees("/de");
    // The draft that a copy would replace is another one than the one that is seen.
    ana.press("Enter").await.sees("┌ / · ").sees("html 3");
    let stale = Fault { code: "stale".to_owned(), ..Fault::new("changed since") };
    ana.canned.push(("copy", Err(stale)));
    ana.press("C Ctrl-s").await.sees("Somebody changed the page too");
    ana.press("Enter").await.sees("Nothing was written.");
    ana.press("Esc").await.sees("┌ / · ").sees("html 3");
}

/// While a move is under way the next key says so, and sends nothing. Where the node under the
/// cursor is gone, nothing is added.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_waits_for_the_move_before_and_means_a_node() {
    let site = with_pages().await;
    let (mut ana, mut bob) = (at_home(&site).await, at_home(&site).await);
    bob.press("j j j").await.sees("┌ html 3 ");
    bob.holds_calls = true;
    bob.press("J J").await.sees("The change before this one is under way");
    on_title(&mut ana).await;
    let gone = Ask::delete("/api/backend/pagebuilder").query("kind", "widget").query("id", 1);
    site.client().send(gone).await.expect("removed");
    let title = Ask::patch("/api/backend/item").query("table", "pages").query("id", 1);
    site.does(title, json!({"title": "House"})).await;
    ana.press("F5").await.sees("The node you were on is gone").sees("/ \"House\"");
    ana.press("a").await.sees("no row is selected");
}
