//! The manifest of a plugin.

use serde::{Deserialize, Serialize};

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
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub struct Manifest {
    /// Unique id: lower-case letters, digits and `_`. The plugin's folder has this name.
    pub id: String,
    /// Name for people.
    #[serde(default)]
    pub name: String,
    /// Version of the plugin.
    #[serde(default)]
    pub version: String,
    /// Content tables that the plugin declares or adopts.
    #[serde(default)]
    pub tables: Vec<TableDeclaration>,
    /// Events that the plugin raises.
    #[serde(default, alias = "webhookEvents")]
    pub webhook_events: Vec<EventDeclaration>,
    /// Buttons on each row of a list.
    #[serde(default)]
    pub content_button: Buttons,
    /// Buttons in a list's header.
    #[serde(default)]
    pub action_button: Buttons,
    /// More buttons in a list's header.
    #[serde(default)]
    pub header_buttons: Buttons,
}

impl Manifest {
    /// All buttons with their JSON pointers, including nested ones.
    pub(super) fn buttons(&self) -> Vec<(String, &Button)> {
        let lists = [
            ("content_button", &self.content_button),
            ("action_button", &self.action_button),
            ("header_buttons", &self.header_buttons),
        ];
        let mut found = Vec::new();
        for (name, list) in lists {
            list.collect(&format!("/{name}"), &mut found);
        }
        found
    }
}

/// Buttons. A manifest may give an array, or the same array as text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "ButtonsForm")]
pub struct Buttons(pub Vec<Button>);

/// A button. Its id is part of two permission keys: `{plugin}_{button}_view` and
/// `{plugin}_{button}_edit`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
pub struct Button {
    /// Unique within the plugin, including nested buttons.
    pub button_id: String,
    /// Buttons in the list that this button opens.
    #[serde(default)]
    pub buttons: Buttons,
}

impl Buttons {
    fn collect<'a>(&'a self, at: &str, found: &mut Vec<(String, &'a Button)>) {
        for (i, button) in self.0.iter().enumerate() {
            let at = format!("{at}/{i}");
            found.push((at.clone(), button));
            button.buttons.collect(&format!("{at}/buttons"), found);
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ButtonsForm {
    Text(String),
    Array(Vec<Button>),
}

impl TryFrom<ButtonsForm> for Buttons {
    type Error = String;

    fn try_from(form: ButtonsForm) -> Result<Self, String> {
        match form {
            ButtonsForm::Array(buttons) => Ok(Self(buttons)),
            ButtonsForm::Text(text) => serde_json::from_str(&text)
                .map(Self)
                .map_err(|e| format!("the text is no array of buttons: {e}")),
        }
    }
}

/// An event that a plugin raises. A manifest may give an object, or the same object as text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "EventForm")]
pub struct EventDeclaration {
    /// Name, such as `shop.order_paid`.
    pub name: String,
    /// When the event is raised.
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
    /// `manual` by convention; has no further meaning.
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
