//! Old addresses: kept by the service when pages move or go, written by hand, followed.

use serde_json::{Value as Json, json};

use crate::support::{Site, has};

const ITEMS: &str = "/api/backend/item?table=redirects";

async fn page(site: &Site, url: &str, language: &str) -> i64 {
    let body = json!({"url_rewrite": url, "title": url, "language_short": language,
                      "published": true});
    site.create("/api/backend/item?table=pages", body).await["id"].as_i64().unwrap()
}

async fn set(site: &Site, page: i64, body: Json) {
    site.patch(&format!("/api/backend/item?table=pages&id={page}"), body).await;
}

async fn redirect(site: &Site, body: Json) -> Json {
    site.create(ITEMS, body).await
}

/// What visitors get at an address: the title of a page, a redirect, or null for nothing.
async fn at(site: &Site, url: &str) -> Json {
    let reply = site.ask(&format!("GET /api/pages?url={url}")).send().await;
    match reply.status.as_u16() {
        404 => Json::Null,
        _ => match &reply.data() {
            data if data["redirect"].is_object() => data["redirect"].clone(),
            data => data["title"].clone(),
        },
    }
}

/// Visitors get this at each of these addresses.
async fn lead<const N: usize>(site: &Site, addresses: [(&str, Json); N]) {
    for (url, expected) in addresses {
        assert_eq!(at(site, url).await, expected, "{url}");
    }
}

fn moved(to: &str) -> Json {
    json!({"to": to, "status": 301})
}

fn gone() -> Json {
    json!({"to": null, "status": 410})
}

#[tokio::test]
async fn a_page_that_moves_or_goes_leaves_its_address_behind() {
    let site = Site::open().await;
    let id = page(&site, "/a", "en").await;
    set(&site, id, json!({"title": "It", "url_rewrite": "/b"})).await;
    lead(&site, [("/a", moved("/b"))]).await;
    // No chain: the first address leads to the last at once.
    set(&site, id, json!({"url_rewrite": "/c"})).await;
    lead(&site, [("/a", moved("/c")), ("/b", moved("/c"))]).await;
    // Back: no loop.
    set(&site, id, json!({"url_rewrite": "/a"})).await;
    lead(&site, [("/a", json!("It")), ("/b", moved("/a")), ("/c", moved("/a"))]).await;
    // Off and on again.
    site.act("take_off", json!({"page_id": id})).await;
    lead(&site, [("/a", gone()), ("/b", gone())]).await;
    set(&site, id, json!({"published": true})).await;
    lead(&site, [("/a", json!("It")), ("/b", moved("/a"))]).await;
    set(&site, id, json!({"published": false})).await;
    lead(&site, [("/a", gone())]).await;
    // What nobody saw leaves nothing.
    set(&site, id, json!({"url_rewrite": "/unseen"})).await;
    set(&site, id, json!({"url_rewrite": "/d", "published": true})).await;
    lead(&site, [("/unseen", Json::Null), ("/d", json!("It"))]).await;
    site.delete(&format!("/api/backend/item?table=pages&id={id}")).await;
    lead(&site, [("/d", gone())]).await;
    // Another page takes the address.
    page(&site, "/d", "en").await;
    lead(&site, [("/d", json!("/d"))]).await;
    assert!(site.database.rows("cms_events where name = 'item.redirects.created'").await > 0);
}

#[tokio::test]
async fn old_addresses_keep_their_spelling_and_their_language() {
    let site = Site::open().await;
    let id = page(&site, "/a", "en").await;
    let german = page(&site, "/a", "de").await;
    site.database.run("update cms_pages set url_rewrite = '/ü' where id = 1").await;
    set(&site, id, json!({"url_rewrite": "/u"})).await;
    lead(&site, [("/%C3%BC", moved("/u"))]).await;
    set(&site, german, json!({"url_rewrite": "/b"})).await;
    lead(&site, [("/a&language=de", moved("/b")), ("/a&language=en", Json::Null)]).await;
    redirect(&site, json!({"from": "/a", "to": "/all"})).await;
    // The nearer one, and not that of another language.
    lead(&site, [("/a&language=en", moved("/all")), ("/a&language=de", moved("/b"))]).await;
    lead(&site, [("/a", moved("/all"))]).await;
    set(&site, german, json!({"language_short": "fr"})).await;
    lead(&site, [("/b&language=de", gone())]).await;
}

/// As at its present address, a page is found in the language that is asked for.
#[tokio::test]
async fn a_page_that_moved_is_found_in_its_other_languages() {
    let site = Site::open().await;
    let german = page(&site, "/alt", "de").await;
    let english = json!({"url_rewrite": "/old", "title": "English", "language_short": "en",
                         "base_id": german, "published": true});
    let items = "POST /api/backend/item?table=pages";
    site.admin(items).json(english).expect(201).await;
    assert_eq!(at(&site, "/alt&language=en").await, json!("English"));
    set(&site, german, json!({"url_rewrite": "/neu"})).await;
    for (url, expected) in [
        ("/alt&language=en", moved("/neu")),
        ("/neu&language=en", json!("English")),
        ("/alt&language=de", moved("/neu")),
        ("/alt&language=fr", Json::Null),
    ] {
        assert_eq!(at(&site, url).await, expected, "{url}");
    }
    set(&site, german, json!({"published": false})).await;
    assert_eq!(at(&site, "/alt&language=en").await, Json::Null, "it leads to no page");
    let hits = "select hits from cms_redirects where \"from\" = '/alt'";
    site.cms.upkeep().await;
    assert_eq!(site.database.count(hits).await, 2);
}

#[tokio::test]
async fn the_exact_redirect_counts_else_the_longest() {
    let site = Site::open().await;
    for (from, to, status) in [
        ("/shop/*", json!("/store/*"), 308),
        ("/shop/old/*", json!("https://archive.example/*?from=shop"), 302),
        ("/shop/old/bike", json!("/bikes"), 307),
        ("/shop/none/*", Json::Null, 410),
        ("/caf%C3%A9/*", json!("/coffee/*"), 301),
    ] {
        redirect(&site, json!({"from": from, "to": to, "status": status})).await;
    }
    lead(
        &site,
        [
            ("/shop/x/y", json!({"to": "/store/x/y", "status": 308})),
            ("/shop/old/x", json!({"to": "https://archive.example/x?from=shop", "status": 302})),
            ("/shop/old/bike", json!({"to": "/bikes", "status": 307})),
            ("/shop/none/x", gone()),
            ("/caf%C3%A9/x", moved("/coffee/x")),
            ("/caf%25c3%25a9/x", moved("/coffee/x")),
            ("/shop", Json::Null),
            ("/shopping", Json::Null),
            ("/x%00y", Json::Null),
        ],
    )
    .await;
    // From the time before addresses had one spelling.
    let old = redirect(&site, json!({"from": "/stale", "to": "/on"})).await;
    let respell = "update cms_redirects set \"from\" = '/caf%c3%a9' where id = ";
    site.database.run(format!("{respell}{}", old["id"])).await;
    redirect(&site, json!({"from": "/begin", "to": "/caf%c3%a9"})).await;
    lead(&site, [("/caf%25c3%25a9", moved("/on")), ("/begin", moved("/on"))]).await;
    let back = site.invalid(&format!("POST {ITEMS}"), json!({"from": "/on", "to": "/begin"})).await;
    assert_eq!(back["errors"][0]["code"], "loop");
    let circle = "update cms_redirects set \"to\" = '/begin' where \"from\" = '/caf%c3%a9'";
    site.database.run(circle).await;
    lead(&site, [("/begin", Json::Null), ("/caf%25c3%25a9", Json::Null)]).await;
    let off = redirect(&site, json!({"from": "/off", "to": "/on", "active": false})).await;
    lead(&site, [("/off", Json::Null)]).await;
    site.patch(&format!("{ITEMS}&id={}", off["id"]), json!({"active": true})).await;
    lead(&site, [("/off", moved("/on"))]).await;
}

#[tokio::test]
async fn chains_are_followed_and_loops_refused() {
    let site = Site::open().await;
    redirect(&site, json!({"from": "/a", "to": "/b"})).await;
    redirect(&site, json!({"from": "/b", "to": "/c", "status": 302})).await;
    // One part may change, so nobody should keep the whole.
    lead(&site, [("/a", json!({"to": "/c", "status": 302}))]).await;
    for (from, to) in [
        ("/d/*", "/e/*"),
        ("/e/*", "/f/*"),
        ("/f/*", "/h/*"),
        ("/g", "/f/y?a=1"),
        ("/everything/*", "/*"),
        ("/new/*", "/"),
    ] {
        redirect(&site, json!({"from": from, "to": to})).await;
    }
    lead(
        &site,
        [
            ("/d/x", moved("/h/x")),
            ("/g", moved("/f/y?a=1")),
            ("/everything/d/x", moved("/h/x")),
            ("/everything//evil.example", Json::Null),
            ("/everything/%5Cevil.example", Json::Null),
            ("/everything/%0d%0aa", Json::Null),
        ],
    )
    .await;
    redirect(&site, json!({"from": "/c", "to": null, "status": 410})).await;
    lead(&site, [("/a", gone())]).await;
    redirect(&site, json!({"from": "/de", "to": "/en", "language_short": "de"})).await;
    let count = site.database.rows("cms_redirects").await;
    for (body, field, code) in [
        (json!({"from": "/x", "to": "/x"}), "to", "loop"),
        (json!({"from": "/xyz", "to": "/x%79z"}), "to", "loop"),
        (json!({"from": "/h/*", "to": "/d/*"}), "to", "loop"),
        (json!({"from": "/i/*", "to": "/i/more/*"}), "to", "loop"),
        (json!({"from": "/h/y", "to": "/d/y"}), "to", "loop"),
        (json!({"from": "/en", "to": "/de"}), "to", "loop"),
        (json!({"from": "/x", "to": null}), "to", "format"),
        (json!({"from": "/x", "to": "/y", "status": 410}), "to", "format"),
        (json!({"from": "/x", "to": "/y/*"}), "to", "format"),
        (json!({"from": "/x", "to": "javascript:alert(1)"}), "to", "format"),
        (json!({"from": "x", "to": "/y"}), "from", "format"),
        (json!({"from": "/x*", "to": "/y"}), "from", "format"),
        (json!({"from": "/%c3%bc", "to": "/y"}), "from", "format"),
        (json!({"from": "/%78/*", "to": "/y"}), "from", "format"),
        (json!({"to": "/y"}), "from", "required"),
        (json!({"from": "/x", "to": "/y", "status": 303}), "status", "enum"),
        (json!({"from": "/x", "to": "/y", "hits": 7}), "hits", "read_only"),
    ] {
        let refused = site.invalid(&format!("POST {ITEMS}"), body.clone()).await;
        has!(refused["errors"][0], {"field": field, "code": code}, "{body}");
    }
    let twice = site.admin(&format!("POST {ITEMS}")).json(json!({"from": "/a", "to": "/q"}));
    let twice = twice.refused(409, "conflict").await.json();
    assert_eq!(site.database.rows("cms_redirects").await, count);
    let named = twice["errors"].as_array().unwrap().iter().map(|one| one["field"].as_str());
    let named: Vec<_> = named.collect();
    assert_eq!(named, [Some("from"), Some("language_short")], "{twice}");
}

#[tokio::test]
async fn a_published_page_ends_a_chain() {
    let site = Site::open().await;
    page(&site, "/", "en").await;
    page(&site, "/live", "en").await;
    for (from, to) in [("/old", "/live"), ("/*", "/"), ("/older", "/old")] {
        redirect(&site, json!({"from": from, "to": to})).await;
    }
    // From the time before addresses had one spelling.
    page(&site, "/apples", "en").await;
    let respell = "update cms_pages set url_rewrite = '/%c3%a4pfel' where url_rewrite = '/apples'";
    site.database.run(respell).await;
    redirect(&site, json!({"from": "/fruit", "to": "/%c3%a4pfel"})).await;
    lead(&site, [("/fruit", moved("/%c3%a4pfel"))]).await;
    lead(&site, [("/live", json!("/live")), ("/old", moved("/live"))]).await;
    lead(&site, [("/older", moved("/live")), ("/any/thing", moved("/"))]).await;
}

#[tokio::test]
async fn each_look_is_counted() {
    let site = Site::open().await;
    let id = redirect(&site, json!({"from": "/a/*", "to": "/b"})).await["id"].clone();
    for url in ["/a/x", "/a/y", "/a/y", "/c"] {
        at(&site, url).await;
    }
    site.cms.upkeep().await;
    at(&site, "/a/z").await;
    site.cms.upkeep().await;
    let shown = site.get(&format!("{ITEMS}&id={id}")).await;
    assert_eq!(shown["hits"], 4);
    assert!(shown["last_hit_at"].as_str().unwrap().ends_with('Z'), "{shown}");
    // A copy of the row keeps them; nobody else writes them.
    site.delete(&format!("{ITEMS}&id={id}")).await;
    let (post, copy) = (format!("POST {ITEMS}"), format!("POST {ITEMS}&no_events=true"));
    site.invalid(&post, shown.clone()).await;
    let new = json!({"from": "/n", "to": "/b", "hits": 4});
    site.invalid(&copy, new).await;
    let copied = site.admin(&copy).json(shown.clone()).expect(201).await.data();
    assert_eq!(copied, shown);
    let hit = json!({"id": 7, "from": "/h", "to": "/b", "last_hit_at": "yesterday"});
    site.invalid(&copy, hit).await;
}
