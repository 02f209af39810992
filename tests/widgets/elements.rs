//! Pages that stand in other pages.

use cms_core::settings::Settings;
use serde_json::{Value as Json, json};

use crate::{
    routes::pagebuilder::{BUILDER, titles, with_pages},
    support::Site,
};

/// Two more pages in two languages, 3 and 4, 5 and 6, each with its title as a headline, published.
async fn site(settings: impl FnOnce(&mut Settings)) -> Site {
    let site = with_pages(Site::with(settings).await).await;
    for (id, base, language) in [(3, 3, "en"), (4, 3, "de"), (5, 5, "en"), (6, 5, "de")] {
        let page = json!({"id": id, "base_id": base, "language_short": language,
                          "url_rewrite": format!("/{id}"), "title": "Part"});
        site.create("/api/backend/item?table=pages", page).await;
        site.headline(id, &format!("{base} {language}")).await;
        site.act("publish", json!({"page_id": id})).await;
    }
    site
}

/// Puts a page into another one, which is published again.
async fn embed(site: &Site, page: i64, part: i64) -> i64 {
    let (_, col) = site.row(page).await;
    let id = site.widget(col, "pagebuilder_element", json!({"page": part.to_string()})).await;
    site.act("publish", json!({"page_id": page})).await;
    id
}

fn contents(page: &Json) -> Vec<Json> {
    let list = |json: &Json, name: &str| json[name].as_array().cloned().unwrap_or_default();
    let cols = list(page, "rows").into_iter().flat_map(|row| list(&row, "cols"));
    let widgets = cols.flat_map(|col| list(&col, "widgets"));
    let elements = widgets.filter(|widget| widget["widget"] == "pagebuilder_element");
    elements.map(|widget| widget["content"].clone()).collect()
}

async fn read(site: &Site, page: i64) -> Json {
    site.ask(&format!("GET /api/pages?id={page}")).expect(200).await.data()
}

#[tokio::test]
async fn a_page_shows_another_as_it_is_published_in_its_language() {
    let site = site(|_| {}).await;
    embed(&site, 1, 3).await;
    embed(&site, 2, 3).await;
    let of = async |page| contents(&read(&site, page).await)[0].clone();
    for (page, part, title) in [(1, 3, "3 en"), (2, 4, "3 de")] {
        let content = of(page).await;
        assert_eq!(content["page_id"], part);
        assert_eq!(titles(&content), [title]);
    }
    assert_eq!(of(1).await["rows"][0]["cols"][0]["widgets"][0]["template"], "title");
    // Its draft is nobody's business, not even in a draft.
    site.headline(3, "draft").await;
    let drawn = contents(&site.drawn(1).await);
    assert_eq!(titles(&drawn[0]), ["3 en"]);
    assert_eq!(titles(&of(1).await), ["3 en"]);
    // One that is taken off, or that is not there in this language.
    site.act("take_off", json!({"page_id": 3})).await;
    assert_eq!(of(1).await, Json::Null);
    assert_eq!(titles(&of(2).await), ["3 de"]);
    // One whose base is gone: the versions keep its id.
    site.remove("pages&id=3").await;
    assert_eq!(titles(&of(2).await), ["3 de"]);
    let version = site.ask("GET /api/pages?id=3&language=de").expect(200).await.data();
    assert_eq!(version["id"], 4);
}

#[tokio::test]
async fn no_circle_closes_and_no_page_stands_too_deep() {
    let site = site(|_| {}).await;
    // 1 in 1; 1 in 3 in 1.
    for (page, part) in [(1, 1), (3, 1), (1, 3)] {
        embed(&site, page, part).await;
    }
    let shown = contents(&read(&site, 1).await);
    assert_eq!((&shown[0], titles(&shown[1])[0].as_str()), (&Json::Null, "3 en"));
    assert_eq!(contents(&shown[1]), [Json::Null]);
    // 7 in 6 in 5 and so on: three of them stand in the outermost.
    for id in 11..16_i64 {
        let page = json!({"id": id, "language_short": "en", "url_rewrite": format!("/{id}"),
                          "title": "Deep"});
        site.create("/api/backend/item?table=pages", page).await;
        site.headline(id, &id.to_string()).await;
        embed(&site, id, id + 1).await;
    }
    let (mut page, mut depth) = (read(&site, 11).await, 0);
    while let Some(inner) = contents(&page).pop().filter(|inner| !inner.is_null()) {
        depth += 1;
        assert_eq!(titles(&inner)[0], (11 + depth).to_string());
        page = inner;
    }
    assert_eq!(depth, 3);
}

#[tokio::test]
async fn a_kept_page_notices_what_happens_to_a_page_in_it() {
    let site = site(|settings| settings.cache.enabled = true).await;
    embed(&site, 1, 3).await;
    let line = "GET /api/pages?id=1";
    let kept = async || site.ask(line).expect(200).await.header("x-cache").to_owned();
    assert_eq!((kept().await, kept().await), ("MISS".into(), "HIT".into()));
    let (col, _) = site.headline(3, "more").await;
    assert_eq!(kept().await, "HIT", "a draft is none of its business");
    site.act("publish", json!({"page_id": 3})).await;
    let shown = contents(&site.ask(line).expect(200).await.data());
    assert_eq!(titles(&shown[0]), ["3 en", "more"]);
    // What widgets of the inner page read counts too.
    let menu = json!({"kind": "widget", "parent": {"col_id": col}, "widget": "footer_links",
                      "data": {"menu": "footer"}});
    site.add(menu).await;
    site.act("publish", json!({"page_id": 3})).await;
    assert_eq!((kept().await, kept().await), ("MISS".into(), "HIT".into()));
    let item = json!({"menu": "footer", "title": "Imprint", "url": "/imprint",
                      "language_short": "en"});
    site.create("/api/backend/item?table=menu_items", item).await;
    let shown = contents(&site.ask(line).expect(200).await.data());
    let widgets = &shown[0]["rows"][1]["cols"][0]["widgets"];
    assert_eq!(widgets[1]["content"]["menu"][0]["title"], "Imprint");
}

#[tokio::test]
async fn visitors_and_editors_see_the_same_of_an_inner_page() {
    let site = site(|_| {}).await;
    let (_, col) = site.row(3).await;
    let jobs = site.widget(col, "jobs", json!({})).await;
    site.item(jobs, json!({"title": "Over", "end_date": "2026-11-20"})).await;
    site.act("publish", json!({"page_id": 3})).await;
    embed(&site, 1, 3).await;
    for shown in [read(&site, 1).await, site.drawn(1).await] {
        let inner = &contents(&shown)[0]["rows"][1]["cols"][0]["widgets"][0];
        assert_eq!(inner["content"], json!({"items": []}));
    }
}

#[tokio::test]
async fn what_stands_in_a_page_has_bounds() {
    let site = site(|settings| settings.cache.enabled = true).await;
    let (_, col) = site.row(3).await;
    for _ in 0..10 {
        site.widget(col, "html", json!({"text": "x".repeat(95_000)})).await;
    }
    site.act("publish", json!({"page_id": 3})).await;
    for _ in 0..6 {
        embed(&site, 1, 3).await;
    }
    let reply = site.ask("GET /api/pages?id=1").expect(200).await;
    let shown = contents(&reply.data());
    let there: Vec<_> = shown.iter().map(|content| !content.is_null()).collect();
    assert_eq!(there, [true, true, true, true, false, false], "4 MiB");
    let again = site.ask("GET /api/pages?id=1").expect(200).await;
    assert_eq!(again.header("x-cache"), "HIT", "the next time there is no more room");
    // Of 27 pages in a page 20 are shown: those that stand highest of those that are published.
    let (_, col) = site.row(2).await;
    for id in (20..47_i64).rev() {
        let page = json!({"id": id, "language_short": "de", "url_rewrite": format!("/{id}"),
                          "title": "One", "published": ![46, 44].contains(&id)});
        site.create("/api/backend/item?table=pages", page).await;
        site.widget(col, "pagebuilder_element", json!({"page": id.to_string()})).await;
    }
    site.admin(&format!("POST {BUILDER}?action=publish&page_id=2")).expect(200).await;
    let shown = contents(&read(&site, 2).await);
    let ids: Vec<_> = shown.iter().map(|content| content["page_id"].as_i64()).collect();
    let expected = |id: i64| (id >= 25 && ![46, 44].contains(&id)).then_some(id);
    assert_eq!(ids, (20..47).rev().map(expected).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_page_that_cannot_be_read_is_looked_for_again() {
    let site = site(|settings| settings.cache.enabled = true).await;
    embed(&site, 1, 3).await;
    embed(&site, 1, 5).await;
    let frozen = |tree: &str| {
        let and = "number = (select revision from cms_pages where id = 3)";
        format!("update cms_page_revisions set tree = {tree} where page_id = 3 and {and}")
    };
    let kept = "create table kept as select tree from cms_page_revisions where page_id = 3";
    site.database.run(kept).await;
    site.database.run(frozen("'{'")).await;
    for _ in 0..2 {
        let reply = site.ask("GET /api/pages?id=1").expect(200).await;
        assert_eq!(reply.header("cache-control"), "no-store");
        let shown = contents(&reply.data());
        assert_eq!((&shown[0], titles(&shown[1])), (&Json::Null, vec!["5 en".to_owned()]));
    }
    site.database.run(frozen("(select tree from kept)")).await;
    let shown = contents(&read(&site, 1).await);
    assert_eq!(titles(&shown[0]), ["3 en"]);
    assert_eq!(site.ask("GET /api/pages?id=1").expect(200).await.header("x-cache"), "HIT");
}
