//! `/api/backend/item`

use std::{borrow::Cow, collections::BTreeMap};

use cms_core::{MAX_LIMIT, Result};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::{Body, Data, Done, NoBody, OneOrPage, Record, body::no_object, operations};

operations! {
    /// One record of a content table, or a page of them. Conditions are written as
    /// `filter[column][op]=value`, or combined as the JSON of `filter`.
    Read: WhichItems, NoBody => OneOrPage<Record>;
    /// Adds one record, or several: all or none.
    Create: Table, Rows => Data<OneOrMany>;
    /// Changes columns of a record.
    Update: WhichItem, Columns => Data<Record>;
    /// Removes a record.
    Delete: WhichItem, NoBody => Done;
}

/// Fits tables whose key is `id`, as those that plugins declare.
const FILTER: &str = r#"{"not":{"id":{"in":[1,2]}}}"#;

/// Which records of a table, which of their columns, in which order.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct WhichItems {
    /// The content table.
    pub table: String,
    /// One record by its id; a composite key is a JSON array.
    pub id: Option<String>,
    /// Versions in this language.
    pub language: Option<String>,
    /// Rows of a page.
    #[schemars(with = "Option<u32>", range(min = 1, max = MAX_LIMIT))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// Where the page starts: `meta.next` of the page before.
    pub cursor: Option<String>,
    /// Rows to skip.
    #[schemars(with = "Option<u32>", range(min = 0, max = i32::MAX))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<String>,
    /// Columns separated by commas; `-` before one sorts it downwards.
    pub sort: Option<String>,
    /// Columns to show, separated by commas.
    pub fields: Option<String>,
    /// Conditions as JSON, combined by `and`, `or` and `not`; `filter[column][op]` beside it must
    /// hold too.
    #[schemars(example = &FILTER)]
    pub filter: Option<String>,
    /// Text that some column must contain.
    #[schemars(length(max = 200))]
    pub search: Option<String>,
    /// Whether to count all matching rows.
    #[schemars(with = "Option<bool>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<String>,
    /// References to replace by the record they name, separated by commas.
    pub expand: Option<String>,
    /// `filter[column][op]` and their values.
    #[serde(flatten)]
    #[schemars(skip)]
    pub filters: BTreeMap<String, String>,
}

/// The content table of new records.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ContentTable")]
pub struct Table {
    /// Its name.
    pub table: String,
    /// Raise no events: for administrators alone. The audit log tells of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_events: Option<bool>,
}

/// A record of a content table.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhichItem {
    /// The content table.
    pub table: String,
    /// The record; a composite key is a JSON array.
    #[schemars(example = &"1")]
    pub id: String,
    /// Its version in this language.
    pub language: Option<String>,
}

/// The columns of one record. The table says what fits, so the handler reads them when it knows the
/// table.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Columns(pub Option<Json>);

impl Columns {
    /// The columns of one record.
    ///
    /// # Errors
    /// `bad_json` when it is no object.
    pub fn object(&self) -> Result<&Map<String, Json>> {
        self.0.as_ref().and_then(Json::as_object).ok_or_else(no_object)
    }
}

impl Body for Columns {
    fn read(json: Option<Json>) -> Result<Self> {
        Ok(Self(json))
    }
}

/// The columns of one record, or an array of records.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rows(pub Columns);

impl Body for Rows {
    // An import sends a thousand records at once, of a hundred columns.
    const MOST_VALUES: usize = 100_000;

    fn read(json: Option<Json>) -> Result<Self> {
        Columns::read(json).map(Self)
    }
}

impl JsonSchema for Rows {
    fn schema_name() -> Cow<'static, str> {
        "Rows".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"oneOf": [
            {"type": "object", "description": "Columns and their values."},
            {"type": "array", "items": {"type": "object"}, "maxItems": 1000},
        ]})
    }
}

impl JsonSchema for Columns {
    fn schema_name() -> Cow<'static, str> {
        "Columns".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "object", "description": "Columns and their values."})
    }
}

/// One record, or those of a batch.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum OneOrMany {
    /// One record.
    One(Record),
    /// Those of a batch, in its order.
    Many(Vec<Record>),
}

impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Record::deserialize(deserializer)?;
        if raw.json().starts_with('[') {
            return serde_json::from_str(raw.json())
                .map(Self::Many)
                .map_err(serde::de::Error::custom);
        }
        Ok(Self::One(raw))
    }
}

impl JsonSchema for OneOrMany {
    fn schema_name() -> Cow<'static, str> {
        "OneOrMany".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let record = generator.subschema_for::<Record>();
        json_schema!({"oneOf": [record.clone(), {"type": "array", "items": record}]})
    }
}
