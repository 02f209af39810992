//! `/api/backend/keys`: keys are made, changed, rotated, checked, removed.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use crate::support::{Site, each, has};

const PAGES: &str = "GET /api/pages";

const KEYS: &str = "/api/backend/keys";

/// A right to one endpoint.
fn right(endpoint: &str, methods: Json) -> Json {
    json!([{"endpoint": endpoint, "methods": methods}])
}

/// The value of a key that was made or rotated.
fn value(made: &Json) -> String {
    made["key"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_key_is_managed_through_the_api() {
    let site = Site::open().await;
    let rights = right("/api/pages", json!(["GET"]));
    let body = json!({"name": "shop", "expires_on": "2027-01-31", "rights": rights});
    let created = site.create(KEYS, body).await;
    let one = format!("{KEYS}?id={}", created["id"]);
    let (key, prefix) = (value(&created), created["prefix"].as_str().unwrap());
    assert!(key.starts_with(prefix) && prefix.len() == "cms_k1_".len() + 6);
    let shown = site.admin(&format!("GET {one}")).expect(200).await;
    assert!(!shown.text().contains(&key));
    let names: BTreeSet<_> = shown.data().as_object().unwrap().keys().cloned().collect();
    let listed = site.cms.list_columns("keys").into_iter().map(|column| column.name);
    assert_eq!(names, listed.chain(["rights".to_owned()]).collect::<BTreeSet<_>>());

    site.ask(PAGES).key(&key).expect(200).await;
    site.ask("GET /api/menu").key(&key).refused(401, "api_key_forbidden").await;
    let used = site.get(&one).await;
    has!(used, {"requests": 2, "denied": 1, "last_used_at": "2026-11-21T09:30:00Z"});
    site.cms.flush().await.unwrap();
    let counted = "select requests * 10 + denied from cms_api_keys where id = ";
    assert_eq!(site.database.count(&format!("{counted}{}", created["id"])).await, 21);

    let denied = site.get(&format!("{KEYS}/denied?id={}", created["id"])).await;
    let of_menu = right("/api/menu", json!(["GET"]));
    assert_eq!(denied, json!({"at": "2026-11-21T09:30:00Z", "right": of_menu[0]}));

    let check = |method: &str, path: &str| {
        let line = format!("GET {KEYS}/check?id={}&method={method}&path={path}", created["id"]);
        site.admin(&line)
    };
    let forbidden = json!({"allowed": false, "reason": "api_key_forbidden"});
    for (method, path, expected) in [
        ("HEAD", "/api/pages", json!({"allowed": true, "reason": "allowed"})),
        ("GET", "/api/p%2561ges?view=a%2520b", json!({"allowed": true, "reason": "allowed"})),
        ("GET", "/api/menu", forbidden),
    ] {
        assert_eq!(check(method, path).expect(200).await.data(), expected, "{path}");
    }
    check("GET", "/api//pages").refused(400, "bad_query").await;
    for other in ["get", "Head", "FETCH", ""] {
        check(other, "/api/pages").refused(400, "bad_query").await;
    }

    let patch = async |body: Json| site.patch(&one, body).await;
    patch(json!({"active": false})).await;
    site.ask(PAGES).key(&key).refused(401, "api_key_disabled").await;
    assert_eq!(check("GET", "/api/pages").expect(200).await.data()["reason"], "api_key_disabled");
    let patched = patch(json!({"active": true, "expires_on": null, "name": "Shop"})).await;
    has!(patched, {"expires_on": null, "name": "Shop"});
    site.ask(PAGES).key(&key).expect(200).await;

    site.delete(&one).await;
    site.ask(PAGES).key(&key).refused(401, "api_key_invalid").await;
    site.admin(&format!("DELETE {one}")).refused(404, "not_found").await;
    assert_eq!(site.database.rows("cms_api_key_values").await, 1);
    let audit = each(&site.get("/api/backend/audit").await, "action");
    assert_eq!(audit[..4], ["delete", "update", "update", "create"]);
}

#[tokio::test]
async fn wrong_keys_are_not_made() {
    let site = Site::open().await;
    let before = site.traces().await;
    let get = || json!(["GET"]);
    for (body, field) in [
        (json!({"name": "", "rights": []}), "name"),
        (json!({"name": "x".repeat(101)}), "name"),
        (json!({"name": "x", "expires_on": "2027-02-30"}), "expires_on"),
        (json!({"name": "x", "rights": right("/api/nothing", get())}), "rights[0].endpoint"),
        (json!({"name": "x", "rights": right("/api/pages", json!(["POST"]))}), "rights[0].methods"),
        (json!({"name": "x", "rights": right("/api/pages", json!([]))}), "rights[0].methods"),
        (json!({"name": "x", "rights": right("*", get())}), "rights[0]"),
    ] {
        let refused = site.invalid("POST /api/backend/keys", body.clone()).await;
        assert_eq!(each(&refused["errors"], "field"), [field], "{body}");
    }
    for body in [
        json!({}),
        json!({"name": 5}),
        json!({"name": "x", "nmae": "y"}),
        json!({"name": "x", "rights": "all"}),
    ] {
        site.invalid("POST /api/backend/keys", body).await;
    }
    assert_eq!(site.traces().await, before);
}

#[tokio::test]
async fn nobody_grants_what_he_does_not_hold() {
    let site = Site::open().await;
    let (admin_id, _) = site.key_with(|_| {}, &["*"]).await;
    let own = [
        "GET,POST,PATCH,DELETE /api/backend/keys",
        "POST /api/backend/keys/rotate",
        "GET /api/pages",
    ];
    let (id, key) = site.key_with(|_| {}, &own).await;
    let ask = |line: &str, body: Json| site.ask(line).key(&key).json(body);
    let (small, _) = site.key_with(|_| {}, &["GET /api/pages"]).await;
    let before = site.traces().await;
    let (new, everything) = ("POST /api/backend/keys".to_owned(), json!([{"endpoint": "*"}]));
    let of_menu = right("/api/menu", json!(["GET"]));
    for (line, body) in [
        (new.clone(), json!({"name": "x", "rights": everything})),
        (new.clone(), json!({"name": "x", "rights": of_menu})),
        (format!("PATCH {KEYS}?id={id}"), json!({"rights": everything})),
        (format!("PATCH {KEYS}?id={id}"), json!({"grant": everything})),
        (format!("PATCH {KEYS}?id={admin_id}"), json!({"name": "mine"})),
        (format!("POST {KEYS}/rotate?id={admin_id}"), json!({})),
        (format!("DELETE {KEYS}?id={admin_id}"), json!({})),
    ] {
        ask(&line, body).refused(403, "permission_denied").await;
    }
    assert_eq!(site.traces().await, before);
    ask(&format!("POST {KEYS}/rotate?id={small}"), json!({})).expect(200).await;
    let granted = json!({"name": "x", "rights": right("/api/pages", json!(["GET"]))});
    ask(&new, granted).expect(201).await;
}

#[tokio::test]
async fn rotation_with_and_without_grace() {
    let site = Site::open().await;
    let (id, first) = site.key_with(|_| {}, &[PAGES]).await;
    let rotate = |body: Json| site.admin(&format!("POST {KEYS}/rotate?id={id}")).json(body);
    let next = async |body: Json| value(&rotate(body).expect(200).await.data());
    let second = next(json!({})).await;
    site.ask(PAGES).key(&first).refused(401, "api_key_invalid").await;
    site.ask(PAGES).key(&second).expect(200).await;
    let third = next(json!({"grace_s": 60})).await;
    site.clock.advance(59_999);
    for key in [&second, &third] {
        site.ask(PAGES).key(key).expect(200).await;
    }
    site.clock.advance(1);
    site.ask(PAGES).key(&second).refused(401, "api_key_invalid").await;
    site.ask(PAGES).key(&third).expect(200).await;
    for grace in [-1, 604_801] {
        rotate(json!({"grace_s": grace})).refused(422, "validation_failed").await;
    }
    let empty = site.admin(&format!("POST {KEYS}/rotate?id={id}")).expect(200).await;
    assert!(empty.data()["key"].is_string(), "the body may be left out");
    // A rotation without grace ends the graces before it as well.
    let fourth = next(json!({"grace_s": 604_800})).await;
    let fifth = next(json!({"grace_s": 60})).await;
    next(json!({})).await;
    for key in [&third, &fourth, &fifth] {
        site.ask(PAGES).key(key).refused(401, "api_key_invalid").await;
    }
}

/// What others grant and revoke meanwhile stays as they left it.
#[tokio::test]
async fn rights_are_granted_and_revoked_exactly() {
    let site = Site::open().await;
    let get = |path: &str| right(path, json!(["GET"]));
    let made = site.create(KEYS, json!({"name": "shop", "rights": get("/api/pages")})).await;
    let one = format!("{KEYS}?id={}", made["id"]);
    for (body, left) in [
        (json!({"grant": get("/api/menu")}), &["/api/pages", "/api/menu"][..]),
        (json!({"revoke": get("/api/pages")}), &["/api/menu"]),
        (json!({"revoke": get("/api/pages"), "grant": get("/api/menu")}), &["/api/menu"]),
        (json!({"rights": [], "grant": get("/api/settings")}), &["/api/settings"]),
    ] {
        let key = site.patch(&one, body.clone()).await;
        let rows = key["rights"].as_array().unwrap();
        let endpoints: Vec<_> = rows.iter().map(|row| row["endpoint"].as_str().unwrap()).collect();
        assert_eq!(endpoints, left, "{body}");
    }
    // A fault stands at the member that was sent.
    let unknown = json!({"grant": get("/api/nothing")});
    let refused = site.invalid(&format!("PATCH {one}"), unknown).await;
    assert_eq!(refused["errors"][0]["field"], "grant[0].endpoint");
    // The endpoint of a row to be revoked may be gone, but each method is one of all.
    let gone = json!({"revoke": get("/api/nothing")});
    assert_eq!(site.patch(&one, gone).await["rights"], get("/api/settings"));
    let unknown = json!({"revoke": right("/api/settings", json!(["get"]))});
    let refused = site.invalid(&format!("PATCH {one}"), unknown).await;
    assert_eq!(refused["errors"][0]["field"], "revoke[0].methods");
}

#[tokio::test]
async fn endpoints_are_listed_as_rights_that_a_key_can_hold() {
    let site = Site::open().await;
    let pages = site.pages("/api/backend/keys/endpoints?limit=10").await;
    let mut rights: Json = pages.iter().flat_map(|page| page.as_array().unwrap().clone()).collect();
    let rows = rights.as_array_mut().unwrap();
    let pages = json!({"endpoint": "/api/pages", "methods": ["GET"], "public": true});
    assert!(rows.contains(&pages), "{rows:?}");
    let item = rows.iter().find(|row| row["endpoint"] == "/api/backend/item").expect("items");
    has!(item, {"methods": ["GET", "POST", "PATCH", "DELETE"], "public": false});
    let unfit = ["/api/backend/auth/login", "/api/backend/auth/me", "/healthz"];
    assert!(!rows.iter().any(|row| unfit.contains(&row["endpoint"].as_str().unwrap())));
    for row in rows {
        row.as_object_mut().unwrap().remove("public");
    }
    let body = json!({"name": "all", "rights": rights});
    site.create("/api/backend/keys", body).await;

    let reader = site.person("reader", json!(["keys_keys_view"])).await;
    let ask = site.ask("GET /api/backend/keys/endpoints?limit=1").bearer(&reader.token);
    assert_eq!(ask.expect(200).await.data().as_array().unwrap().len(), 1);
}

/// What was refused last is told as the right that would allow it, and nothing more of the call.
#[tokio::test]
async fn the_last_denied_call_is_remembered() {
    let site = Site::open().await;
    let key = site.key(&[PAGES]).await;
    let keys = site.get("/api/backend/keys").await;
    let id = keys.as_array().unwrap().last().unwrap()["id"].clone();
    let last = async || site.get(&format!("{KEYS}/denied?id={id}")).await;
    assert_eq!(last().await, Json::Null);
    let ask = site.ask("GET /api/backend/item?table=settings&filter[name][eq]=ana%40example.org");
    ask.key(&key).refused(401, "api_key_forbidden").await;
    let right = json!({
        "endpoint": "/api/backend/item", "query": {"table": "settings"}, "methods": ["GET"],
    });
    let at = "2026-11-21T09:30:00Z";
    assert_eq!(last().await, json!({"at": at, "right": right}));
    // It outlives the process, and calls that no right could allow do not replace it.
    site.cms.flush().await.unwrap();
    site.ask("GET /api/nothing").key(&key).refused(401, "api_key_forbidden").await;
    site.cms.flush().await.unwrap();
    assert_eq!(last().await["right"], right);
    let granted = json!({"rights": [{"endpoint": "/api/pages", "methods": ["GET"]}, right]});
    site.patch(&format!("/api/backend/keys?id={id}"), granted).await;
    site.ask("GET /api/backend/item?table=settings").key(&key).expect(200).await;
    site.admin("GET /api/backend/keys/denied?id=4711").refused(404, "not_found").await;
}
