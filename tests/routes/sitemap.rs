//! `/sitemap.xml`.

use serde_json::json;

use super::pages::filled;
use crate::support::Site;

#[tokio::test]
async fn the_sitemap_lists_published_pages_with_https_links() {
    let site = filled().await;
    let map = site.ask("GET /sitemap.xml").header("host", "example.org:8080").expect(200).await;
    assert_eq!(map.header("content-type"), "application/xml");
    let text = map.text();
    assert!(
        text.contains("<loc>https://example.org:8080/about%20us%20&amp;%20more</loc>"),
        "{text}"
    );
    assert!(!text.contains("draft"));
    let named = Site::builder()
        .await
        .settings(|s| s.site_url = Some("https://site.example".to_owned()))
        .open()
        .await;
    named
        .admin("POST /api/backend/item?table=pages")
        .json(json!({"title": "a", "url_rewrite": "/a", "published": true}))
        .expect(201)
        .await;
    assert!(
        named
            .ask("GET /sitemap.xml")
            .expect(200)
            .await
            .text()
            .contains("<loc>https://site.example/a</loc>")
    );
    // RFC 9112, 3.2.2: the address asked for counts, not the header beside it.
    let absolute =
        site.ask("GET http://a.example/sitemap.xml").header("host", "b.example").expect(200).await;
    assert!(absolute.text().contains("<loc>https://a.example/about"), "{}", absolute.text());
}
