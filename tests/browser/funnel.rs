//! `examples/funnel.html` at a registered origin, played in a real Chromium.

use cms_http::Server;
use serde_json::{Value as Json, json};

use super::{Website, register};
use crate::support::{Site, until, visits::leads};

pub const PAGE: &str = include_str!("../../examples/funnel.html");

/// A number out of the database, once it is what is expected.
async fn becomes(site: &Site, sql: &str, expected: i64) {
    let what = format!("{sql} is {expected}");
    until(&what, async || site.database.count(sql).await == expected).await;
}

/// One step with rows: several choices in each, and as many as the visitor adds.
fn rows() -> Json {
    json!({
        "name": "Rows", "slug": "rows", "start_node_id": -1,
        "nodes": [
            {"client_id": -1, "type": "step", "name": "rows", "config_json": {"fields": [
                {"id": "grid", "type": "matrix", "multiple": true, "rows": [{"id": "r"}],
                 "columns": [{"id": "x"}, {"id": "y"}, {"id": "z"}]},
                {"id": "people", "type": "repeater", "columns": [
                    {"id": "who", "type": "short_text"}, {"id": "here", "type": "yes_no"}]}]}},
            {"client_id": -2, "type": "end", "name": "thanks"},
        ],
        "edges": [{"from_node_id": -1, "to_node_id": -2}],
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_example_plays_a_funnel() {
    if std::env::var_os("CMS_TEST_BROWSER").is_none() {
        return;
    }
    let site = Site::open().await;
    for (slug, saves) in [("leads", 1), ("silent", 0)] {
        let mut funnel = leads();
        (funnel["slug"], funnel["save_abandoned"]) = (slug.into(), saves.into());
        site.funnel(funnel).await;
    }
    site.funnel(rows()).await;
    let server = Server::bind(site.api.clone(), "127.0.0.1:0").await.unwrap();
    let (api, stop) = (format!("http://{}", server.address()), server.stop());
    let running = tokio::spawn(server.run());
    let driver = include_str!("funnel.html").replace("{{api}}", &api);
    let website = Website::of(driver.clone(), site.cms.clone()).await;
    register(&site.cms, &website.origin).await;

    let seen = website.visit("/").await;
    let expected = json!({
        "first": "who", "refused": "an answer is expected", "second": "budget", "third": "call",
        "back": ["budget", "9000"], "again": "call", "reloaded": "call",
        "reference": true, "rows": true, "left": [true, true],
    });
    let mut told = seen.clone();
    for end in ["reference", "rows"] {
        told[end] = told[end].as_str().is_some_and(|text| text.len() > 15).into();
    }
    assert_eq!(told, expected, "{seen}");
    let of = |slug: &str, rest: &str| {
        format!(
            "select count(*) from cms_formfunnel_submissions s join cms_formfunnels f \
             on f.id = s.funnel_id where f.slug = '{slug}' and {rest}"
        )
    };
    let whole = "s.status = 'completed' and s.utm_source = 'mail' \
                 and s.answers_json like '%+4930123456%' and s.answers_json like '%paper%'";
    becomes(&site, &of("leads", whole), 1).await;
    let rows = r#"s.status = 'completed' and s.answers_json like '%"r":["x","y"]%'
                  and s.answers_json like '%"who":"Ada"%"who":"Eve"%'
                  and s.answers_json like '%"here":true%"here":false%'"#;
    becomes(&site, &of("rows", rows), 1).await;
    let attached = "select count(*) from cms_formfunnel_uploads where attached";
    becomes(&site, attached, 1).await;
    // Both tabs were closed; only one funnel marks that.
    becomes(&site, &of("leads", "s.status = 'abandoned'"), 1).await;
    becomes(&site, &of("silent", "s.status = 'in_progress'"), 1).await;
    // A reload is a closed page too. Only who stays away is told of.
    let told = "select count(*) from cms_events where name = 'formfunnel.abandoned'";
    assert_eq!(site.database.count(told).await, 0);
    site.clock.advance(3_600_000);
    site.cms.funnels().process_abandoned().await.unwrap();
    assert_eq!(site.database.count(told).await, 1);

    // A page that is not registered begins no visit.
    let stranger = Website::of(driver, site.cms.clone()).await;
    assert_eq!(stranger.visit("/").await, json!({"refused": true}));
    becomes(&site, "select count(*) from cms_formfunnel_submissions", 4).await;
    stop.now();
    running.await.unwrap();
}

#[test]
fn the_page_keeps_the_session_out_of_addresses() {
    let addresses = PAGE.lines().filter(|line| line.contains("fetch(") || line.contains("URL"));
    assert!(addresses.into_iter().all(|line| !line.contains("session")));
    assert!(!PAGE.contains("innerHTML"), "texts of authors and visitors are never HTML");
}
