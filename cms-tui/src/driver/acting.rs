//! The operator looks as a user: with that user's rights, and no others.

use cms_core::Actor;
use cms_http::{
    Api,
    client::{Ask, Client, ClientError},
};
use serde_json::json;

use super::{Operator, site::TestSite};

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
