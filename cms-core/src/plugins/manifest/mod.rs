//! The manifest of a plugin: every member as a type. The JSON Schema is made from these types.
//!
//! ```text
//! list       lists that a manifest may give as text
//! button     buttons of lists; kind: the nine types and the members of each
//! values     small values with a form of their own: forStatus, multilanguage
//! field      fields of a form (editable_rows); source: where a select has its options from
//! widget     widgets of the page builder
//! endpoint, event, task
//! schema     the JSON Schema of all this
//! ```

mod button;
mod endpoint;
mod event;
mod field;
mod kind;
mod list;
mod schema;
mod source;
mod task;
mod values;
mod widget;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use button::{Button, ButtonValues, Style};
pub use endpoint::{EndpointDeclaration, Method};
pub use event::{EventDeclaration, EventType};
pub use field::{EditableField, FieldType};
pub use kind::{ButtonType, MEMBERS, Member, Need};
pub use list::List;
pub use schema::schema;
pub use source::{MenuChoice, MenuSource, SelectOption, SelectSource};
pub use task::TaskDeclaration;
pub use values::{ForStatus, Switch};
pub use widget::{MenuEntry, WidgetDeclaration};

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

/// What a plugin's tables are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ContentType {
    /// Tables of content: their changes raise `item.{table}.created`, `.updated` and `.deleted`.
    #[default]
    Table,
    /// Content of the plugin's own making: its tables raise no item events.
    Custom,
}

/// The lists of buttons: member, whether it is a header, buttons.
pub type ButtonLists<'a> = [(&'static str, bool, &'a List<Button>); 3];

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

    /// The table that buttons write when nothing else is said.
    #[must_use]
    pub fn first_table(&self) -> Option<&str> {
        self.tables.first().map(|table| table.name.as_str())
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
