use cms_core::settings::Settings;
use serde_json::{Value as Json, json};

use super::{BUILDER, site, titles, with_pages};
use crate::support::{Site, media::png};

async fn events(site: &Site, name: &str) -> i64 {
    let sql = format!("select count(*) from cms_events where name = '{name}'");
    site.database.count(&sql).await
}

#[tokio::test]
async fn a_draft_is_published_discarded_and_restored() {
    let site = site().await;
    let (_, col) = site.row(1).await;
    let widget = site.title(col, "one").await;
    assert_eq!(site.seen(1).await, None);
    let never = site.admin(&format!("POST {BUILDER}?action=discard")).json(json!({"page_id": 1}));
    never.refused(409, "conflict").await;
    let published = site.act("publish", json!({"page_id": 1})).await;
    assert_eq!((&published["revision"], &published["changed"]), (&json!(1), &json!(true)));
    assert_eq!(site.seen(1).await, Some(vec!["one".to_owned()]));
    assert_eq!(site.draft(1).await.data()["changed"], json!(false));
    assert_eq!(events(&site, "page.published").await, 1);
    assert_eq!(events(&site, "item.pages.updated").await, 1, "published is a column");

    // Edits are the draft's alone.
    site.retitle(widget, "two").await;
    let new = site.title(col, "new").await;
    assert_eq!(site.seen(1).await, Some(vec!["one".to_owned()]));
    let diff = site.admin(&format!("GET {BUILDER}?action=diff&page_id=1")).expect(200).await.data();
    assert_eq!(
        diff,
        json!([
            {"change": "changed", "kind": "widget", "id": widget, "widget": "title",
             "column": "title", "from": "one", "to": "two"},
            {"change": "added", "kind": "widget", "id": new, "widget": "title"},
        ])
    );
    let again = site.act("publish", json!({"page_id": 1})).await;
    assert_eq!(again["revision"], 2);
    assert_eq!(site.seen(1).await.unwrap(), ["two", "new"]);
    assert_eq!(events(&site, "item.pages.updated").await, 1, "it was published already");
    // Once more is nothing: no revision, no event, and nobody who has read the draft is late.
    let audited = "select count(*) from cms_audit";
    let (tag, audits) = (site.draft(1).await.header("etag").to_owned(), audited);
    let before = (events(&site, "page.published").await, site.database.count(audits).await);
    let same = site.act("publish", json!({"page_id": 1})).await;
    assert_eq!((&same["revision"], &same["changed"]), (&json!(2), &json!(false)));
    let after = (events(&site, "page.published").await, site.database.count(audits).await);
    assert_eq!(before, after);
    assert_eq!(site.draft(1).await.header("etag"), tag);

    // Discarding returns to what was published, ids and all.
    let before = site.draft(1).await.data()["rows"].clone();
    site.retitle(widget, "three").await;
    site.admin(&format!("DELETE {BUILDER}?kind=widget&id={new}")).expect(204).await;
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
    let missing = json!({"page_id": 1, "revision": 9});
    let missing = site.admin(&format!("POST {BUILDER}?action=restore")).json(missing);
    missing.refused(404, "not_found").await;

    // Revisions are listed, shown and compared.
    let line = format!("GET {BUILDER}?action=revisions&page_id=1&limit=2");
    let list = site.admin(&line).expect(200).await.json();
    let numbers: Vec<_> = list["data"].as_array().unwrap().iter().map(|r| &r["number"]).collect();
    assert_eq!(numbers, [3, 2]);
    assert_eq!(list["data"][0]["actor"]["name"], "test");
    let rest = format!("{line}&cursor={}", list["meta"]["next"].as_str().unwrap());
    assert_eq!(site.admin(&rest).expect(200).await.data()[0]["number"], 1);
    let line = format!("GET {BUILDER}?action=revision&page_id=1&number=2");
    assert_eq!(titles(&site.admin(&line).expect(200).await.data()), ["two", "new"]);
    let line = format!("GET {BUILDER}?action=diff&page_id=1&from=2&to=1");
    let diff = site.admin(&line).expect(200).await.data();
    let told: Vec<_> = diff.as_array().unwrap().iter().map(|one| &one["change"]).collect();
    assert_eq!(told, ["removed", "changed"]);
    let line = format!("GET {BUILDER}?action=diff&page_id=1&from=x");
    site.admin(&line).refused(400, "bad_query").await;
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
    let site = with_pages(Site::builder().await.settings(keep(3)).open().await).await;
    let (_, col) = site.row(1).await;
    let widget = site.title(col, "0").await;
    let numbers = async |site: &Site| -> Vec<i64> {
        let line = format!("GET {BUILDER}?action=revisions&page_id=1&limit=500");
        let list = site.admin(&line).expect(200).await.data();
        list.as_array().unwrap().iter().map(|one| one["number"].as_i64().unwrap()).collect()
    };
    publications(&site, widget, 1..4).await;
    assert_eq!(numbers(&site).await, [3, 2, 1]);
    publications(&site, widget, 4..6).await;
    assert_eq!(numbers(&site).await, [5, 4, 3]);
    let line = format!("POST {BUILDER}?action=restore");
    let gone = site.admin(&line).json(json!({"page_id": 1, "revision": 2}));
    gone.refused(404, "not_found").await;
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
    let site = with_pages(Site::builder().await.settings(keep).open().await).await;
    let more = "insert into cms_page_revisions (page_id, number, tree, checksum, actor_kind, \
                created_at) with recursive n (i) as (select 1 union all select i + 1 from n where \
                i < 1500) select p.id, i, '{\"rows\":[]}', 'x', 'system', 0 from n cross join \
                cms_pages p";
    site.database.run(more.to_owned()).await;
    site.database.run("update cms_pages set revision = 4 where id = 1".to_owned()).await;
    site.cms.upkeep().await;
    let count = "select count(*) from cms_page_revisions";
    let kept = format!("{count} where number > 1498 or (page_id = 1 and number = 4)");
    assert_eq!((site.database.count(count).await, site.database.count(&kept).await), (5, 5));
    site.cms.upkeep().await;
    assert_eq!(site.database.count(count).await, 5);
}

#[tokio::test]
async fn a_publication_removes_a_bounded_number_of_revisions() {
    let site = site().await;
    let (_, col) = site.row(1).await;
    let widget = site.title(col, "0").await;
    publications(&site, widget, 1..2).await;
    let more = "insert into cms_page_revisions (page_id, number, tree, checksum, actor_kind, \
                created_at) with recursive n (i) as (select 2 union all select i + 1 from n where \
                i < 250) select 1, i, '{\"rows\":[]}', 'x', 'system', 0 from n";
    site.database.run(more.to_owned()).await;
    let count = "select count(*) from cms_page_revisions";
    publications(&site, widget, 2..3).await;
    assert_eq!(site.database.count(count).await, 251 - 100);
    publications(&site, widget, 3..4).await;
    assert_eq!(site.database.count(count).await, 100);
    publications(&site, widget, 4..5).await;
    assert_eq!(site.database.count(count).await, 100);
}

#[tokio::test]
async fn the_event_names_page_and_revision() {
    let site = site().await;
    site.row(1).await;
    site.act("publish", json!({"page_id": 1})).await;
    let list = site.admin("GET /api/backend/webhooks/messages").expect(200).await.data();
    let found = list.as_array().unwrap().iter().find(|one| one["event"] == "page.published");
    let line = format!("GET /api/backend/webhooks/messages?id={}", found.unwrap()["id"]);
    let line = line.replace('"', "");
    let told = site.admin(&line).expect(200).await.data();
    assert_eq!(
        told["payload"]["data"],
        json!({"page": {"id": 1, "base_id": 1, "language_short": "en", "url_rewrite": "/",
                        "title": "Home en", "view": "home"}, "revision": 1})
    );
}

/// By the builder, as an item, at a planned time, by a deletion.
#[tokio::test]
async fn every_way_in_which_visitors_lose_a_page_is_told() {
    let site = site().await;
    site.row(1).await;
    let off = async || events(&site, "page.taken_off").await;
    let publish = async || drop(site.act("publish", json!({"page_id": 1})).await);
    publish().await;
    site.act("take_off", json!({"page_id": 1})).await;
    assert_eq!(off().await, 1);
    let again = json!({"page_id": 1});
    site.admin(&format!("POST {BUILDER}?action=take_off"))
        .json(again)
        .refused(409, "conflict")
        .await;
    publish().await;
    let item = "PATCH /api/backend/item?table=pages&id=1";
    for _ in 0..2 {
        site.admin(item).json(json!({"published": false})).expect(200).await;
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
    site.admin("DELETE /api/backend/item?table=pages&id=2").expect(204).await;
    assert_eq!(off().await, 3);
    publish().await;
    let told = async || {
        let list = site.admin("GET /api/backend/webhooks/messages").expect(200).await.data();
        let off = list.as_array().unwrap().iter().find(|one| one["event"] == "page.taken_off");
        let id = off.unwrap()["id"].as_str().unwrap().to_owned();
        let line = format!("GET /api/backend/webhooks/messages?id={id}");
        site.admin(&line).expect(200).await.data()["payload"]["data"].clone()
    };
    let page = json!({"id": 1, "base_id": 1, "language_short": "en", "url_rewrite": "/",
                      "title": "Home en", "view": "home"});
    assert_eq!(told().await, json!({"page": page, "revision": 1}));
    site.clock.advance(1000);
    site.admin("DELETE /api/backend/item?table=pages&id=1").expect(204).await;
    assert_eq!((off().await, events(&site, "item.pages.deleted").await), (4, 2));
    assert_eq!(told().await, json!({"page": page, "revision": null}));
}

#[tokio::test]
async fn writing_published_as_an_item_does_the_same() {
    let site = site().await;
    let (_, col) = site.row(1).await;
    let widget = site.title(col, "one").await;
    let item = |published: bool| {
        let line = "PATCH /api/backend/item?table=pages&id=1";
        site.admin(line).json(json!({"published": published})).expect(200)
    };
    item(true).await;
    assert_eq!(site.seen(1).await.unwrap(), ["one"]);
    assert_eq!(events(&site, "page.published").await, 1);
    // A form sends all columns: what stays true publishes nothing.
    site.retitle(widget, "two").await;
    item(true).await;
    assert_eq!(site.seen(1).await.unwrap(), ["one"]);
    item(false).await;
    assert_eq!(site.seen(1).await, None);
    item(true).await;
    assert_eq!(site.seen(1).await.unwrap(), ["two"]);
    // Taken off by the builder.
    let off = site.act("take_off", json!({"page_id": 1})).await;
    assert_eq!(off["published"], json!(false));
    assert_eq!(site.seen(1).await, None);
    let again = site.admin(&format!("POST {BUILDER}?action=take_off&page_id=1"));
    again.refused(409, "conflict").await;
    // A page that is made published has a revision without rows.
    let page = json!({"id": 7, "language_short": "en", "url_rewrite": "/new", "title": "New",
                      "published": true});
    site.admin("POST /api/backend/item?table=pages").json(page).expect(201).await;
    assert_eq!(site.draft(7).await.data()["revision"], 1);
    assert_eq!(site.seen(7).await.unwrap(), [""; 0]);
}

#[tokio::test]
async fn a_tree_is_copied_into_another_language() {
    let site = site().await;
    let (_, col) = site.row(1).await;
    site.title(col, "Hello").await;
    let list = json!({"kind": "widget", "parent": {"col_id": col}, "widget": "uspIconList"});
    let list = site.add(list).await["id"].as_i64().unwrap();
    for title in ["a", "b"] {
        let item = json!({"kind": "item", "parent": {"widget_id": list}, "data": {"title": title}});
        site.add(item).await;
    }
    let copy = json!({"from_page_id": 1, "page_id": 2});
    site.act("copy", copy.clone()).await;
    let (from, to) = (site.draft(1).await.data(), site.draft(2).await.data());
    assert_eq!(titles(&from), titles(&to));
    let items = |page: &Json| page["rows"][0]["cols"][0]["widgets"][1]["items"].clone();
    for n in 0..2 {
        assert_eq!(items(&to)[n]["base_id"], items(&from)[n]["id"]);
        assert_ne!(items(&to)[n]["id"], items(&from)[n]["id"]);
        assert_eq!(items(&to)[n]["language_short"], "de");
        assert_eq!(items(&to)[n]["data"], items(&from)[n]["data"]);
    }
    let line = format!("POST {BUILDER}?action=copy");
    site.admin(&line).json(copy).refused(409, "conflict").await;
    site.act("copy", json!({"from_page_id": 1, "page_id": 2, "replace": true})).await;
    let onto = json!({"from_page_id": 1, "page_id": 1});
    site.admin(&line).json(onto).refused(422, "validation_failed").await;
    let none = json!({"from_page_id": 99, "page_id": 2, "replace": true});
    site.admin(&line).json(none).refused(404, "not_found").await;
    assert_eq!(titles(&site.draft(2).await.data()).len(), 2, "a refusal loses nothing");
}

#[tokio::test]
async fn a_copy_brings_nobody_a_draft_that_he_may_not_read() {
    let site = site().await;
    let (_, col) = site.row(1).await;
    site.title(col, "Unpublished").await;
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
    let node = json!({"kind": "widget", "parent": {"col_id": col}, "widget": "image",
                      "data": {"image": file["path"]}});
    let widget = site.add(node).await["id"].clone();
    let line = format!("DELETE /api/backend/media?id={}", file["id"]);
    let told = async || site.admin(&line).refused(409, "conflict").await.text();
    assert!(told().await.contains("pages 1 (draft)"));
    site.act("publish", json!({"page_id": 1})).await;
    site.admin(&format!("DELETE {BUILDER}?kind=widget&id={widget}")).expect(204).await;
    assert!(told().await.contains("pages 1 (published)"));
    site.act("publish", json!({"page_id": 1})).await;
    site.admin(&line).expect(204).await;
}

#[tokio::test]
async fn visitors_get_addresses_languages_and_structured_data() {
    let site = site().await;
    let (_, col) = site.row(1).await;
    site.title(col, "Hello").await;
    let list = json!({"kind": "widget", "parent": {"col_id": col}, "widget": "uspIconList"});
    let list = site.add(list).await["id"].as_i64().unwrap();
    let item = json!({"kind": "item", "parent": {"widget_id": list}, "data": {"title": "a"}});
    let item = site.add(item).await["id"].clone();
    let meta = json!({"meta_title": "The shop", "meta_description": "All we sell"});
    site.admin("PATCH /api/backend/item?table=pages&id=1").json(meta).expect(200).await;
    site.act("publish", json!({"page_id": 1})).await;
    let page = site.ask("GET /api/pages?view=home").expect(200).await.data();
    assert_eq!(page["canonical"], "https://cms.test/");
    let alternates = |page: &Json| page["alternates"].as_array().unwrap().len();
    assert_eq!(alternates(&page), 1, "the other version is no page for visitors");
    site.act("publish", json!({"page_id": 2})).await;
    let page = site.ask("GET /api/pages?url=/").expect(200).await.data();
    assert_eq!(
        page["alternates"],
        json!([{"language_short": "de", "url": "https://cms.test/de"},
               {"language_short": "en", "url": "https://cms.test/"}])
    );
    assert_eq!(
        page["json_ld"],
        json!({"@context": "https://schema.org", "@type": "WebPage", "@id": "https://cms.test/",
               "url": "https://cms.test/", "name": "The shop", "description": "All we sell",
               "inLanguage": "en",
               "isPartOf": {"@type": "WebSite", "url": "https://cms.test/"}})
    );
    let widgets = &page["rows"][0]["cols"][0]["widgets"];
    assert_eq!(widgets[0]["template"], "title");
    assert_eq!(widgets[0]["data"], json!({"title": "Hello"}));
    assert_eq!(widgets[1]["data"]["items"], json!([{"id": item, "title": "a"}]));
    let other = site.ask("GET /api/pages?url=/&language=de").expect(200).await.data();
    assert_eq!((&other["id"], alternates(&other)), (&json!(2), 2));
}
