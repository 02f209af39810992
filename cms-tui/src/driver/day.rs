//! What an operator does all day, with keys only. The operator looks as a user: with that user's
//! rights, and no others.

use std::sync::atomic::Ordering;

use cms_core::{Actor, access::KeyCall};
use cms_http::{
    Api,
    client::{Ask, Client, ClientError},
};
use serde_json::json;

use super::{
    Operator,
    site::{Receiver, TestSite},
    together::read,
};

/// A shop stopped getting webhooks: the operator finds out why, gives it a new secret, waits until
/// it is well again and sends what was held.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shop_gets_its_webhooks_again() {
    let (site, receiver) = (TestSite::open().await, Receiver::start(503).await);
    site.webhook("shop", &receiver.url).await;
    for n in 0..12 {
        site.post(&format!("Post {n}")).await;
    }
    for _ in 0..12 {
        site.clock.advance(2_000);
        site.delivers().await;
    }
    let mut ana = Operator::sits_down(&site).await;
    ana.sees("Webhook shop was switched off");
    ana.press("Enter").await.sees("✗ tripped").sees("10/10");
    // Why: the attempts, what was sent and what came back.
    ana.press("d").await.sees("Deliveries · shop").sees("✗ status").sees("503");
    ana.press("z").await.sees("maintenance").sees("item.posts.created");
    ana.press("Esc Esc").await.sees("A switches it on again");
    // A new secret; the old one still signs for an hour.
    ana.press("S").await.sees("the old one works 1 hour more");
    ana.press("Enter").await.sees("whsec_").sees("It is shown once");
    ana.press("Ctrl-y").await;
    assert!(ana.copied[0].starts_with("whsec_"));
    ana.types("saved").await.sees_no("whsec_");
    assert_eq!(ana.model.line.as_deref(), Some("cms webhooks rotate-secret 1 --grace GRACE"));
    // The shop is well again: test, switch on, send what was held.
    receiver.status.store(200, Ordering::SeqCst);
    ana.press("p").await.sees("Test to shop: ✓ 200");
    let before = receiver.count();
    ana.press("A").await.sees("send the held jobs now");
    ana.press("Enter").await.sees("shop is on; 12 held jobs sent");
    for _ in 0..6 {
        site.clock.advance(2_000);
        site.delivers().await;
    }
    assert_eq!(receiver.count() - before, 12);
    ana.waits(&site, 2).await;
    ana.press("1").await.sees_no("shop was switched off");
}

/// A partner says that calls are refused: the operator finds out why, and gives exactly this right.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_denied_call_is_explained_and_granted() {
    let site = TestSite::open().await;
    let rights = json!([{"endpoint": "/api/pages", "methods": ["GET"]}]);
    site.key("partner", json!({"rights": rights})).await;
    let mut ana = Operator::sits_down(&site).await;
    ana.press("5").await.sees("partner");
    ana.press("c").await.sees("May partner make this call?");
    ana.press("Tab").await.types("posts").await.press("Ctrl-s").await;
    ana.sees("✗ denied: no row of its rights covers it");
    ana.press("Esc Enter").await.sees("Rights of partner");
    ana.press("a").await.press("Ctrl-u").await;
    ana.types("GET /api/backend/item?table=posts").await.press("Ctrl-s").await;
    ana.sees("1 unsaved change").sees("+ GET /api/backend/item?table=posts");
    ana.press("Ctrl-s").await.sees("✓ partner has its new rights (u takes it back)");
    ana.sees_no("unsaved");
    ana.press("c Tab").await.types("posts").await.press("Ctrl-s").await.sees("✓ allowed");
    ana.press("Esc u").await.sees("taken back").sees_no("table=posts");
    // What was denied last is granted exactly.
    let query = [("table".to_owned(), "posts".to_owned())];
    let call =
        KeyCall { method: "POST", path: "/api/backend/item", query: &query, body_table: None };
    site.cms.keys().note_use(1, true);
    site.cms.keys().note_denied(1, &call);
    ana.press("Esc 5 F5").await.sees("POST /api/backend/item?table=posts; D grants exactly this");
    ana.press("D").await.sees("Grant partner exactly this: POST");
    ana.press("y").await.sees("partner may POST /api/backend/item?table=posts");
    let rights = ana.client.send(Ask::get("/api/backend/keys").query("id", 1)).await;
    let rights = rights.expect("a key").json().expect("JSON")["data"]["rights"].take();
    assert_eq!(
        rights[1],
        json!({"endpoint": "/api/backend/item", "query": {"table": "posts"}, "methods": ["POST"]})
    );
    // A new value, with the old one for a day.
    ana.press("S j Enter").await.sees("cms_k1_");
    ana.types("SAVED").await.sees_no("cms_k1_AA");
    // Nothing stops at once without a question.
    let prefix = read(&site, "/api/backend/keys", 1).await["prefix"].clone();
    ana.press("F5 S 5").await.sees("End the old value of partner");
    ana.press("n").await;
    assert_eq!(read(&site, "/api/backend/keys", 1).await["prefix"], prefix);
    ana.press("S 5 y").await.sees("It is shown once");
    assert_ne!(read(&site, "/api/backend/keys", 1).await["prefix"], prefix);
}

/// However narrow the screen: the keys that all lists share have room. An action that is too long
/// gives its room to the next one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn footers_keep_room_for_what_lists_share() {
    let site = TestSite::open().await;
    let mut ana = Operator::sits_down(&site).await;
    let foot = |ana: &Operator| {
        let screen = ana.screen();
        screen.lines().nth(usize::from(ana.size.1) - 2).unwrap_or_default().to_owned()
    };
    for keys in ["2", "3", "4", "5", "6", "7", "9", ": m a i l Enter", ": p a g e s Enter"] {
        ana.press(keys).await;
        for wide in [60, 80, 100, 200] {
            let foot = foot(ana.resize(wide, 24));
            for said in ["Enter Open", "/ Filter", "Space Mark", "? help"] {
                assert!(foot.contains(said), "{keys} at {wide}: {foot}");
            }
        }
    }
    // At 60 the second one is too long, the third one fits.
    ana.press("3").await;
    assert!(foot(ana.resize(60, 24)).contains("r Send again"), "{}", ana.screen());
    assert!(!foot(&ana).contains("Failed again"), "{}", ana.screen());
    ana.press("5").await;
    assert!(foot(ana.resize(200, 24)).contains("x Delete…"), "{}", ana.screen());
}

/// A long line goes on below; what is sought in a text is found, on the screen and in a window.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn texts_are_searched_and_wrapped() {
    let site = TestSite::open().await;
    site.webhook("shop", "http://127.0.0.1:9/in").await;
    site.post(&format!("{}needle", "long ".repeat(40))).await;
    site.clock.advance(2_000);
    site.delivers().await;
    let mut ana = Operator::sits_down(&site).await;
    ana.press("3 Enter").await.sees("POST http").sees("needle");
    ana.press("w").await.sees_no("needle").sees("long lon");
    ana.press("w /").await.types("NEED").await.sees("NEED: line 1 of ");
    ana.press("Enter n N").await.sees("NEED: line 1 of ").sees("needle");
    ana.press("Esc").await.sees_no("line 1 of").sees("POST http");
    ana.press("c").await.sees("Body of").sees("/ search").sees("w cut lines");
    ana.press("/").await.types("absent").await.sees("No line holds absent.");
    ana.press("Esc").await.sees("Body of").sees_no("absent");
    ana.press("/").await.types("need").await.press("Enter").await.sees("need: line 1 of ");
    ana.press("w").await.sees("line 1 of ").sees_no("needle");
    ana.press("Esc").await.sees("Body of").sees("w wrap lines");
    ana.press("Esc").await.sees_no("Body of");
}

/// A record in two languages, and a column of three records at once; then all of it taken back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn records_are_edited_marked_and_taken_back() {
    let site = TestSite::open().await;
    for n in 1..=4 {
        site.post(&format!("Post {n}")).await;
    }
    let mut ana = Operator::sits_down(&site).await;
    ana.press("6").await.press("/").await.types("posts").await.press("Enter Enter").await;
    // A version in the language that is missing, and both are edited.
    ana.press("T").await.sees("posts 1 in de").sees("Post 1");
    ana.press("Ctrl-u").await.types("Beitrag 1").await.press("Ctrl-s").await;
    ana.sees("posts 1 is made in de").sees("Beitrag 1");
    ana.press("T").await.sees("It has a version in every language.");
    ana.press("e Down Down").await.types("?").await.press("Ctrl-s").await.sees("Post 1?");
    ana.press("L L").await.sees("posts [de]").sees("Beitrag 1").sees_no("Post 2");
    ana.press("e").await.press("Down Down").await;
    ana.types("!").await.press("Ctrl-s").await.sees("is saved");
    ana.press("L").await;
    ana.press("g Space Space Space s").await.sees("Set a column of 3 records");
    ana.press("Space Space Space Tab").await.types("7").await.press("Ctrl-s").await;
    ana.sees("✓ 3 records changed (u takes it back)");
    let views = async || {
        let ask = Ask::get("/api/backend/item").query("table", "posts").query("sort", "id");
        let rows = site.client().send(ask).await.expect("rows").json().expect("JSON");
        let rows = rows["data"].as_array().cloned().unwrap_or_default();
        rows.iter().map(|row| row["views"].as_i64().unwrap_or(-1)).collect::<Vec<_>>()
    };
    assert_eq!(views().await, [7, 7, 7, 0, 0]);
    ana.press("u").await.sees("3 changes taken back");
    assert_eq!(views().await, [0, 0, 0, 0, 0]);
    ana.press("U").await.sees("3 changes done again");
    assert_eq!(views().await, [7, 7, 7, 0, 0]);
    ana.press("u").await.sees("3 changes taken back");
}

/// A version in another language has what no form offers too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_version_in_another_language_has_long_values_too() {
    let site = TestSite::open().await;
    site.post("Long").await;
    let record = |id| Ask::get("/api/backend/item").query("table", "posts").query("id", id);
    let body = "long ".repeat(60_000);
    let write = Ask::patch("/api/backend/item").query("table", "posts").query("id", 1);
    site.does(write, json!({"body": body})).await;
    let mut ana = Operator::sits_down(&site).await;
    ana.press("6").await.press("/").await.types("posts").await.press("Enter Enter").await;
    ana.press("T").await.sees("300 KB: copied as it is");
    ana.press("Ctrl-s").await.sees("posts 1 is made in de");
    let made = site.client().send(record(2)).await.expect("a version").json().expect("JSON");
    assert_eq!(made["data"]["language_short"], "de");
    assert_eq!(made["data"]["body"].as_str().map(str::len), Some(body.len()));
}

/// Two people at one record: other columns are merged, the same column is asked about.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_overwrites_another_silently() {
    let site = TestSite::open().await;
    site.post("Mine").await;
    let other = async |body| {
        let ask = Ask::patch("/api/backend/item").query("table", "posts").query("id", 1);
        site.does(ask, body).await
    };
    let mut ana = Operator::sits_down(&site).await;
    ana.press("6").await.press("/").await.types("posts").await.press("Enter Enter").await;
    let title = "Down Down";
    ana.press("e").await.press(title).await.types(" A").await;
    other(json!({"views": 5})).await;
    ana.press("Ctrl-s").await.sees("both edits are kept");
    ana.sees("Mine A").sees("5");
    ana.press("e").await.press(title).await.types("B").await;
    other(json!({"title": "Theirs"})).await;
    ana.press("Ctrl-s").await.sees("Somebody changed record 1 of posts too");
    ana.sees("theirs Theirs · yours Mine AB");
    ana.press("3").await.sees("Nothing was written").sees("Mine AB");
    ana.press("Ctrl-s 1").await.sees("Theirs is kept");
    ana.waits(&site, 2).await.sees("Theirs");
}

/// Stored text with escapes, marks of direction, wide and piled characters, and ten megabytes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_stored_text_breaks_the_screen() {
    let site = TestSite::open().await;
    let nasty = "\u{1b}[2J\u{202e}日本\u{200d}👩\u{301}\u{301}\u{301}\u{301}\u{9b}31m\nline";
    site.post(nasty).await;
    let ask = Ask::patch("/api/backend/item").query("table", "posts").query("id", 1);
    site.does(ask, json!({"body": "x".repeat(900_000)})).await;
    let mut ana = Operator::sits_down(&site).await;
    ana.press("6").await.press("/").await.types("posts").await.press("Enter Enter").await;
    for keys in ["z", "Esc", "e"] {
        ana.press(keys).await;
        for (width, height) in [(60, 16), (80, 24), (120, 40)] {
            let screen = ana.resize(width, height).screen();
            assert!(!screen.contains(['\u{1b}', '\u{202e}', '\u{9b}', '\u{200d}']), "{screen}");
            let too_wide = screen.lines().find(|line| crate::text::width(line) > width.into());
            assert_eq!(too_wide, None);
        }
    }
    ana.resize(120, 40).sees("too long to edit here");
}

/// What there is not yet is made from its list: a page, a funnel; a file is uploaded.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn n_makes_a_new_one() {
    let site = TestSite::open().await;
    let mut ana = Operator::sits_down(&site).await;
    ana.press(": p a g e s Enter").await.sees("No page yet: n makes one.");
    ana.press("n").await.sees("A new page").sees("‹ en ›");
    ana.types("about").await.press("Tab").await.types("About us").await.press("Tab Space").await;
    ana.press("Ctrl-s").await.sees("/about is made").sees("/about · never published");
    assert_eq!(site.draft(1).await["rows"], json!([]));
    ana.press("Esc").await.sees("About us").sees("de").sees("1 of 1");
    ana.press(": f u n n e l s Enter").await.sees("No funnel yet: n makes one.");
    ana.press("n").await.types("Lead funnel").await.press("Ctrl-s").await;
    ana.sees("Lead funnel is made as a draft: cms funnels edit lead-funnel draws it");
    ana.press("n").await.types("Again").await.press("Tab").await.types("lead-funnel").await;
    ana.press("Ctrl-s").await.sees("A new funnel").sees("✗");
    ana.press("Esc Esc C").await.sees("Lead funnel is copied").sees("1 of 2");
    ana.press(": m e d i a Enter n").await.types("/tmp/a picture.png").await.press("Ctrl-s").await;
    assert_eq!(ana.ran, ["media upload --folder= -- /tmp/a picture.png"]);
    // Commands act as operator: not with --as.
    ana.press("Esc").await;
    ana.model.acts_as = Some("kim".to_owned());
    ana.press("n").await.types("x").await.press("Ctrl-s").await.sees("out --as");
    assert_eq!(ana.ran.len(), 1);
}

/// A user who may look at keys and write settings.
async fn kim(site: &TestSite) -> (i64, Client) {
    let rights = json!(["keys_keys_view", "settings_settings_view", "settings_settings_edit"]);
    let group = json!({"name": "keepers", "rights": rights});
    site.does(Ask::post("/api/backend/user_groups"), group).await;
    let user = json!({"username": "kim", "password": "a long password", "groups": ["keepers"]});
    let made = site.does(Ask::post("/api/backend/users"), user).await;
    let id = made["id"].as_i64().expect("an id");
    let mut change = site.cms.change(Actor::Operator).await.expect("a change");
    let token = site.cms.accounts().act_as(&mut change, id).await.expect("a session");
    change.commit().await.expect("committed");
    let api = Api::new(site.cms.clone()).expect("an API");
    (id, Client::local_as(api, cms_core::Secret::new(token.expose())))
}

async fn refusal(client: &Client, ask: Ask) -> (u16, String) {
    match client.send(ask).await {
        Err(ClientError::Problem { status, code, .. }) => (status.as_u16(), code),
        other => panic!("no refusal: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_refusal_is_the_users() {
    let site = TestSite::open().await;
    site.key("shop", json!({})).await;
    let (id, client) = kim(&site).await;
    let me = client.send(Ask::get("/api/backend/auth/me")).await.expect("kim").json();
    assert_eq!(me.expect("JSON")["data"]["username"], "kim");
    client.send(Ask::get("/api/backend/keys")).await.expect("may look");
    let off = Ask::patch("/api/backend/keys").query("id", 1).json(&json!({"active": false}));
    let reset = Ask::post("/api/backend/users/2fa-reset").query("id", id);
    for (ask, refused) in [
        (off, (403, "permission_denied")),
        (Ask::get("/api/backend/users"), (403, "permission_denied")),
        // What only the operator reaches does not exist, as over the network.
        (reset, (404, "not_found")),
    ] {
        let line = ask.line();
        let (status, code) = refusal(&client, ask).await;
        assert_eq!((status, code.as_str()), refused, "{line}");
    }
    let setting = json!({"name": "greeting", "value": "hello"});
    let ask = Ask::post("/api/backend/item").query("table", "settings").json(&setting);
    client.send(ask).await.expect("may write settings");
    let audit = site.client().send(Ask::get("/api/backend/audit")).await.expect("the audit log");
    let audit = audit.json().expect("JSON");
    let rows = audit["data"].as_array().expect("rows").iter();
    let written: Vec<_> = rows.filter(|row| row["table"] == "settings").collect();
    assert!(written[0].to_string().contains("kim"), "kim wrote it: {written:?}");
    // A user who is switched off is logged out at once.
    let off = json!({"active": false});
    site.does(Ask::patch("/api/backend/users").query("id", id), off).await;
    let (status, code) = refusal(&client, Ask::get("/api/backend/keys")).await;
    assert_eq!((status, code.as_str()), (401, "login_required"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_screen_says_as_whom_and_what_is_missing() {
    let site = TestSite::open().await;
    site.key("shop", json!({})).await;
    let mut ana = Operator::sits_down(&site).await;
    (_, ana.client) = kim(&site).await;
    ana.model.acts_as = Some("kim".to_owned());
    let effects = ana.model.ask_who();
    ana.work(effects).await;
    ana.press("5").await.sees("as kim").sees("shop");
    ana.press("t").await.sees("needs the right keys_keys_edit, which you do not hold");
    ana.press("8 d").await.sees("only on the site's own machine, with --dir and without --as");
}
