//! `/api/backend/theme`: what the build of a theme reads.

use serde_json::json;

use crate::support::Site;

#[tokio::test]
async fn the_setting_names_the_theme_and_settings_the_addresses() {
    let site = Site::builder()
        .await
        .settings(|settings| {
            settings.site_url = Some("https://example.org".to_owned());
            settings.api_url = Some("https://api.example.org/cms".to_owned());
        })
        .open()
        .await;
    let expected = |theme| {
        json!({
            "theme": theme,
            "api_base": "https://api.example.org/cms/api",
            "site_url": "https://example.org",
        })
    };
    let shown = site.admin("GET /api/backend/theme").expect(200).await.data();
    assert_eq!(shown, expected(json!(null)));

    let new = json!({"name": "theme", "value": {"primary": "#b5452c"}});
    site.admin("POST /api/backend/item?table=settings").json(new).expect(201).await;
    let shown = site.admin("GET /api/backend/theme").expect(200).await.data();
    assert_eq!(shown, expected(json!(null)), "an object is not a name");

    let id = "PATCH /api/backend/item?table=settings&id=theme";
    site.admin(id).json(json!({"value": "shop"})).expect(200).await;
    let shown = site.admin("GET /api/backend/theme").expect(200).await.data();
    assert_eq!(shown, expected(json!("shop")));

    let reader = site.person("reader", json!(["settings_settings_view"])).await;
    site.ask("GET /api/backend/theme").bearer(&reader.token).expect(200).await;
    let other = site.person("other", json!(["pages_pages_view"])).await;
    site.ask("GET /api/backend/theme").bearer(&other.token).refused(403, "permission_denied").await;
}

#[tokio::test]
async fn the_key_is_made_once_and_then_gets_new_values() {
    let site = Site::open().await;
    let first = site.admin("POST /api/backend/theme/key").expect(200).await.data();
    assert_eq!(first["name"], "theme");
    let paths: Vec<_> =
        first["rights"].as_array().unwrap().iter().map(|row| row["endpoint"].clone()).collect();
    for path in ["/api/pages", "/api/menu", "/api/form/submit", "/api/formfunnel/step"] {
        assert!(paths.contains(&json!(path)), "{paths:?}");
    }
    for kept in ["/api/backend/", "/api/docs"] {
        assert!(!paths.iter().any(|path| path.as_str().unwrap().starts_with(kept)), "{paths:?}");
    }
    let old = first["key"].as_str().unwrap();
    site.ask("GET /api/settings").key(old).expect(200).await;
    site.ask("GET /api/backend/keys").key(old).refused(401, "api_key_forbidden").await;

    let grace = json!({"grace_s": 60});
    let second = site.admin("POST /api/backend/theme/key").json(grace).expect(200).await.data();
    assert_eq!(second["id"], first["id"]);
    let new = second["key"].as_str().unwrap();
    site.ask("GET /api/settings").key(old).expect(200).await;

    site.admin("POST /api/backend/theme/key").expect(200).await;
    for stopped in [old, new] {
        site.ask("GET /api/settings").key(stopped).refused(401, "api_key_invalid").await;
    }
}
