//! Reading `plugins/<id>/plugin.json`. A plugin with errors is not loaded; the others are.

use std::path::{Path, PathBuf};

use super::Plugin;
use crate::content::{ColumnDeclaration, TableDeclaration};

/// A folder under `plugins/` and what became of it.
#[derive(Clone, Debug)]
pub struct LoadedPlugin {
    /// The folder's name.
    pub id: String,
    /// The manifest, or all that is wrong with it.
    pub outcome: Result<Plugin, Vec<String>>,
}

/// Manifests are small; a larger file is a mistake.
const MAX_MANIFEST_BYTES: u64 = 1 << 20;

/// All plugins of a folder, by name. A folder that is missing holds none.
#[must_use]
pub fn load_folder(folder: &Path) -> Vec<LoadedPlugin> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.join("plugin.json").is_file())
        .collect();
    folders.sort();
    folders
        .into_iter()
        .map(|path| {
            let id = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let outcome = read(&path.join("plugin.json")).and_then(|plugin| {
                if plugin.id == id {
                    Ok(plugin)
                } else {
                    Err(vec![format!("id is {:?}, but the folder is named {id:?}", plugin.id)])
                }
            });
            LoadedPlugin { id, outcome }
        })
        .collect()
}

fn read(path: &Path) -> Result<Plugin, Vec<String>> {
    let failed = |cause: String| vec![format!("{}: {cause}", path.display())];
    let size = std::fs::metadata(path).map_err(|e| failed(e.to_string()))?.len();
    if size > MAX_MANIFEST_BYTES {
        return Err(failed(format!(
            "{size} bytes are more than a manifest can have ({MAX_MANIFEST_BYTES})"
        )));
    }
    let text = std::fs::read_to_string(path).map_err(|e| failed(e.to_string()))?;
    let plugin: Plugin = serde_json::from_str(&text).map_err(|e| failed(e.to_string()))?;
    let problems = plugin.problems();
    if problems.is_empty() { Ok(plugin) } else { Err(problems) }
}

impl Plugin {
    /// What is wrong with the declaration, each with a JSON pointer (RFC 6901).
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if !is_identifier(&self.id) {
            problems.push(
                "/id: lower-case letters, digits and _ are expected, such as \"shop\"".to_owned(),
            );
        }
        for (i, table) in self.tables.iter().enumerate() {
            let at = format!("/tables/{i}");
            if self.tables[..i].iter().any(|other| other.name == table.name) {
                problems.push(format!("{at}/name: {:?} is declared twice", table.name));
            }
            table.problems(&at, &mut problems);
        }
        for (i, event) in self.webhook_events.iter().enumerate() {
            let known =
                |name: &str| name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
            if event.name.is_empty()
                || event.name.len() > 200
                || !known(&event.name)
                || event.name.starts_with("item.")
            {
                problems.push(format!(
                    "/webhook_events/{i}/name: letters, digits, `.`, `_` and `-` are expected, such as \"{}.paid\"; item. is the service's own",
                    self.id
                ));
            }
        }
        problems
    }
}

impl TableDeclaration {
    fn problems(&self, at: &str, problems: &mut Vec<String>) {
        if self.adopt {
            // SQLite finds a table whatever the case of its letters.
            if self.name.is_empty()
                || self
                    .source
                    .as_deref()
                    .unwrap_or(&self.name)
                    .to_ascii_lowercase()
                    .starts_with("cms_")
            {
                problems
                    .push(format!("{at}/name: a table of the service itself cannot be adopted"));
            }
        } else {
            if !is_identifier(&self.name)
                || self.name.starts_with("cms_")
                || self.name.starts_with("sqlite_")
                || self.name.starts_with("pg_")
            {
                problems.push(format!(
                    "{at}/name: lower-case letters, digits and _ are expected, not starting with cms_, sqlite_ or pg_"
                ));
            }
            if self.source.is_some() {
                problems.push(format!("{at}/source: only adopted tables have one"));
            }
            if self.columns.is_empty() {
                problems.push(format!("{at}/columns: declare at least one column"));
            }
        }
        for (i, column) in self.columns.iter().enumerate() {
            let at = format!("{at}/columns/{i}");
            if self.columns[..i].iter().any(|other| other.name.eq_ignore_ascii_case(&column.name)) {
                problems.push(format!("{at}/name: {:?} is declared twice", column.name));
            }
            column.problems(&at, self.adopt, problems);
        }
    }
}

impl ColumnDeclaration {
    fn problems(&self, at: &str, adopted: bool, problems: &mut Vec<String>) {
        if !adopted && !is_identifier(&self.name) {
            problems.push(format!("{at}/name: lower-case letters, digits and _ are expected"));
        }
        if !adopted && ["id", "base_id", "language_short"].contains(&self.name.as_str()) {
            problems.push(format!("{at}/name: {} is made by the service: leave it out", self.name));
        }
        let types = || Self::TYPES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        match (&self.field_type, self.kind()) {
            (Some(given), None) => {
                problems.push(format!("{at}/type: {given:?} is unknown; there are {}", types()))
            }
            (None, _) if !adopted => {
                problems.push(format!("{at}/type: is missing; there are {}", types()))
            }
            _ => {}
        }
        if self.default.as_ref().is_some_and(|v| {
            (v.is_array() || v.is_object()) && self.field_type.as_deref() != Some("json")
        }) {
            problems.push(format!("{at}/default: a single value is expected"));
        }
    }
}

fn is_identifier(name: &str) -> bool {
    let starts = name.bytes().next().is_some_and(|b| b.is_ascii_lowercase());
    starts
        && name.len() <= 60
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mistake_is_found_with_its_place() {
        let plugin: Plugin = serde_json::from_str(
            r#"{"id": "Shop", "tables": [
                {"name": "cms_x", "columns": []},
                {"name": "a", "source": "b", "columns": [{"name": "id", "type": "integer"}, {"name": "x", "type": "string"}, {"name": "x"}]},
                {"name": "a", "columns": [{"name": "p", "type": "text", "default": [1]}]}
            ], "webhookEvents": ["{\"name\": \"shop.paid\", \"type\": \"manual\"}", {"name": "item.x"}]}"#,
        )
        .expect("manifest");
        let pointers: Vec<_> = plugin
            .problems()
            .iter()
            .map(|p| p.split(':').next().unwrap_or_default().to_owned())
            .collect();
        assert_eq!(
            pointers,
            [
                "/id",
                "/tables/0/name",
                "/tables/0/columns",
                "/tables/1/source",
                "/tables/1/columns/0/name",
                "/tables/1/columns/1/type",
                "/tables/1/columns/2/name",
                "/tables/1/columns/2/type",
                "/tables/2/name",
                "/tables/2/columns/0/default",
                "/webhook_events/1/name"
            ]
        );
    }
}
