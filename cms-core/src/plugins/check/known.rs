//! The facts outside a manifest that its checks use.

use std::{collections::BTreeMap, path::PathBuf};

use crate::{
    content::{TableDeclaration, Tables, core},
    db::Kind,
    plugins::Manifest,
};

/// The surroundings of a manifest, as far as they are known.
#[derive(Clone, Default)]
pub(crate) struct CheckContext {
    /// Content tables of the core and of other plugins; `None`: unknown.
    tables: Option<BTreeMap<String, Columns>>,
    /// Tables of plugins that are out of service, each with its plugin.
    pub(crate) absent: BTreeMap<String, String>,
    /// The folder of the plugin.
    pub(crate) folder: Option<PathBuf>,
}

/// The columns of a table; `None`: only the database knows them.
pub(super) type Columns = Option<Vec<KnownColumn>>;

/// The properties of a column that forms need.
#[derive(Clone, Debug)]
pub(super) struct KnownColumn {
    pub(super) name: String,
    pub(super) kind: Option<Kind>,
    /// Its field type; empty: unknown.
    pub(super) field_type: String,
    /// Whether an insert must give a value.
    pub(super) needed: bool,
    /// The values that it may hold; `None`: any.
    pub(super) allowed: Option<Vec<serde_json::Value>>,
}

impl CheckContext {
    /// Knows the tables of the core and of these manifests.
    pub(crate) fn of<'m>(others: impl Iterator<Item = &'m Manifest>) -> Self {
        let mut tables = BTreeMap::new();
        for table in &core::tables() {
            tables.insert(table.name.clone(), Some(declared(table)));
        }
        for table in others.flat_map(|manifest| &manifest.tables) {
            tables.insert(table.name.clone(), of_declaration(table));
        }
        Self { tables: Some(tables), ..Self::default() }
    }

    /// Replaces declarations by the tables in service, of which more is known.
    pub(crate) fn learn(&mut self, tables: &Tables) {
        let known = self.tables.get_or_insert_default();
        for table in tables.iter() {
            let columns = table.columns.iter().map(|column| KnownColumn {
                name: column.name.clone(),
                kind: Some(column.kind),
                field_type: column.field_type.clone(),
                needed: column.required && !column.has_default && !column.generated,
                allowed: column.allowed.clone(),
            });
            known.insert(table.name.clone(), Some(columns.collect()));
        }
    }

    pub(super) fn folder_name(&self) -> Option<&str> {
        self.folder.as_deref()?.file_name()?.to_str()
    }

    /// The columns of a table; `None`: there is no such table.
    pub(super) fn table(&self, name: &str, own: &Manifest) -> Option<Columns> {
        let others = || self.tables.as_ref().map(|tables| tables.get(name));
        if let Some(table) = own.tables.iter().find(|table| table.name == name) {
            let known = of_declaration(table);
            return Some(known.or_else(|| others().flatten().cloned().flatten()));
        }
        match others() {
            Some(found) => found.cloned(),
            None => Some(None),
        }
    }
}

fn of_declaration(table: &TableDeclaration) -> Columns {
    (!table.adopt).then(|| declared(table))
}

/// The columns of a table that the service creates.
fn declared(table: &TableDeclaration) -> Vec<KnownColumn> {
    let made = |name: &str, kind| KnownColumn {
        name: name.to_owned(),
        kind: Some(kind),
        field_type: String::new(),
        needed: false,
        allowed: None,
    };
    let mut columns = vec![made("id", Kind::Integer)];
    if table.multilanguage {
        columns.extend([made("base_id", Kind::Integer), made("language_short", Kind::Text)]);
    }
    columns.extend(table.columns.iter().map(|column| KnownColumn {
        name: column.name.clone(),
        kind: column.kind(),
        field_type: column.field_type.clone().unwrap_or_default(),
        needed: column.required && column.default.is_none(),
        allowed: column.allowed.clone(),
    }));
    columns
}
