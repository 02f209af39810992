//! Manifests without a fault: a small one with one more member each.

use serde_json::{Value as Json, json};

fn with(more: Json) -> Json {
    let columns = json!([
        {"name": "title", "type": "text", "required": true},
        {"name": "status", "type": "integer", "default": 0},
        {"name": "tags", "type": "json"},
        {"name": "pin", "type": "password"},
        {"name": "kind", "type": "select", "enum": ["a", "b"]},
        {"name": "body", "type": "code_editor"},
        {"name": "cover", "type": "image"},
        {"name": "hue", "type": "color"},
        {"name": "open", "type": "checkbox"},
        {"name": "day", "type": "date"},
        {"name": "hour", "type": "time"},
        {"name": "moment", "type": "datetime"},
        {"name": "price", "type": "decimal"},
        {"name": "size", "type": "select"},
    ]);
    let mut manifest = json!({
        "id": "blog", "tables": [
            {"name": "posts", "columns": columns},
            {"name": "pages_of_posts", "multilanguage": true,
             "columns": [{"name": "title", "type": "text"}]},
        ],
    });
    manifest.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    manifest
}

fn row(button: Json) -> Json {
    with(json!({"content_button": [button]}))
}

fn header(button: Json) -> Json {
    with(json!({"action_button": [button]}))
}

pub(super) fn all() -> Vec<Json> {
    let fields = json!([{"column": "title", "type": "text"}]);
    let edit = |more: Json| {
        let mut button = json!({"button_id": "e", "type": "edit", "editable_rows": fields});
        button.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        row(button)
    };
    let every_type = json!([
        {"column": "title", "type": "textarea"},
        {"column": "tags", "type": "textarea"},
        {"column": "pin", "type": "password"},
        {"column": "kind", "type": "select"},
        {"column": "body", "type": "code_editor"},
        {"column": "cover", "type": "image"},
        {"column": "hue", "type": "color"},
        {"column": "open", "type": "checkbox"},
        {"column": "day", "type": "date"},
        {"column": "hour", "type": "time"},
        {"column": "moment", "type": "datetime"},
        {"column": "price", "type": "number"},
        {"column": "status", "type": "select",
         "select_options": [{"value": 0, "title": "Off"}, {"value": 1, "title": "On"}]},
        {"column": "size", "type": "select", "select_options": [{"value": 1, "title": "One"}]},
    ]);
    let widget = |menu: Json| {
        json!({"widget_title": "W", "widget_icon": "w.svg", "widget_template": "w",
               "widget_menu": menu})
    };
    let one = widget(json!([{"row": "title", "type": "text"}]));
    vec![
        serde_json::from_str(super::BASE).unwrap(),
        json!({"id": "blog"}),
        json!({"id": "blog", "content_type": "custom", "version": "2"}),
        with(json!({})),
        with(json!({"content_button": "[]", "action_button": [], "header_buttons": "[]"})),
        edit(json!({})),
        edit(json!({"style": "info", "icon": "pen_2", "title": "", "support_text": "x"})),
        edit(json!({"forStatus": -1})),
        edit(json!({"forStatus": "2"})),
        edit(json!({"forStatus": "2abc"})),
        edit(json!({"multilanguage": false})),
        edit(json!({"table": "pages_of_posts", "multilanguage": "1"})),
        edit(json!({"table": "pages_of_posts", "multilanguage": true})),
        edit(json!({"editable_rows": every_type})),
        with(json!({
            "tables": [
                {"name": "guides", "columns": [{"name": "name", "type": "text"}]},
                {"name": "tours", "columns": [{"name": "status", "type": "integer"}]},
            ],
            "content_button": [{
                "button_id": "d", "type": "delete", "table": "tours", "forStatus": 2,
            }],
        })),
        edit(json!({"editable_rows": every_type.to_string()})),
        header(json!({"button_id": "i", "type": "insert", "editable_rows": fields})),
        header(json!({"button_id": "m", "type": "modal", "component": "blog/admin/New2"})),
        header(json!({"button_id": "a", "type": "show_module_list",
                      "values": {"table": "pages", "template": "T"}})),
        row(json!({"button_id": "d-1", "type": "delete", "editable_rows": []})),
        row(json!({"button_id": "s", "type": "script", "script": "posts/export.php"})),
        row(json!({"button_id": "l", "type": "link", "url": "mailto:a@example.org"})),
        row(json!({"button_id": "l", "type": "link", "url": "/posts?x=1#a:b"})),
        row(json!({"button_id": "c", "type": "show_checklist",
                   "values": {"table": "user_groups", "column": "rights"}})),
        row(json!({"button_id": "c", "type": "show_module_list",
                   "values": {"table": "pages", "template": "T"}})),
        row(json!({"button_id": "c", "type": "show_module_list",
                   "values": {"table": "pages_of_posts", "template": "T"},
                   "buttons": "[{\"button_id\": \"x\", \"type\": \"delete\"}]"})),
        with(json!({"content_button": "[{\"button_id\": \"x\", \"type\": \"delete\"}]"})),
        with(json!({"pagebuilder_widgets": [one]})),
        with(json!({"pagebuilder_widgets": [widget(json!([]))]})),
        with(json!({"pagebuilder_widgets": [one.to_string()]})),
        with(json!({"pagebuilder_widgets": [widget(json!([
            {"row": "text", "type": "select", "value": "id", "title": "title",
             "options": [{"id": 1, "title": "One"}, {"id": "b", "title": "Two"}]},
            {"row": "kind", "type": "select", "select_value":
                {"options": [{"value": 1, "title": "One"}]}},
            {"row": "page", "type": "select", "select_value":
                {"table": "pages", "value": "id", "title": "title"}},
        ]))]})),
        with(json!({"endpoints": [{"modelPath": "posts", "endpoint": "blog-posts"}]})),
        with(json!({"endpoints": [{"modelPath": "posts", "endpoint": "backend/blog/posts"}]})),
        with(json!({"endpoints": [{"modelPath": "posts", "endpoint": "blog"},
                                  {"modelPath": "pages_of_posts", "endpoint": "blog/pages"}]})),
        with(json!({"webhookEvents": ["{\"name\": \"blog.read\", \"type\": \"manual\"}"]})),
        with(json!({"webhook_events": [{"name": "read"}]})),
        with(json!({"webhook_events": [{"name": "read", "type": "auto"}]})),
        with(json!({"tasks": [{"name": "tidy", "interval_s": 86400, "script": "tidy.php"}]})),
    ]
}
