//! The order in which plugins are taken into service. A plugin that names a table of another
//! plugin comes after it, so that it is known by then whether that table exists.

use std::collections::{BTreeMap, BTreeSet};

use super::{LoadedPlugin, Manifest};

impl Manifest {
    /// The content tables that its members name, except its own.
    fn named_tables(&self) -> BTreeSet<&str> {
        let mut named = BTreeSet::new();
        let columns = self.tables.iter().flat_map(|table| &table.columns);
        named.extend(columns.filter_map(|column| column.references.as_deref()));
        for (_, button) in self.buttons() {
            named.extend(button.table.as_deref());
            named.extend(button.values.as_ref().and_then(|values| values.table.as_deref()));
            let sources = button.editable_rows.iter().filter_map(|row| row.select_value.as_ref());
            named.extend(sources.map(|source| source.table.as_str()));
        }
        let entries = self
            .pagebuilder_widgets
            .iter()
            .flat_map(|widget| widget.widget_menu.iter().chain(widget.widget_item_menu.iter()));
        let sources = entries.filter_map(|entry| entry.select_value.as_ref());
        named.extend(sources.filter_map(|source| source.table.as_deref()));
        for own in &self.tables {
            named.remove(own.name.as_str());
        }
        named
    }
}

/// Sorts plugins. `expected` holds the declaration of each plugin that is likely to be in service.
/// In a circle, the first by name comes first.
pub(crate) fn in_order(
    found: Vec<LoadedPlugin>,
    expected: &BTreeMap<String, Manifest>,
) -> Vec<LoadedPlugin> {
    let declared = |one: LoadedPlugin| {
        let manifest = expected.get(&one.id);
        (one, manifest)
    };
    sorted(found.into_iter().map(declared).collect())
}

/// Sorts declarations in the same order.
pub(super) fn order(manifests: Vec<&Manifest>) -> Vec<&Manifest> {
    sorted(manifests.into_iter().map(|manifest| (manifest, Some(manifest))).collect())
}

fn sorted<T>(mut waiting: Vec<(T, Option<&Manifest>)>) -> Vec<T> {
    let mut ordered = Vec::new();
    while !waiting.is_empty() {
        let later = waiting.iter().filter_map(|(_, manifest)| *manifest);
        let later = later.flat_map(|one| one.tables.iter().map(|table| table.name.as_str()));
        let later: BTreeSet<&str> = later.collect();
        let free = waiting.iter().position(|(_, manifest)| {
            manifest.is_none_or(|one| one.named_tables().is_disjoint(&later))
        });
        ordered.push(waiting.remove(free.unwrap_or(0)).0);
    }
    ordered
}
