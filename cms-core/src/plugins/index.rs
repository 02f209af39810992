//! Looks up by name what the plugins in service declare.

use std::collections::{BTreeMap, BTreeSet};

use super::{Manifest, PluginState, writers};
use crate::{
    Code, Error, Result,
    access::{Writer, keys_of},
};

/// Events and permission keys, each with the plugin that declares it; the buttons that write a
/// table.
#[derive(Debug, Default)]
pub struct Index {
    events: BTreeMap<(String, String), String>,
    permissions: BTreeMap<String, BTreeSet<String>>,
    writers: BTreeMap<String, Vec<Writer>>,
}

impl Index {
    pub(super) fn new<'a>(manifests: impl Iterator<Item = &'a Manifest>) -> Self {
        let mut index = Self::default();
        for manifest in manifests {
            let id = &manifest.id;
            for event in manifest.webhook_events.iter() {
                let name = (id.clone(), event.name.clone());
                index.events.insert(name, event.description.clone());
            }
            index.permissions.insert(id.clone(), permission_keys(manifest).collect());
            for (table, writer) in writers::of(manifest) {
                index.writers.entry(table).or_default().push(writer);
            }
        }
        index
    }

    /// Every event that a plugin raises: plugin, name, description.
    pub fn events(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.events
            .iter()
            .map(|((plugin, name), text)| (plugin.as_str(), name.as_str(), text.as_str()))
    }

    /// The permission keys of a plugin's buttons; empty for an unknown plugin.
    #[must_use]
    pub fn permissions_of(&self, plugin: &str) -> &BTreeSet<String> {
        static NONE: BTreeSet<String> = BTreeSet::new();
        self.permissions.get(plugin).unwrap_or(&NONE)
    }

    /// The buttons that write a table.
    #[must_use]
    pub fn writers_of(&self, table: &str) -> &[Writer] {
        self.writers.get(table).map_or(&[], Vec::as_slice)
    }

    /// The plugin that declares a permission key.
    #[must_use]
    pub fn plugin_of_permission(&self, key: &str) -> Option<&str> {
        let mut plugins = self.permissions.iter();
        plugins.find(|(_, keys)| keys.contains(key)).map(|(plugin, _)| plugin.as_str())
    }

    /// The permission keys of all buttons, each with its plugin.
    pub fn permissions(&self) -> impl Iterator<Item = (&str, &str)> {
        let plugins = self.permissions.iter();
        plugins.flat_map(|(plugin, keys)| keys.iter().map(|key| (plugin.as_str(), key.as_str())))
    }
}

/// The permission keys of a plugin's buttons.
fn permission_keys(manifest: &Manifest) -> impl Iterator<Item = String> {
    let buttons = manifest.buttons().into_iter();
    buttons.flat_map(|(_, button)| keys_of(&format!("{}_{}", manifest.id, button.button_id)))
}

/// Refuses a plugin whose id another has, whose button would share a permission key with a button
/// of another, such as `shop` with `orders_list` and `shop_orders` with `list`, or that names an
/// event, a path or a widget of another.
pub(crate) fn check_names(before: &[PluginState], manifest: &Manifest) -> Result<()> {
    let mut in_service = before.iter().filter(|state| state.manifest.is_some());
    if in_service.any(|state| state.id == manifest.id) {
        let why = format!("A plugin {:?} is in service already: choose another id.", manifest.id);
        return Err(Error::new(Code::ValidationFailed, why));
    }
    let taken = Index::new(before.iter().filter_map(|state| state.manifest.as_deref()));
    for key in permission_keys(manifest) {
        if let Some(owner) = taken.plugin_of_permission(&key) {
            let why = format!(
                "The permission key {key} belongs to a button of {owner} already: \
                 give the button of {} another button_id.",
                manifest.id
            );
            return Err(Error::new(Code::ValidationFailed, why));
        }
    }
    for event in manifest.webhook_events.iter() {
        if let Some((owner, ..)) = taken.events().find(|(_, name, _)| *name == event.name) {
            let why = format!(
                "The event {} belongs to {owner} already: write \"{}.{}\".",
                event.name,
                manifest.id,
                event.name.rsplit('.').next().unwrap_or_default()
            );
            return Err(Error::new(Code::ValidationFailed, why));
        }
    }
    let others = before.iter().filter_map(|state| state.manifest.as_deref());
    for other in others {
        for widget in manifest.pagebuilder_widgets.iter() {
            let name = &widget.widget_template;
            let mut theirs = other.pagebuilder_widgets.iter();
            if theirs.any(|one| one.widget_template == *name) {
                let why = format!(
                    "The widget {name} belongs to {} already: choose another widget_template, \
                     such as {}_{name}.",
                    other.id, manifest.id
                );
                return Err(Error::new(Code::ValidationFailed, why));
            }
        }
        for endpoint in manifest.endpoints.iter() {
            if other.endpoints.iter().any(|one| one.path() == endpoint.path()) {
                let (path, owner) = (endpoint.path(), &other.id);
                let why = format!("{path} belongs to {owner} already: choose another endpoint.");
                return Err(Error::new(Code::ValidationFailed, why));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permission_keys_are_looked_up_not_guessed() {
        let manifest = |text: &str| serde_json::from_str::<Manifest>(text).expect("a manifest");
        let shop = manifest(
            r#"{"id": "shop",
                "content_button": "[{\"button_id\": \"orders_list\", \"type\": \"edit\"}]"}"#,
        );
        let orders = manifest(
            r#"{"id": "shop_orders", "header_buttons":
                [{"button_id": "open", "type": "edit",
                  "buttons": [{"button_id": "nested", "type": "delete"}]}]}"#,
        );
        let index = Index::new([&shop, &orders].into_iter());
        for (key, plugin) in [
            ("shop_orders_list_view", Some("shop")),
            ("shop_orders_open_edit", Some("shop_orders")),
            ("shop_orders_nested_view", Some("shop_orders")),
            ("shop_orders_list_run", None),
            ("shop_other_view", None),
        ] {
            assert_eq!(index.plugin_of_permission(key), plugin, "{key}");
        }
        let clash = manifest(
            r#"{"id": "shop_orders", "action_button":
            [{"button_id": "list", "type": "edit"}]}"#,
        );
        let states = [PluginState::in_service(shop)];
        assert!(check_names(&states, &clash).is_err());
        assert!(check_names(&states, &orders).is_ok());
    }
}
