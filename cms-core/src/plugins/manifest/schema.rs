//! The JSON Schema of manifests, made from their types.

use schemars::{Schema, generate::SchemaSettings};

use super::Manifest;

/// The JSON Schema (draft 2020-12) of `plugin.json`.
#[must_use]
pub fn schema() -> Schema {
    let mut schema =
        SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<Manifest>();
    schema.insert("title".to_owned(), "Manifest of a plugin (plugin.json)".into());
    // A member with two names: the documented spelling and the older one.
    if let Some(properties) = schema.get_mut("properties").and_then(|p| p.as_object_mut())
        && let Some(events) = properties.get("webhook_events").cloned()
    {
        properties.insert("webhookEvents".to_owned(), events);
    }
    schema
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Every member of the contract, once, as text and as native JSON.
    #[test]
    fn a_whole_manifest_is_read_and_written_again() {
        let buttons = json!([
            {"button_id": "edit", "type": "edit", "style": "primary", "icon": "pen",
             "title": "Edit", "submit_text": "Save", "support_text": "Help",
             "forStatus": "2", "multilanguage": "1",
             "table": "posts", "editable_rows": [
                 {"column": "title", "type": "text", "placeholder": "Title",
                  "data-aifeature": "translate,shorten"},
                 {"column": "author", "type": "select",
                  "select_value": {"table": "authors", "value": "id", "title": "name"}},
                 {"column": "status", "type": "select",
                  "select_options": [{"value": 1, "title": "Draft"}]}]},
            {"button_id": "comments", "type": "show_module_list",
             "values": {"table": "comments", "template": "Comment"},
             "buttons": [{"button_id": "remove", "type": "delete"}]},
        ]);
        let whole = json!({
            "$schema": "./plugin.schema.json", "id": "blog", "name": "Blog", "version": "1.0.0",
            "content_type": "custom",
            "tables": [{
                "name": "posts", "renamed_from": "articles", "multilanguage": true,
                "columns": [{"name": "status", "type": "select", "enum": ["a", "b"],
                             "renamed_from": "state", "default": "a", "required": true}],
                "unique": [["status", "title"]], "indexes": [["status", "-published_at"]]}],
            "content_button": buttons.to_string(),
            "action_button": [{"button_id": "add", "type": "modal", "component": "blog/admin/Add"}],
            "header_buttons": [{"button_id": "docs", "type": "link", "url": "https://example.org"}],
            "pagebuilder_widgets": [json!({
                "widget_title": "Posts", "widget_icon": "posts.svg", "widget_template": "posts",
                "widget_menu": [
                    {"row": "title", "type": "text", "placeholder": "Title"},
                    {"row": "text", "type": "select", "value": "id", "title": "title",
                     "options": [{"id": 1, "title": "One"}]},
                    {"row": "kind", "type": "select",
                     "select_value": {"options": [{"value": "a", "title": "A"}]}}]}).to_string()],
            "endpoints": [{"modelPath": "posts", "endpoint": "blog-posts", "public": true}],
            "webhookEvents": [r#"{"name": "blog.read", "type": "manual", "description": "Read."}"#],
            "tasks": [{"name": "tidy", "interval_s": 300, "script": "tidy.php"}],
        });
        let manifest: Manifest = serde_json::from_value(whole).expect("a manifest");
        assert_eq!(manifest.content_button[0].editable_rows.len(), 3);
        assert!(manifest.content_button[0].multilanguage.0);
        assert_eq!(manifest.endpoints[0].path(), "/api/blog_posts");
        let again = serde_json::to_value(&manifest).expect("JSON");
        assert_eq!(serde_json::from_value::<Manifest>(again).expect("the same"), manifest);
    }

    #[test]
    fn the_schema_names_every_member() {
        let schema = serde_json::to_value(schema()).expect("JSON");
        let names = schema["properties"].as_object().expect("members");
        for name in ["$schema", "content_button", "webhookEvents", "webhook_events", "tasks"] {
            assert!(names.contains_key(name), "{name}");
        }
        assert_eq!(schema["additionalProperties"], false);
        assert_eq!(schema["$defs"]["Button"]["allOf"].as_array().expect("rules").len(), 9);
    }
}
