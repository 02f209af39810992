//! Declarations of content tables.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::db::Kind;

/// A content table of a plugin.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = made_or_adopted)]
#[non_exhaustive]
pub struct TableDeclaration {
    /// Its name in the API.
    pub name: String,
    /// True: the table exists already. It is served and never altered.
    #[serde(default)]
    pub adopt: bool,
    /// Name in the database, if different (adopted tables only).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The name that the table had before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renamed_from: Option<String>,
    /// Its columns. For an adopted table the columns to serve; none means all.
    #[serde(default)]
    pub columns: Vec<ColumnDeclaration>,
    /// Has one row for each language; `base_id` and `language_short` are added.
    #[serde(default)]
    pub multilanguage: bool,
    /// Changes must carry `If-Match`.
    #[serde(default)]
    pub require_if_match: bool,
    /// Lists of columns; no two rows may have the same values in all columns of a list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(length(min = 1)), extend("uniqueItems" = true))]
    pub unique: Vec<Vec<String>>,
    /// Indexes: columns in order, `-` before those that descend.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(length(min = 1)), extend("uniqueItems" = true))]
    pub indexes: Vec<Vec<String>>,
}

impl TableDeclaration {
    /// This table with the indexes and rules of `before` beside its own.
    pub(super) fn with_indexes_of(&self, before: &Self) -> Self {
        let mut table = self.clone();
        // Existing indexes come first, so that a table that has them all equals its record.
        let all = |own: &[Vec<String>], before: &[Vec<String>]| -> Vec<Vec<String>> {
            let new = own.iter().filter(|columns| !before.contains(columns));
            before.iter().chain(new).cloned().collect()
        };
        table.indexes = all(&self.indexes, &before.indexes);
        table.unique = all(&self.unique, &before.unique);
        for column in &mut table.columns {
            let was = before.columns.iter().find(|old| old.name == column.name);
            column.unique |= was.is_some_and(|old| old.unique);
        }
        table
    }
}

/// A column of a content table.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ColumnDeclaration {
    /// Its name.
    pub name: String,
    /// One of [`ColumnDeclaration::TYPES`]. Adopted columns may omit it.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "field_types")]
    pub field_type: Option<String>,
    /// Refuses null.
    #[serde(default)]
    pub required: bool,
    /// Value of rows that omit the column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// No two rows may have the same value.
    #[serde(default)]
    pub unique: bool,
    /// The content table whose id the column holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub references: Option<String>,
    /// The only values that the column may hold.
    #[serde(default, rename = "enum", skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1), extend("uniqueItems" = true))]
    pub allowed: Option<Vec<Value>>,
    /// The name that the column had before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renamed_from: Option<String>,
}

/// Which members only tables made by the service may have, and which only adopted ones.
fn made_or_adopted(schema: &mut Schema) {
    let column = json!({
        "required": ["type"],
        "properties": {"name": {
            "pattern": "^[a-z][a-z0-9_]{0,59}$",
            "not": {"enum": ["id", "base_id", "language_short"]},
        }},
    });
    let name = "^(?!cms_|sqlite_|pg_)[a-z][a-z0-9_]{0,59}$";
    let rule = json!([{
        "if": {"properties": {"adopt": {"const": true}}, "required": ["adopt"]},
        "then": {"properties": {"unique": false, "indexes": false, "renamed_from": false}},
        "else": {
            "required": ["columns"],
            "properties": {
                "name": {"pattern": name},
                "source": false,
                "columns": {"minItems": 1, "items": column},
            },
        },
    }]);
    schema.insert("allOf".to_owned(), rule);
}

fn field_types(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<_> = ColumnDeclaration::TYPES.iter().map(|(name, _)| *name).collect();
    json_schema!({"type": "string", "enum": names})
}

impl ColumnDeclaration {
    /// The field types and the kind of value of each.
    pub const TYPES: &[(&str, Kind)] = &[
        ("text", Kind::Text),
        ("textarea", Kind::Text),
        ("richtext_editor", Kind::Text),
        ("code_editor", Kind::Text),
        ("select", Kind::Text),
        ("image", Kind::Text),
        ("path", Kind::Text),
        ("link", Kind::Text),
        ("redirect", Kind::Text),
        ("color", Kind::Text),
        ("checkbox", Kind::Boolean),
        ("boolean", Kind::Boolean),
        ("number", Kind::Double),
        ("integer", Kind::Integer),
        ("decimal", Kind::Decimal),
        ("date", Kind::Date),
        ("time", Kind::Time),
        ("datetime", Kind::DateTime),
        ("json", Kind::Json),
        ("password", Kind::Password),
    ];

    /// The kind of value; None for an unknown or missing type.
    #[must_use]
    pub fn kind(&self) -> Option<Kind> {
        let wanted = self.field_type.as_deref()?;
        Self::TYPES.iter().find(|(name, _)| *name == wanted).map(|(_, kind)| *kind)
    }
}
