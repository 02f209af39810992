//! An API below a path of another server, whose users and counts are that server's.

#[path = "../examples/mounted.rs"]
#[expect(dead_code, reason = "its main listens to a fixed port")]
mod mounted_program;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use cms_core::{Actor, Code, access::HeldPermissions};
use cms_http::{Api, AppUser, LimitKey, Peer, client::Client};
use http_body_util::{BodyExt as _, Empty};
use mounted_program::Desk;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

use crate::support::{
    Site,
    media::png,
    people::{PASSWORD, code},
};

#[tokio::test]
async fn paths_document_and_cookie_are_those_of_the_mount() {
    let mut site = Site::open().await;
    let ana = site.person("ana", json!([])).await;
    let picture = png(8, 8, 1);
    let path = site.upload("a.png", &picture).await.data()["path"].as_str().unwrap().to_owned();
    site.api = Api::builder(site.cms.clone()).base("/cms").cookie("shop").build().unwrap();
    assert!(path.starts_with("/media/"), "{path}");
    for file in [path.clone(), format!("/cms{path}")] {
        let served = site.ask(&format!("GET {file}")).expect(200).await;
        assert!(served.body == picture, "{file} is at both");
    }
    site.ask("GET /cms/healthz").expect(200).await;
    for elsewhere in ["/healthz", "/cmsapi/pages", "/api/pages?view=home", "/CMS/healthz", "/"] {
        let told = site.ask(&format!("GET {elsewhere}")).refused(404, "not_found").await;
        assert!(told.text().contains("the API is at /cms"), "{elsewhere}: {}", told.text());
    }
    site.ask("GET /cms/cms/healthz").refused(404, "not_found").await;
    for base in ["", "/cms"] {
        let file = format!("GET {base}/media/aa/{}.png", "b".repeat(62));
        let told = site.ask(&file).refused(404, "not_found").await;
        assert!(!told.text().contains("the API is at"), "files are at both: {}", told.text());
    }

    let document = site.admin("GET /cms/api/openapi.json").expect(200).await.json();
    assert_eq!(document["servers"], json!([{"url": "/cms"}]));
    assert_eq!(document["components"]["securitySchemes"]["Cookie"]["name"], "__Secure-shop");

    let login = json!({"username": "ana", "password": PASSWORD});
    let begun = site.ask("POST /cms/api/backend/auth/login").json(login).expect(200).await.data();
    let proof = json!({"pending_token": begun["pending_token"],
        "code": code(&ana.secret, site.clock.now())});
    let done = site.ask("POST /cms/api/backend/auth/verify").json(proof).expect(200).await;
    let cookie = done.header("set-cookie").to_owned();
    assert!(cookie.starts_with("__Secure-shop=") && cookie.contains("; Path=/cms; "), "{cookie}");
    let token = done.data()["token"].as_str().unwrap().to_owned();
    let me = "GET /cms/api/backend/auth/me";
    site.ask(me).header("cookie", format!("__Secure-shop={token}")).expect(200).await;
    let other = site.ask(me).header("cookie", format!("__Host-cms_session={token}"));
    other.refused(401, "login_required").await;
}

#[tokio::test]
async fn the_document_names_the_path_that_a_proxy_removes() {
    let at = |url: &str| {
        let url = url.to_owned();
        move |settings: &mut cms_core::settings::Settings| settings.api_url = Some(url)
    };
    for (url, server) in [("https://a.org/cms", "/cms"), ("https://api.a.org", "/")] {
        let site = Site::with(at(url)).await;
        let document = site.admin("GET /api/openapi.json").expect(200).await.json();
        assert_eq!(document["servers"], json!([{"url": server}]), "{url}");
    }
}

#[tokio::test]
async fn users_of_the_application_are_judged_for_changes_of_their_own() {
    let site = Site::open().await;
    let (anna, bob) = (AppUser::new("anna"), AppUser::new("bob"));
    for actor in [bob.actor(), Actor::Operator, Actor::System] {
        let change = site.cms.change(actor.clone()).await.unwrap();
        let judged = site.cms.accounts().judge_app_user(change, &anna).await;
        let refused = judged.err().expect("refused");
        assert_eq!(refused.code(), Code::Internal, "{actor:?}");
        assert!(format!("{refused:?}").contains("a change of another actor"), "{refused:?}");
    }
    let change = site.cms.change(anna.actor()).await.unwrap();
    let (change, rights) = site.cms.accounts().judge_app_user(change, &anna).await.unwrap();
    assert_eq!(rights, HeldPermissions::default());
    change.commit().await.unwrap();
}

#[tokio::test]
async fn users_of_the_application_have_the_rights_that_it_names() {
    let site = Site::open().await;
    let group = site.group("Editors", json!(["pages_pages_view", "settings_settings_edit"])).await;
    let anna = || AppUser::new("anna@example.org").group("editors").by_token();
    let claim = || json!({"name": "claim", "value": "Hello", "public": true});
    let write = "POST /api/backend/item?table=settings";

    let me = site.ask("GET /api/backend/auth/me").extension(anna()).expect(200).await;
    assert_eq!(me.header("cache-control"), "private, no-cache");
    let me = me.data();
    assert_eq!((&me["id"], &me["username"]), (&json!(null), &json!("anna@example.org")));
    assert_eq!(me["rights"], json!(["pages_pages_view", "settings_settings_edit"]));
    site.ask("GET /api/backend/item?table=pages").extension(anna()).expect(200).await;
    site.ask(write).extension(anna()).json(claim()).expect(201).await;
    let keys = "GET /api/backend/keys";
    site.ask(keys).extension(anna()).refused(403, "permission_denied").await;
    site.ask("GET /api/backend/audit?actor=application").extension(anna()).expect(403).await;
    let acts = site.get("/api/backend/audit?actor=application").await;
    let actor = json!({"kind": "application", "id": null, "name": "anna@example.org"});
    assert_eq!((&acts[0]["actor"], acts.as_array().map(Vec::len)), (&actor, Some(1)));

    // The account is the application's.
    let own = site.ask("GET /api/backend/auth/sessions").extension(anna());
    own.refused(403, "permission_denied").await;
    // A key that is sent as well does not count, and nobody is told of it.
    site.ask(keys).extension(anna()).key(&site.admin).refused(403, "permission_denied").await;

    // Rights without a group; nobody grants what he does not hold.
    let all = || AppUser::new("root").rights(HeldPermissions::Admin).by_token();
    site.ask(keys).extension(all()).expect(200).await;
    let permissions = ["keys_keys_view", "keys_keys_edit"].map(str::to_owned);
    let some = || {
        let rights = HeldPermissions::Only(permissions.iter().cloned().collect());
        AppUser::new("clerk").rights(rights).by_token()
    };
    let key = |right| json!({"name": "k", "rights": [right]});
    let make = "POST /api/backend/keys";
    let beyond = key(json!({"endpoint": "*"}));
    site.ask(make).extension(some()).json(beyond).refused(403, "permission_denied").await;
    let within = key(json!({"endpoint": "/api/backend/keys", "methods": ["GET"]}));
    site.ask(make).extension(some()).json(within).expect(201).await;

    // Groups count as they are now.
    site.patch(&format!("/api/backend/user_groups?id={group}"), json!({"rights": []})).await;
    site.ask(write).extension(anna()).json(claim()).refused(403, "permission_denied").await;
    let unknown = AppUser::new("bob").group("edditors");
    let told = site.ask("GET /api/backend/item?table=pages").extension(unknown.clone());
    let told = told.refused(403, "permission_denied").await.text();
    assert!(told.contains("edditors"), "{told}");
    site.ask("GET /api/settings").extension(unknown).expect(200).await;
    let unknown = AppUser::new("bob").group("edditors");
    site.ask("GET /api/backend/auth/me").extension(unknown).expect(403).await;
    for name in ["", " ", "a\u{202e}b", &"x".repeat(201)] {
        site.ask(keys).extension(AppUser::new(name)).refused(500, "internal_error").await;
    }
}

/// What belongs to one user of the application is no other's.
#[tokio::test]
async fn users_of_the_application_are_told_apart() {
    let site = Site::open().await;
    let user = |name: &str| AppUser::new(name).rights(HeldPermissions::Admin).by_token();
    let view = json!({"name": "Mine", "query": {}});
    let make = "POST /api/backend/formfunnel/views";
    let made = site.ask(make).extension(user("anna")).json(view).send().await;
    let list = async |name: &str| {
        let list = site.ask("GET /api/backend/formfunnel/views").extension(user(name));
        list.expect(200).await.data().as_array().map(Vec::len)
    };
    assert!(made.status.is_success(), "{}", made.text());
    assert_eq!((list("anna").await, list("bob").await), (Some(1), Some(0)));

    let write = |name: &str| {
        let ask = site.ask("POST /api/backend/item?table=settings").extension(user(name));
        let ask = ask.header("idempotency-key", "one");
        ask.json(json!({"name": name, "value": "x"})).expect(201)
    };
    let (anna, bob, again) = (write("anna").await, write("bob").await, write("anna").await);
    assert!(anna.data() != bob.data() && anna.data() == again.data());
    assert!(again.headers.contains_key("idempotency-replayed"));
    assert!(!bob.headers.contains_key("idempotency-replayed"));
}

/// The login to the site itself knows no user of the application.
#[tokio::test]
async fn a_user_of_the_application_may_log_in_to_the_site() {
    let site = Site::open().await;
    site.person("ana", json!([])).await;
    let login = json!({"username": "ana", "password": PASSWORD});
    let user = AppUser::new("root").group("nowhere");
    site.ask("POST /api/backend/auth/login").extension(user).json(login).expect(200).await;
}

/// A stream of events that this caller opens; it ends by itself.
async fn stream(site: &Site, caller: http::request::Builder) -> JoinHandle<bool> {
    let request = caller.uri("/api/backend/events/stream").header("host", "cms.test");
    let reply = site.api.handle(request.body(Empty::<bytes::Bytes>::new()).unwrap()).await;
    assert_eq!(reply.status(), 200);
    let mut body = reply.into_body();
    assert!(body.frame().await.unwrap().is_ok(), "it begins");
    tokio::spawn(async move { body.collect().await.is_ok() })
}

/// The end of a stream, without an error.
async fn ends(stream: JoinHandle<bool>) {
    let ended = tokio::time::timeout(Duration::from_secs(10), stream).await;
    assert!(ended.expect("it ends").unwrap(), "without an error");
}

/// Whoever loses rights loses the stream.
#[tokio::test]
async fn a_stream_ends_with_the_rights_of_the_groups() {
    let site = Site::open().await;
    let group = site.group("hooks", json!(["webhooks_subscriptions_edit"])).await;
    let user = AppUser::new("anna").group("hooks").by_token();
    let stream = stream(&site, http::Request::builder().extension(user)).await;
    site.delete(&format!("/api/backend/user_groups?id={group}")).await;
    ends(stream).await;
}

/// Whoever closes the site without its server ends the streams too.
#[tokio::test]
async fn streams_end_with_the_site() {
    let site = Site::open().await;
    let stream = stream(&site, http::Request::builder().header("x-api-key", &site.admin)).await;
    site.cms.close().await;
    ends(stream).await;
}

/// A cookie of the application is sent for pages of other websites as well.
#[tokio::test]
async fn a_user_of_the_application_changes_things_from_pages_that_may_call() {
    let site = Site::open().await;
    let write = || {
        let all = AppUser::new("root").rights(HeldPermissions::Admin);
        let record = json!({"name": "claim", "value": "Hello"});
        site.ask("POST /api/backend/item?table=settings").extension(all).json(record)
    };
    write().refused(403, "csrf").await;
    write().header("origin", "https://evil.test").refused(403, "origin_not_allowed").await;
    write().header("origin", "https://cms.test").expect(201).await;
}

#[tokio::test]
async fn requests_count_by_what_the_application_names() {
    let counted = |settings: &mut cms_core::settings::Settings| {
        settings.limiter.store = cms_core::settings::LimiterStore::Memory;
    };
    let site = Site::with(counted).await;
    let peer = |last: u8| Peer(SocketAddr::from(([192, 0, 2, last], 50_000)));
    let left = async |last: u8, tenant: Option<&str>| {
        let mut ask = site.ask("GET /api/settings").peer(peer(last));
        if let Some(tenant) = tenant {
            ask = ask.extension(LimitKey(tenant.to_owned()));
        }
        ask.expect(200).await.header("x-ratelimit-remaining").parse::<u32>().unwrap()
    };
    assert_eq!((left(1, None).await, left(1, None).await, left(2, None).await), (99, 98, 99));
    assert_eq!((left(1, Some("a")).await, left(2, Some("a")).await), (99, 98));
    assert_eq!((left(1, Some("b")).await, left(1, None).await), (99, 97));
    // A guess counts for its address, whatever it is said to count for.
    let guess = site.ask("GET /api/settings").peer(peer(9)).key("cms_k1_wrong");
    let guess = guess.extension(LimitKey("a".to_owned())).expect(401).await;
    assert_eq!(guess.header("x-ratelimit-remaining"), "99");
    let of_user = async |name: &str| {
        let user = AppUser::new(name).rights(HeldPermissions::Admin);
        let reply = site.ask("GET /api/settings").peer(peer(1)).extension(user).expect(200).await;
        reply.header("x-ratelimit-remaining").parse::<u32>().unwrap()
    };
    let (first, second) = (of_user("anna").await, of_user("anna").await);
    assert_eq!((first - second, of_user("bob").await), (1, first));
    let owners = site.admin("GET /api/backend/limits").expect(200).await.text();
    assert!(owners.contains("\"app:"), "{owners}");
}

/// The example, on a real socket: its own pages, the API below `/cms`, its own login, an endpoint
/// that sees all of a request; an open stream does not keep it from ending.
#[tokio::test]
async fn an_application_with_the_api_below_a_path() {
    let site = Site::builder().await.program(Desk::new().unwrap()).open().await;
    let rights = ["pages_pages_edit", "settings_settings_view", "settings_settings_edit"];
    site.group("editors", json!(rights)).await;
    // It is there already, and keeps its rights.
    mounted_program::make_group(&site.cms).await.unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let stop = Arc::new(tokio::sync::Notify::new());
    let stopped = stop.clone();
    let stopped = async move { stopped.notified().await };
    let serving = tokio::spawn(mounted_program::serve(site.cms.clone(), listener, stopped));
    let http = cms_http::client::transport().unwrap().build().unwrap();
    let at = |path: &str| format!("http://{address}{path}");
    let got = async |path: &str| http.get(at(path)).send().await.unwrap();

    assert_eq!(got("/").await.text().await.unwrap(), "from the application");
    assert_eq!(got("/cms/healthz").await.status(), 200);
    assert_eq!(got("/healthz").await.status(), 404);
    assert_eq!(got("/media/aa/b.png").await.headers()["content-type"], "application/problem+json");
    let anna = http.post(at("/cms/api/backend/item?table=settings"));
    let anna = anna.header("authorization", "Bearer anna-was-here");
    let anna = anna.header("content-type", "application/json").body(r#"{"name":"a","value":"b"}"#);
    assert_eq!(anna.send().await.unwrap().status(), 201);
    // A route of the application's own, which judges its caller and answers as the API does.
    let note = || http.post(at("/payments"));
    let refused = note().send().await.unwrap();
    assert_eq!(refused.status(), 401);
    assert_eq!(refused.headers()["content-type"], "application/problem+json");
    let noted = note().header("authorization", "Bearer anna-was-here").send().await.unwrap();
    assert_eq!(noted.status(), 204);
    let paid = async |signature: &str| {
        let call = http.post(at("/cms/api/paid")).header("x-signature", signature).body("a=1&b=2");
        let reply = call.send().await.unwrap();
        (reply.status().as_u16(), reply.headers().get("x-accepted").cloned())
    };
    assert_eq!(paid("7 bytes").await, (202, Some("yes".parse().unwrap())));
    assert_eq!(paid("forged").await, (400, None));
    let paid = "select count(*) from cms_events where name = 'desk.paid'";
    assert_eq!(site.database.count(paid).await, 2, "by anna and by the provider");

    // `cms --url http://host/cms` speaks to it as well.
    let credential = cms_http::client::Credential::Key(cms_http::Secret::new(&site.admin));
    let client = Client::remote(&at("/cms"), &credential).unwrap();
    let ask = cms_http::client::Ask::get("/api/backend/keys");
    assert!(client.send(ask).await.is_ok());

    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "GET /cms/api/backend/events/stream HTTP/1.1\r\nhost: x\r\nx-api-key: {}\r\n\r\n",
        site.admin
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut text = String::new();
    while !text.contains("\r\n\r\n") {
        let mut bytes = [0; 1024];
        let read = stream.read(&mut bytes).await.unwrap();
        assert!(read > 0, "{text}");
        text.push_str(std::str::from_utf8(&bytes[..read]).unwrap());
    }
    assert!(text.starts_with("HTTP/1.1 200"), "{text}");
    stop.notify_one();
    let ended = tokio::time::timeout(Duration::from_secs(10), serving).await;
    ended.expect("an open stream does not hold it up").unwrap().unwrap();
}

#[tokio::test]
async fn a_mount_that_cannot_be_is_refused() {
    let site = Site::open().await;
    for (base, cookie, field) in
        [("cms", "a", "base"), ("/cms/", "a", "base"), ("", "a b", "cookie")]
    {
        let made = Api::builder(site.cms.clone()).base(base).cookie(cookie).build();
        let error = made.err().expect(base);
        assert_eq!(error.code(), Code::ValidationFailed, "{base} {cookie}");
        assert_eq!(error.fields()[0].field, field, "{base} {cookie}");
    }
}
