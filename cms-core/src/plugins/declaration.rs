//! The manifest of a plugin.

use serde::{Deserialize, Serialize};

use crate::content::TableDeclaration;

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
