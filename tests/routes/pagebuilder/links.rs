use serde_json::json;

use super::{BUILDER, site, titles};

#[tokio::test]
async fn a_link_shows_a_draft_until_it_ends() {
    let site = site().await;
    let (_, col) = site.row(1).await;
    let widget = site.title(col, "one").await;
    let link = site.act("link", json!({"page_id": 1, "ttl_s": 600})).await;
    assert_eq!(link["expires_at"], "2026-11-21T09:40:00Z");
    let path = link["path"].as_str().unwrap().to_owned();
    assert_eq!(link["url"], json!(format!("https://cms.test{path}")));
    let open = || site.ask(&format!("GET {path}"));
    let shown = open().expect(200).await;
    assert_eq!(titles(&shown.data()), ["one"]);
    assert_eq!(shown.header("cache-control"), "no-store");
    assert_eq!(shown.header("x-robots-tag"), "noindex, nofollow");
    assert!(!shown.headers.contains_key("x-cache"));
    // The draft as it is when the link is opened.
    site.retitle(widget, "two").await;
    assert_eq!(titles(&open().expect(200).await.data()), ["two"]);
    // Nobody makes one for another page or another time.
    for (from, to) in
        [("page_id=1", "page_id=2"), ("expires=1", "expires=2"), ("signature=", "signature=0")]
    {
        let forged = path.replace(from, to);
        assert_ne!(forged, path);
        site.ask(&format!("GET {forged}")).refused(404, "not_found").await;
    }
    site.ask("GET /api/pages/draft?page_id=1").refused(400, "bad_query").await;
    site.clock.advance(600_000);
    open().refused(404, "not_found").await;
}

#[tokio::test]
async fn links_have_a_longest_time() {
    let site = site().await;
    let line = format!("POST {BUILDER}?action=link&page_id=1");
    for ttl_s in [0, -1, 30 * 86_400 + 1] {
        let body = json!({"ttl_s": ttl_s});
        site.admin(&line).json(body).refused(422, "validation_failed").await;
    }
    let day = site.admin(&line).expect(200).await.data();
    assert_eq!(day["expires_at"], "2026-11-22T09:30:00Z");
    let line = format!("POST {BUILDER}?action=link&page_id=99");
    site.admin(&line).refused(404, "not_found").await;
}
