use cms_core::settings::Settings;
use serde_json::{Value as Json, json};

use super::{BUILDER, site, titles, with_pages};
use crate::support::{Site, each, has, media::png};

async fn events(site: &Site, name: &str) -> i64 {
    site.database.rows(&format!("cms_events where name = '{name}'")).await
}

#[tokio::test]
async fn a_draft_is_published_discarded_and_restored() {
    let site = site().await;
    let (col, widget) = site.headline(1, "one").await;
    assert_eq!(site.seen(1).await, None);
    site.act_refused("discard", json!({"page_id": 1}), 409, "conflict").await;
    let published = site.act("publish", json!({"page_id": 1})).await;
    has!(published, {"revision": 1, "changed": true});
    assert_eq!(site.seen(1).await, Some(vec!["one".to_owned()]));
    assert_eq!(site.draft(1).await.data()["changed"], json!(false));
    assert_eq!(events(&site, "page.published").await, 1);
    assert_eq!(events(&site, "item.pages.updated").await, 1, "published is a column");

    // Edits are the draft's alone.
    site.retitle(widget, "two").await;
    let new = site.title(col, "new").await;
    assert_eq!(site.seen(1).await, Some(vec!["one".to_owned()]));
    let expected = json!([
        {"change": "changed", "kind": "widget", "id": widget, "widget": "title",
         "column": "title", "from": "one", "to": "two"},
        {"change": "added", "kind": "widget", "id": new, "widget": "title"},
    ]);
    assert_eq!(site.get(&format!("{BUILDER}?action=diff&page_id=1")).await, expected);
    let again = site.act("publish", json!({"page_id": 1})).await;
    assert_eq!(again["revision"], 2);
    assert_eq!(site.seen(1).await.unwrap(), ["two", "new"]);
    assert_eq!(events(&site, "item.pages.updated").await, 1, "it was published already");
    // Once more is nothing: no revision, no event, and nobody who has read the draft is late.
    let traces = async || {
        let tag = site.draft(1).await.header("etag").to_owned();
        (events(&site, "page.published").await, site.database.rows("cms_audit").await, tag)
    };
    let before = traces().await;
    let same = site.act("publish", json!({"page_id": 1})).await;
    has!(same, {"revision": 2, "changed": false});
    assert_eq!(traces().await, before);

    // Discarding returns to what was published, ids and all.
    let before = site.draft(1).await.data()["rows"].clone();
    site.retitle(widget, "three").await;
    site.delete(&format!("{BUILDER}?kind=widget&id={new}")).await;
    let tag = site.draft(1).await.header("etag").to_owned();
    site.act("discard", json!({"page_id": 1})).await;
    assert_eq!(site.draft(1).await.data()["rows"], before);
    assert_ne!(site.draft(1).await.header("etag"), tag);
    assert_eq!(events(&site, "page.draft_discarded").await, 1);

    // An older revision comes into the draft; visitors see it after the next publication.
    let restored = site.act("restore", json!({"page_id": 1, "revision": 1})).await;
    assert_eq!(restored["revision"], 1);
    assert_eq!(titles(&site.draft(1).await.data()), ["one"]);
    assert_eq!(site.seen(1).await.unwrap(), ["two", "new"]);
    assert_eq!(site.act("publish", json!({"page_id": 1})).await["revision"], 3);
    assert_eq!(site.seen(1).await.unwrap(), ["one"]);
    site.act_refused("restore", json!({"page_id": 1, "revision": 9}), 404, "not_found").await;

    // Revisions are listed, shown and compared.
    let line = format!("{BUILDER}?action=revisions&page_id=1&limit=2");
    let list = site.admin(&format!("GET {line}")).expect(200).await.json();
    assert_eq!(each(&list["data"], "number"), [3, 2]);
    assert_eq!(list["data"][0]["actor"]["name"], "test");
    let rest = format!("{line}&cursor={}", list["meta"]["next"].as_str().unwrap());
    assert_eq!(site.get(&rest).await[0]["number"], 1);
    let second = site.get(&format!("{BUILDER}?action=revision&page_id=1&number=2")).await;
    assert_eq!(titles(&second), ["two", "new"]);
    let line = format!("{BUILDER}?action=diff&page_id=1&from=");
    let diff = site.get(&format!("{line}2&to=1")).await;
    assert_eq!(each(&diff, "change"), ["removed", "changed"]);
    site.admin(&format!("GET {line}x")).refused(400, "bad_query").await;
}

/// Publishes page 1 with each of these titles.
async fn publications(site: &Site, widget: i64, titles: std::ops::Range<i64>) {
    for title in titles {
        site.retitle(widget, &title.to_string()).await;
        site.act("publish", json!({"page_id": 1})).await;
    }
}

#[tokio::test]
async fn of_a_page_so_many_revisions_are_kept() {
    let keep = |kept: u64| move |settings: &mut Settings| settings.retention.page_revisions = kept;
    let site = with_pages(Site::with(keep(3)).await).await;
    let (_, widget) = site.headline(1, "0").await;
    let numbers = async |site: &Site| {
        let line = format!("{BUILDER}?action=revisions&page_id=1&limit=500");
        each(&site.get(&line).await, "number")
    };
    publications(&site, widget, 1..4).await;
    assert_eq!(numbers(&site).await, [3, 2, 1]);
    publications(&site, widget, 4..6).await;
    assert_eq!(numbers(&site).await, [5, 4, 3]);
    site.act_refused("restore", json!({"page_id": 1, "revision": 2}), 404, "not_found").await;
    // What visitors see stays, also when it is taken off and shown again.
    site.act("take_off", json!({"page_id": 1})).await;
    site.act("publish", json!({"page_id": 1})).await;
    assert_eq!(numbers(&site).await, [5, 4, 3]);
    assert_eq!(site.seen(1).await.unwrap(), ["5"]);
    // Who keeps fewer loses the others at the next publication, or in the background.
    site.cms.close().await;
    let site = Site::on(site.database).settings(keep(1)).open().await;
    assert_eq!(numbers(&site).await, [5, 4, 3]);
    publications(&site, widget, 6..7).await;
    assert_eq!(numbers(&site).await, [6]);
    assert_eq!(site.seen(1).await.unwrap(), ["6"]);
}

/// Also of pages that nobody publishes any more.
#[tokio::test]
async fn the_background_removes_revisions_that_are_too_many() {
    let keep = |settings: &mut Settings| settings.retention.page_revisions = 2;
    let site = with_pages(Site::with(keep).await).await;
    revisions(&site, 1, 1500, "true").await;
    site.database.run("update cms_pages set revision = 4 where id = 1").await;
    let kept = "cms_page_revisions where number > 1498 or (page_id = 1 and number = 4)";
    for _ in 0..2 {
        site.cms.upkeep().await;
        let rows = site.database.rows("cms_page_revisions").await;
        assert_eq!((rows, site.database.rows(kept).await), (5, 5));
    }
}

#[tokio::test]
async fn a_publication_removes_a_bounded_number_of_revisions() {
    let site = site().await;
    let (_, widget) = site.headline(1, "0").await;
    publications(&site, widget, 1..2).await;
    revisions(&site, 2, 250, "p.id = 1").await;
    for (title, left) in [(2, 251 - 100), (3, 100), (4, 100)] {
        publications(&site, widget, title..title + 1).await;
        assert_eq!(site.database.rows("cms_page_revisions").await, left, "{title}");
    }
}

/// Empty revisions with these numbers, of the pages that SQL chooses.
async fn revisions(site: &Site, first: i64, last: i64, pages: &str) {
    let rows = format!(
        "insert into cms_page_revisions (page_id, number, tree, checksum, actor_kind, created_at) \
         with recursive n (i) as (select {first} union all select i + 1 from n where i < {last}) \
         select p.id, i, '{{\"rows\":[]}}', 'x', 'system', 0 from n cross join cms_pages p \
         where {pages}"
    );
    site.database.run(rows).await;
}

/// Visitors lose it by the builder, as an item, at a planned time, by a deletion.
#[tokio::test]
async fn every_way_in_which_visitors_get_or_lose_a_page_is_told() {
    let site = site().await;
    site.row(1).await;
    let page = json!({"id": 1, "base_id": 1, "language_short": "en", "url_rewrite": "/",
                      "title": "Home en", "view": "home"});
    let told = async |event: &str| {
        let list = site.get("/api/backend/webhooks/messages").await;
        let found = list.as_array().unwrap().iter().find(|one| one["event"] == event);
        let id = found.unwrap()["id"].as_str().unwrap().to_owned();
        let message = site.get(&format!("/api/backend/webhooks/messages?id={id}")).await;
        message["payload"]["data"].clone()
    };
    let off = async || events(&site, "page.taken_off").await;
    let publish = async || drop(site.act("publish", json!({"page_id": 1})).await);
    publish().await;
    assert_eq!(told("page.published").await, json!({"page": page, "revision": 1}));
    site.act("take_off", json!({"page_id": 1})).await;
    assert_eq!(off().await, 1);
    site.act_refused("take_off", json!({"page_id": 1}), 409, "conflict").await;
    publish().await;
    for _ in 0..2 {
        let item = json!({"published": false});
        site.patch("/api/backend/item?table=pages&id=1", item).await;
        assert_eq!(off().await, 2);
    }
    publish().await;
    let at = cms_core::rfc3339(site.clock.now() + 60_000);
    site.act("schedule", json!({"page_id": 1, "take_off_at": at})).await;
    site.clock.advance(60_000);
    site.cms.pages().run_schedule().await.unwrap();
    site.cms.pages().run_schedule().await.unwrap();
    assert_eq!(off().await, 3);
    // A draft that nobody saw goes without a word.
    site.delete("/api/backend/item?table=pages&id=2").await;
    assert_eq!(off().await, 3);
    publish().await;
    assert_eq!(told("page.taken_off").await, json!({"page": page, "revision": 1}));
    site.clock.advance(1000);
    site.delete("/api/backend/item?table=pages&id=1").await;
    assert_eq!((off().await, events(&site, "item.pages.deleted").await), (4, 2));
    assert_eq!(told("page.taken_off").await, json!({"page": page, "revision": null}));
}

#[tokio::test]
async fn writing_published_as_an_item_does_the_same() {
    let site = site().await;
    let (_, widget) = site.headline(1, "one").await;
    // A form sends all columns: what stays true publishes nothing.
    for (title, published, seen) in [
        ("one", true, Some("one")),
        ("two", true, Some("one")),
        ("two", false, None),
        ("two", true, Some("two")),
    ] {
        site.retitle(widget, title).await;
        let item = json!({"published": published});
        site.patch("/api/backend/item?table=pages&id=1", item).await;
        assert_eq!(site.seen(1).await, seen.map(|seen| vec![seen.to_owned()]), "{title}");
        if title == "one" {
            assert_eq!(events(&site, "page.published").await, 1);
        }
    }
    // Taken off by the builder.
    let off = site.act("take_off", json!({"page_id": 1})).await;
    assert_eq!(off["published"], json!(false));
    assert_eq!(site.seen(1).await, None);
    site.admin(&format!("POST {BUILDER}?action=take_off&page_id=1")).refused(409, "conflict").await;
    // A page that is made published has a revision without rows.
    let page = json!({"id": 7, "language_short": "en", "url_rewrite": "/new", "title": "New",
                      "published": true});
    site.create("/api/backend/item?table=pages", page).await;
    assert_eq!(site.draft(7).await.data()["revision"], 1);
    assert_eq!(site.seen(7).await.unwrap(), [""; 0]);
}

#[tokio::test]
async fn a_tree_is_copied_into_another_language() {
    let site = site().await;
    let (col, _) = site.headline(1, "Hello").await;
    let list = site.widget(col, "uspIconList", json!({})).await;
    for title in ["a", "b"] {
        site.item(list, json!({"title": title})).await;
    }
    let copy = json!({"from_page_id": 1, "page_id": 2});
    site.act("copy", copy.clone()).await;
    let (from, to) = (site.draft(1).await.data(), site.draft(2).await.data());
    assert_eq!(titles(&from), titles(&to));
    let items = |page: &Json| page["rows"][0]["cols"][0]["widgets"][1]["items"].clone();
    for n in 0..2 {
        let (from, to) = (items(&from)[n].clone(), items(&to)[n].clone());
        assert_ne!(to["id"], from["id"]);
        has!(to, {"base_id": from["id"], "language_short": "de", "data": from["data"]});
    }
    site.act_refused("copy", copy, 409, "conflict").await;
    site.act("copy", json!({"from_page_id": 1, "page_id": 2, "replace": true})).await;
    let onto = json!({"from_page_id": 1, "page_id": 1});
    site.act_refused("copy", onto, 422, "validation_failed").await;
    let none = json!({"from_page_id": 99, "page_id": 2, "replace": true});
    site.act_refused("copy", none, 404, "not_found").await;
    assert_eq!(titles(&site.draft(2).await.data()).len(), 2, "a refusal loses nothing");
}

#[tokio::test]
async fn a_copy_brings_nobody_a_draft_that_he_may_not_read() {
    let site = site().await;
    site.headline(1, "Unpublished").await;
    let copy = format!("POST {BUILDER}?action=copy");
    let own = format!("GET {BUILDER}?page_id=2");
    let bound = site.key(&[&own, &copy]).await;
    let both = site.key(&[&own, &copy, &format!("GET {BUILDER}?page_id=1")]).await;
    let blind = site.person("blind", json!(["pages_pages_edit"])).await;
    let body = json!({"from_page_id": 1, "page_id": 2, "replace": true});
    let ask = || site.ask(&copy).json(body.clone());
    ask().key(&bound).refused(401, "api_key_forbidden").await;
    ask().bearer(&blind.token).refused(403, "permission_denied").await;
    assert_eq!(site.ask(&own).key(&bound).expect(200).await.data()["rows"], json!([]));
    ask().key(&both).expect(200).await;
    assert_eq!(titles(&site.ask(&own).key(&both).expect(200).await.data()), ["Unpublished"]);
}

#[tokio::test]
async fn a_file_that_a_page_shows_stays() {
    let site = site().await;
    let (_, col) = site.row(1).await;
    let file = site.upload("a.png", &png(8, 5, 1)).await.data();
    let widget = site.widget(col, "image", json!({"image": file["path"]})).await;
    let line = format!("DELETE /api/backend/media?id={}", file["id"]);
    let told = async || site.admin(&line).refused(409, "conflict").await.text();
    assert!(told().await.contains("pages 1 (draft)"));
    site.act("publish", json!({"page_id": 1})).await;
    site.delete(&format!("{BUILDER}?kind=widget&id={widget}")).await;
    assert!(told().await.contains("pages 1 (published)"));
    site.act("publish", json!({"page_id": 1})).await;
    site.admin(&line).expect(204).await;
}

#[tokio::test]
async fn visitors_get_addresses_languages_and_structured_data() {
    let site = site().await;
    let (col, _) = site.headline(1, "Hello").await;
    let list = site.widget(col, "uspIconList", json!({})).await;
    let item = site.item(list, json!({"title": "a"})).await;
    let meta = json!({"meta_title": "The shop", "meta_description": "All we sell"});
    site.patch("/api/backend/item?table=pages&id=1", meta).await;
    site.act("publish", json!({"page_id": 1})).await;
    let page = site.ask("GET /api/pages?view=home").expect(200).await.data();
    assert_eq!(page["canonical"], "https://cms.test/");
    let alternates = |page: &Json| page["alternates"].as_array().unwrap().len();
    assert_eq!(alternates(&page), 1, "the other version is no page for visitors");
    site.act("publish", json!({"page_id": 2})).await;
    let page = site.ask("GET /api/pages?url=/").expect(200).await.data();
    has!(page, {
        "alternates": [{"language_short": "de", "url": "https://cms.test/de"},
                       {"language_short": "en", "url": "https://cms.test/"}],
        "json_ld": {"@context": "https://schema.org", "@type": "WebPage",
                    "@id": "https://cms.test/", "url": "https://cms.test/", "name": "The shop",
                    "description": "All we sell", "inLanguage": "en",
                    "isPartOf": {"@type": "WebSite", "url": "https://cms.test/"}},
    });
    let widgets = &page["rows"][0]["cols"][0]["widgets"];
    has!(widgets, {"/0/template": "title", "/0/data": {"title": "Hello"},
                   "/1/data/items": [{"id": item, "title": "a"}]});
    let other = site.ask("GET /api/pages?url=/&language=de").expect(200).await.data();
    assert_eq!((&other["id"], alternates(&other)), (&json!(2), 2));
}
