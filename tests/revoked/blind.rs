//! Every call that changes something, by a key that may make this one call and read nothing: the
//! reply shows no row.

use futures_util::FutureExt;
use serde_json::{Value as Json, json};

use super::{Act, Caller, body, send, site, takes_keys};
use crate::support::{Receiver, Site};

/// What every reply may show: the id, and numbers of the write itself.
const SHOWN: [&str; 2] = ["id", "queued"];

/// What else a reply shows, because the body has said it, or because it is all that was asked for.
const MORE: [(&str, &str); 17] = [
    ("/item", ""),
    ("/actions/", "the list that was sent, the output of the script"),
    ("POST /api/backend/keys", "what was sent"),
    ("POST /api/backend/webhooks", "what was sent"),
    ("/theme/key", "rights that this key does not hold"),
    ("/rotate", "the row with its new secret, which is shown once"),
    ("PATCH /api/backend/cache", "no row: the settings"),
    ("/webhooks/ping", "what the receiver says"),
    ("/webhooks/explain", "what would be sent"),
    ("/webhooks/emit", "what was sent"),
    ("/media/check", "files without rows"),
    ("/plugins/", "what has changed"),
    ("/tasks/run", "the run that was begun"),
    ("/mail/test", "the mail that was sent"),
    ("/formfunnel?action=", "tested with the inbox and the funnels"),
    ("/pagebuilder", "tested with the page builder"),
    ("/auth/", "the session"),
];

/// A body that a key without the row `*` may send.
fn humble(act: &Act) -> String {
    match act.target.split('?').next() {
        Some("/api/backend/user_groups") if act.method == "PATCH" => {
            json!({"rights": []}).to_string()
        }
        Some("/api/backend/user_groups") => json!({"name": "humble", "rights": []}).to_string(),
        _ => act.body.clone(),
    }
}

#[tokio::test]
async fn a_write_shows_no_row_to_who_may_only_write() {
    let receiver = Receiver::start(200).await;
    let (site, acts) = site(&receiver).await;
    let mut seen = 0;
    for act in acts.iter().filter(|act| takes_keys(act) && act.method != "DELETE") {
        let case = format!("{} {}", act.method, act.target);
        let is = |name: &str| case == name || (name.starts_with('/') && case.contains(name));
        if MORE.iter().any(|(name, _)| is(name)) {
            continue;
        }
        let path = act.target.split('?').next().unwrap();
        let key = site.key(&[&format!("{} {path}", act.method)]).await;
        let by = Caller { header: ("x-api-key", key), revoke: String::new(), code: "" };
        let sent = humble(act);
        let (status, reply) = send(&site, act, &by, body(&sent, async {}.boxed())).await;
        assert!((200..300).contains(&status), "{case}: {reply}");
        let names: Vec<_> = reply["data"].as_object().expect(&case).keys().collect();
        assert!(names.iter().all(|name| SHOWN.contains(&name.as_str())), "{case}: {reply}");
        seen += 1;
    }
    assert!(seen >= 12, "only {seen} calls were made");
}

#[tokio::test]
async fn an_editor_without_the_right_to_see_is_shown_no_row() {
    let receiver = Receiver::start(200).await;
    let (site, _) = site(&receiver).await;
    let areas = ["media_media", "webhooks_subscriptions"];
    let edit = json!(areas.map(|area| format!("{area}_edit")));
    let both = areas.map(|area| [format!("{area}_edit"), format!("{area}_view")]).concat();
    let both = json!(both);
    let (blind, seeing) = (site.person("blind", edit).await, site.person("seeing", both).await);
    let hook = first(&site, "webhooks").await;
    let file = first(&site, "media").await;
    for (line, name) in [
        (format!("PATCH /api/backend/webhooks?id={hook}"), "url"),
        (format!("POST /api/backend/webhooks/activate?id={hook}"), "url"),
        (format!("PATCH /api/backend/media?id={file}"), "file_name"),
    ] {
        let reply = site.ask(&line).bearer(&blind.token).json(json!({})).expect(200).await;
        let id = if name == "url" { &hook } else { &file };
        assert_eq!(reply.json(), json!({"data": {"id": id}}), "{line}");
        assert!(!reply.headers.contains_key("etag"), "{line}");
        let reply = site.ask(&line).bearer(&seeing.token).json(json!({})).expect(200).await;
        assert!(reply.data()[name].is_string(), "{line}: {}", reply.text());
    }
    // Content that somebody else has stored.
    let again = || {
        let form = crate::support::media::form(&[], "b.pdf", b"%PDF-1.7 one%%EOF");
        let ask = site.ask("POST /api/backend/media");
        ask.header("content-type", crate::support::media::FORM).body(form)
    };
    let told = again().bearer(&blind.token).expect(200).await.data();
    assert_eq!(told.as_object().unwrap().keys().collect::<Vec<_>>(), ["id"]);
    let told = again().bearer(&seeing.token).expect(200).await;
    assert_eq!(told.data()["file_name"], "a.pdf");
    assert!(told.headers.contains_key("etag"));
    let asked = json!({"event": "shop.sold", "data": {}});
    let explain = |person: &crate::support::people::Person| {
        let ask = site.ask("POST /api/backend/webhooks/explain").bearer(&person.token);
        ask.json(asked.clone())
    };
    explain(&blind).refused(403, "permission_denied").await;
    let told = explain(&seeing).expect(200).await.data();
    assert_eq!(told["subscriptions"].as_array().unwrap().len(), 1);
}

/// The id of the oldest row of a list.
async fn first(site: &Site, list: &str) -> Json {
    let rows = site.get(&format!("/api/backend/{list}")).await;
    rows.as_array().unwrap().iter().map(|row| row["id"].clone()).min_by_key(Json::as_i64).unwrap()
}
