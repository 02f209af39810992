//! `/sitemap.xml`.

use cms_core::settings::{LimiterStore, Settings};
use serde_json::json;

use super::pages::filled;
use crate::support::{Reply, Site};

#[tokio::test]
async fn the_sitemap_lists_published_pages_with_https_links() {
    let site = filled().await;
    let map = site.ask("GET /sitemap.xml").header("host", "example.org:8080").expect(200).await;
    assert_eq!(map.header("content-type"), "application/xml");
    let text = map.text();
    let about = "<loc>https://example.org:8080/about%20us%20&amp;%20more</loc>";
    assert!(text.contains(about) && !text.contains("draft"), "{text}");
    let named = |s: &mut Settings| {
        s.site_url = Some("https://site.example".to_owned());
        s.cache.enabled = true;
    };
    let named = Site::with(named).await;
    named.insert("pages", json!({"title": "a", "url_rewrite": "/a", "published": true})).await;
    let text = named.ask("GET /sitemap.xml").expect(200).await.text();
    assert!(text.contains("<loc>https://site.example/a</loc>"), "{text}");
    // One reply for all hosts.
    let other = || named.ask("GET /sitemap.xml").header("host", "other.example").expect(200);
    assert_eq!(other().await.header("x-cache"), "HIT");
    // RFC 9112, 3.2.2: the address asked for counts, not the header beside it.
    let absolute =
        site.ask("GET http://a.example/sitemap.xml").header("host", "b.example").expect(200).await;
    assert!(absolute.text().contains("<loc>https://a.example/about"), "{}", absolute.text());
}

#[tokio::test]
async fn versions_at_one_address_are_listed_once() {
    let site = Site::builder().await.open().await;
    for (base, language) in [(None, "en"), (Some(1), "de"), (Some(1), "fr")] {
        let page = json!({"title": language, "url_rewrite": "/pictures", "published": true,
                          "base_id": base, "language_short": language});
        site.insert("pages", page).await;
    }
    let map = site.ask("GET /sitemap.xml").expect(200).await;
    assert_eq!(addresses(&map).len(), 1, "{}", map.text());
    // The first is taken off: the next one stands for the address.
    site.update("pages&id=1", json!({"published": false})).await;
    assert_eq!(addresses(&site.ask("GET /sitemap.xml").expect(200).await).len(), 1);
}

/// The addresses in `<loc>`.
fn addresses(reply: &Reply) -> Vec<String> {
    let text = reply.text();
    let found = text.split("<loc>").skip(1).filter_map(|rest| rest.split_once("</loc>"));
    found.map(|(address, _)| address.to_owned()).collect()
}

/// Publishes pages with ids from 1 and addresses of that many more letters.
async fn publish(site: &Site, count: usize, letters: usize) {
    let url = format!("'/{}' || cast(i as text)", "x".repeat(letters));
    let sql = format!(
        "insert into cms_pages (id, language_short, url_rewrite, title, published) \
         select i, 'en', {url}, 'a', true"
    );
    site.database.fill(&sql, count).await;
}

#[tokio::test]
async fn many_pages_are_an_index_of_files_that_hold_each_of_them_once() {
    let site = Site::with(|s| s.http.page_limit_bytes = 2000).await;
    publish(&site, 60, 40).await;
    let index = site.ask("GET /sitemap.xml").expect(200).await;
    assert!(index.text().contains("<sitemapindex xmlns=\"http://www.sitemaps.org/"));
    let files = addresses(&index);
    assert!((2..=8).contains(&files.len()), "{files:?}");
    let mut pages = Vec::new();
    for file in files {
        let file = file.strip_prefix("https://cms.test").expect("on this host");
        let reply = site.ask(&format!("GET {file}")).expect(200).await;
        assert!(reply.body.len() <= 2000 && reply.text().contains("<urlset"), "{file}");
        pages.extend(addresses(&reply));
    }
    let letters = "x".repeat(40);
    let expected: Vec<_> = (1..=60).map(|n| format!("https://cms.test/{letters}{n}")).collect();
    assert_eq!(pages, expected);
    for nowhere in [-1, 1, 59, 60, i64::MAX] {
        site.ask(&format!("GET /sitemap.xml?after={nowhere}")).refused(404, "not_found").await;
    }
    site.ask("GET /sitemap.xml?after=x").refused(400, "bad_query").await;
}

/// A file's borders are found by sizes, so these must be those of the text.
#[tokio::test]
async fn a_file_is_as_large_as_allowed_whatever_its_addresses_hold() {
    let site = Site::open().await;
    for (id, url) in [(-7, "/a"), (0, "/<&>\"' ß"), (5, "without slash"), (9, "/\u{9f}\u{fffe}é")]
    {
        let url = url.replace('\'', "''");
        let values = format!("{id}, 'en', '{url}', 'a', true");
        let columns = "id, language_short, url_rewrite, title, published";
        site.database.run(format!("insert into cms_pages ({columns}) values ({values})")).await;
    }
    let whole = site.ask("GET /sitemap.xml").expect(200).await;
    let limited = async |site: Site, limit: usize| {
        site.cms.close().await;
        let limit = limit as u64;
        Site::on(site.database).settings(|s| s.http.page_limit_bytes = limit).open().await
    };
    let exact = limited(site, whole.body.len()).await;
    let first = exact.ask("GET /sitemap.xml").expect(200).await;
    assert_eq!(first.text(), whole.text());
    let less = limited(exact, whole.body.len() - 1).await;
    let files = addresses(&less.ask("GET /sitemap.xml").expect(200).await);
    assert_eq!(files, ["0", "5"].map(|id| format!("https://cms.test/sitemap.xml?after={id}")));
    let first = less.ask("GET /sitemap.xml?after=0").expect(200).await;
    let second = less.ask("GET /sitemap.xml?after=5").expect(200).await;
    assert_eq!([addresses(&first), addresses(&second)].concat(), addresses(&whole));
}

#[tokio::test]
async fn a_file_has_50_000_addresses_at_most() {
    let site = Site::open().await;
    publish(&site, 50_000, 0).await;
    assert_eq!(addresses(&site.ask("GET /sitemap.xml").expect(200).await).len(), 50_000);
    let page = json!({"id": 50_001, "title": "a", "url_rewrite": "/a", "published": true});
    site.insert("pages", page).await;
    let files = addresses(&site.ask("GET /sitemap.xml").expect(200).await);
    assert_eq!(files, ["0", "50000"].map(|id| format!("https://cms.test/sitemap.xml?after={id}")));
    let second = site.ask("GET /sitemap.xml?after=50000").expect(200).await;
    assert_eq!(addresses(&second), ["https://cms.test/a"]);
}

#[tokio::test]
async fn the_sitemap_is_kept_and_counted() {
    let counted = |s: &mut Settings| {
        s.cache.enabled = true;
        s.limiter.store = LimiterStore::Memory;
    };
    let site = Site::with(counted).await;
    for (n, kept) in ["MISS", "HIT", "HIT"].into_iter().enumerate() {
        let reply = site.ask("GET /sitemap.xml").expect(200).await;
        assert_eq!(reply.header("x-cache"), kept);
        assert_eq!(reply.header("x-ratelimit-remaining"), (99 - n).to_string());
    }
    site.insert("pages", json!({"title": "a", "url_rewrite": "/new", "published": true})).await;
    let reply = site.ask("GET /sitemap.xml").expect(200).await;
    assert!(reply.header("x-cache") == "MISS" && reply.text().contains("/new"));
    for _ in 0..96 {
        site.ask("GET /sitemap.xml").expect(200).await;
    }
    site.ask("GET /sitemap.xml").refused(429, "rate_limited").await;
    site.ask("GET /healthz").expect(200).await;
}
