//! Every call that changes something × every way in which its caller is revoked while it is under
//! way: refused, and nothing is written. The calls are those that the API declares.

mod blind;
pub mod requests;

use std::{convert::Infallible, sync::atomic::Ordering::SeqCst};

use bytes::Bytes;
use cms_core::{
    Actor, Secret,
    access::{Access, Right},
};
use futures_util::{FutureExt, StreamExt, future::BoxFuture, stream};
use http::Request;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use requests::{Act, acts};
use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

use crate::support::{Receiver, Site, site::NOW, webhooks::open};

/// A caller who may do everything, and how to take that away.
struct Caller {
    header: (&'static str, String),
    revoke: String,
    code: &'static str,
}

const KEY: [(&str, &str, &str); 5] = [
    ("deleted", "delete from cms_api_keys where id = {id}", "api_key_invalid"),
    ("disabled", "update cms_api_keys set active = false where id = {id}", "api_key_disabled"),
    (
        "expired",
        "update cms_api_keys set expires_on = '2026-11-21' where id = {id}",
        "api_key_expired",
    ),
    (
        "rotated",
        "update cms_api_key_values set valid_until = 1 where api_key_id = {id}",
        "api_key_invalid",
    ),
    ("reduced", "update cms_api_keys set rights = '[]' where id = {id}", "api_key_forbidden"),
];

const USER: [(&str, &str, &str); 5] = [
    ("logged out", "delete from cms_sessions where user_id = {id}", "login_required"),
    ("idle", "update cms_sessions set last_seen_at = 1 where user_id = {id}", "login_required"),
    ("disabled", "update cms_users set active = false where id = {id}", "login_required"),
    ("deleted", "delete from cms_users where id = {id}", "login_required"),
    ("reduced", "update cms_user_groups set rights = '[]' where id = {id}", "permission_denied"),
];

/// The password of those who were made by calls, if there are any.
const PASSWORD_OF_OTHERS: &str =
    "coalesce((select password from cms_users order by id limit 1), '')";

/// A key with the row `*`.
async fn key(site: &Site, (_, revoke, code): (&str, &str, &'static str)) -> Caller {
    let (id, value) = site.key_with(|_| {}, &["*"]).await;
    Caller { header: ("x-api-key", value), revoke: revoke.replace("{id}", &id.to_string()), code }
}

/// An administrator with a session of his own. Logging in takes too long to be done this often.
async fn user(site: &Site, id: i64, (_, revoke, code): (&str, &str, &'static str)) -> Caller {
    let token = format!("cms_s1_{id}");
    let hash = data_encoding::HEXLOWER.encode(&Sha256::digest(token.as_bytes()));
    let rows = [
        format!("insert into cms_user_groups values ({id}, 'g{id}', 'g{id}', '\"0\"', 0)"),
        format!(
            "insert into cms_users (id, username, name_key, password, salt_id, active, created_at) \
             values ({id}, 'u{id}', 'u{id}', {PASSWORD_OF_OTHERS}, '', true, 0)"
        ),
        format!("insert into cms_user_group_members values ({id}, {id})"),
        format!(
            "insert into cms_sessions (hash, user_id, address, created_at, last_seen_at) \
             values ('{hash}', {id}, '', {NOW}, {NOW})"
        ),
    ];
    site.database.run(rows.join(";")).await;
    let header = ("authorization", format!("Bearer {token}"));
    Caller { header, revoke: revoke.replace("{id}", &id.to_string()), code }
}

/// A number that every write changes.
async fn written(site: &Site) -> i64 {
    let counts =
        ["events", "audit", "idempotency", "api_keys", "users", "webhook_queue", "origins"]
            .map(|table| format!("(select count(*) from cms_{table})"));
    let epochs = "(select coalesce(sum(epoch), 0) from cms_table_epochs)";
    // The audit log weighs more, so that no row that goes makes up for it.
    let audit = "100000 * (select count(*) from cms_audit)";
    let sum = format!("select cast({} + {epochs} + {audit} as bigint)", counts.join(" + "));
    site.database.count(&sum).await
}

async fn send(site: &Site, act: &Act, by: &Caller, body: StreamBody<Chunks<'_>>) -> (u16, Json) {
    let kind = match act.body.starts_with("--") {
        true => crate::support::media::FORM,
        false => "application/json",
    };
    let request = Request::builder()
        .method(act.method)
        .uri(&act.target)
        .header("host", "cms.test")
        .header("content-type", kind)
        .header(by.header.0, &by.header.1);
    let reply = site.api.handle(request.body(body).unwrap()).await;
    let status = reply.status().as_u16();
    let body = reply.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&body).unwrap_or(Json::Null))
}

type Chunks<'a> = stream::BoxStream<'a, Result<Frame<Bytes>, Infallible>>;

/// A body whose last byte comes after `before_the_end`.
fn body<'a>(text: &str, before_the_end: BoxFuture<'a, ()>) -> StreamBody<Chunks<'a>> {
    let mut first = Bytes::from(text.to_owned());
    let last = first.split_off(first.len().saturating_sub(1));
    let end = async move {
        before_the_end.await;
        Ok(Frame::data(last))
    };
    StreamBody::new(stream::iter([Ok(Frame::data(first))]).chain(stream::once(end)).boxed())
}

/// Sends a call whose caller is revoked before its body ends, by a change of another process:
/// nothing is written. Returns the status.
async fn refused_late(site: &Site, act: &Act, by: &Caller, way: &str) -> u16 {
    let (tell, told) = tokio::sync::oneshot::channel();
    let late = async {
        site.database.run(by.revoke.clone()).await;
        let _ = tell.send(written(site).await);
    };
    let (status, reply) = send(site, act, by, body(&act.body, late.boxed())).await;
    let case = format!("{} {} {} {way}", act.method, act.target, by.header.0);
    assert_eq!(reply["error"], by.code, "{case}: {reply}");
    assert_eq!(written(site).await, told.await.unwrap(), "{case} has written");
    status
}

/// Which callers an act is tried with.
fn takes_keys(act: &Act) -> bool {
    !matches!(act.access, Access::Session)
}

async fn site(receiver: &Receiver) -> (Site, Vec<Act>) {
    let columns = json!([{"name": "tags", "type": "json"}]);
    let site = Site::builder()
        .await
        .settings(|settings| {
            open(settings);
            settings.mail.from = Some("shop@example.org".to_owned());
            settings.mail.smtp_url = Some(Secret::new("smtp://127.0.0.1:9"));
            // It prints the script.
            settings.scripts.interpreter = "cat".to_owned();
            let folder = settings.dirs.plugins.join("shop/script");
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("nightly.php"), "{}").unwrap();
        })
        .plugin(json!({
            "id": "shop", "tables": [{"name": "goods", "columns": columns}],
            "webhook_events": [{"name": "shop.sold", "description": "Sold."}],
            "action_button": [
                {"button_id": "nightly", "type": "script", "script": "nightly.php"},
            ],
            "tasks": [{"name": "nightly", "interval_s": 60, "script": "nightly.php"}],
        }))
        .open()
        .await;
    let old = r#"insert into cms_plugins values ('old', '{"id": "old"}', true, 0)"#;
    site.database.run(old).await;
    let name = "insert into cms_plugin_names values ('event', 'older.sold', 'older', 1)";
    site.database.run(name).await;
    let acts = acts(&site, receiver).await;
    (site, acts)
}

/// The caller is revoked while the body is on its way, by a change of another process.
#[tokio::test]
async fn a_body_that_ends_after_its_caller_was_revoked_changes_nothing() {
    let receiver = Receiver::start(200).await;
    let (site, acts) = site(&receiver).await;
    let (mut id, attempts) = (1000, receiver.deliveries().len());
    for act in acts.iter().filter(|act| !act.body.is_empty()) {
        let mut callers = Vec::new();
        for way in KEY.into_iter().filter(|_| takes_keys(act)) {
            callers.push((way.0, key(&site, way).await));
        }
        for way in USER.into_iter().filter(|way| takes_keys(act) || way.0 != "reduced") {
            id += 1;
            callers.push((way.0, user(&site, id, way).await));
        }
        for (way, caller) in callers {
            let status = refused_late(&site, act, &caller, way).await;
            assert!([401, 403].contains(&status), "{} {way}: {status}", act.target);
        }
    }
    assert_eq!(receiver.deliveries().len(), attempts, "something was sent");
}

/// Everybody may submit forms, but no key that was revoked meanwhile.
#[tokio::test]
async fn a_key_that_submits_a_form_is_revoked_meanwhile() {
    let receiver = Receiver::start(200).await;
    let (site, _) = site(&receiver).await;
    let answers = json!({"form": "contact", "answers": {"a": "b"}});
    let act = Act::post("/api/form/submit", &answers, Access::Public);
    for way in KEY {
        let caller = key(&site, way).await;
        let before = site.database.rows("cms_form_submissions").await;
        let late = async { site.database.run(caller.revoke.clone()).await };
        let (status, reply) = send(&site, &act, &caller, body(&act.body, late.boxed())).await;
        assert_eq!((status, &reply["error"]), (401, &json!(caller.code)), "{}: {reply}", way.0);
        let after = site.database.rows("cms_form_submissions").await;
        assert_eq!(after, before, "{}", way.0);
    }
}

/// The caller is revoked by a change that is under way when the call comes, and that commits with
/// it or before it.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_call_that_waits_for_the_revocation_of_its_caller_changes_nothing() {
    let receiver = Receiver::start(200).await;
    let (site, acts) = site(&receiver).await;
    let all = [Right::everything()];
    for (id, act) in (5000..).zip(acts.iter().filter(|act| act.writes)) {
        let caller =
            if takes_keys(act) { key(&site, KEY[0]).await } else { user(&site, id, USER[0]).await };
        let audited = "select count(*) from cms_audit";
        let before = site.database.count(audited).await;
        let mut change = site.cms.change(Actor::Operator).await.unwrap();
        if takes_keys(act) {
            let key = caller.revoke.rsplit(' ').next().unwrap().parse().unwrap();
            site.cms.keys().delete(&mut change, &all, key).await.unwrap();
        } else {
            let held = cms_core::access::HeldPermissions::Admin;
            site.cms.accounts().revoke_sessions(&mut change, &held, id, None).await.unwrap();
        }
        let call = send(&site, act, &caller, body(&act.body, async {}.boxed()));
        let mut call = std::pin::pin!(call);
        // Time enough to be let in. A call that is later finds its caller revoked, as it should.
        let early = tokio::time::timeout(std::time::Duration::from_millis(30), &mut call).await;
        let case = format!("{} {}", act.method, act.target);
        assert!(early.is_err(), "{case} has not waited: {early:?}");
        // Both may share one commit, so neither can be awaited before the other.
        let (committed, (status, reply)) = tokio::join!(change.commit(), call);
        committed.unwrap();
        assert_eq!((status, &reply["error"]), (401, &json!(caller.code)), "{case}: {reply}");
        let after = site.database.count(audited).await;
        assert_eq!(after, before + 1, "{case} has written more than the revocation");
    }
}

/// Changes of one key may overlap without end: its revocation gets its turn all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_key_in_constant_use_is_revoked_soon() {
    let site = Site::open().await;
    let (id, value) = site.key_with(|_| {}, &["*"]).await;
    let done = std::sync::atomic::AtomicU64::new(0);
    let writer = async |number: usize| loop {
        let body = json!({"name": format!("{number} {}", done.load(SeqCst)), "value": 1});
        let ask = site.ask("POST /api/backend/item?table=settings").key(&value).json(body);
        match ask.send().await.status.as_u16() {
            401 => return,
            _ => done.fetch_add(1, SeqCst),
        };
    };
    let revoke = async {
        while done.load(SeqCst) < 100 {
            tokio::task::yield_now().await;
        }
        site.delete(&format!("/api/backend/keys?id={id}")).await;
    };
    let all = async { tokio::join!(revoke, futures_util::future::join_all((0..8).map(writer))) };
    tokio::time::timeout(std::time::Duration::from_secs(10), all).await.expect("in time");
}

/// Without a revocation the same calls are carried out: they are refused for nothing else.
#[tokio::test]
async fn the_calls_are_valid() {
    let receiver = Receiver::start(200).await;
    let (site, acts) = site(&receiver).await;
    for (id, act) in (1000..).step_by(10).zip(&acts) {
        let caller = user(&site, id, USER[0]).await;
        // What only its owner may take back or delete.
        for table in ["cms_formfunnel_bulks", "cms_formfunnel_views"] {
            site.database.run(format!("update {table} set owner = 'user:{id}'")).await;
        }
        let before = written(&site).await;
        let (status, reply) = send(&site, act, &caller, body(&act.body, async {}.boxed())).await;
        let case = format!("{} {}", act.method, act.target);
        assert!((200..300).contains(&status), "{case}: {reply}");
        assert_eq!(written(&site).await != before, act.writes, "{case}");
    }
}

/// A kept reply is not for a caller who was revoked while the repetition was on its way.
#[tokio::test]
async fn a_kept_reply_is_not_for_who_was_revoked() {
    let site = Site::open().await;
    let text = json!({"name": "a", "value": "kept"}).to_string();
    let repeat = async |caller: &Caller, late: BoxFuture<'_, ()>| {
        let request = Request::builder()
            .method("POST")
            .uri("/api/backend/item?table=settings")
            .header("host", "cms.test")
            .header("content-type", "application/json")
            .header("idempotency-key", "once")
            .header(caller.header.0, &caller.header.1);
        let reply = site.api.handle(request.body(body(&text, late)).unwrap()).await;
        reply.status().as_u16()
    };
    for way in KEY {
        site.database.run("delete from cms_settings").await;
        let caller = key(&site, way).await;
        assert_eq!(repeat(&caller, async {}.boxed()).await, 201);
        assert_eq!(repeat(&caller, async {}.boxed()).await, 201);
        let late = async { site.database.run(caller.revoke.clone()).await };
        assert_eq!(repeat(&caller, late.boxed()).await, 401, "{}", way.0);
    }
}

/// Only rights that are held when the change is made count: a caller who may do less than before,
/// but enough for the call, is not refused; rights that went are not passed on.
#[tokio::test]
async fn the_rights_at_the_end_count() {
    let site = Site::open().await;
    let (settings, keys, users) = (
        "POST /api/backend/item?table=settings",
        "POST /api/backend/keys",
        "GET /api/backend/users",
    );
    let granted = json!([Right::parse(users).unwrap()]);
    for (line, other, sent, access, expected) in [
        (settings, "GET /api/backend/keys", json!({"name": "a", "value": 1}), Access::Table, 201),
        (keys, users, json!({"name": "mine", "rights": granted}), Access::Area("keys_keys"), 403),
    ] {
        let (id, value) = site.key_with(|_| {}, &[line, other]).await;
        let rights = json!([Right::parse(line).unwrap()]).to_string();
        let caller = Caller {
            header: ("x-api-key", value),
            revoke: format!("update cms_api_keys set rights = '{rights}' where id = {id}"),
            code: "permission_denied",
        };
        let act = Act::post(line.strip_prefix("POST ").unwrap(), &sent, access);
        let late = async { site.database.run(caller.revoke.clone()).await };
        let (status, reply) = send(&site, &act, &caller, body(&act.body, late.boxed())).await;
        assert_eq!(status, expected, "{line}: {reply}");
        if expected == 403 {
            assert_eq!(reply["error"], caller.code, "{line}: {reply}");
        }
    }
}

/// Who may still write, but is no administrator any more, writes no records without events.
#[tokio::test]
async fn records_without_events_need_an_administrator_to_the_end() {
    let site = Site::open().await;
    let row = json!([Right::parse("POST /api/backend/item?table=settings").unwrap()]).to_string();
    let (key_id, value) = site.key_with(|_| {}, &["*"]).await;
    let less = "update cms_user_groups set rights = '[\"settings_settings_edit\"]' where id = {id}";
    let callers = [
        Caller {
            header: ("x-api-key", value),
            revoke: format!("update cms_api_keys set rights = '{row}' where id = {key_id}"),
            code: "permission_denied",
        },
        user(&site, 90, ("reduced", less, "permission_denied")).await,
    ];
    for caller in callers {
        let target = "/api/backend/item?table=settings";
        let row = json!({"name": "a", "value": "b"});
        let act = Act::post(&format!("{target}&no_events=true"), &row, Access::Table);
        assert_eq!(refused_late(&site, &act, &caller, "reduced").await, 403);
        // With events the same call is carried out.
        let act = Act::post(target, &json!({"name": caller.header.0, "value": "b"}), Access::Table);
        let (status, reply) = send(&site, &act, &caller, body(&act.body, async {}.boxed())).await;
        assert_eq!(status, 201, "{reply}");
    }
}
