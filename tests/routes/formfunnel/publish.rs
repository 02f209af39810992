//! `publish`, and what takes a funnel off.

use serde_json::{Value as Json, json};

use crate::{
    funnels::{drawn, get, made},
    support::{Site, each, has, with},
};

#[tokio::test]
async fn a_version_is_frozen_and_saves_leave_it() {
    let site = Site::open().await;
    made(&site, &drawn()).await;
    let first = site.staff("publish", json!({"id": "leads"})).expect(200).await.data();
    has!(first, {"version": 1, "status": "published"});
    assert_eq!(first["checksum"].as_str().unwrap().len(), 64);
    let shown = get(&site, "1").await;
    has!(shown, {"version": 1, "status": "published", "published_at": "2026-11-21T09:30:00Z"});
    assert_eq!(shown["rev"], 1, "nothing was drawn");
    // The same again is the same version.
    site.clock.advance(60_000);
    assert_eq!(site.staff("publish", json!({"id": 1})).expect(200).await.data(), first);

    let frozen = async || {
        let text = "select definition from cms_formfunnel_versions where id = 1";
        site.database.text(text).await
    };
    let before = frozen().await;
    assert!(before.contains("\"Leads\"") && before.contains("\"budget\""), "{before}");
    let rename = json!({"id": 1, "funnel": {"name": "Renamed", "slug": "renamed"}});
    site.staff("save", rename).expect(200).await;
    assert_eq!(get(&site, "1").await["version"], 1);
    assert_eq!(frozen().await, before);
    let live = "cms_formfunnels where live_slug = 'leads'";
    assert_eq!(site.database.rows(live).await, 1, "visitors know the old slug");
    // Nobody else takes the slug meanwhile.
    made(&site, &drawn()).await;
    site.staff("publish", json!({"id": 2})).refused(409, "conflict").await;
    let second = site.staff("publish", json!({"id": 1})).expect(200).await.data();
    assert_eq!(second["version"], 2);
    assert_ne!(second["checksum"], first["checksum"]);
    assert_eq!((frozen().await, site.database.rows(live).await), (before, 0));
    assert_eq!(site.database.rows("cms_formfunnel_version_nodes where version_id = 1").await, 4);
}

#[tokio::test]
async fn archived_and_draft_take_a_funnel_off() {
    let site = Site::open().await;
    made(&site, &drawn()).await;
    let put = |status: &str| site.staff("save", json!({"id": 1, "funnel": {"status": status}}));
    let told = put("published").refused(422, "validation_failed").await.json();
    assert_eq!(told["errors"][0]["code"], "bad_status");
    for status in ["archived", "draft"] {
        site.staff("publish", json!({"id": 1})).expect(200).await;
        put("published").expect(200).await;
        assert_eq!(get(&site, "1").await["status"], "published");
        put(status).expect(200).await;
        has!(get(&site, "1").await, {"status": status, "version": null});
    }
    // The same drawing is the same version.
    assert_eq!(site.database.rows("cms_formfunnel_versions").await, 1);
}

#[tokio::test]
async fn what_would_strand_visitors_is_not_published() {
    let site = Site::open().await;
    site.staff("create", json!({"name": "A"})).expect(201).await;
    let codes = async |body: Json| {
        let told = site.staff("publish", body).refused(422, "not_publishable").await.json();
        each(&told["errors"], "code")
    };
    assert_eq!(codes(json!({"id": 1})).await, ["no_step", "no_end", "no_start"]);
    let mut half = drawn();
    half["edges"].as_array_mut().unwrap().remove(2);
    made(&site, &half).await;
    assert_eq!(codes(json!({"id": 2})).await, ["missing_branch"]);
    assert_eq!(codes(json!({"id": 2, "dry_run": true})).await, ["missing_branch"]);
    // Warnings count for who is strict, in the call or in the settings.
    let mut lost = with(drawn(), json!({"slug": "lost"}));
    lost["nodes"].as_array_mut().unwrap().push(json!({"client_id": -9, "type": "end"}));
    made(&site, &lost).await;
    assert_eq!(codes(json!({"id": 3, "strict": true})).await, ["unreachable_node"]);
    let tried = site.staff("publish", json!({"id": 3, "dry_run": true})).expect(200).await.data();
    assert_eq!(tried["warnings"][0]["code"], "unreachable_node");
    assert_eq!(get(&site, "3").await["status"], "draft", "only tried");
    site.staff("publish", json!({"id": 3})).expect(200).await;
    let strict = json!({"id": 3, "funnel": {"settings_json": {"strict": true}}});
    site.staff("save", strict).expect(200).await;
    assert_eq!(codes(json!({"id": 3})).await, ["unreachable_node"]);
    site.staff("publish", json!({"id": 3, "rev": 7})).refused(409, "rev_conflict").await;
    // A fault says which node it is about.
    let told = site.staff("publish", json!({"id": 2})).refused(422, "not_publishable").await.json();
    let rich = get(&site, "2").await["nodes"][1]["id"].clone();
    assert_eq!((&told["errors"][0]["node"], rich.is_i64()), (&rich, true));
    site.staff("publish", json!({"id": 99})).refused(404, "not_found").await;
    site.staff("publish", json!({})).refused(422, "validation_failed").await;
}

/// Of each funnel so many versions are kept, and all that somebody needs.
#[tokio::test]
async fn versions_that_nothing_needs_are_removed() {
    let builder = Site::builder().await.settings(|all| all.retention.funnel_versions = 10);
    let site = builder.open().await;
    made(&site, &drawn()).await;
    site.staff("publish", json!({"id": "leads"})).expect(200).await;
    let start = json!({"funnel_id": "leads"});
    site.visitor("start", start.clone()).expect(201).await;
    let more = "insert into cms_formfunnel_versions (funnel_id, version, definition, checksum, \
                published_at) with recursive n (i) as (select 2 union all select i + 1 from n \
                where i < 30) select 1, i, '{}', 'x', 0 from n";
    site.database.run(more).await;
    let counted = "insert into cms_formfunnel_daily (funnel_id, version, day) \
                   values (1, 3, '2026-11-01')";
    site.database.run(counted).await;
    let count = "select count(*) from cms_formfunnel_versions";
    // 1 is published and was visited, 3 was counted, 21 to 30 are the newest.
    let kept = format!("{count} where version in (1, 3) or version > 20");
    for _ in 0..2 {
        site.cms.upkeep().await;
        assert_eq!((site.database.count(count).await, site.database.count(&kept).await), (12, 12));
    }
    site.visitor("start", start).expect(201).await;
    site.staff("save", json!({"id": 1, "funnel": {"name": "Other"}})).expect(200).await;
    let next = site.staff("publish", json!({"id": 1})).expect(200).await.data();
    assert_eq!(next["version"], 31);
    site.cms.upkeep().await;
    assert_eq!(site.database.rows("cms_formfunnel_submissions").await, 2);
}
