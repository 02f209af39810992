//! The manifest of a plugin. Every member is a type, and the JSON Schema is generated from
//! the types.
//!
//! ```text
//! document   the manifest itself, and its JSON Schema
//! list       lists that a manifest may give as text
//! button     buttons of lists: their nine types and the members of each
//! field      fields of a form (editable_rows), and where a select has its options from
//! widget     widgets of the page builder
//! endpoint   endpoints
//! ```

mod button;
pub(super) mod document;
mod endpoint;
mod field;
mod list;
mod widget;

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};

pub use button::{
    Button, ButtonType, ButtonValues, ForStatus, MEMBERS, Member, Need, Style, Switch,
};
pub(crate) use endpoint::meet;
pub use endpoint::{EndpointDeclaration, Method};
pub use field::{EditableField, FieldType, SelectOption, SelectSource};
pub use list::List;
pub use widget::{MenuChoice, MenuEntry, MenuSource, WidgetDeclaration};

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

/// An event that a plugin raises.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct EventDeclaration {
    /// Name, such as `shop.order_paid`.
    #[schemars(regex(pattern = "^(?!item\\.|auth\\.|formfunnel\\.)[A-Za-z0-9._-]{1,200}$"))]
    pub name: String,
    /// `manual` by convention; has no further meaning.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^[A-Za-z0-9_-]{1,40}$"))]
    pub event_type: Option<String>,
    /// When the event is raised.
    #[serde(default)]
    pub description: String,
}

/// A task: a script or a handler that runs once in each interval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = script_or_handler)]
#[non_exhaustive]
pub struct TaskDeclaration {
    /// Its name, unique in the plugin.
    #[schemars(regex(pattern = "^[a-z][a-z0-9_]{0,59}$"))]
    pub name: String,
    /// Seconds from the start of one run to the next.
    #[schemars(range(min = 1, max = 31_536_000))]
    pub interval_s: u64,
    /// Seconds after which a run is ended; 3600 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 604_800))]
    pub timeout_s: Option<u64>,
    /// The script: a path under the plugin's folder `script/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*\\.php$"))]
    pub script: Option<String>,
    /// The name of a handler of the embedding program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub handler: Option<String>,
}

/// A task has exactly one of the two.
fn script_or_handler(schema: &mut Schema) {
    let either = serde_json::json!([{"required": ["script"]}, {"required": ["handler"]}]);
    schema.insert("oneOf".to_owned(), either);
}
