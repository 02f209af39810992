//! Endpoints of plugins: a table is read, a handler answers, and each caller's rights bind.

mod claims;
mod handlers;
mod requests;

use serde_json::json;

use crate::support::{
    Site,
    plugins::{self, program, table},
};

/// A site whose plugin has a public endpoint, whose handler writes.
async fn guests() -> Site {
    let manifest = json!({
        "id": "guests",
        "tables": [table("guests", "name text, mail text")],
        "endpoints": [
            {"modelPath": "sign", "endpoint": "sign", "methods": ["POST"], "public": true},
            {"modelPath": "guests", "endpoint": "backend/guests/sign-list"}],
    });
    let guests = program(manifest, |handlers| {
        handlers.endpoint("sign", &[], |call| async move {
            let mut change = call.change().await?;
            let none = serde_json::Map::new();
            let body = call.body().as_object().unwrap_or(&none);
            let made = call.items().create(&mut change, "guests", body).await?;
            change.commit().await?;
            Ok(json!({"id": made.key}))
        })
    });
    Site::builder().await.program(guests).open().await
}

#[tokio::test]
async fn a_visitor_writes_as_a_visitor() {
    let site = guests().await;
    let guest = json!({"name": "Eve", "mail": "eve@example.org"});
    site.ask("POST /api/sign").json(guest).expect(200).await;
    let acts = site.get("/api/backend/audit?table=guests").await;
    assert_eq!(acts[0]["actor"], json!({"kind": "visitor", "id": null, "name": null}));
}

#[tokio::test]
async fn a_repeated_call_of_a_handler_is_answered_once() {
    let site = guests().await;
    let sign = || site.admin("POST /api/sign").header("idempotency-key", "one");
    let first = sign().json(json!({"name": "Eve"})).expect(200).await;
    let second = sign().json(json!({"name": "Eve"})).expect(200).await;
    assert_eq!((second.header("idempotency-replayed"), second.data()), ("true", first.data()));
    let other = sign().json(json!({"name": "Bob"}));
    other.refused(409, "idempotency_mismatch").await;
    let list = site.get("/api/backend/guests/sign-list").await;
    assert_eq!(list.as_array().map(Vec::len), Some(1));
}

/// A right to some columns finds nothing in others, at endpoints of plugins too.
#[tokio::test]
async fn a_search_at_an_endpoint_keeps_to_the_columns_of_the_right() {
    let site = guests().await;
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
        "tables": [table("posts", "title text, pin password")],
        "content_button": [
            {"button_id": "edit", "type": "edit",
             "editable_rows": [{"column": "title", "type": "text"}]}],
        "endpoints": [
            {"modelPath": "posts", "endpoint": "blog-posts", "public": true},
            {"modelPath": "posts", "endpoint": "backend/blog/posts"},
            {"modelPath": "posts", "endpoint": "blog-posts/all", "public": true},
        ],
    });
    let cached = |settings: &mut cms_core::settings::Settings| {
        settings.cache.enabled = true;
        settings.cache.ttl_s = 300;
    };
    let site = Site::builder().await.settings(cached).plugin(plugin).open().await;
    site.insert("posts", json!({"title": "One", "pin": "1234"})).await;
    for path in ["blog_posts", "blog-posts"] {
        let reply = site.ask(&format!("GET /api/{path}")).expect(200).await;
        assert_eq!(reply.json()["data"], json!([{"id": 1, "title": "One"}]), "{path}");
        assert!(reply.headers.contains_key("x-cache"), "{path}");
    }
    let hit = site.ask("GET /api/blog-posts").expect(200).await;
    assert_eq!(hit.headers["x-cache"], "HIT");
    // Ids are numbers, so a name below is another endpoint.
    for (path, expected) in
        [("all", json!([{"id": 1, "title": "One"}])), ("1", json!({"id": 1, "title": "One"}))]
    {
        let reply = site.ask(&format!("GET /api/blog-posts/{path}")).expect(200).await;
        assert_eq!(reply.data(), expected, "{path}");
    }
    site.update("posts&id=1", json!({"title": "Two"})).await;
    let fresh = site.ask("GET /api/blog_posts?id=1").expect(200).await;
    assert_eq!(fresh.data()["title"], "Two");
    let fresh = site.ask("GET /api/blog_posts").expect(200).await;
    assert_eq!(
        (&fresh.json()["data"][0]["title"], &fresh.headers["x-cache"]),
        (&json!("Two"), &"MISS".parse().unwrap())
    );
    site.ask("POST /api/blog_posts").json(json!({})).refused(405, "method_not_allowed").await;
    for wrong in ["?nonsense=1", "?table=posts", "?table=pages", "/1?table=posts"] {
        site.ask(&format!("GET /api/blog_posts{wrong}")).refused(400, "bad_query").await;
    }

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
            "id": "blog", "tables": [table("a", "a text")],
            "endpoints": [{"modelPath": "a", "endpoint": path}],
        });
        assert!(!plugins::manifest(&manifest).problems().is_empty(), "{path}");
    }
}
