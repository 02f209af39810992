//! `/api/pages`: what visitors read.

use serde_json::{Value as Json, json};

use crate::support::{Site, has};

/// Pages, a menu and settings for visitors.
pub(super) async fn filled() -> Site {
    let site = Site::open().await;
    let page = |id: i64, base: i64, language: &str, url: &str, view: &str, published: bool| {
        json!({"id": id, "base_id": base, "language_short": language, "url_rewrite": url,
               "title": format!("T{id}"), "view": view, "sort_order": 10 - id,
               "published": published})
    };
    let pages = json!([
        page(1, 1, "en", "/", "home", true),
        page(2, 1, "de", "/de", "home", true),
        page(3, 3, "en", "/about", "about", true),
        page(4, 4, "en", "/draft", "draft", false),
    ]);
    site.create("/api/backend/item?table=pages", pages).await;
    // As it may have been written before addresses had a rule.
    let old = "update cms_pages set url_rewrite = '/about us & more' where id = 3";
    site.database.run(old).await;
    let item = |id: i64, parent: Option<i64>, title: &str, sort: i64| {
        json!({"id": id, "menu": "main", "parent_id": parent, "title": title, "url": "/x",
               "language_short": "en", "sort_order": sort})
    };
    let menu = json!([
        item(1, None, "second", 2),
        item(2, None, "first", 1),
        item(3, Some(1), "below", 0)
    ]);
    site.create("/api/backend/item?table=menu_items", menu).await;
    let settings = json!([
        {"name": "claim", "value": {"en": "Hi"}, "public": true}, {"name": "secret", "value": 1},
        {"name": "n", "value": 1.50, "public": true},
    ]);
    site.create("/api/backend/item?table=settings", settings).await;
    site
}

#[tokio::test]
async fn a_page_is_named_by_one_thing() {
    let site = filled().await;
    for query in ["id=3&url=/", "id=3&view=home", "view=home&url=/", "id=1&view=home&url=/"] {
        for path in ["/api/pages", "/api/pages/one"] {
            let reply = site.ask(&format!("GET {path}?{query}")).refused(400, "bad_query").await;
            assert!(reply.text().contains("one of id, view and url"), "{}", reply.text());
        }
    }
}

#[tokio::test]
async fn pages_are_listed_and_found_when_published() {
    let site = filled().await;
    let list = site.ask("GET /api/pages").expect(200).await;
    assert_eq!(
        list.text(),
        concat!(
            r#"{"data":[{"id":3,"base_id":3,"language_short":"en","parent_id":null,"#,
            r#""url_rewrite":"/about us & more","title":"T3","view":"about","sort_order":7},"#,
            r#"{"id":2,"base_id":1,"language_short":"de","parent_id":null,"#,
            r#""url_rewrite":"/de","title":"T2","view":"home","sort_order":8},"#,
            r#"{"id":1,"base_id":1,"language_short":"en","parent_id":null,"#,
            r#""url_rewrite":"/","title":"T1","view":"home","sort_order":9}],"#,
            r#""meta":{"limit":50,"next":null}}"#
        )
    );
    for (query, expected) in [
        ("view=home", Some(1)),
        ("view=home&language=de", Some(2)),
        ("url=/de", Some(2)),
        ("id=3", Some(3)),
        ("view=draft", None),
        ("id=4", None),
        ("url=/draft", None),
        ("view=nothing", None),
        ("view=about&language=de", None),
        ("id=1&language=de", Some(2)),
        ("id=2&language=en", Some(1)),
        ("id=2&language=de", Some(2)),
        ("id=3&language=de", None),
        ("id=4&language=en", None),
        ("id=9&language=en", None),
        ("url=/&language=de", Some(2)),
        ("url=/de&language=en", Some(1)),
        ("url=/de&language=de", Some(2)),
        ("url=/about%20us%20%26%20more&language=de", None),
        ("url=/draft&language=en", None),
        ("url=/nowhere&language=en", None),
    ] {
        let ask = || site.ask(&format!("GET /api/pages?{query}"));
        let Some(id) = expected else {
            ask().refused(404, "not_found").await;
            continue;
        };
        let reply = ask().expect(200).await;
        has!(reply.data(), {"id": id, "rows": []}, "{query}");
        let tag = reply.header("etag").to_owned();
        let again = ask().header("if-none-match", &tag).expect(304).await;
        assert!(again.body.is_empty());
        let lines = ask().header("if-none-match", "\"other\"");
        lines.header("if-none-match", format!("\"a,b\", W/{tag}")).expect(304).await;
    }
    let german = site.ask("GET /api/pages?language=de").expect(200).await.data();
    assert_eq!(german.as_array().unwrap().len(), 1);
    for query in ["limit=0", "id=x", "id=x&language=de"] {
        site.ask(&format!("GET /api/pages?{query}")).refused(400, "bad_query").await;
    }
}

/// Pages that SQL has written may have no `base_id`: they are their own base.
#[tokio::test]
async fn a_page_without_a_base_is_found_in_its_languages() {
    let site = Site::open().await;
    for values in ["1, null, 'en', '/x'", "2, 1, 'de', '/de'", "3, null, 'en', '/y'"] {
        let columns = "id, base_id, language_short, url_rewrite, title, published";
        let sql = format!("insert into cms_pages ({columns}) values ({values}, 'a', true)");
        site.database.run(sql).await;
    }
    for (query, id) in [
        ("url=/x&language=de", 2),
        ("url=/x&language=en", 1),
        ("url=/de&language=en", 1),
        ("url=/y", 3),
    ] {
        let page = site.ask(&format!("GET /api/pages?{query}")).expect(200).await.data();
        assert_eq!(page["id"], json!(id), "{query}");
    }
    site.ask("GET /api/pages?url=/y&language=de").refused(404, "not_found").await;
}

#[tokio::test]
async fn an_address_is_unique_among_the_pages_of_a_language() {
    let builder = Site::builder().await;
    let languages = ["de", "en"].map(str::to_owned).to_vec();
    let site = builder.settings(|settings| settings.languages = languages).open().await;
    let create = "POST /api/backend/item?table=pages";
    let page = |id: i64, language: &str| {
        json!({"id": id, "language_short": language, "url_rewrite": "/same",
               "title": language, "published": true})
    };
    for (id, language) in [(1, "en"), (2, "de"), (3, "fr")] {
        site.admin(create).json(page(id, language)).expect(201).await;
    }
    site.admin(create).json(page(4, "en")).refused(409, "conflict").await;
    for (query, id) in [("", 2), ("&language=en", 1), ("&language=de", 2), ("&language=fr", 3)] {
        let found = site.ask(&format!("GET /api/pages?url=/same{query}")).expect(200).await;
        assert_eq!(found.data()["id"], id, "{query}");
    }
    site.ask("GET /api/pages?url=/same&language=it").refused(404, "not_found").await;
}

#[tokio::test]
async fn a_page_does_not_stand_below_itself() {
    let site = filled().await;
    let patch = async |id: i64, parent: Json| {
        let line = format!("PATCH /api/backend/item?table=pages&id={id}");
        site.admin(&line).json(json!({"parent_id": parent})).send().await
    };
    for (id, parent) in [(3, 1), (4, 3)] {
        assert_eq!(patch(id, json!(parent)).await.status, 200);
    }
    let before = site.traces().await;
    for (id, parent) in [(1, 1), (1, 3), (1, 4)] {
        let reply = patch(id, json!(parent)).await;
        let code = &reply.json()["errors"][0]["code"];
        assert_eq!((reply.status.as_u16(), code), (422, &json!("loop")), "{id} below {parent}");
    }
    let own = json!({"id": 9, "parent_id": 9, "url_rewrite": "/nine", "title": "Nine"});
    let reply = site.invalid("POST /api/backend/item?table=pages", own).await;
    assert_eq!(reply["errors"][0]["field"], "parent_id");
    assert_eq!(site.traces().await, before);
    assert_eq!(patch(3, Json::Null).await.status, 200);
    assert_eq!(patch(1, json!(3)).await.status, 200);
}
