//! `/api/backend/origins`: origins are registered, changed, removed.

use serde_json::json;

use crate::origins::{EVIL, SHOP, add};
use crate::support::Site;

#[tokio::test]
async fn origins_are_administered() {
    let site = Site::open().await;
    let path = "/api/backend/origins";
    let made = site
        .admin(&format!("POST {path}"))
        .json(json!({"origin": "HTTPS://Shop.example:443"}))
        .expect(201)
        .await
        .data();
    let id = made["id"].as_i64().unwrap();
    assert_eq!(
        made,
        json!({"id": id, "origin": SHOP, "active": true, "created_at": "2026-11-21T09:30:00Z"})
    );
    let one = format!("{path}?id={id}");
    assert_eq!(site.admin(&format!("GET {one}")).expect(200).await.data(), made);
    site.admin(&format!("POST {path}"))
        .json(json!({"origin": SHOP, "active": false}))
        .refused(409, "conflict")
        .await;
    let other = add(&site, EVIL, false).await;
    site.admin(&format!("PATCH {path}?id={other}"))
        .json(json!({"origin": SHOP}))
        .refused(409, "conflict")
        .await;
    for bad in [
        "null",
        "*",
        "https://a.example/",
        "ftp://a.example",
        "https://*.example",
        "",
        "https://u@a.example",
        "https://bücher.example",
    ] {
        let refused = site
            .admin(&format!("POST {path}"))
            .json(json!({"origin": bad}))
            .refused(422, "validation_failed")
            .await;
        assert_eq!(refused.json()["errors"][0]["field"], "origin", "{bad}");
        site.admin(&format!("PATCH {one}"))
            .json(json!({"origin": bad}))
            .refused(422, "validation_failed")
            .await;
    }
    for body in [
        json!({}),
        json!({"origin": SHOP, "x": 1}),
        json!({"origin": 1}),
        json!({"origin": "https://b.example", "active": "yes"}),
    ] {
        site.admin(&format!("POST {path}")).json(body).refused(422, "validation_failed").await;
    }
    let list = site.admin(&format!("GET {path}?limit=1")).expect(200).await.json();
    assert_eq!(list["data"], json!([made]));
    let next = list["meta"]["next"].as_str().unwrap();
    let rest = site.admin(&format!("GET {path}?limit=1&cursor={next}")).expect(200).await.json();
    assert_eq!(
        (rest["data"][0]["id"].as_i64(), rest["meta"]["next"].as_str()),
        (Some(other), None)
    );
    let patched = site
        .admin(&format!("PATCH {one}"))
        .json(json!({"origin": "http://b.example:8080", "active": false}))
        .expect(200)
        .await;
    assert_eq!(
        (patched.data()["origin"].as_str(), patched.data()["active"].as_bool()),
        (Some("http://b.example:8080"), Some(false))
    );
    site.admin(&format!("DELETE {one}")).expect(204).await;
    for method in ["GET", "PATCH", "DELETE"] {
        site.admin(&format!("{method} {one}")).json(json!({})).refused(404, "not_found").await;
    }
    let audit = site.admin("GET /api/backend/audit?limit=4").expect(200).await.data();
    let actions: Vec<_> = audit
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["table"] == "origins")
        .map(|row| row["action"].clone())
        .collect();
    assert_eq!(actions, ["delete", "update", "create", "create"]);
    // Rights like everywhere: a row for it, or everything.
    site.ask(&format!("GET {path}")).refused(401, "login_required").await;
    let reader = site.key(&["GET /api/backend/origins"]).await;
    site.ask(&format!("GET {path}")).key(&reader).expect(200).await;
    site.ask(&format!("POST {path}"))
        .key(&reader)
        .json(json!({"origin": SHOP}))
        .refused(401, "api_key_forbidden")
        .await;
}
