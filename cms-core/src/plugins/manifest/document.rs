//! The manifest itself, and its JSON Schema.

use schemars::{JsonSchema, Schema, generate::SchemaSettings};
use serde::{Deserialize, Serialize};

use super::{
    Button, ButtonLists, ContentType, EndpointDeclaration, EventDeclaration, List, TaskDeclaration,
    WidgetDeclaration, endpoint,
};
use crate::content::TableDeclaration;

/// The declarations of a plugin: `plugins/<id>/plugin.json`, or a value built by the embedding
/// program.
///
/// ```
/// let manifest: cms_core::plugins::Manifest = serde_json::from_str(r#"{
///     "id": "shop", "name": "Shop",
///     "tables": [{"name": "orders", "columns": [{"name": "total", "type": "decimal"}]}]
/// }"#)?;
/// assert_eq!(manifest.tables[0].name, "orders");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Manifest {
    /// Address of the JSON Schema, for editors.
    #[serde(default, rename = "$schema", skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// Unique id: lower-case letters, digits and `_`. The plugin's folder has this name.
    #[schemars(regex(pattern = "^[a-z][a-z0-9_]{0,59}$"))]
    pub id: String,
    /// Name for people.
    #[serde(default)]
    pub name: String,
    /// Version of the plugin.
    #[serde(default)]
    pub version: String,
    /// `custom` for plugins whose tables raise no `item.` events.
    #[serde(default)]
    pub content_type: ContentType,
    /// Content tables that the plugin declares or adopts.
    #[serde(default)]
    pub tables: Vec<TableDeclaration>,
    /// Buttons on each row of a list.
    #[serde(default)]
    pub content_button: List<Button>,
    /// Buttons in a list's header.
    #[serde(default)]
    pub action_button: List<Button>,
    /// More buttons in a list's header.
    #[serde(default)]
    pub header_buttons: List<Button>,
    /// Widgets of the page builder.
    #[serde(default)]
    pub pagebuilder_widgets: List<WidgetDeclaration>,
    /// Endpoints of the plugin.
    #[serde(default)]
    pub endpoints: List<EndpointDeclaration>,
    /// Events that the plugin raises.
    #[serde(default, alias = "webhookEvents")]
    pub webhook_events: List<EventDeclaration>,
    /// Tasks that run on a schedule.
    #[serde(default)]
    pub tasks: List<TaskDeclaration>,
}

impl Manifest {
    /// The three lists of buttons.
    #[must_use]
    pub(crate) fn button_lists(&self) -> ButtonLists<'_> {
        [
            ("content_button", false, &self.content_button),
            ("action_button", true, &self.action_button),
            ("header_buttons", true, &self.header_buttons),
        ]
    }

    /// All buttons with their JSON pointers, including nested ones.
    pub(crate) fn buttons(&self) -> Vec<(String, &Button)> {
        let mut found = Vec::new();
        for (name, _, list) in self.button_lists() {
            collect(list, &format!("/{name}"), &mut found);
        }
        found
    }

    /// All buttons, each with the table whose rows its list shows.
    #[must_use]
    pub fn listed_buttons(&self) -> Vec<(&Button, Option<&str>)> {
        fn collect<'a>(
            list: &'a List<Button>,
            listed: Option<&'a str>,
            found: &mut Vec<(&'a Button, Option<&'a str>)>,
        ) {
            for button in list.iter() {
                found.push((button, listed));
                let nested = button.values.as_ref().and_then(|values| values.table.as_deref());
                collect(&button.buttons, nested, found);
            }
        }
        let mut found = Vec::new();
        for (_, _, list) in self.button_lists() {
            collect(list, self.first_table(), &mut found);
        }
        found
    }

    /// The table that buttons write unless they name another.
    #[must_use]
    pub fn first_table(&self) -> Option<&str> {
        self.tables.first().map(|table| table.name.as_str())
    }

    /// Whether an endpoint reads a table of the plugin.
    pub(crate) fn reads_table(&self, endpoint: &EndpointDeclaration) -> bool {
        self.record_shape(endpoint).is_some()
    }

    /// The shape of the addresses of single records, if an endpoint reads a table of the plugin.
    pub(crate) fn record_shape(&self, endpoint: &EndpointDeclaration) -> Option<String> {
        let table = self.tables.iter().find(|table| table.name == endpoint.model_path)?;
        let id = if table.adopt { "{}" } else { endpoint::NUMBER };
        Some(format!("{}/{id}", endpoint.shape()))
    }

    /// The first of the plugin's references from one table of a circle to another.
    pub(crate) fn reference_in(&self, circle: &[&TableDeclaration]) -> Option<String> {
        let is_in = |name: &str| circle.iter().any(|table| table.name == name);
        let mut own = self.tables.iter().enumerate().filter(|(_, table)| is_in(&table.name));
        own.find_map(|(i, table)| {
            let leads = |name: &str| name != table.name && is_in(name);
            let mut targets = table.columns.iter().map(|column| column.references.as_deref());
            let j = targets.position(|target| target.is_some_and(leads))?;
            Some(format!("/tables/{i}/columns/{j}/references"))
        })
    }

    /// The button of this id, nested or not.
    #[must_use]
    pub fn button(&self, id: &str) -> Option<&Button> {
        self.buttons().into_iter().map(|(_, button)| button).find(|button| button.button_id == id)
    }
}

fn collect<'a>(list: &'a List<Button>, at: &str, found: &mut Vec<(String, &'a Button)>) {
    for (i, button) in list.iter().enumerate() {
        let at = format!("{at}/{i}");
        found.push((at.clone(), button));
        collect(&button.buttons, &format!("{at}/buttons"), found);
    }
}

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
            "endpoints": [
                {"modelPath": "posts", "endpoint": "blog-posts", "public": true},
                {"modelPath": "rate", "endpoint": "rate", "methods": ["POST"],
                 "body": {"type": "integer", "maximum": 5}, "reply": {"type": "number"}}],
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
