//! A content table: its columns, its key, and what may be done with it.

use std::sync::OnceLock;

use crate::{
    Code, Error, Result,
    db::dialect::{Col, Dialect, Kind, quote},
};

/// A table that is served as items.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name in the API, in rights and in events.
    pub name: String,
    /// Its name in the database.
    pub source: String,
    /// The plugin that declared it; `core` for the service's own.
    pub plugin: String,
    /// Its columns, in the order in which records show them.
    pub columns: Vec<Column>,
    /// Indexes of the primary key's columns; empty: the table is read-only.
    pub key: Vec<usize>,
    /// Has `base_id` and `language_short`: one row for each language version.
    pub multilanguage: bool,
    /// Belongs to somebody else: served, never altered.
    pub adopted: bool,
    /// Changes must carry `If-Match`.
    pub require_if_match: bool,
    pub(crate) dialect: Dialect,
    /// What reads select, composed once.
    pub(crate) object: OnceLock<String>,
}

/// A column of a content table.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// How it behaves.
    pub kind: Kind,
    /// The field type by which it was declared, for editors: `richtext_editor`, `select`...
    pub field_type: String,
    /// Refuses null.
    pub required: bool,
    /// May be left out of an insert.
    pub has_default: bool,
    /// Computed by the database: never written.
    pub generated: bool,
    /// The content table it refers to.
    pub references: Option<String>,
    /// Characters that it holds at most, where the engine refuses more.
    pub length: Option<usize>,
    /// Rows may hold null, even where a new one is refused.
    pub(crate) nullable: bool,
    pub(crate) cast: String,
    pub(crate) own: bool,
}

impl Column {
    pub(crate) fn col(&self) -> Col<'_> {
        Col { name: &self.name, kind: self.kind, native: &self.cast, own: self.own }
    }

    /// Passwords go in and never come out.
    #[must_use]
    pub fn readable(&self) -> bool {
        self.kind != Kind::Password
    }
}

impl Table {
    /// The column of this name that can be read.
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

    /// Whether rows can be written.
    #[must_use]
    pub fn writable(&self) -> bool {
        !self.key.is_empty()
    }

    pub(crate) fn key_columns(&self) -> impl ExactSizeIterator<Item = &Column> {
        self.key.iter().map(|index| &self.columns[*index])
    }

    /// The table's name in SQL.
    pub(crate) fn quoted(&self) -> String {
        quote(&self.source)
    }
}
