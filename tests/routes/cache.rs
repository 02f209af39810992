//! `/api/backend/cache`: its settings and clears.

use serde_json::json;

use crate::cache::{HOME, asked, beside, site};
use crate::support::{Site, has, plugins::program};

const CACHE: &str = "/api/backend/cache";

#[tokio::test]
async fn settings_and_clears_are_in_force_at_once() {
    let site = site().await;
    let patch = "PATCH /api/backend/cache";
    site.ask(HOME).expect(200).await;
    site.ask(HOME).expect(200).await;
    let shown = site.get(CACHE).await;
    has!(shown, {
        "enabled": true, "ttl_s": 300, "store": "memory", "entries": 1, "hits": 1, "misses": 1,
    });
    site.patch(CACHE, json!({"exclude": ["/api/pages"]})).await;
    assert_eq!(
        [asked(site.ask(HOME)).await, asked(site.ask("GET /api/menu")).await],
        ["-", "MISS"]
    );
    site.patch(CACHE, json!({"exclude": [], "enabled": false})).await;
    assert_eq!(asked(site.ask(HOME)).await, "-");
    site.patch(CACHE, json!({"enabled": true, "ttl_s": 10})).await;
    assert_eq!(asked(site.ask(HOME)).await, "HIT", "what was kept before is still good");
    site.clock.advance(10_000);
    assert_eq!(asked(site.ask(HOME)).await, "MISS");
    site.delete("/api/backend/cache?path=/api/menu").await;
    assert_eq!(asked(site.ask(HOME)).await, "HIT");
    site.delete(CACHE).await;
    assert_eq!(asked(site.ask(HOME)).await, "MISS");
    for body in [
        json!({"ttl_s": 0}),
        json!({"exclude": ["api"]}),
        json!({"exclude": ["/api/pages/one"]}),
        json!({"on": true}),
    ] {
        site.invalid(patch, body).await;
    }
    for path in ["pages", "/api/pages/one"] {
        let clear = site.admin(&format!("DELETE {CACHE}?path={path}"));
        clear.refused(400, "bad_query").await;
    }
    site.ask("GET /api/backend/cache").refused(401, "login_required").await;
}

/// What others exclude meanwhile stays as they left it.
#[tokio::test]
async fn prefixes_are_added_and_removed_exactly() {
    let site = site().await;
    for (body, left) in [
        (json!({"exclude_add": ["/api/menu"]}), json!(["/api/menu"])),
        (
            json!({"exclude_add": ["/api/some-thing", "/api/menu"]}),
            json!(["/api/menu", "/api/some_thing"]),
        ),
        (json!({"exclude_remove": ["/api/menu", "/api/pages"]}), json!(["/api/some_thing"])),
        (json!({"exclude_remove": ["/api/some-thing"]}), json!([])),
    ] {
        assert_eq!(site.patch(CACHE, body.clone()).await["exclude"], left, "{body}");
    }
    for wrong in ["api", "/api/pages/one"] {
        let patch = json!({"exclude_add": [wrong]});
        let refused = site.invalid("PATCH /api/backend/cache", patch).await;
        assert_eq!(refused["errors"][0]["field"], "exclude_add", "{wrong}");
    }
}

/// The process that is asked to forget replies gives their memory back at once.
#[tokio::test]
async fn a_clear_drops_what_it_covers() {
    let site = site().await;
    for line in [HOME, "GET /api/menu", "GET /api/settings"] {
        site.ask(line).expect(200).await;
    }
    let mut before = u64::MAX;
    for (clear, entries) in [("?path=/api/forms", 3), ("?path=/api/pages", 2), ("", 0)] {
        site.delete(&format!("{CACHE}{clear}")).await;
        let shown = site.get(CACHE).await;
        assert_eq!(shown["entries"], entries, "{clear}");
        let bytes = shown["bytes"].as_u64().unwrap();
        assert!(bytes < before && (bytes == 0) == (entries == 0), "{clear}: {shown}");
        before = bytes;
    }
}

#[tokio::test]
async fn prefixes_have_the_spelling_of_paths() {
    let site = site().await;
    let shown = site.patch(CACHE, json!({"exclude": ["/api/some-thing"]})).await;
    assert_eq!(shown["exclude"], json!(["/api/some_thing"]));
    for prefix in ["/api/pages?view=home", "/api/p%61ges", "/api/pages#a"] {
        site.invalid("PATCH /api/backend/cache", json!({"exclude": [prefix]})).await;
    }
    for (prefix, status) in [
        ("/", 200),
        ("/api/pages/", 200),
        ("/api/pages/dr", 200),
        ("/media/ab", 200),
        ("/api/pages/drafts", 422),
        ("/api/menu/main", 422),
        ("/api/menu/", 422),
    ] {
        let patch = site.admin("PATCH /api/backend/cache").json(json!({"exclude": [prefix]}));
        assert_eq!(patch.send().await.status, status, "{prefix}");
    }
    let clear = site.admin(&format!("DELETE {CACHE}?path=/api/pages%3Fview=home"));
    clear.refused(400, "bad_query").await;
    let exclude = |settings: &mut cms_core::settings::Settings| {
        settings.cache.exclude = vec!["/api/some-thing".to_owned()];
    };
    let rules = Site::with(exclude).await;
    assert_eq!(rules.cms.cache().rules().await.unwrap().settings.exclude, ["/api/some_thing"]);
}

#[tokio::test]
async fn prefixes_below_a_parameter_are_refused() {
    let manifest = json!({"id": "shop", "endpoints": [
        {"modelPath": "pay", "endpoint": "orders/{id}/pay", "public": true},
    ]});
    let shop =
        program(manifest, |handlers| handlers.endpoint("pay", &[], |_| async { Ok(json!({})) }));
    let site = Site::builder().await.program(shop).open().await;
    for prefix in ["/api/orders/", "/api/orders/{id}/pay"] {
        site.patch(CACHE, json!({"exclude": [prefix]})).await;
    }
    for prefix in ["/api/orders/7", "/api/orders/7/pay", "/api/orders/{id}/pay/x"] {
        let patch = site.admin("PATCH /api/backend/cache").json(json!({"exclude": [prefix]}));
        let refused = patch.refused(422, "validation_failed").await;
        assert!(refused.text().contains("name /api/orders/"), "{prefix}: {}", refused.text());
    }
}

#[tokio::test]
async fn a_change_of_one_setting_leaves_what_another_process_has_changed() {
    let site = site().await;
    let (cms, _api) = beside(&site).await;
    let mut change = cms.change(cms_core::Actor::Operator).await.unwrap();
    let off = serde_json::from_value(json!({"enabled": false})).unwrap();
    cms.cache().update(&mut change, off).await.unwrap();
    change.commit().await.unwrap();
    let settings = site.patch(CACHE, json!({"ttl_s": 10})).await;
    has!(settings, {"enabled": false, "ttl_s": 10});
}

#[tokio::test]
async fn of_two_clears_at_once_both_count() {
    let site = site().await;
    site.ask("GET /api/settings").expect(200).await;
    let clear = async |change: &mut cms_core::Change, prefix: &str| {
        site.cms.cache().clear(change, prefix).await.unwrap()
    };
    let mut first = site.cms.change(cms_core::Actor::Operator).await.unwrap();
    clear(&mut first, "/api/pages").await;
    let second = async {
        let mut second = site.cms.change(cms_core::Actor::Operator).await.unwrap();
        clear(&mut second, "/api/menu").await;
        second.commit().await.unwrap();
    };
    let mut second = std::pin::pin!(second);
    // It waits for the first, or else it overtakes.
    let overtaken =
        tokio::time::timeout(std::time::Duration::from_millis(200), &mut second).await.is_ok();
    site.ask(HOME).expect(200).await;
    let rest = async {
        if !overtaken {
            second.await;
        }
    };
    let (committed, ()) = tokio::join!(first.commit(), rest);
    committed.unwrap();
    assert_eq!(asked(site.ask(HOME)).await, "MISS");
}
