//! The day of somebody who answers leads, with keys only.

use cms_core::{Actor, Secret};
use cms_http::{
    Api,
    client::{Ask, Client},
};
use serde_json::{Value as Json, json};

use super::{Operator, seed::with_inbox, site::TestSite};
use crate::model::{Msg, update};

const FUNNEL: &str = "/api/backend/formfunnel";

impl Operator {
    /// Works as a user with a session of their own, as over the network.
    async fn becomes(&mut self, site: &TestSite, user: &str) -> &mut Self {
        let mut change = site.cms.change(Actor::Operator).await.expect("a change");
        let id = site.cms.accounts().user_named(user).await.expect("a user").id;
        let token = site.cms.accounts().act_as(&mut change, id).await.expect("a session");
        change.commit().await.expect("committed");
        let api = Api::new(site.cms.clone()).expect("an API");
        self.client = Client::local_as(api, Secret::new(token.expose()));
        let effects = self.model.ask_who();
        self.work(effects).await;
        self
    }
}

async fn sits_down(site: &TestSite, user: &str) -> Operator {
    let mut operator = Operator::sits_down(site).await;
    operator.becomes(site, user).await;
    operator
}

/// A member of all submissions, the oldest first.
async fn all(site: &TestSite, member: &str) -> Vec<String> {
    let ask = Ask::get(FUNNEL).query("action", "submissions").query("sort", "submission_id");
    let rows = site.client().send(ask).await.expect("a page").json().expect("JSON");
    let rows = rows["data"].as_array().cloned().unwrap_or_default();
    let text = |row: &Json| match &row[member] {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    };
    rows.iter().map(text).collect()
}

async fn other(site: &TestSite, id: i64, body: Json) {
    let ask = Ask::post(FUNNEL).query("action", "submission_update").query("id", id);
    site.does(ask, body).await;
}

/// Home says what there is to do, and leads there; only what the user may see is asked for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn home_says_what_there_is_to_do() {
    let site = with_inbox().await;
    let mut ana = Operator::sits_down(&site).await;
    ana.asked.clear();
    ana.becomes(&site, "ana").await;
    let may = ["auth/me", "action=submissions", "/api/backend/plugins", "/readyz"];
    let is_seen = |line: &String| may.iter().any(|part| line.contains(part));
    assert!(ana.asked.iter().all(is_seen), "{:?}", ana.asked);
    // Nobody needs to work on spam, on tests and on visits under way.
    let sent = ["spam", "test", "progress"];
    let mut new = ana.asked.iter().filter(|line| line.contains("action=submissions"));
    assert!(new.all(|line| sent.iter().all(|part| line.contains(part))), "{:?}", ana.asked);
    ana.sees("● 9 new submissions in the inbox").sees("● 9 new submissions assigned to nobody");
    for (width, height) in [(80, 24), (100, 30)] {
        ana.resize(width, height).is_golden(&format!("home_support_{width}x{height}"));
    }
    other(&site, 9, json!({"inbox_status": "qualified"})).await;
    ana.press("F5").await.sees("8 new submissions in the inbox");
    ana.press("Enter").await.sees("Inbox · state:new").sees("1 of 8");
    ana.press("s 2").await;
    ana.press("1 j Enter").await.sees("Inbox · state:new @nobody").sees("1 of 7");
    // Mails and tasks are the operator's.
    let mut operator = Operator::sits_down(&site).await;
    let finding = |check: &str, level: &str, found: &str, about: &str| {
        json!({
            "check": check, "level": level, "found": found, "remedy": "", "about": about,
        })
    };
    let findings = json!({"level": "error", "findings": [
        finding("mail", "warning", "1 mail was given up within 7 days", "failed"),
        finding("tasks", "error", "Task sync of shop failed: exit status 1", "shop/sync"),
    ]});
    let run = json!({"outcome": "failed", "error": "exit status 1"});
    let task = json!([{"plugin": "shop", "name": "sync", "last_run": run}]);
    operator.canned.extend([("/backend/status", Ok(findings)), ("/backend/tasks", Ok(task))]);
    operator.press("F5").await.sees("◐ 1 mail was given up within 7 days");
    operator.sees("✗ Task sync of shop failed: exit status 1");
    operator.press("g j Enter").await.sees("Mails · status:failed since:7d");
    operator.press("1 g Enter").await.sees("┌ Tasks ").sees("▶ ");
}

/// Filters, marks three, sets their state, takes it back, notes, assigns, reads the way, exports.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_day_at_the_inbox() {
    let site = with_inbox().await;
    let mut ana = sits_down(&site, "ana").await;
    ana.press("9").await.sees("all 9").sees("new 9").sees("Mia Berg").sees("1 of 9");
    // What was answered, and the way, beside the list.
    ana.resize(200, 50).sees("Telephone: +34600123456").sees("◆ Eligible? yes → Call");
    // Words, then marks.
    ana.resize(100, 30);
    ana.press("/").await.types("visit:completed").await.press("Enter").await;
    ana.sees("1 of 7").sees_no("Räder");
    ana.press("Space Space Space s").await.sees("State of 3 submissions");
    ana.press("2").await.sees("✓ 3 submissions are qualified (u takes it back)");
    ana.sees("new 4").sees("qualified 3");
    assert_eq!(ana.model.line.as_deref(), Some("cms inbox set-status STATE 6 7 9"));
    ana.press("u").await.sees("3 submissions as before (U does it again)").sees("new 7");
    ana.press("U").await.sees("3 submissions are qualified").sees("qualified 3");
    // The next state, by a key; one submission is written at once and taken back by itself.
    ana.press("Esc l").await.sees("state:new visit:completed").sees_no("Mia Berg");
    ana.press("s 3").await.sees("✓ O'Petrov is contacted (u takes it back)").sees("contacted 1");
    // The next row is under the cursor: what was done took the first one away.
    ana.sees("▶ ● new").sees_no("is gone");
    ana.press("u").await.sees("taken back").sees("O'Petrov");
    // Notes.
    ana.press("e").await.sees("Notes of");
    ana.types("call back Tuesday").await;
    ana.press("Ctrl-s").await.sees("has its new notes");
    // For whom.
    ana.press("a").await.sees("ana (you)").sees("nobody").sees("ben");
    ana.press("1").await.sees("is for ana");
    ana.press("/").await.press("Ctrl-u").await.types("@me").await.press("Enter").await;
    ana.sees("1 of 1");
    // The way that it took, in words.
    ana.press("Enter").await.sees("■ Contact").sees("● Thank you").sees("call back Tuesday");
    ana.sees("its condition holds: bill greater than 100?")
        .sees("for ana")
        .sees("sales@example.org");
    ana.press("w").await.sees("matches first: it writes").sees("bill greater than 100? yes");
    ana.press("Esc Esc Esc").await;
    // What the list shows, as a table.
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("leads.csv");
    ana.press("E").await.sees("Export the inbox");
    ana.press("Ctrl-u").await;
    ana.types(&path.display().to_string()).await.press("Ctrl-s").await.sees("is written");
    let table = std::fs::read_to_string(&path).expect("a table");
    assert_eq!(table.lines().count(), 10, "{table}");
    ana.press("E").await.press("Ctrl-u").await;
    ana.types(&path.display().to_string()).await.press("Ctrl-s").await;
    ana.sees("choose another name");
}

/// First what would go is told; the address is typed once more.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_is_erased_with_a_receipt() {
    let site = with_inbox().await;
    let mut ana = sits_down(&site, "ana").await;
    let before = all(&site, "contact_email").await;
    let address = before.iter().find(|address| address.contains('@')).expect("one").clone();
    ana.press("9 X").await.sees("Nothing goes yet");
    ana.press("Ctrl-u").await;
    ana.types("nobody@example.net").await.press("Ctrl-s").await.sees("Nothing holds nobody@");
    ana.press("X Ctrl-u").await.types(&address).await.press("Ctrl-s").await;
    ana.sees("Erase for good what was sent as").sees("1 submissions");
    ana.types("nobody").await.press("Enter").await.sees(&format!("Type {address}"));
    assert_eq!(all(&site, "contact_email").await, before, "nothing went");
    ana.press("Ctrl-u").await.types(&address).await.press("Enter").await;
    ana.sees("Receipt of the erasure").sees("database: clean");
    assert!(!all(&site, "contact_email").await.contains(&address));
}

/// All that match a filter: the service counts them first, and refuses when another one comes in
/// between.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_that_match_are_meant_and_counted() {
    let site = with_inbox().await;
    let mut ana = sits_down(&site, "ana").await;
    ana.press("9 /").await.types("visit:completed").await.press("Enter *").await;
    ana.sees("all that match are marked");
    ana.press("s").await.sees("State of all 7 submissions");
    site.visit(1, &[json!({"name": "Late"}), json!({"bill": 9})], true).await;
    ana.press("5").await.sees("8 submissions match now, not 7");
    assert!(all(&site, "inbox_status").await.iter().all(|state| state == "new"));
    ana.press("s 5").await.sees("✓ 8 submissions are rejected (u takes it back)");
    ana.press("u").await.sees("8 submissions as before");
    // Deleting asks for the number.
    ana.press("x").await.sees("Delete all 8 submissions that match for good");
    ana.types("7").await.press("Enter").await.sees("Type 8 and Enter").sees("not the number");
    ana.press("Backspace").await.types("8").await.press("Enter").await;
    ana.sees("✓ 8 submissions are deleted");
    assert_eq!(all(&site, "status").await, ["abandoned", "abandoned"]);
    // Another filter: nothing is marked any more.
    ana.press("*").await.press("/").await.press("Ctrl-u").await.types("Li").await;
    ana.press("Enter").await.sees_no("marked").sees("1 of 1");
}

/// Two people on one submission: both changes survive, or the second one is asked.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_people_on_one_submission() {
    let site = with_inbox().await;
    let mut ana = sits_down(&site, "ana").await;
    let mut ben = sits_down(&site, "ben").await;
    for one in [&mut ana, &mut ben] {
        one.press("9").await.sees("▶ ● new");
        one.press("e").await.sees("Notes of Mia Berg");
    }
    ana.types("wants a battery").await.press("Ctrl-s").await.sees("has its new notes");
    ben.types("called at noon").await.press("Ctrl-s").await;
    ben.sees("Somebody changed Mia Berg too");
    ben.sees("notes: theirs wants a battery · yours called at noon");
    // Nothing typed is lost.
    ben.press("3").await.sees("what you wrote is still here").sees("called at noon");
    ben.press("Ctrl-s 4").await.sees("has its new notes");
    ben.press("Enter").await.sees("wants a battery").sees("called at noon");
    ben.press("Esc").await;
    // Other members do not clash: both are kept. Here ben has an old row before him.
    other(&site, 9, json!({"inbox_status": "qualified"})).await;
    ben.press("a 1")
        .await
        .sees("is for ben; somebody else changed it too, and both changes are kept");
    assert_eq!(all(&site, "inbox_status").await[8], "qualified");
    // The same member: the person decides.
    ana.press("F5").await;
    other(&site, 9, json!({"inbox_status": "rejected"})).await;
    ana.press("s 4").await.sees("state: theirs rejected · yours converted");
    ana.press("1").await.sees("Theirs is kept");
    assert_eq!(all(&site, "inbox_status").await[8], "rejected");
    // Undo would write over it: asked as well.
    ben.press("u").await.sees("taken back");
    ben.press("F5 s 2").await.sees("Mia Berg is qualified");
    other(&site, 9, json!({"inbox_status": "contacted"})).await;
    ben.press("u").await.sees("Somebody changed Mia Berg").sees("theirs contacted");
    ben.press("1").await.sees("Theirs is kept");
    // Of many, undo leaves what others changed since.
    ana.press("F5 g Space Space s 5").await.sees("2 submissions are rejected");
    other(&site, 9, json!({"inbox_status": "converted"})).await;
    ana.press("u")
        .await
        .sees("1 submission as before; 1 stay, because somebody changed them since");
    // What somebody else has changed is not deleted on an old view of it.
    ben.press("F5").await;
    other(&site, 9, json!({"inbox_status": "contacted"})).await;
    ben.press("x y").await.sees("it is contacted now");
    ben.press("n").await.sees("Nothing was done");
    ben.press("x y y").await.sees("Mia Berg deleted");
    assert_eq!(all(&site, "submission_id").await.len(), 8);
}

/// Views are filter and order; the command line has the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn views_are_saved_seen_and_deleted() {
    let site = with_inbox().await;
    let mut ana = sits_down(&site, "ana").await;
    ana.press("9 /").await.types("state:new visit:abandoned").await.press("Enter V").await;
    ana.sees("save what is shown as a view");
    ana.press("2").await.types("Left us").await;
    ana.press("Ctrl-s").await.sees("The view Left us is saved");
    ana.press("Esc").await.sees(" of 9").sees_no("visit:");
    ana.press("V").await.sees("Left us");
    ana.press("1").await.sees("state:new visit:abandoned").sees("1 of 2");
    ana.press("V 4").await.sees("Delete a view");
    ana.press("1 y").await;
    ana.sees("The view Left us is deleted");
    ana.press("V").await.sees_no("Left us");
    ana.press("1").await.sees(" of 9").sees_no("visit:");
}

/// The screen of one submission: the next one of the list below, and what is done there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_after_the_other_is_read_and_sorted() {
    let site = with_inbox().await;
    let mut ana = sits_down(&site, "ana").await;
    ana.press("9 Enter").await.sees("Mia Berg · 9").sees("Thank you");
    ana.press("n").await.sees("Räder Müller · 8").sees("✗ Bill  left here");
    ana.press("p").await.sees("Mia Berg · 9");
    ana.press("p").await.sees("This is the first one that is there.");
    ana.press("s 2").await.sees("Mia Berg is qualified");
    ana.press("n s 5").await.sees("Räder Müller is rejected");
    ana.press("Esc").await.sees("qualified 1").sees("rejected 1").sees("▶ ⊘ rejected");
    // Narrow screens have one column.
    ana.press("Enter").await.resize(60, 16).sees("Räder Müller");
    ana.press("G").await;
    ana.sees("What happened");
}

/// Two visits at the same minute: each shows its own deliveries and mails, and no others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_submission_shows_what_is_its_own() {
    let site = with_inbox().await;
    let events = ["formfunnel.started", "formfunnel.completed"];
    let hook = json!({"name": "crm", "url": "http://127.0.0.1:9/in", "events": events});
    site.does(Ask::post("/api/backend/webhooks"), hook).await;
    for name in ["First", "Second"] {
        site.visit(1, &[json!({"name": name}), json!({"bill": 9})], true).await;
    }
    for _ in 0..8 {
        site.clock.advance(1_000);
        site.delivers().await;
    }
    let attempts = async |submission: Option<&str>| {
        let ask = Ask::get("/api/backend/webhooks/deliveries").maybe("submission", submission);
        let rows = site.client().send(ask).await.expect("a page").json().expect("JSON");
        rows["data"].as_array().map_or(0, Vec::len)
    };
    let (own, all) = (attempts(Some("10")).await, attempts(None).await);
    assert!(own > 0 && own < all, "{own} of {all}");
    let mut ana = Operator::sits_down(&site).await;
    ana.press("9 j Enter").await.sees("First · 10");
    ana.press("d").await.sees("Deliveries · submission:10").sees(&format!("1 of {own} "));
    let asked = format!("Send {own} failed deliveries of submission 10 again?");
    ana.press("R").await.sees(&asked);
    ana.press("n").await;
    ana.press("R").await.sees(&asked);
    ana.press("y").await.sees("queued again, with the same event and body");
    ana.press("Esc Esc m").await.sees("Mails · id:").sees("Another: First").sees("1 of 1 ");
    ana.sees_no("Second");
    // What one submission was looked at for is no filter to come back to.
    ana.press("3").await.sees_no("submission:").sees(&format!("1 of {all} "));
}

/// A new one comes in while somebody works: rows stay where they are.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_ones_come_in_and_rows_stay() {
    let site = with_inbox().await;
    let mut ana = sits_down(&site, "ana").await;
    ana.press("9 j j").await.sees("3 of 9");
    site.visit(1, &[json!({"name": "Late"}), json!({"bill": 9})], true).await;
    let effects = update(&mut ana.model, Msg::Happened("formfunnel.completed".to_owned()));
    ana.work(effects).await;
    ana.sees("4 of 10").sees("Late").sees("new 10");
}

/// Whoever may only look, looks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_change_nothing() {
    let site = with_inbox().await;
    let group = json!({"name": "readers", "rights": ["formfunnel_inbox_view"]});
    site.does(Ask::post("/api/backend/user_groups"), group).await;
    let user = json!({"username": "kim", "password": "a long password", "groups": ["readers"]});
    site.does(Ask::post("/api/backend/users"), user).await;
    let mut kim = sits_down(&site, "kim").await;
    kim.press("9").await.sees("Mia Berg");
    for key in ["s", "a", "e", "x"] {
        kim.press(key).await.sees("needs the right formfunnel_inbox_edit");
    }
    kim.press("Enter").await.sees("● Thank you");
    kim.press("w").await;
    kim.sees("needs the right formfunnel_funnels_edit");
    assert!(all(&site, "inbox_status").await.iter().all(|state| state == "new"));
}

/// A funnel as a graph: its nodes, what is wrong with it, and the people who stopped at one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_funnel_is_looked_at_as_a_graph() {
    let site = with_inbox().await;
    let mut ana = sits_down(&site, "ana").await;
    ana.resize(100, 40).press(": f u n n e l s Enter").await;
    ana.sees("● published 1").sees("■ Contact").sees("├─╮ no");
    ana.press("Enter").await.sees("Contact (start)").sees("◆ Eligible?");
    ana.press("j j").await.sees("bill greater than 100");
    ana.press("Enter").await.sees("Nobody stops at a condition");
    ana.press("k Enter").await.sees("funnel:1 at:2").sees("left: Bill").sees("1 of 2");
    ana.press("Esc Esc").await;
    // What is wrong stands at its node, and publishing says all of it.
    let node = json!({"client_id": -9, "type": "step", "name": "Lost", "config_json": {}});
    let drawn = ana.client.send(Ask::get(FUNNEL).query("action", "get").query("id", 1)).await;
    let mut drawn = drawn.expect("a funnel").json().expect("JSON")["data"].take();
    let mut nodes = drawn["nodes"].take();
    nodes.as_array_mut().expect("nodes").push(node);
    let saved = json!({"id": 1, "nodes": nodes, "edges": drawn["edges"]});
    site.does(Ask::post(FUNNEL).query("action", "save"), saved).await;
    ana.press("F5 G").await.sees("Lost");
    ana.press("c").await;
    ana.sees("Check of Solar quote");
    ana.press("Esc").await;
    ana.press("i").await.sees("funnel:1");
}

/// The numbers of a funnel: a bar opens the people behind it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bar_opens_the_people_behind_it() {
    let site = with_inbox().await;
    let mut ana = sits_down(&site, "ana").await;
    ana.press(": f u n n e l s Enter a").await;
    ana.sees("started 9").sees("completed 7").sees("abandoned 2").sees("Per day");
    ana.sees("Eligible? yes").sees("direct");
    ana.press("j").await.sees("−2");
    ana.press("Enter").await;
    ana.sees("1 of 2").sees("left: Bill");
    ana.press("Esc Esc").await;
    ana.press("t").await.sees("the last 90 days");
    ana.press("3").await.sees("the last 90 days");
    ana.press("h").await.sees("2026-11-20  started 0");
    ana.press("d").await;
    // The same numbers stand on the edges of the graph.
    ana.sees("yes 5 (71 %)").sees("no 2 (29 %)").sees("9");
}
