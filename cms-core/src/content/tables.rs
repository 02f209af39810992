//! All content tables, by name.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    Declared,
    core::{ID, RESERVED},
    table::Table,
};
use crate::{Code, Error, Result, db::Kind};

/// All content tables by name.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    by_name: BTreeMap<String, Arc<Table>>,
    /// Why tables that plugins own are not served.
    absent: Arc<BTreeMap<String, String>>,
}

impl Tables {
    /// The table of this name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<Arc<Table>> {
        self.by_name.get(name).cloned()
    }

    /// All tables, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.by_name.values()
    }

    /// What is said of a name that no table in service has. Only for callers whose rights cover it.
    #[must_use]
    pub fn unknown(&self, name: &str) -> Error {
        let detail = match self.absent.get(name) {
            Some(why) => format!("The content table {name:?} is not served: {why}."),
            None => format!("There is no content table {name:?}."),
        };
        Error::new(Code::UnknownTable, detail)
    }

    pub(crate) fn note_absent(&mut self, absent: BTreeMap<String, String>) {
        self.absent = absent.into();
    }

    /// Checks that the names of a plugin's tables are free, before anything is created.
    pub(crate) fn check_names(&self, declared: Declared<'_>) -> Result<()> {
        for name in declared.tables.iter().map(|table| table.name.as_str()) {
            let owner = self.by_name.get(name).map(|table| table.plugin.as_str());
            if let Some(owner) = owner.or_else(|| RESERVED.contains(&name).then_some(ID)) {
                return Err(Error::new(
                    Code::ValidationFailed,
                    format!(
                        "The content table {name} already belongs to {owner}: give one of the two \
                         another name (and `source` for the name in the database)."
                    ),
                ));
            }
        }
        Ok(())
    }

    /// Adds the tables of one plugin. Their names were checked before.
    pub(crate) fn add(&mut self, tables: Vec<Table>) {
        self.by_name.extend(tables.into_iter().map(|table| (table.name.clone(), Arc::new(table))));
    }

    /// The tables of all plugins but one.
    pub(crate) fn without(&self, plugin: &str) -> Self {
        let mut others = self.clone();
        others.remove(plugin);
        others
    }

    /// Removes the tables of one plugin.
    pub(crate) fn remove(&mut self, plugin: &str) {
        self.by_name.retain(|_, table| table.plugin != plugin);
    }

    /// Removes white space from the engine's JSON of a record. PostgreSQL keeps white space inside
    /// JSON columns, also those of expanded records.
    pub(crate) fn compact(&self, table: &Table, expand: &[String], json: String) -> String {
        if self.is_spaced(table, expand) { without_white_space(&json) } else { json }
    }

    /// Whether the engine's JSON of a record may have white space between its values.
    pub(crate) fn is_spaced(&self, table: &Table, expand: &[String]) -> bool {
        let has_json = |table: &Table| table.columns.iter().any(|c| c.kind == Kind::Json);
        let expanded = table
            .columns
            .iter()
            .filter(|c| expand.contains(&c.name))
            .filter_map(|c| self.find(c.references.as_deref()?));
        table.dialect.spaces_json()
            && (has_json(table) || expanded.into_iter().any(|table| has_json(&table)))
    }
}

/// JSON without white space between its values.
pub(crate) fn without_white_space(json: &str) -> String {
    let (mut inside, mut escaped) = (false, false);
    json.chars()
        .filter(|c| {
            let keep = inside || !matches!(c, ' ' | '\n' | '\r' | '\t');
            match c {
                _ if escaped => escaped = false,
                '\\' if inside => escaped = true,
                '"' => inside = !inside,
                _ => {}
            }
            keep
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn white_space_is_removed_only_between_values() {
        assert_eq!(
            super::without_white_space(r#"{"a": "b \" c", "d" : [1, 2]}"#),
            r#"{"a":"b \" c","d":[1,2]}"#
        );
    }
}
