//! Endpoints of plugins: a table is read, a handler answers, and each caller's rights bind.

/// Claims of requests that are repeated.
mod claims;
/// `Handlers::endpoint`.
mod handlers;
/// The whole request, and replies of every kind.
mod requests;

use cms_core::plugins::{Handlers, Manifest, Plugin};
use serde_json::json;

use crate::support::Site;

/// A plugin with a public endpoint whose handler writes.
struct Guests;

impl Plugin for Guests {
    fn manifest(&self) -> Manifest {
        let manifest = json!({
            "id": "guests",
            "tables": [{"name": "guests", "columns": [
                {"name": "name", "type": "text"}, {"name": "mail", "type": "text"}]}],
            "endpoints": [
                {"modelPath": "sign", "endpoint": "sign", "methods": ["POST"], "public": true},
                {"modelPath": "guests", "endpoint": "backend/guests/sign-list"}],
        });
        serde_json::from_value(manifest).unwrap()
    }

    fn handlers(&self) -> Handlers {
        Handlers::default().endpoint("sign", &[], |call| async move {
            let mut change = call.change().await?;
            let none = serde_json::Map::new();
            let body = call.body().as_object().unwrap_or(&none);
            let made = call.items().create(&mut change, "guests", body).await?;
            change.commit().await?;
            Ok(json!({"id": made.key}))
        })
    }
}

#[tokio::test]
async fn a_visitor_writes_as_a_visitor() {
    let site = Site::builder().await.program(Guests).open().await;
    let guest = json!({"name": "Eve", "mail": "eve@example.org"});
    site.ask("POST /api/sign").json(guest).expect(200).await;
    let acts = site.admin("GET /api/backend/audit?table=guests").expect(200).await.data();
    assert_eq!(acts[0]["actor"], json!({"kind": "visitor", "id": null, "name": null}));
}

#[tokio::test]
async fn a_repeated_call_of_a_handler_is_answered_once() {
    let site = Site::builder().await.program(Guests).open().await;
    let sign = || site.admin("POST /api/sign").header("idempotency-key", "one");
    let first = sign().json(json!({"name": "Eve"})).expect(200).await;
    let second = sign().json(json!({"name": "Eve"})).expect(200).await;
    assert_eq!((second.header("idempotency-replayed"), second.data()), ("true", first.data()));
    let other = sign().json(json!({"name": "Bob"}));
    other.refused(409, "idempotency_mismatch").await;
    let list = site.admin("GET /api/backend/guests/sign-list").expect(200).await.data();
    assert_eq!(list.as_array().map(Vec::len), Some(1));
}

/// A right to some columns finds nothing in others, at endpoints of plugins too.
#[tokio::test]
async fn a_search_at_an_endpoint_keeps_to_the_columns_of_the_right() {
    let site = Site::builder().await.program(Guests).open().await;
    let guest = json!({"name": "Eve", "mail": "amber@example.org"});
    site.ask("POST /api/sign").json(guest).expect(200).await;
    let list = "GET /api/backend/guests/sign-list?fields=id,name";
    let key = site.key(&[list]).await;
    for (search, bound, free) in [("Eve", 1, 1), ("amber", 0, 1)] {
        let line = format!("{list}&search={search}");
        let found = async |key: &str| {
            let reply = site.ask(&line).key(key).expect(200).await;
            reply.data().as_array().unwrap().len()
        };
        assert_eq!((found(&key).await, found(&site.admin).await), (bound, free), "{search}");
    }
}

/// Public and private endpoints: a table is read, a handler answers.
#[tokio::test]
async fn endpoints_of_plugins_are_served() {
    let plugin = json!({
        "id": "blog",
        "tables": [{"name": "posts", "columns": [
            {"name": "title", "type": "text"}, {"name": "pin", "type": "password"}]}],
        "content_button": [
            {"button_id": "edit", "type": "edit",
             "editable_rows": [{"column": "title", "type": "text"}]}],
        "endpoints": [
            {"modelPath": "posts", "endpoint": "blog-posts", "public": true},
            {"modelPath": "posts", "endpoint": "backend/blog/posts"},
        ],
    });
    let cached = |settings: &mut cms_core::settings::Settings| {
        settings.cache.enabled = true;
        settings.cache.ttl_s = 300;
    };
    let site = Site::builder().await.settings(cached).plugin(plugin).open().await;
    let post = json!({"title": "One", "pin": "1234"});
    site.admin("POST /api/backend/item?table=posts").json(post).expect(201).await;
    for path in ["blog_posts", "blog-posts"] {
        let reply = site.ask(&format!("GET /api/{path}")).expect(200).await;
        assert_eq!(reply.json()["data"], json!([{"id": 1, "title": "One"}]), "{path}");
        assert!(reply.headers.contains_key("x-cache"), "{path}");
    }
    let hit = site.ask("GET /api/blog-posts").expect(200).await;
    assert_eq!(hit.headers["x-cache"], "HIT");
    site.admin("PATCH /api/backend/item?table=posts&id=1")
        .json(json!({"title": "Two"}))
        .expect(200)
        .await;
    let fresh = site.ask("GET /api/blog_posts?id=1").expect(200).await;
    assert_eq!(fresh.data()["title"], "Two");
    let fresh = site.ask("GET /api/blog_posts").expect(200).await;
    assert_eq!(
        (&fresh.json()["data"][0]["title"], &fresh.headers["x-cache"]),
        (&json!("Two"), &"MISS".parse().unwrap())
    );
    site.ask("POST /api/blog_posts").json(json!({})).refused(405, "method_not_allowed").await;
    site.ask("GET /api/blog_posts?nonsense=1").refused(400, "bad_query").await;

    let private = "GET /api/backend/blog/posts";
    site.ask(private).refused(401, "login_required").await;
    let key = site.key(&["GET /api/backend/blog/posts"]).await;
    site.ask(private).key(&key).expect(200).await;
    let other = site.key(&["GET /api/blog_posts"]).await;
    site.ask(private).key(&other).refused(401, "api_key_forbidden").await;
    for (name, rights, status) in [
        ("viewer", json!(["blog_edit_view"]), 200),
        ("editor", json!(["blog_edit_edit"]), 403),
        ("nobody", json!([]), 403),
    ] {
        let person = site.person(name, rights).await;
        assert_eq!(site.ask(private).bearer(&person.token).send().await.status, status, "{name}");
    }
    let known = site.admin("GET /api/backend/keys/endpoints?limit=500").expect(200).await.text();
    assert!(known.contains("/api/blog_posts") && known.contains("/api/backend/blog/posts"));
}

/// No path of the service can be declared by a plugin.
#[tokio::test]
async fn paths_of_the_service_are_refused() {
    let site = Site::open().await;
    for endpoint in site.cms.access().all().iter() {
        let Some(path) = endpoint.path.strip_prefix("/api/") else { continue };
        let manifest = json!({
            "id": "blog", "tables": [{"name": "a", "columns": [{"name": "a", "type": "text"}]}],
            "endpoints": [{"modelPath": "a", "endpoint": path}],
        });
        let manifest: Manifest = serde_json::from_value(manifest).unwrap();
        assert!(!manifest.problems().is_empty(), "{path}");
    }
}
