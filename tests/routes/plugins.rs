//! `/api/backend/plugins`: plugins with their problems, their buttons for a row, what these show.

use serde_json::{Value as Json, json};

use crate::{
    plugin_buttons::{blog, site},
    support::{Site, TestDatabase, each, has},
};

#[tokio::test]
async fn buttons_are_resolved_for_a_row() {
    let site = site().await;
    let line = "/api/backend/plugins/buttons?plugin=blog";
    let ids = async |row: &str| each(&site.get(&format!("{line}{row}")).await, "button_id");
    let shown = site.admin(&format!("GET {line}&row=1")).expect(200).await.json();
    let kinds = json!([{"value": "news", "title": "news"}, {"value": "essay", "title": "essay"}]);
    let people = json!([{"value": 1, "title": "Ada"}, {"value": 2, "title": "Bob"}]);
    has!(shown["data"], {"/1/editable_rows/0/options": people,
                         "/0/editable_rows/1/options": kinds,
                         "/4/buttons/0/placement": "buttons", "/8/placement": "action_button"});
    site.update("posts&id=1", json!({"status": 2})).await;
    let found = ids("&row=1").await;
    assert!(!found.contains(&json!("assign")) && found.contains(&json!("insert")));
    assert_eq!(ids("").await.len(), 10);
    site.admin(&format!("GET {line}&row=77")).refused(404, "not_found").await;
    site.admin("GET /api/backend/plugins/buttons?plugin=none").refused(404, "not_found").await;

    let line = "GET /api/backend/plugins/content?plugin=blog&row=1&button=";
    let list = site.admin(&format!("{line}comments")).expect(200).await.data();
    assert_eq!(list["rows"].as_array().unwrap().len(), 1);
    has!(list, {"template": "Comment", "/rows/0/item/text": "first",
                "/rows/0/buttons": ["approve"]});
    let stats = site.admin(&format!("{line}stats")).expect(200).await.data();
    assert_eq!(stats["content"]["row"], "1");
    site.admin(&format!("{line}link")).refused(400, "bad_query").await;
    site.admin(&format!("{line}none")).refused(404, "not_found").await;
}

#[tokio::test]
async fn checklists_show_what_can_be_checked() {
    let of = |id: &str, table: &str, column: &str| {
        json!({"button_id": id, "type": "show_checklist",
               "values": {"table": table, "column": column}})
    };
    let tags = json!({"name": "tags", "type": "json", "enum": ["x", 2]});
    let free = json!({"name": "free", "type": "json"});
    let plugin = json!({
        "id": "notes",
        "tables": [{"name": "notes", "columns": [tags, free]}],
        "content_button": [
            of("tags", "notes", "tags"), of("free", "notes", "free"),
            of("rights", "user_groups", "rights")],
    });
    let site = Site::builder().await.plugin(plugin).open().await;
    let line = "GET /api/backend/plugins/buttons?plugin=notes";
    let shown = site.admin(line).expect(200).await.data();
    let tags = json!([{"value": "x", "title": "x"}, {"value": 2, "title": "2"}]);
    assert_eq!((&shown[0]["options"], &shown[1]["options"]), (&tags, &Json::Null));
    let keys = site.admin("GET /api/backend/permissions?limit=500").expect(200).await.data();
    let option = |key: &Json| json!({"value": key["key"], "title": key["key"]});
    let keys: Json = keys.as_array().unwrap().iter().map(option).collect();
    assert_eq!(shown[2]["options"], keys);
    // Others see what they may pass on.
    let viewer = site.person("viewer", json!(["notes_rights_view"])).await;
    let shown = site.ask(line).bearer(&viewer.token).expect(200).await.data();
    let held = json!([{"value": "notes_rights_view", "title": "notes_rights_view"}]);
    assert_eq!(shown[0]["options"], held);
    // A group is no row, so the plugin's first table has it.
    let of_row = |id: u8| site.ask(&format!("{line}&row={id}")).bearer(&viewer.token);
    of_row(99).refused(404, "not_found").await;
    site.insert("notes", json!({"tags": ["x"]})).await;
    assert_eq!(of_row(1).expect(200).await.data()[0]["button_id"], "rights");
    // The editors of records ask the table.
    let table = site.admin("GET /api/backend/tables?name=notes").expect(200).await.data();
    let enums: Vec<_> = table["columns"].as_array().unwrap().iter().map(|c| &c["enum"]).collect();
    assert_eq!(enums, [&Json::Null, &json!(["x", 2]), &Json::Null]);
}

#[tokio::test]
async fn plugins_are_listed_with_their_problems() {
    let database = TestDatabase::new().await;
    database.write_manifest("broken", "{\n  \"id\": \"broken\",\n  \"nam\": 1\n}");
    let site = Site::on(database).program(blog()).open().await;
    let all = site.admin("GET /api/backend/plugins").expect(200).await.data();
    assert_eq!((&all[0]["id"], &all[1]["id"]), (&json!("blog"), &json!("broken")));
    assert_eq!((&all[0]["in_service"], &all[1]["in_service"]), (&json!(true), &json!(false)));
    let problem = json!({"pointer": "/nam", "line": 3, "column": 3,
                         "remedy": "\"nam\" is unknown; did you mean \"name\"?"});
    assert_eq!(all[1]["problems"], json!([problem]));
    let one = site.admin("GET /api/backend/plugins?id=blog").expect(200).await.data();
    assert_eq!(one["manifest"]["tables"][0]["name"], "posts");
    site.admin("GET /api/backend/plugins?id=none").refused(404, "not_found").await;
    let person = site.person("viewer", json!(["blog_link_view"])).await;
    let seen = site.ask("GET /api/backend/plugins").bearer(&person.token).send().await.data();
    assert_eq!((seen.as_array().unwrap().len(), &seen[0]["id"]), (1, &json!("blog")));
}
