//! `/api/backend/cache`: its settings and clears.

use serde_json::{Value as Json, json};

use crate::cache::{HOME, asked, beside, site};
use crate::support::Site;

#[tokio::test]
async fn settings_and_clears_are_in_force_at_once() {
    let site = site().await;
    let status = || async { site.admin("GET /api/backend/cache").expect(200).await.data() };
    let patch = |body: Json| site.admin("PATCH /api/backend/cache").json(body);
    site.ask(HOME).expect(200).await;
    site.ask(HOME).expect(200).await;
    let shown = status().await;
    assert_eq!(
        (&shown["enabled"], &shown["ttl_s"], &shown["store"]),
        (&json!(true), &json!(300), &json!("memory"))
    );
    assert_eq!(
        (&shown["entries"], &shown["hits"], &shown["misses"]),
        (&json!(1), &json!(1), &json!(1))
    );
    patch(json!({"exclude": ["/api/pages"]})).expect(200).await;
    assert_eq!(
        (asked(site.ask(HOME)).await, asked(site.ask("GET /api/menu")).await),
        ("-".into(), "MISS".into())
    );
    patch(json!({"exclude": [], "enabled": false})).expect(200).await;
    assert_eq!(asked(site.ask(HOME)).await, "-");
    patch(json!({"enabled": true, "ttl_s": 10})).expect(200).await;
    assert_eq!(asked(site.ask(HOME)).await, "HIT", "what was kept before is still good");
    site.clock.advance(10_000);
    assert_eq!(asked(site.ask(HOME)).await, "MISS");
    site.admin("DELETE /api/backend/cache?path=/api/menu").expect(204).await;
    assert_eq!(asked(site.ask(HOME)).await, "HIT");
    site.admin("DELETE /api/backend/cache").expect(204).await;
    assert_eq!(asked(site.ask(HOME)).await, "MISS");
    for body in [
        json!({"ttl_s": 0}),
        json!({"exclude": ["api"]}),
        json!({"exclude": ["/api/pages/one"]}),
        json!({"on": true}),
    ] {
        patch(body).refused(422, "validation_failed").await;
    }
    site.admin("DELETE /api/backend/cache?path=pages").refused(400, "bad_query").await;
    let below = site.admin("DELETE /api/backend/cache?path=/api/pages/one");
    below.refused(400, "bad_query").await;
    site.ask("GET /api/backend/cache").refused(401, "login_required").await;
}

#[tokio::test]
async fn prefixes_have_the_spelling_of_paths() {
    let site = site().await;
    let shown = site
        .admin("PATCH /api/backend/cache")
        .json(json!({"exclude": ["/api/some-thing"]}))
        .expect(200)
        .await
        .data();
    assert_eq!(shown["exclude"], json!(["/api/some_thing"]));
    for prefix in ["/api/pages?view=home", "/api/p%61ges", "/api/pages#a"] {
        site.admin("PATCH /api/backend/cache")
            .json(json!({"exclude": [prefix]}))
            .refused(422, "validation_failed")
            .await;
    }
    site.admin("DELETE /api/backend/cache?path=/api/pages%3Fview=home")
        .refused(400, "bad_query")
        .await;
    let rules = Site::builder()
        .await
        .settings(|s| s.cache.exclude = vec!["/api/some-thing".to_owned()])
        .open()
        .await;
    assert_eq!(rules.cms.cache().rules().await.unwrap().settings.exclude, ["/api/some_thing"]);
}

#[tokio::test]
async fn a_change_of_one_setting_leaves_what_another_process_has_changed() {
    let site = site().await;
    let (cms, _api) = beside(&site).await;
    let mut change = cms.change(cms_core::Actor::Operator).await.unwrap();
    let off = serde_json::from_value(json!({"enabled": false})).unwrap();
    cms.cache().update(&mut change, off).await.unwrap();
    change.commit().await.unwrap();
    let settings =
        site.admin("PATCH /api/backend/cache").json(json!({"ttl_s": 10})).expect(200).await.data();
    assert_eq!((&settings["enabled"], &settings["ttl_s"]), (&json!(false), &json!(10)));
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
