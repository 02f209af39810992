//! Two people at one thing: both edits survive, or one of them gets a readable question. Nothing is
//! overwritten silently, by undo neither.

use cms_http::client::Ask;
use serde_json::{Value as Json, json};

use super::{Operator, site::TestSite};

async fn both(site: &TestSite) -> (Operator, Operator) {
    (Operator::sits_down(site).await, Operator::sits_down(site).await)
}

/// Both have the list of posts before them.
async fn at_posts(site: &TestSite) -> (Operator, Operator) {
    let (mut ana, mut bob) = both(site).await;
    for one in [&mut ana, &mut bob] {
        one.press("6").await.press("/").await.types("posts").await.press("Enter Enter").await;
    }
    (ana, bob)
}

pub(super) async fn read(site: &TestSite, path: &str, id: i64) -> Json {
    let ask = Ask::get(path).query("id", id);
    let ask = if path.ends_with("/item") { ask.query("table", "posts") } else { ask };
    let answer = site.client().send(ask).await.expect("a good answer");
    answer.json().map(|mut body| body["data"].take()).unwrap_or_default()
}

const ITEM: &str = "/api/backend/item";
/// From the first field of a post's form to its title, and from there to its views.
const TITLE: &str = "Tab Tab";
const VIEWS: &str = "Tab Tab Tab Tab";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forms_of_one_record() {
    let site = TestSite::open().await;
    site.post("Post").await;
    let (mut ana, mut bob) = at_posts(&site).await;
    ana.press("e").await.press(TITLE).await.types(" A").await;
    bob.press("e").await.press(VIEWS).await.press("Ctrl-u").await.types("7").await;
    ana.press("Ctrl-s").await.sees("is saved");
    bob.press("Ctrl-s").await.sees("both edits are kept");
    let now = read(&site, ITEM, 1).await;
    assert_eq!((&now["title"], &now["views"]), (&json!("Post A"), &json!(7)));
    // The same column: the second one is asked, and loses nothing of what is written.
    for one in [&mut ana, &mut bob] {
        one.press("F5 e").await.press(TITLE).await;
    }
    ana.types("x").await.press("Ctrl-s").await.sees("is saved");
    bob.types("y").await.press("Ctrl-s").await;
    bob.sees("Somebody changed record 1 of posts too").sees("theirs Post Ax · yours Post Ay");
    bob.press("Esc").await.sees("Post Ay");
    bob.press("Ctrl-s 2").await.sees("is saved");
    assert_eq!(read(&site, ITEM, 1).await["title"], "Post Ay");
    // Undo would write over it: asked as well.
    ana.press("u")
        .await
        .sees("Somebody changed 1 of posts too")
        .sees("theirs Post Ay · yours Post A");
    ana.press("1").await.sees("Theirs is kept");
    assert_eq!(read(&site, ITEM, 1).await["title"], "Post Ay");
    bob.press("u").await.sees("taken back");
    assert_eq!(read(&site, ITEM, 1).await["title"], "Post Ax");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_that_another_changed_are_not_deleted_or_set() {
    let site = TestSite::open().await;
    for n in 1..=3 {
        site.post(&format!("Post {n}")).await;
    }
    let (mut ana, mut bob) = at_posts(&site).await;
    bob.press("e").await.press(TITLE).await.types("!").await.press("Ctrl-s").await;
    ana.press("x y").await.sees("Somebody changed record 1 of posts too");
    ana.sees("theirs Post 1! · it was Post 1");
    ana.press("1").await.sees("Theirs is kept");
    assert_eq!(read(&site, ITEM, 1).await["title"], "Post 1!");
    // Of several marked ones, those that nobody changed go.
    bob.press("j j e").await.press(TITLE).await.types("!").await.press("Ctrl-s").await;
    ana.press("g j Space Space x").await.types("2").await.press("Enter").await;
    ana.sees("Somebody changed 1 of 2 records")
        .sees("3 of posts: title: theirs Post 3! · it was Post 3");
    ana.press("1").await.sees("record 2 of posts deleted");
    let gone = Ask::get(ITEM).query("table", "posts").query("id", 2);
    assert!(site.client().send(gone).await.is_err(), "nobody changed the second one");
    assert_eq!(read(&site, ITEM, 3).await["title"], "Post 3!");
    // What is gone, or is kept as theirs, does not stand before what can be taken back.
    let gone = Ask::delete(ITEM).query("table", "posts").query("id", 1);
    site.client().send(gone).await.expect("deleted");
    let other = Ask::patch(ITEM).query("table", "posts").query("id", 3);
    site.does(other, json!({"title": "Theirs"})).await;
    bob.press("u").await.sees("Somebody changed 3 of posts too");
    bob.press("1").await.sees("Theirs is kept");
    bob.press("u").await.sees("1 of posts cannot be taken back: ");
    bob.press("u").await.sees("There is nothing to take back");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rights_of_one_group() {
    let site = TestSite::open().await;
    let group = json!({"name": "editors", "rights": ["pages_pages_view"]});
    let group = site.does(Ask::post("/api/backend/user_groups"), group).await;
    let id = group["id"].as_i64().expect("an id");
    let (mut ana, mut bob) = both(&site).await;
    for (one, right) in [(&mut ana, "keys_keys_view"), (&mut bob, "media_media_view")] {
        one.press("0 /").await.types("editors").await.press("Enter e").await;
        one.sees("Rights of editors");
        one.press("Tab").await.types(right).await.press("Space").await;
    }
    ana.press("Ctrl-s").await.sees("editors has its new rights");
    bob.press("Ctrl-s").await.sees("both edits are kept");
    let rights = async || {
        let group = read(&site, "/api/backend/user_groups", id).await;
        let mut rights: Vec<_> =
            group["rights"].as_array().into_iter().flatten().map(Json::to_string).collect();
        rights.sort();
        rights.join(" ").replace('"', "")
    };
    assert_eq!(rights().await, "keys_keys_view media_media_view pages_pages_view");
    ana.press("u").await.sees("taken back");
    assert_eq!(rights().await, "media_media_view pages_pages_view", "only what was ana's");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rights_of_one_key() {
    let site = TestSite::open().await;
    let rights = json!([{"endpoint": "/api/pages", "methods": ["GET"]}]);
    site.key("partner", json!({"rights": rights})).await;
    let (mut ana, mut bob) = both(&site).await;
    for (one, right) in [(&mut ana, "posts"), (&mut bob, "pages")] {
        one.press("5 Enter a Ctrl-u").await;
        one.types(&format!("GET /api/backend/item?table={right}")).await;
        one.press("Ctrl-s").await.sees("1 unsaved change");
    }
    ana.press("Ctrl-s").await.sees("partner has its new rights");
    bob.press("Ctrl-s").await.sees("both edits are kept");
    let rights = async || {
        let key = read(&site, "/api/backend/keys", 1).await;
        let rights = key["rights"].as_array().into_iter().flatten();
        let text = |right: &Json| {
            let table = right["query"]["table"].as_str().unwrap_or_default();
            format!("{} {table}", right["endpoint"].as_str().unwrap_or_default())
        };
        let mut rights: Vec<String> = rights.map(text).collect();
        rights.sort();
        rights
    };
    let (pages, posts, all) = ("/api/backend/item pages", "/api/backend/item posts", "/api/pages ");
    assert_eq!(rights().await, [pages, posts, all]);
    ana.press("u").await.sees("taken back");
    assert_eq!(rights().await, [pages, all], "only what was ana's");
    // What another saves meanwhile is no change of one's own.
    bob.press("F5 a Ctrl-u").await.types("GET /api/backend/item?table=media").await;
    bob.press("Ctrl-s").await;
    ana.press("F5 a Ctrl-u").await.types("GET /api/menu").await.press("Ctrl-s Ctrl-s").await;
    bob.press("F5").await.sees("1 unsaved change");
    bob.press("Ctrl-s").await;
    assert_eq!(rights().await.len(), 4, "{:?}", rights().await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_webhook_and_a_key() {
    let site = TestSite::open().await;
    site.webhook("shop", "http://127.0.0.1:9/in").await;
    site.key("ci", json!({})).await;
    let (mut ana, mut bob) = both(&site).await;
    for (one, name) in [(&mut ana, "A"), (&mut bob, "B")] {
        one.press("2 e").await.sees("Edit shop");
        one.types(name).await;
    }
    ana.press("Ctrl-s").await.sees("shop is saved");
    bob.press("Ctrl-s").await.sees("Somebody changed shop too");
    bob.sees("name: theirs shopA · yours shopB");
    bob.press("1").await.sees("Theirs is kept");
    // Two new values of one key: the first would stop in its owner's hands.
    for one in [&mut ana, &mut bob] {
        one.press("5").await.sees("ci");
    }
    ana.press("S Enter").await.sees("cms_k1_");
    ana.press("Esc Esc").await;
    bob.press("S Enter").await.sees("Somebody gave ci a new value too").sees_no("It is shown once");
    bob.press("1").await.sees("Theirs is kept");
    // A key that another gave a day is not deleted on an old view of it.
    ana.press("F5").await.sees("ci");
    bob.press("F5 E").await.types("2026-12-24").await.press("Ctrl-s").await.sees("expires on");
    ana.press("x").await.types("ci").await.press("Enter").await;
    ana.sees("Somebody changed ci too").sees("expires_on: theirs 2026-12-24");
    ana.press("Esc").await;
    assert_eq!(read(&site, "/api/backend/keys", 1).await["expires_on"], "2026-12-24");
    // A form holds all members that people set.
    ana.press("F5 m").await.sees("Edit ci").sees("2026-12-24");
    ana.types("2").await.press("Ctrl-s").await.sees("ci is saved");
    assert_eq!(read(&site, "/api/backend/keys", 1).await["name"], "ci2");
    ana.press("u").await.sees("taken back");
    // A call with the key is no change that anybody made.
    ana.press("F5").await.sees("ci");
    site.cms.keys().note_use(1, true);
    ana.press("x").await.types("ci").await.press("Enter").await.sees("ci is deleted");
}
