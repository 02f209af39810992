//! `/api/backend/origins`: origins are registered, changed, removed.

use serde_json::{Value as Json, json};

use crate::origins::{EVIL, SHOP, add};
use crate::support::{Site, each, has};

#[tokio::test]
async fn origins_are_administered() {
    let site = Site::open().await;
    let path = "/api/backend/origins";
    let made = site.create(path, json!({"origin": "HTTPS://Shop.example:443"})).await;
    let id = made["id"].as_i64().unwrap();
    assert_eq!(
        made,
        json!({"id": id, "origin": SHOP, "active": true, "created_at": "2026-11-21T09:30:00Z"})
    );
    let one = format!("{path}?id={id}");
    assert_eq!(site.get(&one).await, made);
    let (post, patch) = (format!("POST {path}"), format!("PATCH {one}"));
    let again = json!({"origin": SHOP, "active": false});
    site.admin(&post).json(again).refused(409, "conflict").await;
    let other = add(&site, EVIL, false).await;
    let taken = site.admin(&format!("PATCH {path}?id={other}")).json(json!({"origin": SHOP}));
    taken.refused(409, "conflict").await;
    let bad = "null * https://a.example/ ftp://a.example https://*.example https://u@a.example \
               https://bücher.example";
    for bad in bad.split(' ').chain([""]) {
        for line in [&post, &patch] {
            let refused = site.invalid(line, json!({"origin": bad})).await;
            has!(refused, {"/errors/0/field": "origin"}, "{bad}");
        }
    }
    for body in [
        json!({}),
        json!({"origin": SHOP, "x": 1}),
        json!({"origin": 1}),
        json!({"origin": "https://b.example", "active": "yes"}),
    ] {
        site.invalid(&post, body).await;
    }
    let list = site.admin(&format!("GET {path}?limit=1")).expect(200).await.json();
    assert_eq!(list["data"], json!([made]));
    let next = list["meta"]["next"].as_str().unwrap();
    let rest = site.admin(&format!("GET {path}?limit=1&cursor={next}")).expect(200).await.json();
    has!(rest, {"/data/0/id": other, "/meta/next": null});
    let changed = json!({"origin": "http://b.example:8080", "active": false});
    has!(site.patch(&one, changed.clone()).await, changed);
    site.delete(&one).await;
    for method in ["GET", "PATCH", "DELETE"] {
        site.admin(&format!("{method} {one}")).json(json!({})).refused(404, "not_found").await;
    }
    let audit = site.get("/api/backend/audit?limit=4").await;
    let of_origins = |row: &&Json| row["table"] == "origins";
    let audit: Json = audit.as_array().unwrap().iter().filter(of_origins).cloned().collect();
    assert_eq!(each(&audit, "action"), ["delete", "update", "create", "create"]);
    // Rights like everywhere: a row for it, or everything.
    site.ask(&format!("GET {path}")).refused(401, "login_required").await;
    let reader = site.key(&["GET /api/backend/origins"]).await;
    site.ask(&format!("GET {path}")).key(&reader).expect(200).await;
    let post = site.ask(&post).key(&reader).json(json!({"origin": SHOP}));
    post.refused(401, "api_key_forbidden").await;
}
