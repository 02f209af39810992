//! Plugins that declare tables: installed, extended, refused with what would be lost.

use serde_json::{Value as Json, json};

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
    let site = Site::builder().await.plugin(shop(json!([{"name": "a", "type": "text"}]))).open().await;
    site.admin("POST /api/backend/item?table=orders").json(json!({"a": "x"})).expect(201).await;
    let grown = shop(json!([{"name": "a", "type": "text"}, {"name": "b", "type": "integer", "required": true, "default": 7}]));
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
            "column a would be dropped (1 rows have a value)",
        ),
        (json!([{"name": "a", "type": "integer"}, {"name": "b", "type": "integer"}]), "column a would change its type"),
        (
            json!([{"name": "a", "type": "text"}, {"name": "b", "type": "integer"}, {"name": "c", "type": "text", "required": true}]),
            "needs a default",
        ),
    ] {
        let plugin = serde_json::from_value(shop(columns)).unwrap();
        let refused = cms_core::Cms::builder(settings.clone()).plugin(plugin).open().await.err().expect(expected);
        assert!(refused.detail().contains(expected), "{refused}");
    }
    assert_eq!(folder.count("select count(*) from orders where b = 7").await, 1);
}

#[tokio::test]
async fn a_table_of_somebody_else_is_not_taken() {
    let database = TestDatabase::new().await;
    database.run("create table orders (id integer primary key, a text)".to_owned()).await;
    let refused = Site::on(database).plugin(shop(json!([{"name": "a", "type": "text"}]))).try_open().await.err().unwrap();
    assert!(refused.detail().contains("\"adopt\": true"), "{refused}");
}

#[tokio::test]
async fn a_broken_plugin_stays_out_and_the_others_work() {
    let database = TestDatabase::new().await;
    let folder = database.folder.path().join("plugins");
    for (name, text) in [
        ("good", shop(json!([{"name": "a", "type": "text"}])).to_string().replace("shop", "good")),
        ("broken", "{".to_owned()),
        ("wrong", json!({"id": "wrong", "tables": [{"name": "x", "columns": [{"name": "a", "type": "string"}]}]}).to_string()),
        ("clash", json!({"id": "clash", "tables": [{"name": "pages", "columns": [{"name": "a", "type": "text"}]}]}).to_string()),
        ("misnamed", json!({"id": "other"}).to_string()),
        ("absent", json!({"id": "absent", "tables": [{"name": "nowhere", "adopt": true}]}).to_string()),
    ] {
        std::fs::create_dir_all(folder.join(name)).unwrap();
        std::fs::write(folder.join(name).join("plugin.json"), text).unwrap();
    }
    let site = Site::on(database).open().await;
    let states: Vec<_> = site.cms.plugins().iter().map(|plugin| (plugin.id.as_str(), plugin.problems.is_empty())).collect();
    assert_eq!(
        states,
        [("absent", false), ("broken", false), ("clash", false), ("good", true), ("misnamed", false), ("wrong", false)]
    );
    site.admin("POST /api/backend/item?table=orders").json(json!({"a": "x"})).expect(201).await;
    site.admin("GET /api/backend/item?table=pages").expect(200).await;
    site.admin("GET /api/backend/item?table=x").refused(404, "unknown_table").await;
}

#[tokio::test]
async fn circles_of_references_are_told() {
    let table =
        |name: &str, target: &str| json!({"name": name, "columns": [{"name": "r", "type": "integer", "references": target}]});
    let circle = json!({"id": "c", "tables": [table("one", "two"), table("two", "one")]});
    let refused = Site::builder().await.plugin(circle).try_open().await.err().unwrap();
    assert!(refused.detail().contains("circle"), "{refused}");
    let line = json!({"id": "c", "tables": [table("one", "two"), table("two", "two")]});
    Site::builder().await.plugin(line).open().await;
}
