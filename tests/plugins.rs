//! Plugins that declare tables: installed, extended, refused with what would be lost.

use serde_json::{Value as Json, json};

use cms_core::plugins::Manifest;

use crate::support::{Site, TestDatabase};

fn shop(columns: Json) -> Json {
    json!({"id": "shop", "tables": [{"name": "orders", "columns": columns}]})
}

async fn reopen(site: Site, manifest: Json) -> Result<Site, cms_core::Error> {
    site.cms.close().await;
    Site::on(site.database).plugin(manifest).try_open().await
}

#[tokio::test]
async fn a_table_grows_and_never_shrinks() {
    let site =
        Site::builder().await.plugin(shop(json!([{"name": "a", "type": "text"}]))).open().await;
    site.admin("POST /api/backend/item?table=orders").json(json!({"a": "x"})).expect(201).await;
    let grown = shop(json!([
        {"name": "a", "type": "text"},
        {"name": "b", "type": "integer", "required": true, "default": 7},
    ]));
    let site = reopen(site, grown.clone()).await.unwrap();
    assert_eq!(
        site.admin("GET /api/backend/item?table=orders&id=1").expect(200).await.text(),
        r#"{"data":{"id":1,"a":"x","b":7}}"#
    );
    let site = reopen(site, grown).await.unwrap();
    let (settings, folder) = (site.database.settings(), site.database);
    for (columns, expected) in [
        (
            json!([{"name": "b", "type": "integer", "required": true, "default": 7}]),
            "column a would be dropped (1 row has a value)",
        ),
        (
            json!([{"name": "a", "type": "integer"}, {"name": "b", "type": "integer"}]),
            "column a would change its type",
        ),
        (
            json!([
                {"name": "a", "type": "text"},
                {"name": "b", "type": "integer", "required": true, "default": 7},
                {"name": "c", "type": "text", "required": true},
            ]),
            "needs a default",
        ),
    ] {
        let plugin: Manifest = serde_json::from_value(shop(columns)).unwrap();
        let refused = cms_core::Cms::builder(settings.clone())
            .plugin(plugin)
            .open()
            .await
            .err()
            .expect(expected);
        assert!(refused.detail().contains(expected), "{refused}");
    }
    assert_eq!(folder.count("select count(*) from orders where b = 7").await, 1);
}

#[tokio::test]
async fn a_table_of_somebody_else_is_not_taken() {
    let database = TestDatabase::new().await;
    database.run("create table orders (id integer primary key, a text)".to_owned()).await;
    let refused = Site::on(database)
        .plugin(shop(json!([{"name": "a", "type": "text"}])))
        .try_open()
        .await
        .err()
        .unwrap();
    assert!(refused.detail().contains("\"adopt\": true"), "{refused}");
}

#[tokio::test]
async fn a_broken_plugin_stays_out_and_the_others_work() {
    let database = TestDatabase::new().await;
    let folder = database.folder().join("plugins");
    for (name, text) in [
        ("good", shop(json!([{"name": "a", "type": "text"}])).to_string().replace("shop", "good")),
        ("broken", "{".to_owned()),
        ("wrong", json!({
            "id": "wrong", "tables": [{"name": "x", "columns": [{"name": "a", "type": "string"}]}],
        }).to_string()),
        ("clash", json!({
            "id": "clash",
            "tables": [{"name": "pages", "columns": [{"name": "a", "type": "text"}]}],
        }).to_string()),
        ("misnamed", json!({"id": "other"}).to_string()),
        ("absent", json!({
            "id": "absent", "tables": [{"name": "nowhere", "adopt": true}],
        }).to_string()),
    ] {
        std::fs::create_dir_all(folder.join(name)).unwrap();
        std::fs::write(folder.join(name).join("plugin.json"), text).unwrap();
    }
    let site = Site::on(database).open().await;
    let states: Vec<_> = site
        .cms
        .plugins()
        .states()
        .iter()
        .map(|plugin| (plugin.id.clone(), plugin.problems.is_empty()))
        .collect();
    assert_eq!(
        states,
        [
            ("absent".to_owned(), false),
            ("broken".to_owned(), false),
            ("clash".to_owned(), false),
            ("good".to_owned(), true),
            ("misnamed".to_owned(), false),
            ("wrong".to_owned(), false)
        ]
    );
    site.admin("POST /api/backend/item?table=orders").json(json!({"a": "x"})).expect(201).await;
    site.admin("GET /api/backend/item?table=pages").expect(200).await;
    site.admin("GET /api/backend/item?table=x").refused(404, "unknown_table").await;
}

#[tokio::test]
async fn circles_of_references_are_told() {
    let table = |name: &str, target: &str| {
        json!({
            "name": name, "columns": [{"name": "r", "type": "integer", "references": target}],
        })
    };
    let circle = json!({"id": "c", "tables": [table("one", "two"), table("two", "one")]});
    let refused = Site::builder().await.plugin(circle).try_open().await.err().unwrap();
    assert!(refused.detail().contains("circle"), "{refused}");
    let line = json!({"id": "c", "tables": [table("one", "two"), table("two", "two")]});
    Site::builder().await.plugin(line).open().await;
}

/// What is declared again of a column that exists is carried out or refused, never only recorded.
#[tokio::test]
async fn a_column_becomes_unique_or_is_refused() {
    let columns = |more: Json| {
        let mut column = json!({"name": "a", "type": "text"});
        column.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        shop(json!([column, {"name": "self", "type": "integer", "references": "orders"}]))
    };
    let site = Site::builder().await.plugin(columns(json!({}))).open().await;
    for a in ["x", "x", "y"] {
        site.admin("POST /api/backend/item?table=orders").json(json!({"a": a})).expect(201).await;
    }
    site.cms.close().await;
    let settings = site.database.settings();
    for (change, expected) in [
        (json!({"unique": true}), "cannot become unique: 2 rows share"),
        (json!({"required": true}), "`required` stays false"),
        (json!({"default": "z"}), "`default` stays null"),
        (json!({"references": "pages"}), "`references` stays null"),
    ] {
        for _ in 0..2 {
            let plugin: Manifest = serde_json::from_value(columns(change.clone())).unwrap();
            let refused = cms_core::Cms::builder(settings.clone())
                .plugin(plugin)
                .open()
                .await
                .err()
                .expect(expected);
            assert!(refused.detail().contains(expected), "{refused}");
        }
    }
    site.database.run("update orders set a = 'z' where id = 1".to_owned()).await;
    let site = Site::on(site.database).plugin(columns(json!({"unique": true}))).open().await;
    site.admin("POST /api/backend/item?table=orders")
        .json(json!({"a": "y"}))
        .refused(409, "conflict")
        .await;
    let site = reopen(site, columns(json!({}))).await.unwrap();
    let again = || site.admin("POST /api/backend/item?table=orders").json(json!({"a": "y"}));
    again().refused(409, "conflict").await;
    site.cms.apply_plugins(None).await.unwrap();
    again().expect(201).await;
    // The index of a reference gives way to a unique one.
    let unique = shop(json!([
        {"name": "a", "type": "text"},
        {"name": "self", "type": "integer", "references": "orders", "unique": true},
    ]));
    let site = reopen(site, unique).await.unwrap();
    site.admin("PATCH /api/backend/item?table=orders&id=1")
        .json(json!({"self": 1}))
        .expect(200)
        .await;
    site.admin("PATCH /api/backend/item?table=orders&id=2")
        .json(json!({"self": 1}))
        .refused(409, "conflict")
        .await;
}

#[tokio::test]
async fn names_of_the_core_and_of_others_are_refused_before_anything_is_made() {
    let first = json!({
        "id": "a", "tables": [{"name": "orders", "columns": [{"name": "a", "type": "text"}]}],
    });
    let mut site = Site::builder().await.plugin(first.clone()).open().await;
    for name in ["pages", "menu_items", "settings", "forms", "media", "orders"] {
        site.cms.close().await;
        let tables = json!([
            {"name": "fresh", "columns": [{"name": "a", "type": "text"}]},
            {"name": name, "columns": [{"name": "a", "type": "text"}]},
        ]);
        let clash: Manifest = serde_json::from_value(json!({"id": "c", "tables": tables})).unwrap();
        let settings = site.database.settings();
        let builder = cms_core::Cms::builder(settings)
            .plugin(serde_json::from_value::<Manifest>(first.clone()).unwrap());
        let refused = builder.plugin(clash).open().await.err().expect(name);
        assert!(refused.detail().contains("already belongs to"), "{refused}");
        site = Site::on(site.database).plugin(first.clone()).open().await;
        let names = site.cms.db().table_names().await.unwrap();
        assert!(
            !names.iter().any(|n| n == "fresh" || (n == name && name != "orders")),
            "{names:?}"
        );
    }
}

#[tokio::test]
async fn references_lead_to_tables_that_exist() {
    let plugin = |target: &str, kind: &str| {
        let columns = json!([{"name": "r", "type": kind, "references": target}]);
        let adopted = json!({"name": "theirs", "source": "Their things", "adopt": true});
        let keyed = json!({"name": "keyed", "adopt": true});
        json!({"id": "shop", "tables": [adopted, keyed, {"name": "orders", "columns": columns}]})
    };
    for (target, kind, expected) in [
        ("nowhere", "integer", Some("no content table")),
        ("cms_api_keys", "integer", Some("no content table")),
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
        database.run(sql.to_owned()).await;
        match (Site::on(database).plugin(plugin(target, kind)).try_open().await, expected) {
            (Err(refused), Some(expected)) => {
                assert!(refused.detail().contains(expected), "{refused}")
            }
            (Ok(site), None) => {
                site.admin("POST /api/backend/item?table=orders")
                    .json(json!({"r": null}))
                    .expect(201)
                    .await;
                site.admin("POST /api/backend/item?table=orders")
                    .json(json!({"r": 9}))
                    .refused(409, "conflict")
                    .await;
            }
            (found, _) => panic!("{target}: {:?}", found.err()),
        }
    }
}

/// What the engine says reaches the operator.
#[tokio::test]
async fn a_declaration_that_the_engine_refuses_is_told() {
    let database = TestDatabase::new().await;
    // An index of that name is there already.
    let index = json!(["orders", true, [["a", false]]]).to_string();
    let index = format!("orders_a_{}", &cms_core::crypto::sha256_hex(index.as_bytes())[..8]);
    database.run(format!("create table x (a integer); create index {index} on x (a)")).await;
    let plugin = shop(json!([{"name": "a", "type": "text", "unique": true}]));
    let folder = database.folder().join("plugins/shop");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("plugin.json"), plugin.to_string()).unwrap();
    let site = Site::on(database).open().await;
    let problems = site.cms.plugins().states()[0].problems[0].to_string();
    assert!(
        problems.contains("shop: the database refuses") && problems.contains(&index),
        "{problems}"
    );
    assert!(!site.cms.db().table_names().await.unwrap().contains(&"orders".to_owned()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn processes_may_install_together() {
    let site = Site::open().await;
    let plugin = shop(
        json!([{"name": "a", "type": "text"}, {"name": "b", "type": "integer", "unique": true}]),
    );
    let open = || {
        let plugin: Manifest = serde_json::from_value(plugin.clone()).unwrap();
        cms_core::Cms::builder(site.database.settings()).plugin(plugin).open()
    };
    for cms in futures_util::future::join_all((0..6).map(|_| open())).await {
        assert!(cms.unwrap().tables().find("orders").is_some());
    }
    assert_eq!(
        site.database.count("select count(*) from cms_audit where action = 'install'").await,
        1
    );
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
    let table = json!([{"name": "orders", "columns": [{"name": "a", "type": "text"}]}]);
    for (kind, events) in [("custom", 0), ("table", 1)] {
        let plugin = json!({"id": "shop", "content_type": kind, "tables": table});
        let site = Site::builder().await.plugin(plugin).open().await;
        let order = json!({"a": "x"});
        site.admin("POST /api/backend/item?table=orders").json(order).expect(201).await;
        let found = site.database.count("select count(*) from cms_events").await;
        assert_eq!(found, events, "{kind}");
        let audited = "select count(*) from cms_audit where table_name = 'orders'";
        assert!(site.database.count(audited).await > 0, "{kind}");
    }
}

#[tokio::test]
async fn a_declaration_made_again_keeps_descriptions_of_events() {
    let event = |text: &str| json!({"name": "shop.paid", "description": text});
    let plugin = |text: &str| json!({"id": "shop", "webhook_events": [event(text)]});
    let site = Site::builder().await.plugin(plugin("An order was paid.")).open().await;
    let site = reopen(site, plugin("Money came.")).await.unwrap();
    let all = site.admin("GET /api/backend/webhooks/events?limit=500").expect(200).await.data();
    let found: Vec<_> =
        all.as_array().unwrap().iter().filter(|event| event["event_name"] == "shop.paid").collect();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0]["description"], "An order was paid.");
}

/// Names of events and paths of endpoints belong to one plugin.
#[tokio::test]
async fn names_of_another_plugin_are_refused() {
    let table = |name: &str| json!([{"name": name, "columns": [{"name": "a", "type": "text"}]}]);
    let plugin = |id: &str, event: &str, endpoint: &str| {
        json!({
            "id": id, "tables": table(&format!("{id}_things")),
            "webhook_events": [{"name": event}],
            "endpoints": [{"modelPath": format!("{id}_things"), "endpoint": endpoint}],
        })
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
                assert!(refused.detail().contains(expected), "{refused}")
            }
            (None, None) => {}
            (found, _) => panic!("{event} {endpoint}: {found:?}"),
        }
    }
}
