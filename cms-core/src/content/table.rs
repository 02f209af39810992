//! A content table: its columns with their JSON Schema and an example of their values, its key, and
//! how it may be used; all tables, by name.

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
};

use serde_json::{Value as Json, json};

use super::{
    Declared, ResourceColumn,
    core::{ID, RESERVED},
};
use crate::{
    Code, Error, Result,
    db::dialect::{Col, Dialect, Kind, quote},
};

/// A table served as items.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name in the API, in rights and in events.
    pub name: String,
    /// Its name in the database.
    pub source: String,
    /// The plugin that declared it; `core` for the service's own.
    pub plugin: String,
    /// Its columns, in the order of the members of a record.
    pub columns: Vec<Column>,
    /// Indexes of the primary key's columns. Empty: the table is read-only.
    pub key: Vec<usize>,
    /// Has `base_id` and `language_short`: one row for each language version.
    pub multilanguage: bool,
    /// Owned by other software: served, never altered.
    pub adopted: bool,
    /// Changes of its records raise no `item.` events.
    pub silent: bool,
    /// Changes must carry `If-Match`.
    pub require_if_match: bool,
    pub(crate) dialect: Dialect,
    /// The select list of reads, composed once.
    pub(crate) object: OnceLock<String>,
}

/// A column of a content table.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Kind of its values.
    pub kind: Kind,
    /// Its declared field type, for editors: `richtext_editor`, `select`...
    pub field_type: String,
    /// Refuses null.
    pub required: bool,
    /// An insert may omit it.
    pub has_default: bool,
    /// The declared value of rows that omit it, as records show it.
    pub default: Option<Json>,
    /// Computed by the database and never written.
    pub generated: bool,
    /// The content table that it refers to.
    pub references: Option<String>,
    /// Its declaration as a column of a [`Resource`](super::Resource).
    pub resource: Option<&'static ResourceColumn>,
    /// Most characters, where the engine refuses longer text.
    pub length: Option<usize>,
    /// The only values that may be written; of a JSON column its entries.
    pub allowed: Option<Vec<Json>>,
    /// Stored rows may hold null, even if new rows may not.
    pub(crate) nullable: bool,
    pub(crate) cast: String,
    pub(crate) own: bool,
    /// Values that differ only in the case of ASCII letters are equal.
    pub(crate) folded: bool,
}

impl Column {
    /// A column of a declared table, with only a name and a kind.
    pub(crate) fn declared(name: &str, kind: Kind) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            field_type: String::new(),
            required: false,
            has_default: false,
            default: None,
            generated: false,
            references: None,
            resource: None,
            length: None,
            allowed: None,
            nullable: true,
            cast: String::new(),
            own: true,
            folded: false,
        }
    }

    pub(crate) fn col(&self) -> Col<'_> {
        Col { name: &self.name, kind: self.kind, native: &self.cast, own: self.own }
    }

    /// Whether reads return the column. Passwords are written but never read.
    #[must_use]
    pub fn readable(&self) -> bool {
        self.kind != Kind::Password
    }

    /// The only values that may be written, as records show them; of a JSON column its entries.
    #[must_use]
    pub fn enum_values(&self) -> Option<Vec<Json>> {
        Some(self.allowed.as_ref()?.iter().map(|value| shown(self.kind, value)).collect())
    }

    /// Whether stored rows may hold null, even if new rows may not.
    #[must_use]
    pub fn may_hold_null(&self) -> bool {
        self.nullable
    }
}

/// A value in its canonical form as records show it: decimals are kept as text, and shown as
/// numbers.
pub(super) fn shown(kind: Kind, value: &Json) -> Json {
    match (kind, value.as_str()) {
        (Kind::Decimal, Some(text)) => {
            text.parse::<f64>().map_or_else(|_| value.clone(), Json::from)
        }
        _ => value.clone(),
    }
}

impl Table {
    /// The readable column that a query names; `id` names the one key column of a table that has no
    /// column `id`.
    pub(crate) fn queried(&self, name: &str) -> Result<&Column> {
        let key = match self.key.as_slice() {
            [key] if name == "id" && !self.columns.iter().any(|column| column.name == "id") => {
                self.columns.get(*key)
            }
            _ => None,
        };
        self.readable(key.map_or(name, |key| key.name.as_str()))
    }

    /// The readable column of this name.
    pub(crate) fn readable(&self, name: &str) -> Result<&Column> {
        self.columns.iter().find(|column| column.name == name && column.readable()).ok_or_else(
            || {
                let known: Vec<_> =
                    self.columns.iter().filter(|c| c.readable()).map(|c| c.name.as_str()).collect();
                Error::new(
                    Code::BadQuery,
                    format!("{} has no column {name:?}; it has {}.", self.name, known.join(", ")),
                )
            },
        )
    }

    /// Whether the column is a part of the primary key.
    #[must_use]
    pub fn is_key(&self, column: &Column) -> bool {
        self.key_columns().any(|key| key.name == column.name)
    }

    /// Whether rows can be written.
    #[must_use]
    pub fn writable(&self) -> bool {
        !self.key.is_empty()
    }

    /// Whether items make and remove its records; otherwise another endpoint does.
    #[must_use]
    pub fn makes_records(&self) -> bool {
        self.writable()
            && super::core::check_caller_write(&self.name, None::<[&String; 0]>, false).is_ok()
    }

    /// Whether items write the column.
    #[must_use]
    pub fn writes(&self, column: &Column) -> bool {
        !column.generated
            && super::core::check_caller_write(&self.name, Some([&column.name]), false).is_ok()
    }

    /// Whether this column says which record a row is: a part of its key, or the record that it is
    /// a version of.
    #[must_use]
    pub fn identifies(&self, column: &str) -> bool {
        self.key_columns().any(|key| key.name == column)
            || (self.multilanguage && column == "base_id")
    }

    pub(crate) fn key_columns(&self) -> impl ExactSizeIterator<Item = &Column> {
        self.key.iter().map(|index| &self.columns[*index])
    }

    /// The table's name in SQL.
    pub(crate) fn quoted(&self) -> String {
        quote(&self.source)
    }
}

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

    /// The error for a name that no served table has, for callers whose rights cover the name.
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

    /// Adds tables that are still to be made, with only their key, which references need.
    pub(crate) fn foresee(&mut self, declared: Declared<'_>, dialect: Dialect) {
        let expected = declared.tables.iter().map(|table| Table {
            name: table.name.clone(),
            source: table.name.clone(),
            plugin: declared.plugin.to_owned(),
            columns: vec![Column::declared("id", Kind::Integer)],
            key: vec![0],
            multilanguage: table.multilanguage,
            adopted: false,
            silent: declared.silent,
            require_if_match: table.require_if_match,
            dialect,
            object: OnceLock::new(),
        });
        self.add(expected.collect());
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

impl Column {
    /// The schema of its values, without those of its enum. Columns of adopted tables may hold
    /// values that their type does not allow.
    #[must_use]
    pub fn schema(&self, adopted: bool, nullable: bool) -> Json {
        let kind = match self.kind {
            Kind::Integer => "integer",
            Kind::Decimal | Kind::Double => "number",
            Kind::Boolean => "boolean",
            Kind::Json => return json!({"description": self.field_type}),
            _ => "string",
        };
        if adopted {
            return json!({"description": format!("{}, as a rule {kind}", self.field_type)});
        }
        let kinds = if nullable { json!([kind, "null"]) } else { json!(kind) };
        let description = self.resource.map_or(self.field_type.as_str(), |resource| resource.help);
        let mut schema = json!({"type": kinds, "description": description});
        match self.kind {
            Kind::Date => schema["format"] = "date".into(),
            Kind::DateTime => schema["format"] = "date-time".into(),
            // A time of day has no zone here, so it is not a `time` of RFC 3339.
            Kind::Binary => schema["contentEncoding"] = "base64".into(),
            _ => {}
        }
        schema
    }
}

impl Column {
    /// A value that a write of this column accepts.
    #[must_use]
    pub fn example(&self) -> Json {
        if let Some(first) = self.allowed.as_ref().and_then(|allowed| allowed.first()) {
            return if self.kind == Kind::Json { json!([first]) } else { first.clone() };
        }
        if let Some(resource) = self.resource.filter(|resource| !resource.example.is_empty()) {
            return resource.example.into();
        }
        match self.kind {
            Kind::Integer => json!(1),
            Kind::Decimal | Kind::Double => json!(1.5),
            Kind::Boolean => json!(true),
            Kind::Date => json!("2026-11-21"),
            Kind::Time => json!("09:30:00"),
            Kind::DateTime => json!("2026-11-21T09:30:00Z"),
            Kind::Json => json!([]),
            Kind::Binary => json!("QUJD"),
            Kind::Text | Kind::Password => match self.field_type.as_str() {
                "code_editor" => json!("h1 { color: #336699; }"),
                "color" => json!("#336699"),
                "image" => json!("/media/example.png"),
                "path" | "link" | "redirect" => json!("/example"),
                _ if self.name == "language_short" => json!("en"),
                _ => json!("Text"),
            },
        }
    }
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
