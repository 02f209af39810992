//! Handlers that look at all of a request, and answer with more than JSON.

use std::{net::SocketAddr, sync::Arc};

use cms_core::{
    Actor, Result,
    access::HeldPermissions,
    plugins::{EndpointReply, Plugin},
};
use cms_http::{AppUser, Peer};
use futures_util::{StreamExt as _, stream};
use serde_json::json;
use tokio::sync::Notify;

use crate::support::{
    Site,
    log::Log,
    plugins::{program, table},
    until, with,
};

/// What a layer of the application adds.
#[derive(Clone)]
struct Tenant(&'static str);

/// A plugin of handlers; the last tells when it was asked, and waits until it may go on.
fn plugin(asked: &Arc<Notify>, go: &Arc<Notify>) -> impl Plugin {
    let endpoint = |name: &str, methods: &[&str]| {
        let named = json!({"modelPath": name, "endpoint": name, "public": true});
        with(named, json!({"methods": methods}))
    };
    let (get, post) = (&["GET"], &["POST"]);
    let manifest = json!({
        "id": "office",
        "content_button": [{"button_id": "act", "type": "edit",
            "editable_rows": [{"column": "text", "type": "text"}]}],
        "tables": [table("letters", "text text")],
        "endpoints": [
            endpoint("whole", &["GET", "POST"]), endpoint("answers", &["GET", "POST"]),
            endpoint("typed", post), endpoint("panics", get), endpoint("breaks", get),
            {"modelPath": "whole", "endpoint": "letters/{id}/copies/{copy}"},
            {"modelPath": "whole", "endpoint": "letters/{letter}/gone", "methods": ["POST"],
             "public": true},
            {"modelPath": "letters", "endpoint": "backend/letters"},
            {"modelPath": "whole", "endpoint": "backend/letters/{id}/{part}"},
            {"modelPath": "waits", "endpoint": "waits", "methods": ["POST"]},
        ],
    });
    let (asked, go) = (asked.clone(), go.clone());
    program(manifest, move |handlers| {
        let (asked, go) = (asked.clone(), go.clone());
        handlers
            .endpoint("whole", &[], |call| async move {
                let who = match call.actor() {
                    Actor::Key { .. } => "key".to_owned(),
                    Actor::User { name, .. } | Actor::Application { name } => name.clone(),
                    other => format!("{other:?}"),
                };
                let settings = call.cms()?.settings().product.clone();
                assert!(!format!("{:?}", call.headers()).contains("secret"));
                Ok(json!({
                    "path": call.path(), "query": call.query(), "a": call.header("x-a"),
                    "tenant": call.extension::<Tenant>().map(|tenant| tenant.0),
                    "client": call.client(), "who": who, "product": settings,
                    "admin": *call.rights() == HeldPermissions::Admin,
                    "bytes": call.bytes().len(), "body": call.body(),
                }))
            })
            .endpoint("typed", &[], |call| async move {
                let (name, number): (String, u8) = call.body_as()?;
                Ok(json!([number, name]))
            })
            .endpoint("answers", &[], |call| async move { Ok(answers(call.parameter("with"))) })
            .endpoint("panics", &[], |_| async { panicking() })
            .endpoint("breaks", &[], |_| async {
                let parts = stream::iter(0..3).map(|n: u8| match n {
                    0 => Ok("begun".into()),
                    _ => panic!("half-way"),
                });
                Ok(EndpointReply::stream("text/plain", parts.boxed()))
            })
            .endpoint("waits", &[], move |call| {
                let (asked, go) = (asked.clone(), go.clone());
                async move {
                    asked.notify_one();
                    go.notified().await;
                    let mut change = call.change().await?;
                    let letter = json!({"text": "late"});
                    let letter = letter.as_object().cloned().unwrap_or_default();
                    call.items().create(&mut change, "letters", &letter).await?;
                    change.commit().await?;
                    Ok(json!("written"))
                }
            })
    })
}

fn panicking() -> Result<EndpointReply> {
    panic!("a faulty handler")
}

fn answers(with: Option<&str>) -> EndpointReply {
    match with {
        Some("created") => EndpointReply::data(&json!({"id": 7})).status(201).header("x-a", "b"),
        Some("plain") => EndpointReply::data(&json!({"id": 8})).status(202),
        Some("busy") => EndpointReply::data(&json!("later")).status(503),
        Some("html") => EndpointReply::bytes("text/html; charset=utf-8", "<p>Hi</p>"),
        Some("redirect") => EndpointReply::redirect("/elsewhere"),
        Some("stream") => {
            let parts = stream::iter(["one,", "two"].map(|part| Ok(part.into())));
            EndpointReply::stream("text/csv", parts.boxed())
        }
        Some("cookies") => {
            EndpointReply::empty().header("set-cookie", "a=1").header("set-cookie", "b=2")
        }
        Some("fault") => EndpointReply::empty().header("content-length", "7"),
        _ => EndpointReply::empty(),
    }
}

async fn office() -> Site {
    Site::builder().await.program(plugin(&Arc::default(), &Arc::default())).open().await
}

#[tokio::test]
async fn a_handler_sees_the_whole_request() {
    let site = office().await;
    let peer = Peer(SocketAddr::from(([192, 0, 2, 7], 50_000)));
    let ask = site.ask("POST /api/whole?b=1&c=%C3%A4").peer(peer).extension(Tenant("north"));
    let ask = ask.header("x-a", "1").header("cookie", "a=secret").header("content-type", "text/x");
    let seen = ask.body(b"\xff\x00\xfe".to_vec()).expect(200).await.data();
    let expected = json!({
        "path": "/api/whole", "query": [["b", "1"], ["c", "ä"]], "a": "1", "tenant": "north",
        "client": "192.0.2.7", "who": "Visitor", "product": site.cms.settings().product,
        "admin": false, "bytes": 3, "body": null,
    });
    assert_eq!(seen, expected);
    // JSON comes parsed and as it was sent; what claims to be JSON and is none goes no further.
    let json = site.admin("POST /api/whole").body("{\"n\": 1.50}").expect(200).await.data();
    assert_eq!((&json["bytes"], &json["body"]), (&json!(11), &json!({"n": 1.5})));
    assert_eq!(
        (&json["who"], &json["admin"], &json["client"]),
        (&json!("key"), &json!(true), &json!(null))
    );
    site.admin("POST /api/whole").body("{").refused(400, "bad_json").await;
    let none = site.admin("POST /api/whole").expect(200).await.data();
    assert_eq!((&none["bytes"], &none["body"]), (&json!(0), &json!(null)));
    let anna = AppUser::new("anna").rights(HeldPermissions::default());
    let anna = site.ask("GET /api/whole").extension(anna).expect(200).await.data();
    assert_eq!((&anna["who"], &anna["admin"]), (&json!("anna"), &json!(false)));

    let typed = site.post("/api/typed", json!(["a", 7])).await;
    assert_eq!(typed, json!([7, "a"]));
    let wrong = site.invalid("POST /api/typed", json!(["a", 700])).await;
    assert!(wrong["errors"][0]["message"].as_str().unwrap().contains("700"), "{wrong}");
}

/// They are parameters like those of the query: rights bind them, dashes stay dashes.
#[tokio::test]
async fn parts_of_a_path_are_parameters() {
    let site = office().await;
    let copies = "/api/letters/7-x/copies/a%20b";
    let seen = site.get(&format!("{copies}?c=1")).await;
    assert_eq!(seen["path"], "/api/letters/{id}/copies/{copy}");
    assert_eq!(seen["query"], json!([["id", "7-x"], ["copy", "a b"], ["c", "1"]]));
    site.admin(&format!("GET {copies}?id=8")).refused(400, "bad_query").await;
    site.admin("GET /api/letters/7/copies").refused(404, "not_found").await;
    site.admin("GET /api/letters//copies/1").refused(400, "bad_query").await;
    let literal = site.get("/api/letters/%7Bid%7D/copies/1").await;
    assert_eq!(literal["query"][0], json!(["id", "{id}"]));
    site.ask(&format!("GET {copies}")).refused(401, "api_key_missing").await;
    let gone = site.ask("POST /api/letters/9/gone").expect(200).await.data();
    assert_eq!(gone["query"], json!([["letter", "9"]]));
    let put = site.ask("GET /api/letters/9/gone").refused(405, "method_not_allowed").await;
    assert_eq!(put.header("allow"), "POST");
    // A record of a table that another endpoint reads.
    let own = site.admin("GET /api/backend/letters/77").refused(404, "not_found").await;
    assert!(own.text().contains("77"), "{}", own.text());

    let bound = site.key(&["GET /api/letters/{id}/copies/{copy}?id=7-x"]).await;
    site.ask(&format!("GET {copies}")).key(&bound).expect(200).await;
    let other = site.ask("GET /api/letters/7_x/copies/1").key(&bound);
    other.refused(401, "api_key_forbidden").await;
    let document = site.admin("GET /api/openapi.json").expect(200).await.json();
    let shown = &document["paths"]["/api/letters/{id}/copies/{copy}"]["get"]["parameters"];
    let names: Vec<_> =
        shown.as_array().unwrap().iter().map(|one| (&one["name"], &one["in"])).collect();
    let path = &json!("path");
    assert_eq!(names, [(&json!("copy"), path), (&json!("id"), path)], "{shown}");
}

#[tokio::test]
async fn a_handler_answers_as_it_likes() {
    let site = office().await;
    let ask = async |with: &str, status: u16| {
        site.ask(&format!("GET /api/answers?with={with}")).expect(status).await
    };
    let created = ask("created", 201).await;
    assert_eq!((created.data(), created.header("x-a")), (json!({"id": 7}), "b"));
    let html = ask("html", 200).await;
    assert_eq!(
        (html.text().as_str(), html.header("content-type")),
        ("<p>Hi</p>", "text/html; charset=utf-8")
    );
    assert_eq!(html.header("x-content-type-options"), "nosniff");
    let redirect = ask("redirect", 303).await;
    assert_eq!((redirect.header("location"), redirect.body.len()), ("/elsewhere", 0));
    let stream = ask("stream", 200).await;
    assert_eq!((stream.text().as_str(), stream.header("content-type")), ("one,two", "text/csv"));
    let cookies = ask("cookies", 204).await;
    assert_eq!(cookies.headers.get_all("set-cookie").iter().count(), 2);
    site.ask("GET /api/answers?with=fault").refused(500, "internal_error").await;
    let head = site.ask("HEAD /api/answers?with=html").expect(200).await;
    assert_eq!((head.body.len(), head.header("content-length")), (0, "9"));
}

/// A reply that says more than its JSON is not shown again, and its work is not done again.
#[tokio::test]
async fn a_reply_that_cannot_be_kept_is_not_made_twice() {
    let site = office().await;
    for (with, status) in [("html", 200), ("redirect", 303), ("cookies", 204), ("created", 201)] {
        let ask = || {
            let ask = site.admin(&format!("POST /api/answers?with={with}"));
            ask.header("idempotency-key", with)
        };
        ask().expect(status).await;
        ask().refused(409, "idempotency_spent").await;
    }
    let plain = || {
        let ask = site.admin("POST /api/answers?with=plain");
        ask.header("idempotency-key", "plain").expect(202)
    };
    let (first, again) = (plain().await, plain().await);
    assert_eq!((first.data(), again.header("idempotency-replayed")), (again.data(), "true"));
    // A refusal keeps nothing, as an error does.
    for _ in 0..2 {
        let ask = site.admin("POST /api/answers?with=busy").header("idempotency-key", "busy");
        assert!(!ask.expect(503).await.headers.contains_key("idempotency-replayed"));
    }
}

#[tokio::test]
async fn a_panic_is_a_problem_and_the_log_has_its_request() {
    let site = office().await;
    let log = Log::begin();
    let reply = site.ask("GET /api/panics").refused(500, "internal_error").await;
    assert!(!reply.text().contains("faulty"), "{}", reply.text());
    let log = log.end();
    let line = log.lines().find(|line| line.contains("a faulty handler")).expect("a line");
    assert!(line.contains(reply.header("x-request-id")), "{line}");
    site.ask("GET /api/whole").expect(200).await;

    use http_body_util::BodyExt as _;
    let request = http::Request::get("/api/breaks").header("host", "cms.test");
    let nothing = http_body_util::Empty::<bytes::Bytes>::new();
    let mut body = site.api.handle(request.body(nothing).unwrap()).await.into_body();
    let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
    assert_eq!(first, "begun");
    assert!(body.frame().await.unwrap().is_err(), "it is broken off");
    assert!(body.frame().await.is_none());
}

/// Rights that are taken away while a handler works count when its change begins.
#[tokio::test]
async fn whoever_was_revoked_meanwhile_writes_nothing() {
    let (asked, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let site = Site::builder().await.program(plugin(&asked, &go)).open().await;
    let group = site.group("clerks", json!(["office_act_edit"])).await;
    let user = || AppUser::new("anna").group("clerks").by_token();
    let (reply, ()) = tokio::join!(site.ask("POST /api/waits").extension(user()).send(), async {
        asked.notified().await;
        let patch = format!("/api/backend/user_groups?id={group}");
        site.patch(&patch, json!({"rights": []})).await;
        go.notify_one();
    });
    assert_eq!((reply.status.as_u16(), &reply.json()["error"]), (403, &json!("permission_denied")));
    assert_eq!(site.database.rows("letters").await, 0);
}

/// Handlers get the site without keeping it open.
#[tokio::test]
async fn a_site_is_gone_with_its_last_handle() {
    let asked = Arc::new(Notify::new());
    let held = Arc::downgrade(&asked);
    let site = Site::builder().await.program(plugin(&asked, &Arc::default())).open().await;
    drop(asked);
    site.ask("GET /api/whole").expect(200).await;
    site.cms.close().await;
    let Site { cms, api, database, .. } = site;
    assert!(held.upgrade().is_some(), "the plugin is there with its site");
    drop((cms, api));
    // Work of the site that ends holds it for a moment.
    until("it is gone", async || held.upgrade().is_none()).await;
    drop(database);
}
