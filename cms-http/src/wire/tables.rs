//! `/api/backend/tables`

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{
    NoBody, OneOrPage, operations,
    parameters::{Limit, paged},
};

operations! {
    /// One content table that the caller may read, or a page of them.
    Read: WhichTables, NoBody => OneOrPage<TableInfo>;
}

paged! {
    /// One table by its name, else a page of the list.
    pub struct WhichTables {
        /// The one to show.
        pub name: Option<String>,
    }
}

/// A content table.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct TableInfo {
    /// Its name in the API, in rights and in events.
    pub name: String,
    /// The plugin that declares it; `core` for the service's own.
    pub plugin: String,
    /// Whether it belongs to somebody else: served, never altered.
    pub adopted: bool,
    /// Whether each record has a version for each language.
    pub multilanguage: bool,
    /// The languages of its versions.
    pub languages: Vec<String>,
    /// Its columns, in the order in which records show them.
    pub columns: Vec<ColumnInfo>,
    /// Columns of each index, `-` before those that are sorted downwards.
    pub indexes: Vec<Vec<String>>,
    /// Rows, estimated above 10,000.
    pub rows: i64,
}

/// A column of a content table.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ColumnInfo {
    /// Its name.
    pub name: String,
    /// The field type by which it is declared.
    pub r#type: String,
    /// Whether it refuses null.
    pub required: bool,
    /// Whether it may be left out of a new record.
    pub has_default: bool,
    /// Whether it is part of the primary key.
    pub key: bool,
    /// The content table it refers to.
    pub references: Option<String>,
    /// The only values that may be written; of a `json` column its entries.
    pub r#enum: Option<Vec<Json>>,
}
