//! `/api/backend/tables`: which content tables there are, as far as the caller may read them.

use cms_http::{
    client::Client,
    wire::{
        NoBody, OneOrPage,
        tables::{Read, WhichTables},
    },
};
use serde_json::json;

use crate::support::Site;

#[tokio::test]
async fn tables_are_listed_a_page_at_a_time() {
    let site = Site::open().await;
    site.insert("settings", json!([{"name": "a", "value": "1"}, {"name": "b", "value": "2"}]))
        .await;
    let client = Client::local(site.api.clone());
    let (mut names, mut cursor) = (Vec::new(), None);
    loop {
        let limit = cms_http::wire::parameters::Limit(2);
        let asked = WhichTables { limit, cursor, ..WhichTables::default() };
        let page = client.call::<Read>(&asked, &NoBody).await.unwrap();
        let OneOrPage::Page(page) = page else { panic!("{page:?}") };
        names.extend(page.data.into_iter().map(|table| (table.name, table.plugin, table.rows)));
        cursor = page.meta.next;
        if cursor.is_none() {
            break;
        }
    }
    assert!(names.is_sorted() && names.len() >= 3, "{names:?}");
    assert!(names.contains(&("settings".to_owned(), "core".to_owned(), 2)), "{names:?}");

    let pages = site.admin("GET /api/backend/tables?name=pages").expect(200).await.data();
    assert_eq!(pages["multilanguage"], true);
    let id = &pages["columns"][0];
    assert_eq!((&id["name"], &id["key"]), (&json!("id"), &json!(true)));
}

#[tokio::test]
async fn callers_see_the_tables_that_they_may_read() {
    let site = Site::open().await;
    let names = |json: serde_json::Value| -> Vec<String> {
        let tables = json.as_array().unwrap();
        tables.iter().map(|table| table["name"].as_str().unwrap().to_owned()).collect()
    };
    let editor = site.person("editor", json!(["settings_settings_view"])).await;
    let shown = site.ask("GET /api/backend/tables").bearer(&editor.token).expect(200).await;
    assert_eq!(names(shown.data()), ["settings"]);
    let ask = site.ask("GET /api/backend/tables?name=pages").bearer(&editor.token);
    ask.refused(404, "unknown_table").await;

    let rights = ["GET /api/backend/tables", "GET /api/backend/item?table=pages"];
    let key = site.key(&rights).await;
    let shown = site.ask("GET /api/backend/tables").key(&key).expect(200).await;
    assert_eq!(names(shown.data()), ["pages"]);
    site.ask("GET /api/backend/tables?cursor=%21").key(&key).refused(400, "bad_query").await;
}

#[tokio::test]
async fn indexes_are_those_of_the_database() {
    let table = json!({"name": "dishes", "multilanguage": true, "columns": [
        {"name": "code", "type": "text", "unique": true},
        {"name": "price", "type": "decimal"},
        {"name": "page_id", "type": "integer", "references": "pages"},
    ]});
    let plugin = json!({"id": "menu", "name": "Menu", "version": "1.0.0", "tables": [table]});
    let site = Site::builder().await.plugin(plugin).open().await;
    for sql in [
        "create index dishes_order on dishes (language_short, price desc)",
        "create index dishes_dear on dishes (price) where price > 100",
        "create index dishes_upper on dishes (upper(code))",
    ] {
        site.database.run(sql.to_owned()).await;
    }
    let shown = site.admin("GET /api/backend/tables?name=dishes").expect(200).await.data();
    let expected =
        json!(
            [["base_id", "language_short"], ["code"], ["language_short", "-price"], ["page_id"],]
        );
    assert_eq!(shown["indexes"], expected);
}
