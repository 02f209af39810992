//! The manifest of a plugin.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::db::dialect::Kind;

/// A plugin: `plugins/<id>/plugin.json`, or a value made by the embedding program.
///
/// ```
/// let plugin: cms_core::plugins::Plugin = serde_json::from_str(r#"{
///     "id": "shop", "name": "Shop",
///     "tables": [{"name": "orders", "columns": [{"name": "total", "type": "decimal", "required": true}]}]
/// }"#)?;
/// assert_eq!(plugin.tables[0].name, "orders");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Plugin {
    /// Unique: lower-case letters, digits and `_`; the folder's name.
    pub id: String,
    /// For people.
    #[serde(default)]
    pub name: String,
    /// Its own version.
    #[serde(default)]
    pub version: String,
    /// Content tables that it brings or adopts.
    #[serde(default)]
    pub tables: Vec<TableDeclaration>,
    /// Events that it raises.
    #[serde(default, alias = "webhookEvents")]
    pub webhook_events: Vec<EventDeclaration>,
}

/// An event that a plugin raises. In a manifest: an object, or such an object as text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "EventForm")]
pub struct EventDeclaration {
    /// Its name, such as `shop.order_paid`.
    pub name: String,
    /// When it is raised.
    pub description: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum EventForm {
    Text(String),
    Object(EventObject),
}

#[derive(Deserialize)]
struct EventObject {
    name: String,
    /// By convention `manual`; it says nothing more.
    #[serde(default, rename = "type")]
    _event_type: Option<String>,
    #[serde(default)]
    description: String,
}

impl TryFrom<EventForm> for EventDeclaration {
    type Error = String;

    fn try_from(form: EventForm) -> Result<Self, String> {
        let object = match form {
            EventForm::Object(object) => object,
            EventForm::Text(text) => {
                serde_json::from_str(&text).map_err(|e| format!("{text:?} is no event: {e}"))?
            }
        };
        Ok(Self { name: object.name, description: object.description })
    }
}

/// A content table of a plugin.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TableDeclaration {
    /// Its name in the API.
    pub name: String,
    /// True: the table is there already; it is served and never altered.
    #[serde(default)]
    pub adopt: bool,
    /// Its name in the database, when that differs (adopted tables only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Its columns; of an adopted table: those to serve, none for all.
    #[serde(default)]
    pub columns: Vec<ColumnDeclaration>,
    /// One row for each language: `base_id` and `language_short` are added.
    #[serde(default)]
    pub multilanguage: bool,
    /// Changes must carry `If-Match`.
    #[serde(default)]
    pub require_if_match: bool,
}

/// A column of a content table.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnDeclaration {
    /// Its name.
    pub name: String,
    /// One of [`ColumnDeclaration::TYPES`]; adopted columns may leave it out.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub field_type: Option<String>,
    /// Refuses null.
    #[serde(default)]
    pub required: bool,
    /// Value of rows that do not give one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// No two rows have the same.
    #[serde(default)]
    pub unique: bool,
    /// The content table whose id it holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub references: Option<String>,
}

impl ColumnDeclaration {
    /// The field types and what they hold.
    pub const TYPES: &[(&str, Kind)] = &[
        ("text", Kind::Text),
        ("textarea", Kind::Text),
        ("richtext_editor", Kind::Text),
        ("code_editor", Kind::Text),
        ("select", Kind::Text),
        ("image", Kind::Text),
        ("color", Kind::Text),
        ("checkbox", Kind::Boolean),
        ("boolean", Kind::Boolean),
        ("number", Kind::Double),
        ("integer", Kind::Integer),
        ("decimal", Kind::Decimal),
        ("date", Kind::Date),
        ("time", Kind::Time),
        ("datetime", Kind::DateTime),
        ("json", Kind::Json),
        ("password", Kind::Password),
    ];

    /// What the column holds; None for an unknown or missing type.
    #[must_use]
    pub fn kind(&self) -> Option<Kind> {
        let wanted = self.field_type.as_deref()?;
        Self::TYPES.iter().find(|(name, _)| *name == wanted).map(|(_, kind)| *kind)
    }
}
