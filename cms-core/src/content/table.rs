//! A content table: its columns, its key, and how it may be used.

use std::sync::OnceLock;

use serde_json::Value as Json;

use super::ResourceColumn;
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
}

impl Column {
    /// A column of a declared table, with nothing but its kind.
    pub(crate) fn declared(name: &str, kind: Kind) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            field_type: String::new(),
            required: false,
            has_default: false,
            generated: false,
            references: None,
            resource: None,
            length: None,
            allowed: None,
            nullable: true,
            cast: String::new(),
            own: true,
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

    /// Whether stored rows may hold null, even if new rows may not.
    #[must_use]
    pub fn may_hold_null(&self) -> bool {
        self.nullable
    }
}

impl Table {
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

    /// Whether items make and remove its records; else another endpoint does.
    #[must_use]
    pub fn makes_records(&self) -> bool {
        self.writable() && super::core::by_hand(&self.name, None::<[&String; 0]>).is_ok()
    }

    /// Whether items write the column.
    #[must_use]
    pub fn writes(&self, column: &Column) -> bool {
        !column.generated && super::core::by_hand(&self.name, Some([&column.name])).is_ok()
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
