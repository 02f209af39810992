//! Plugins that declare tables: installed, extended, refused with what would be lost.

use serde_json::{Value as Json, json};

use crate::support::{
    Site, TestDatabase, each,
    plugins::{columns, manifest, plugin},
    with,
};

fn shop(columns: Json) -> Json {
    json!({"id": "shop", "tables": [{"name": "orders", "columns": columns}]})
}

async fn reopen(site: Site, declared: Json) -> Site {
    site.cms.close().await;
    Site::on(site.database).plugin(declared).open().await
}

/// Why a site with these plugins does not open.
async fn refused(database: &TestDatabase, declared: &[&Json]) -> String {
    let builder = cms_core::Cms::builder(database.settings());
    let all = declared.iter().fold(builder, |builder, one| builder.plugin(manifest(one)));
    all.open().await.err().expect("a refusal").detail().to_owned()
}

#[tokio::test]
async fn a_table_grows_and_never_shrinks() {
    let site = Site::builder().await.plugin(shop(columns("a text"))).open().await;
    site.insert("orders", json!({"a": "x"})).await;
    let grown = shop(columns("a text, b integer required default=7"));
    let site = reopen(site, grown.clone()).await;
    assert_eq!(
        site.admin("GET /api/backend/item?table=orders&id=1").expect(200).await.text(),
        r#"{"data":{"id":1,"a":"x","b":7}}"#
    );
    let database = reopen(site, grown).await.database;
    for (words, expected) in [
        ("b integer required default=7", "column a would be dropped (1 row has a value)"),
        ("b integer required default=7", "Declare that as it was"),
        ("a integer, b integer", "column a would change its type"),
        ("a text, b integer required default=7, c text required", "needs a default"),
    ] {
        let told = refused(&database, &[&shop(columns(words))]).await;
        assert!(told.contains(expected), "{words}: {told}");
    }
    assert_eq!(database.rows("orders where b = 7").await, 1);
}

/// Texts of some types have a form, which SQL cannot check.
#[tokio::test]
async fn a_text_becomes_of_a_type_with_a_form_only_when_there_is_none() {
    let declared = |kind: &str| shop(columns(&format!("a {kind}, b text")));
    let site = Site::builder().await.plugin(declared("text")).open().await;
    site.insert("orders", json!([{"b": "x"}, {"a": ""}])).await;
    let site = reopen(site, declared("color")).await;
    let site = reopen(site, declared("textarea")).await;
    site.insert("orders", json!({"a": "javascript:alert(1)"})).await;
    site.cms.close().await;
    for kind in ["link", "path", "redirect", "image", "color", "code_editor"] {
        let told = refused(&site.database, &[&declared(kind)]).await;
        let expected = format!("cannot become of the type {kind}: 1 row has a value");
        assert!(told.contains(&expected), "{kind}: {told}");
    }
    let again = Site::on(site.database).plugin(declared("richtext_editor")).open().await;
    again.admin("GET /api/backend/item?table=orders&id=3").expect(200).await;
}

/// Each path may be where a visitor is led to, and each such address may be linked.
#[tokio::test]
async fn an_address_becomes_of_a_type_that_takes_more() {
    let declared = |kind: &str| shop(columns(&format!("a {kind}")));
    let site = Site::builder().await.plugin(declared("path")).open().await;
    site.insert("orders", json!({"a": "/about"})).await;
    let site = reopen(site, declared("redirect")).await;
    let site = reopen(site, declared("link")).await;
    site.cms.close().await;
    for kind in ["redirect", "path"] {
        let told = refused(&site.database, &[&declared(kind)]).await;
        assert!(told.contains("cannot become of the type"), "{kind}: {told}");
    }
}

#[tokio::test]
async fn a_table_gets_no_language_versions_later() {
    let site = Site::builder().await.plugin(shop(columns("a text"))).open().await;
    site.cms.close().await;
    let mut versions = shop(columns("a text"));
    versions["tables"][0]["multilanguage"] = json!(true);
    let told = refused(&site.database, &[&versions]).await;
    assert!(told.contains("was made without language versions"), "{told}");
}

#[tokio::test]
async fn a_table_of_somebody_else_is_not_taken() {
    let database = TestDatabase::new().await;
    database.run("create table orders (id integer primary key, a text)").await;
    let told = refused(&database, &[&shop(columns("a text"))]).await;
    assert!(told.contains("\"adopt\": true"), "{told}");
}

#[tokio::test]
async fn a_broken_plugin_stays_out_and_the_others_work() {
    let database = TestDatabase::new().await;
    let absent = json!({"id": "absent", "tables": [{"name": "nowhere", "adopt": true}]});
    for (id, text) in [
        ("good", plugin("good", [("orders", "a text")]).to_string()),
        ("broken", "{".to_owned()),
        ("wrong", plugin("wrong", [("x", "a string")]).to_string()),
        ("clash", plugin("clash", [("pages", "a text")]).to_string()),
        ("misnamed", json!({"id": "other"}).to_string()),
        ("absent", absent.to_string()),
    ] {
        database.write_manifest(id, &text);
    }
    let site = Site::on(database).open().await;
    let states = site.cms.plugins().states();
    let states: Vec<_> =
        states.iter().map(|one| (one.id.as_str(), one.problems.is_empty())).collect();
    let expected = ["absent", "broken", "clash", "good", "misnamed", "wrong"];
    assert_eq!(states, expected.map(|id| (id, id == "good")));
    site.insert("orders", json!({"a": "x"})).await;
    site.items("pages").await;
    site.admin("GET /api/backend/item?table=x").refused(404, "unknown_table").await;
}

#[tokio::test]
async fn circles_of_references_are_told() {
    let circle = |last: &str| {
        let columns = |target: &str| format!("r integer references={target}");
        plugin("c", [("one", &*columns("two")), ("two", &columns(last))])
    };
    let told = refused(&TestDatabase::new().await, &[&circle("one")]).await;
    assert!(told.contains("circle"), "{told}");
    Site::builder().await.plugin(circle("two")).open().await;
}

/// What is declared again of a column that exists is carried out or refused, never only recorded.
#[tokio::test]
async fn a_column_becomes_unique_or_is_refused() {
    let columns_with = |more: Json| {
        let [column, own] = ["a text", "self integer references=orders"].map(columns);
        shop(json!([with(column[0].clone(), more), own[0]]))
    };
    let site = Site::builder().await.plugin(columns_with(json!({}))).open().await;
    site.insert("orders", json!([{"a": "x"}, {"a": "x"}, {"a": "y"}])).await;
    site.cms.close().await;
    for (change, expected) in [
        (json!({"unique": true}), "cannot become unique: 2 rows share"),
        (json!({"required": true}), "`required` stays false"),
        (json!({"default": "z"}), "`default` stays null"),
        (json!({"references": "pages"}), "`references` stays null"),
    ] {
        for _ in 0..2 {
            let told = refused(&site.database, &[&columns_with(change.clone())]).await;
            assert!(told.contains(expected), "{change}: {told}");
        }
    }
    site.database.run("update orders set a = 'z' where id = 1").await;
    let again =
        |site: &Site| site.admin("POST /api/backend/item?table=orders").json(json!({"a": "y"}));
    let site = reopen(site, columns_with(json!({"unique": true}))).await;
    again(&site).refused(409, "conflict").await;
    let site = reopen(site, columns_with(json!({}))).await;
    again(&site).refused(409, "conflict").await;
    site.cms.apply_plugins(None).await.unwrap();
    again(&site).expect(201).await;
    // The index of a reference gives way to a unique one.
    let unique = shop(columns("a text, self integer references=orders unique"));
    let site = reopen(site, unique).await;
    site.update("orders&id=1", json!({"self": 1})).await;
    let twice = site.admin("PATCH /api/backend/item?table=orders&id=2").json(json!({"self": 1}));
    twice.refused(409, "conflict").await;
}

#[tokio::test]
async fn names_of_the_core_and_of_others_are_refused_before_anything_is_made() {
    let first = plugin("a", [("orders", "a text")]);
    let mut site = Site::builder().await.plugin(first.clone()).open().await;
    for name in ["pages", "menu_items", "settings", "forms", "media", "orders"] {
        site.cms.close().await;
        let clash = plugin("c", [("fresh", "a text"), (name, "a text")]);
        let told = refused(&site.database, &[&first, &clash]).await;
        assert!(told.contains("already belongs to"), "{name}: {told}");
        site = Site::on(site.database).plugin(first.clone()).open().await;
        let names = site.cms.db().table_names().await.unwrap();
        let is_made = |n: &String| n == "fresh" || (n == name && name != "orders");
        assert!(!names.iter().any(is_made), "{names:?}");
    }
}

#[tokio::test]
async fn references_lead_to_tables_that_exist() {
    let plugin = |target: &str, kind: &str| {
        let adopted = json!({"name": "theirs", "source": "Their things", "adopt": true});
        let keyed = json!({"name": "keyed", "adopt": true});
        let columns = columns(&format!("r {kind} references={target}"));
        json!({"id": "shop", "tables": [adopted, keyed, {"name": "orders", "columns": columns}]})
    };
    for (target, kind, expected) in [
        ("nowhere", "integer", Some("not a content table")),
        ("cms_api_keys", "integer", Some("not a content table")),
        ("keyed", "text", Some("whose key is not `id`")),
        ("theirs", "text", Some("another type")),
        ("theirs", "integer", None),
        ("pages", "integer", None),
        ("orders", "integer", None),
    ] {
        let database = TestDatabase::new().await;
        let sql = r#"create table "Their things" (id integer primary key);
                     insert into "Their things" values (1);
                     create table keyed (code varchar(9) primary key)"#;
        database.run(sql).await;
        match (Site::on(database).plugin(plugin(target, kind)).try_open().await, expected) {
            (Err(refused), Some(expected)) => {
                assert!(refused.detail().contains(expected), "{target}: {refused}");
            }
            (Ok(site), None) => {
                let order = |r: Json| {
                    site.admin("POST /api/backend/item?table=orders").json(json!({"r": r}))
                };
                order(json!(null)).expect(201).await;
                order(json!(9)).refused(409, "conflict").await;
            }
            (found, _) => panic!("{target}: {:?}", found.err()),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn processes_may_install_together() {
    let site = Site::open().await;
    let plugin = shop(columns("a text, b integer unique"));
    let open = || cms_core::Cms::builder(site.database.settings()).plugin(manifest(&plugin)).open();
    for cms in futures_util::future::join_all((0..6).map(|_| open())).await {
        assert!(cms.unwrap().tables().find("orders").is_some());
    }
    assert_eq!(site.database.rows("cms_audit where action = 'install'").await, 1);
}

/// Only names that people give are judged by what a reader sees.
#[tokio::test]
async fn an_adopted_table_may_have_a_mark_of_direction_in_its_name() {
    let database = TestDatabase::new().await;
    let name = "left\u{200e}";
    database.run(format!("create table \"{name}\" (id bigint primary key, a text)")).await;
    let manifest = json!({"id": "old", "tables": [{"name": name, "adopt": true}]});
    let site = Site::on(database).plugin(manifest).open().await;
    let line = "POST /api/backend/item?table=left%E2%80%8E";
    site.admin(line).json(json!({"id": 1, "a": "x"})).expect(201).await;
    let events = format!("select count(*) from cms_events where name = 'item.{name}.created'");
    assert_eq!(site.database.count(&events).await, 1);
}

#[tokio::test]
async fn custom_content_raises_no_events_of_items() {
    for (kind, events) in [("custom", 0), ("table", 1)] {
        let declared = with(shop(columns("a text")), json!({"content_type": kind}));
        let site = Site::builder().await.plugin(declared).open().await;
        site.insert("orders", json!({"a": "x"})).await;
        assert_eq!(site.database.rows("cms_events").await, events, "{kind}");
        assert!(site.database.rows("cms_audit where table_name = 'orders'").await > 0, "{kind}");
    }
}

#[tokio::test]
async fn a_declaration_made_again_keeps_descriptions_of_events() {
    let event = |text: &str| json!({"name": "shop.paid", "description": text});
    let plugin = |text: &str| json!({"id": "shop", "webhook_events": [event(text)]});
    let site = Site::builder().await.plugin(plugin("An order was paid.")).open().await;
    let site = reopen(site, plugin("Money came.")).await;
    let mut all = site.get("/api/backend/webhooks/events?limit=500").await;
    all.as_array_mut().unwrap().retain(|event| event["event_name"] == "shop.paid");
    assert_eq!(each(&all, "description"), ["An order was paid."]);
}

/// Names of events and paths of endpoints belong to one plugin.
#[tokio::test]
async fn names_of_another_plugin_are_refused() {
    let plugin = |id: &str, event: &str, endpoint: &str| {
        let table = format!("{id}_things");
        let endpoint = json!({"modelPath": table, "endpoint": endpoint});
        let more = json!({"webhook_events": [{"name": event}], "endpoints": [endpoint]});
        with(plugin(id, [(&table, "a text")]), more)
    };
    let first = plugin("a", "a.paid", "a/things");
    for (event, endpoint, expected) in [
        ("a.paid", "b/things", Some("belongs to a already")),
        ("b.paid", "a/things", Some("/api/a/things belongs to a already")),
        ("media.uploaded", "b/things", Some("the service declares")),
        ("b.paid", "b/things", None),
    ] {
        let site = Site::builder().await.plugin(first.clone());
        let opened = site.plugin(plugin("b", event, endpoint)).try_open().await;
        match (opened.err(), expected) {
            (Some(refused), Some(expected)) => {
                assert!(refused.detail().contains(expected), "{event} {endpoint}: {refused}");
            }
            (None, None) => {}
            (found, _) => panic!("{event} {endpoint}: {found:?}"),
        }
    }
}
