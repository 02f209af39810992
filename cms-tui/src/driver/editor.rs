//! The day of somebody who edits pages: edits, moves, compares, publishes, goes back; alone, and
//! with another at the same draft.

use cms_http::client::Ask;
use serde_json::{Value as Json, json};

use super::{Operator, seed::with_pages, site::TestSite};
use crate::calls::Fault;

/// At the tree of the first page, on the row that stands first there.
pub(super) async fn at_home(site: &TestSite) -> Operator {
    let mut operator = Operator::sits_down(site).await;
    operator
        .press(": p a g e s Enter Enter")
        .await
        .sees("/ · revision 2 published · 4 changes not published");
    operator
}

/// The cursor on the node that this keys line leads to.
async fn on_title(operator: &mut Operator) -> &mut Operator {
    // The headline stands in the last row, above the reasons and their three items.
    operator.press("G k k k k").await.sees("┌ title 1 ");
    operator
}

/// A value of the headline in the draft.
async fn headline(site: &TestSite, row: &str) -> Json {
    let draft = site.draft(1).await;
    let rows = draft["rows"].as_array().expect("rows");
    let all = rows.iter().flat_map(|row| row["cols"].as_array().expect("columns"));
    let mut all = all.flat_map(|col| col["widgets"].as_array().expect("widgets"));
    all.find(|one| one["widget"] == "title").map(|one| one["data"][row].clone()).unwrap_or_default()
}

/// What visitors read.
async fn visitors(site: &TestSite) -> String {
    let page = Ask::get("/api/pages").query("url", "/");
    let answer = site.client().send(page).await;
    answer.map(|answer| answer.body).unwrap_or_default()
}

/// Edits a headline, takes it back, does it again, compares, publishes; visitors see it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_headline_is_edited_compared_and_published() {
    let site = with_pages().await;
    let mut ana = at_home(&site).await;
    on_title(&mut ana).await.press("e").await.sees("Second line").sees("‹ 1 ›");
    ana.press("Ctrl-u").await.types("Winter tyres").await.press("Ctrl-s").await;
    ana.sees("✓ title 1 is saved (u takes it back)").sees("├─ title 1 \"Winter tyres\"");
    assert_eq!(headline(&site, "title").await, "Winter tyres");
    assert_eq!(ana.model.line.as_deref(), Some("cms pages edit 1 widget 1 -"));
    ana.press("u").await.sees("taken back");
    assert_eq!(headline(&site, "title").await, "Bicycles for twenty winters");
    ana.press("U").await.sees("done again");
    assert_eq!(headline(&site, "title").await, "Winter tyres");
    ana.press("c").await.sees("~ title 1: title");
    ana.sees("- Bicycles for ten winters").sees("+ Winter tyres").sees("> row ").sees("+ button ");
    assert!(!visitors(&site).await.contains("Winter tyres"), "it is a draft");
    ana.press("Esc P").await.sees("Visitors see 4 changes (");
    ana.press("y").await.sees("/ is published as revision 3").sees("Visitors see it as it is.");
    assert!(visitors(&site).await.contains("Winter tyres"));
    // Again there is nothing to do.
    ana.press("P").await.sees("Visitors see / as the draft is: nothing differs.");
}

/// What the service refuses stands at its field; nothing is written.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_value_is_told_at_its_field() {
    let site = with_pages().await;
    let mut ana = at_home(&site).await;
    ana.press("j j j j j j").await.sees("┌ button ");
    ana.press("e Tab Ctrl-u").await;
    ana.types("javascript:x").await.press("Ctrl-s").await.sees("a path such as /about");
    ana.press("Ctrl-u").await.types("/about").await.press("Ctrl-s").await.sees("is saved");
}

/// Rows, columns, widgets and items are added, moved, removed, folded.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_is_built() {
    let site = with_pages().await;
    let mut ana = Operator::sits_down(&site).await;
    ana.press(": p a g e s Enter / a b o u t Enter Enter").await.sees("/about · never published");
    // A widget on an empty page: a row and a column are made for it. What is refused makes no
    // second one.
    ana.press("a").await.sees("a widget in a row of its own");
    ana.press("Enter").await;
    ana.types("headl").await.sees("title · Headline");
    ana.press("Enter").await;
    ana.sees("New title widget of /about");
    ana.types(&"x".repeat(1001)).await;
    ana.press("Ctrl-s").await.sees("at most 1000 characters");
    ana.press("Ctrl-u").await.types("About").await.press("Ctrl-s").await;
    ana.sees("✓ title 6 is added").sees("└─ title 6 \"About\"").sees("┌ title 6 ");
    let draft = site.draft(3).await;
    assert_eq!(draft["rows"].as_array().map(Vec::len), Some(1), "{draft}");
    // Below it a repeater with two items.
    ana.press("a").await.types("uspIcon").await.press("Enter Ctrl-s").await;
    ana.sees("uspIconList 7 is added");
    ana.press("a").await.sees("an item in uspIconList 7");
    ana.press("Enter").await.sees("New uspIconList item");
    ana.press("Tab Tab").await;
    ana.types("One").await.press("Ctrl-s").await.sees("└─ item 4 \"One\"");
    ana.press("a Tab Tab").await.types("Two").await.press("Ctrl-s").await;
    ana.sees("└─ item 5 \"Two\"");
    // Up and back again, by keys and by undo.
    ana.press("K").await.sees("├─ item 5 \"Two\"").sees("└─ item 4 \"One\"");
    ana.press("K").await.sees("item 5 is the first one already.");
    ana.press("u").await.sees("└─ item 5 \"Two\"");
    // Folded away, and there again when something comes into it.
    ana.press("h h").await.sees("▸ uspIconList 7 (2 items)").sees_no("\"Two\"");
    ana.press("a Enter Tab Tab").await.types("Three").await.press("Ctrl-s").await;
    ana.sees("└─ item 6 \"Three\"");
    ana.press("u").await.sees("taken back").sees_no("Three");
    // Away with the repeater; visitors never saw it.
    ana.press("g l l l j").await.sees("┌ uspIconList 7 ");
    ana.press("x").await;
    ana.sees("Delete uspIconList 7, with 2 items");
    ana.press("y").await;
    ana.sees("uspIconList 7 is deleted").sees_no("item 4");
    ana.press("P y").await.sees("/about is published as revision 1");
    assert_eq!(site.draft(3).await["published"], true);
    ana.press("T").await.sees("Take off /about?");
    ana.press("y").await.sees("/about is taken off");
    ana.press("T").await.sees("/about is not published.");
}

/// Two editors: what the other did is told with name and time, nothing is lost on either side.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_editors_of_one_draft() {
    let site = with_pages().await;
    let (mut ana, mut bob) = (at_home(&site).await, at_home(&site).await);
    // Different values: both edits are kept, and the second one reads what happened.
    on_title(&mut ana).await.press("e").await;
    on_title(&mut bob).await.press("e Tab").await;
    ana.press("Ctrl-u").await.types("A").await.press("Ctrl-s").await.sees("is saved");
    bob.press("Ctrl-u").await.types("B").await.press("Ctrl-s").await;
    bob.resize(200, 60)
        .sees("somebody changed the page too (widget 1: changed (title) by operator");
    bob.sees("both edits are kept");
    bob.resize(100, 30);
    assert_eq!(headline(&site, "title").await, "A");
    assert_eq!(headline(&site, "subtitle").await, "B");
    // The same value: the second one is asked, and keeps what is typed.
    ana.press("F5").await;
    on_title(&mut ana).await.press("e Ctrl-u").await;
    on_title(&mut bob).await.press("e Ctrl-u").await;
    ana.types("Ana").await.press("Ctrl-s").await.sees("is saved");
    bob.types("Bob").await.press("Ctrl-s").await.sees("Somebody changed the page too");
    bob.sees("title: theirs Ana · yours Bob").sees("widget 1: changed (title) by operator");
    bob.is_golden("page_stale");
    bob.press("Enter").await.sees("Nothing was written.").sees("Bob").sees("title 1 of /");
    assert_eq!(headline(&site, "title").await, "Ana");
    // After the page was read again, the value is sent without the same question.
    bob.press("Ctrl-s").await.sees("title 1 is saved");
    assert_eq!(headline(&site, "title").await, "Bob");
    // Undo writes over nothing of the other.
    ana.press("u").await.sees("somebody has changed the same values since");
    assert_eq!(headline(&site, "title").await, "Bob");
    // Publishing what the user has not seen asks first.
    ana.press("F5 P").await.sees("Publish /?");
    let theirs = Ask::patch("/api/backend/pagebuilder").query("widget_id", 1);
    site.does(theirs, json!({"data": {"level": "h2"}})).await;
    ana.press("y").await.sees("Somebody changed the page too").sees("widget 1: changed (level)");
    ana.press("Esc").await;
    assert_eq!(site.draft(1).await["revision"], 2, "nothing is published");
    // What is added meets the same question, and is added once.
    ana.press("F5 g l l").await.sees("┌ col 2 ");
    ana.press("a Enter").await.types("spacer").await.press("Enter").await.sees("New spacer widget");
    let theirs = Ask::patch("/api/backend/pagebuilder").query("widget_id", 1);
    site.does(theirs, json!({"data": {"level": "h3"}})).await;
    ana.press("Ctrl-s").await.sees("Somebody changed the page too");
    ana.press("2").await.sees("spacer 6 is added").sees("└─ spacer 6");
    // A node that was removed meanwhile is not written to.
    on_title(&mut bob).await.press("F5 e").await.types("!").await;
    let gone = Ask::delete("/api/backend/pagebuilder").query("kind", "widget").query("id", 1);
    site.client().send(gone).await.expect("removed");
    bob.press("Ctrl-s").await.sees("Somebody has removed title 1: nothing was written.");
}

/// A move is one key; at the edge it leads into the next column.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn moves_lead_on_into_the_next_column() {
    let site = with_pages().await;
    let mut ana = at_home(&site).await;
    ana.press("j j j").await.sees("┌ html 3 ");
    ana.press("J").await.sees("html 3 is moved");
    let draft = site.draft(1).await;
    let widgets = &draft["rows"][0]["cols"][1]["widgets"];
    assert_eq!(
        (&widgets[0]["widget"], widgets.as_array().map(Vec::len)),
        (&json!("html"), Some(3))
    );
    ana.press("u").await.sees("taken back");
    assert_eq!(site.draft(1).await["rows"][0]["cols"][0]["widgets"][0]["widget"], "html");
    ana.press("m").await.sees("html 3 into what?");
    ana.press("j Enter").await.sees("is moved");
}

/// Revisions: compared with the draft and with each other, restored; the draft is discarded.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_old_revision_comes_back() {
    let site = with_pages().await;
    let mut ana = at_home(&site).await;
    ana.press("r").await.sees("Revisions of /");
    ana.press("j c").await.sees("revision 1 → draft");
    ana.sees("- Bicycles that last").sees("+ Bicycles for twenty winters");
    ana.press("Esc").await;
    ana.press("g Space Space c").await.sees("revision 1 → revision 2");
    ana.press("Esc Esc").await;
    ana.press("j d").await.sees("revision 1").sees("└─ spacer");
    ana.press("Esc").await;
    ana.press("R").await.sees("Make the draft of / what revision 1 is");
    ana.press("y").await.sees("the draft of / is as revision 1 was");
    assert_eq!(headline(&site, "title").await, "Bicycles that last");
    ana.press("R").await.sees("The draft is as revision 1 was.");
    ana.press("Esc D").await.sees("Lose what the draft of / has changed?");
    ana.press("y").await;
    ana.sees("the draft of / is revision 2 again").sees("Visitors see it as it is.");
    assert_eq!(headline(&site, "title").await, "Bicycles for ten winters");
}

/// Of long texts the comparison shows the places that differ, however late they stand.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_texts_are_compared_where_they_differ() {
    let site = with_pages().await;
    let text = |last: &str| json!({"data": {"text": "<p>alike</p>\n".repeat(900) + last}});
    let html = || Ask::patch("/api/backend/pagebuilder").query("widget_id", 3);
    site.does(html(), text("<p>old end</p>")).await;
    site.page("publish", json!({"page_id": 1})).await;
    site.does(html(), text("<p>new end</p>")).await;
    let mut ana = Operator::sits_down(&site).await;
    ana.press(": p a g e s Enter Enter")
        .await
        .sees("1 change not published")
        .sees("further on: c shows");
    ana.press("c").await.sees("- <p>old end</p>").sees("+ <p>new end</p>").sees_no("- <p>alike");
}

/// Times, a link, a translation.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_is_planned_shared_and_translated() {
    let site = with_pages().await;
    let mut ana = at_home(&site).await;
    ana.sees("⧖ will be published 2026-12-24 06:00 UTC");
    ana.press("t Ctrl-u").await.types("tomorrow").await.press("Ctrl-s").await;
    ana.sees("a time such as 2026-12-24T06:00:00Z is expected");
    ana.press("Ctrl-u Tab").await.types("2027-01-01T00:00:00Z").await.press("Ctrl-s").await;
    ana.sees("/ has its times")
        .sees("⧖ will be taken off 2027-01-01 00:00 UTC")
        .sees_no("12-24 06:00 UTC");
    ana.press("u").await.sees("will be published 2026-12-24 06:00").sees_no("2027-01-01 00");
    // The list shows the times in columns, as far as any page has one.
    ana.press("Esc").await.sees("PUBLISH AT").sees("2026-12-24 06:00").sees_no("TAKE OFF AT");
    let times = json!({"page_id": 3, "take_off_at": "2027-02-01T00:00:00Z"});
    site.page("schedule", times).await;
    ana.press("F5").await.sees("TAKE OFF AT").sees("2027-02-01 00:00");
    ana.press("Enter").await;
    ana.press("L").await.sees("For how long").sees("1 day");
    ana.types("the agency").await.press("Ctrl-s").await.sees("without a login");
    ana.press("Ctrl-y Esc").await;
    assert!(ana.copied[0].contains("/api/pages/draft?token="), "{:?}", ana.copied);
    // Who has one, until when; one is taken back.
    ana.press("w").await.sees("Links to the draft of /").sees("the agency").sees("in 24h");
    ana.press("n").await.types("the printer").await.press("Tab Left Ctrl-s").await;
    ana.press("Esc").await.sees("the printer").sees("in 60m").sees("2 of 2");
    let token = ana.copied[0].split_once("token=").map(|(_, token)| token.to_owned());
    let draft = || Ask::get("/api/pages/draft").query("token", token.clone().unwrap_or_default());
    site.client().send(draft()).await.expect("the draft");
    ana.press("g j x").await.sees("Take back the link for the agency?");
    ana.press("y").await.sees("the link for the agency is taken back").sees_no("24h");
    assert!(site.client().send(draft()).await.is_err(), "it shows the draft no longer");
    ana.press("Esc").await;
    // The German version comes first among those to copy into.
    ana.press("C").await.sees("2 /de Startseite").sees("de (a version)");
    ana.press("Ctrl-s").await;
    ana.sees("the draft of /de is that of / now");
    assert_eq!(site.draft(2).await["rows"].as_array().map(Vec::len), Some(2));
    ana.press("C Ctrl-s").await.sees("The draft of /de holds something");
    ana.press("Tab Space Ctrl-s").await.sees("the draft of /de is that of / now");
}

/// A user who may only read sees the tree, and which right is missing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_may_only_look_changes_nothing() {
    let site = with_pages().await;
    let mut ana = at_home(&site).await;
    ana.model.readonly = true;
    on_title(&mut ana).await.press("Enter").await.sees("\"kind\": \"widget\"");
    ana.press("Esc").await;
    let before = site.draft(1).await;
    for keys in ["e", "a", "J", "x", "P", "D", "t", "T", "C", "L", "m"] {
        ana.press(keys).await.sees("this is a read-only session");
    }
    // Without the right Enter shows a node that holds values, and folds all others.
    (ana.model.readonly, ana.model.rights) = (false, Some(vec!["pages_pages_view".to_owned()]));
    on_title(&mut ana).await.press("Enter").await.sees("\"kind\": \"widget\"");
    ana.press("Esc").await;
    for keys in ["e", "a", "J", "x", "P", "D", "t", "T", "C", "L", "m"] {
        ana.press(keys).await.sees("needs the right pages_pages_edit");
    }
    ana.press("g j Enter").await.sees("▸ row 2 (2 columns)");
    assert_eq!(site.draft(1).await, before);
}

/// A widget in a row of its own is taken back with the row; refused, it leaves both, as it says.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_of_its_own_is_taken_back_whole() {
    let site = with_pages().await;
    let rows = async || site.draft(3).await["rows"].as_array().map(Vec::len);
    let mut ana = Operator::sits_down(&site).await;
    ana.press(": p a g e s Enter / a b o u t Enter Enter").await.sees("/about · never published");
    ana.press("a Enter").await.types("headl").await.press("Enter").await;
    ana.sees("made for it stay");
    ana.types("About").await.press("Ctrl-s").await.sees("is added (u takes it back)");
    assert_eq!(rows().await, Some(1));
    ana.press("u").await.sees("taken back");
    assert_eq!(rows().await, Some(0));
    ana.press("g a Enter").await.types("headl").await.press("Enter").await;
    ana.types(&"x".repeat(1001)).await.press("Ctrl-s").await.sees("at most 1000");
    ana.press("Esc Esc F5").await.sees("└─ row ");
    assert_eq!(rows().await, Some(1));
    // What came into the row since is kept.
    ana.press("g a Enter").await.types("spacer").await.press("Enter Ctrl-s").await;
    ana.sees("is added (u takes it back)");
    let row = site.draft(3).await["rows"][1]["id"].as_i64().expect("a row");
    site.node("col", row, json!({})).await;
    ana.press("u").await.sees("the row holds something else since");
    assert_eq!(rows().await, Some(2));
}

/// Titles and values that a terminal would obey, and a page of as many widgets as one can have.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_and_hostile_pages_are_walked() {
    let site = TestSite::open().await;
    let pages = Ask::post("/api/backend/item").query("table", "pages");
    let title = "\u{202e}txt\u{200d}👩\u{301}\u{301}\u{301}\u{301}";
    let page = json!({"language_short": "en", "url_rewrite": "/", "title": title});
    site.does(pages, page).await;
    let row = site.node("row", 1, json!({})).await;
    let col = site.node("col", row, json!({})).await;
    for text in ["\u{1b}[2J\u{9b}31m\r\n\t\u{202e}x".repeat(900), "日本語 ".repeat(9_000)] {
        let widget = json!({"widget": "html", "data": {"text": text}});
        site.node("widget", col, widget).await;
    }
    for _ in 0..198 {
        site.node("widget", col, json!({"widget": "spacer", "data": {}})).await;
    }
    let mut ana = Operator::sits_down(&site).await;
    for keys in
        [": p a g e s Enter", "z", "Esc", "Enter", "j j j", "z", "Esc", "j", "e", "Esc", "c"]
    {
        ana.press(keys).await;
        super::hostile::is_whole(&mut ana);
    }
}

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
