//! Looks up, by name, declarations of the plugins in service.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    Manifest,
    manifest::{Button, ButtonType},
    names,
};
use crate::access::{AREAS, CORE, RecordAct, Writer, keys_of};

/// Events and permission keys, each with the plugin that declares it, and the buttons that write
/// each table.
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
            index.permissions.insert(id.clone(), names::permission_keys(manifest).collect());
            for (table, writer) in writers(manifest) {
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
    pub(crate) fn writers_of(&self, table: &str) -> &[Writer] {
        self.writers.get(table).map_or(&[], Vec::as_slice)
    }

    /// The permission keys of all buttons, each with its plugin.
    pub fn permissions(&self) -> impl Iterator<Item = (&str, &str)> {
        let plugins = self.permissions.iter();
        plugins.flat_map(|(plugin, keys)| keys.iter().map(|key| (plugin.as_str(), key.as_str())))
    }

    /// The permission keys that groups can hold, sorted: keys of the built-in areas and of all
    /// buttons, each with its plugin.
    #[must_use]
    pub fn grantable(&self) -> Vec<(String, &str)> {
        let areas = AREAS.iter().flat_map(|area| keys_of(area)).map(|key| (key, CORE));
        let buttons = self.permissions().map(|(plugin, key)| (key.to_owned(), plugin));
        let mut all: Vec<_> = areas.chain(buttons).collect();
        all.sort_unstable();
        all
    }
}

/// Every writing button, with its table.
fn writers(manifest: &Manifest) -> Vec<(String, Writer)> {
    let mut found = Vec::new();
    for (button, listed) in manifest.listed_buttons() {
        let permission = format!("{}_{}_edit", manifest.id, button.button_id);
        let writer = |act, columns, version| Writer {
            plugin: manifest.id.clone(),
            permission: permission.clone(),
            act,
            columns,
            version,
        };
        let values = button.values.as_ref();
        let of_list = values.and_then(|values| values.table.as_deref());
        let (table, writers) = match button.button_type {
            ButtonType::Edit => {
                let mut writers = vec![writer(RecordAct::Update, fields(button), false)];
                if button.multilanguage.0 {
                    writers.push(writer(RecordAct::Create, with_language(fields(button)), true));
                }
                (button.table_of(listed), writers)
            }
            ButtonType::Insert if button.multilanguage.0 => {
                let columns = with_language(fields(button));
                (button.table_of(listed), vec![writer(RecordAct::Create, columns, false)])
            }
            ButtonType::Insert => {
                (button.table_of(listed), vec![writer(RecordAct::Create, fields(button), false)])
            }
            ButtonType::Delete => {
                (button.table_of(listed), vec![writer(RecordAct::Delete, BTreeSet::new(), false)])
            }
            ButtonType::ShowChecklist => {
                let column = values.and_then(|values| values.column.clone());
                (of_list, vec![writer(RecordAct::Check, column.into_iter().collect(), false)])
            }
            _ => continue,
        };
        if let Some(table) = table {
            found.extend(writers.into_iter().map(|writer| (table.to_owned(), writer)));
        }
    }
    found
}

fn fields(button: &Button) -> BTreeSet<String> {
    button.editable_rows.iter().map(|field| field.column.clone()).collect()
}

fn with_language(mut columns: BTreeSet<String>) -> BTreeSet<String> {
    columns.extend(["base_id".to_owned(), "language_short".to_owned()]);
    columns
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
            let found = index.permissions().find(|(_, held)| *held == key).map(|(found, _)| found);
            assert_eq!(found, plugin, "{key}");
        }
    }
}
