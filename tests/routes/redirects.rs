//! Old addresses: kept by the service when pages move or go, written by hand, followed.

use serde_json::{Value as Json, json};

use crate::support::Site;

const ITEMS: &str = "/api/backend/item?table=redirects";

async fn page(site: &Site, url: &str, language: &str) -> i64 {
    let body = json!({"url_rewrite": url, "title": url, "language_short": language,
                      "published": true});
    let made = site.admin("POST /api/backend/item?table=pages").json(body).expect(201).await;
    made.data()["id"].as_i64().unwrap()
}

async fn set(site: &Site, page: i64, body: Json) {
    let line = format!("PATCH /api/backend/item?table=pages&id={page}");
    site.admin(&line).json(body).expect(200).await;
}

async fn redirect(site: &Site, body: Json) -> Json {
    site.admin(&format!("POST {ITEMS}")).json(body).expect(201).await.data()
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
    assert_eq!(at(&site, "/a").await, moved("/b"));
    // No chain: the first address leads to the last at once.
    set(&site, id, json!({"url_rewrite": "/c"})).await;
    assert_eq!([at(&site, "/a").await, at(&site, "/b").await], [moved("/c"), moved("/c")]);
    // Back: no loop.
    set(&site, id, json!({"url_rewrite": "/a"})).await;
    assert_eq!(at(&site, "/a").await, json!("It"));
    assert_eq!([at(&site, "/b").await, at(&site, "/c").await], [moved("/a"), moved("/a")]);
    // Off and on again.
    let off = format!("POST /api/backend/pagebuilder?action=take_off&page_id={id}");
    site.admin(&off).json(json!({})).expect(200).await;
    assert_eq!([at(&site, "/a").await, at(&site, "/b").await], [gone(), gone()]);
    set(&site, id, json!({"published": true})).await;
    assert_eq!([at(&site, "/a").await, at(&site, "/b").await], [json!("It"), moved("/a")]);
    set(&site, id, json!({"published": false})).await;
    assert_eq!(at(&site, "/a").await, gone());
    // What nobody saw leaves nothing.
    set(&site, id, json!({"url_rewrite": "/unseen"})).await;
    set(&site, id, json!({"url_rewrite": "/d", "published": true})).await;
    assert_eq!([at(&site, "/unseen").await, at(&site, "/d").await], [Json::Null, json!("It")]);
    site.admin(&format!("DELETE /api/backend/item?table=pages&id={id}")).expect(204).await;
    assert_eq!(at(&site, "/d").await, gone());
    // Another page takes the address.
    page(&site, "/d", "en").await;
    assert_eq!(at(&site, "/d").await, json!("/d"));
    let events = "select count(*) from cms_events where name = 'item.redirects.created'";
    assert!(site.database.count(events).await > 0);
}

#[tokio::test]
async fn old_addresses_keep_their_spelling_and_their_language() {
    let site = Site::open().await;
    let id = page(&site, "/a", "en").await;
    let german = page(&site, "/a", "de").await;
    site.database.run("update cms_pages set url_rewrite = '/ü' where id = 1".to_owned()).await;
    set(&site, id, json!({"url_rewrite": "/u"})).await;
    assert_eq!(at(&site, "/%C3%BC").await, moved("/u"));
    set(&site, german, json!({"url_rewrite": "/b"})).await;
    assert_eq!(at(&site, "/a&language=de").await, moved("/b"));
    assert_eq!(at(&site, "/a&language=en").await, Json::Null);
    redirect(&site, json!({"from": "/a", "to": "/all"})).await;
    assert_eq!(at(&site, "/a&language=en").await, moved("/all"));
    assert_eq!(at(&site, "/a&language=de").await, moved("/b"), "the nearer one");
    assert_eq!(at(&site, "/a").await, moved("/all"), "not that of another language");
    set(&site, german, json!({"language_short": "fr"})).await;
    assert_eq!(at(&site, "/b&language=de").await, gone());
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
    for (url, expected) in [
        ("/shop/x/y", json!({"to": "/store/x/y", "status": 308})),
        ("/shop/old/x", json!({"to": "https://archive.example/x?from=shop", "status": 302})),
        ("/shop/old/bike", json!({"to": "/bikes", "status": 307})),
        ("/shop/none/x", gone()),
        ("/caf%C3%A9/x", moved("/coffee/x")),
        ("/caf%25c3%25a9/x", moved("/coffee/x")),
        ("/shop", Json::Null),
        ("/shopping", Json::Null),
        ("/x%00y", Json::Null),
    ] {
        assert_eq!(at(&site, url).await, expected, "{url}");
    }
    // From the time before addresses had one spelling.
    let old = redirect(&site, json!({"from": "/stale", "to": "/on"})).await;
    let respell = "update cms_redirects set \"from\" = '/caf%c3%a9' where id = ";
    site.database.run(format!("{respell}{}", old["id"])).await;
    assert_eq!(at(&site, "/caf%25c3%25a9").await, moved("/on"));
    let id = redirect(&site, json!({"from": "/off", "to": "/on", "active": false})).await;
    assert_eq!(at(&site, "/off").await, Json::Null);
    let line = format!("PATCH {ITEMS}&id={}", id["id"]);
    site.admin(&line).json(json!({"active": true})).expect(200).await;
    assert_eq!(at(&site, "/off").await, moved("/on"));
}

#[tokio::test]
async fn chains_are_followed_and_loops_refused() {
    let site = Site::open().await;
    redirect(&site, json!({"from": "/a", "to": "/b"})).await;
    redirect(&site, json!({"from": "/b", "to": "/c", "status": 302})).await;
    // One part may change, so nobody should keep the whole.
    assert_eq!(at(&site, "/a").await, json!({"to": "/c", "status": 302}));
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
    for (url, expected) in [
        ("/d/x", moved("/h/x")),
        ("/g", moved("/f/y?a=1")),
        ("/everything/d/x", moved("/h/x")),
        ("/everything//evil.example", Json::Null),
        ("/everything/%5Cevil.example", Json::Null),
        ("/everything/%0d%0aa", Json::Null),
    ] {
        assert_eq!(at(&site, url).await, expected, "{url}");
    }
    redirect(&site, json!({"from": "/c", "to": null, "status": 410})).await;
    assert_eq!(at(&site, "/a").await, gone());
    redirect(&site, json!({"from": "/de", "to": "/en", "language_short": "de"})).await;
    let before = "select count(*) from cms_redirects";
    let count = site.database.count(before).await;
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
        let refused = site.admin(&format!("POST {ITEMS}")).json(body.clone());
        let refused = refused.refused(422, "validation_failed").await.json();
        let first = &refused["errors"][0];
        assert_eq!((&first["field"], &first["code"]), (&json!(field), &json!(code)), "{body}");
    }
    let twice = site.admin(&format!("POST {ITEMS}")).json(json!({"from": "/a", "to": "/q"}));
    let twice = twice.refused(409, "conflict").await.json();
    assert_eq!(site.database.count(before).await, count, "{twice}");
}

#[tokio::test]
async fn a_published_page_ends_a_chain() {
    let site = Site::open().await;
    page(&site, "/", "en").await;
    page(&site, "/live", "en").await;
    redirect(&site, json!({"from": "/old", "to": "/live"})).await;
    redirect(&site, json!({"from": "/*", "to": "/"})).await;
    redirect(&site, json!({"from": "/older", "to": "/old"})).await;
    for (url, expected) in [
        ("/live", json!("/live")),
        ("/old", moved("/live")),
        ("/older", moved("/live")),
        ("/any/thing", moved("/")),
    ] {
        assert_eq!(at(&site, url).await, expected, "{url}");
    }
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
    let shown = site.admin(&format!("GET {ITEMS}&id={id}")).expect(200).await.data();
    assert_eq!(shown["hits"], 4);
    assert!(shown["last_hit_at"].as_str().unwrap().ends_with('Z'), "{shown}");
}
