//! `/api/backend/theme`: what the build of a theme reads.

use serde_json::json;

use crate::support::{Site, each};

#[tokio::test]
async fn the_setting_names_the_theme_and_settings_the_addresses() {
    let addresses = |settings: &mut cms_core::settings::Settings| {
        settings.site_url = Some("https://example.org".to_owned());
        settings.api_url = Some("https://api.example.org/cms".to_owned());
    };
    let site = Site::with(addresses).await;
    let shown = async || site.get("/api/backend/theme").await;
    let expected = |theme| {
        json!({"theme": theme, "api_base": "https://api.example.org/cms/api",
               "site_url": "https://example.org"})
    };
    assert_eq!(shown().await, expected(json!(null)));

    let new = json!({"name": "theme", "value": {"primary": "#b5452c"}});
    site.insert("settings", new).await;
    assert_eq!(shown().await, expected(json!(null)), "an object is not a name");

    site.update("settings&id=theme", json!({"value": "shop"})).await;
    assert_eq!(shown().await, expected(json!("shop")));

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
    let paths = each(&first["rights"], "endpoint");
    for path in ["/api/pages", "/api/menu", "/api/form/submit", "/api/formfunnel/step"] {
        assert!(paths.contains(&json!(path)), "{paths:?}");
    }
    for kept in ["/api/backend/", "/api/docs"] {
        assert!(!paths.iter().any(|path| path.as_str().unwrap().starts_with(kept)), "{paths:?}");
    }
    let old = first["key"].as_str().unwrap();
    site.ask("GET /api/settings").key(old).expect(200).await;
    site.ask("GET /api/backend/keys").key(old).refused(401, "api_key_forbidden").await;

    let second = site.post("/api/backend/theme/key", json!({"grace_s": 60})).await;
    assert_eq!(second["id"], first["id"]);
    let new = second["key"].as_str().unwrap();
    site.ask("GET /api/settings").key(old).expect(200).await;

    site.admin("POST /api/backend/theme/key").expect(200).await;
    for stopped in [old, new] {
        site.ask("GET /api/settings").key(stopped).refused(401, "api_key_invalid").await;
    }
}
