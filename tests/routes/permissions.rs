//! `/api/backend/permissions`: the permission keys that groups can hold.

use serde_json::json;

use crate::support::Site;

#[tokio::test]
async fn permission_keys_of_areas_and_plugins_are_listed_a_page_at_a_time() {
    let plugin = json!({
        "id": "menu", "name": "Menu", "version": "1.0.0",
        "tables": [{"name": "dishes", "columns": [{"name": "title", "type": "text"}]}],
        "content_button": [{"button_id": "list", "type": "edit",
                            "editable_rows": [{"column": "title", "type": "text"}]}],
    });
    let site = Site::builder().await.plugin(plugin).open().await;
    let pages = site.pages("/api/backend/permissions?limit=7").await;
    let found: Vec<_> = pages.iter().flat_map(|page| page.as_array().unwrap().clone()).collect();
    // Eight areas and one button, each to view and to edit.
    assert_eq!(found.len(), 18);
    let keys: Vec<_> = found.iter().map(|one| one["key"].as_str().expect("a key")).collect();
    assert!(keys.is_sorted(), "{keys:?}");
    assert!(found.contains(&json!({"key": "menu_list_edit", "plugin": "menu"})), "{found:?}");
    assert!(found.contains(&json!({"key": "keys_keys_view", "plugin": "core"})), "{found:?}");
    let group = json!({"name": "all", "rights": keys});
    site.create("/api/backend/user_groups", group).await;
    site.admin("GET /api/backend/permissions?cursor=%21").refused(400, "bad_query").await;
}
