//! Records of tables that a program learns at run time: one, a page of them, one after a write.

use std::{fmt, ops::Index, sync::OnceLock};

use serde::{Serialize, Serializer, de::DeserializeOwned};
use serde_json::{Map, Value as Json, value::RawValue};

use super::members;
use crate::{Error, Result};

/// A record of a content table, by column. It is parsed when a value is first asked for, so a
/// record that only passes through costs nothing. Serialized it is its [`values`](Self::values);
/// [`json`](Self::json) is exact.
///
/// ```no_run
/// # async fn example(cms: cms_core::Cms) -> cms_core::Result<()> {
/// use cms_core::items::Query;
///
/// let post = cms.items().get("posts", "7", &Query::new()).await?;
/// println!("{}", post["title"]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Record {
    json: String,
    values: OnceLock<Map<String, Json>>,
}

impl Record {
    /// `json`: an object that the database has written.
    pub(super) fn new(json: String) -> Self {
        Self { json, values: OnceLock::new() }
    }

    /// The value of a column; null also for a column that the record does not have.
    #[must_use]
    pub fn value(&self, column: &str) -> &Json {
        self.values().get(column).unwrap_or(&Json::Null)
    }

    /// All values. A value of an adopted table that is nested too deeply to parse is a note.
    #[must_use]
    pub fn values(&self) -> &Map<String, Json> {
        // The database has written the text, so it is an object.
        self.values.get_or_init(|| members(&self.json).unwrap_or_default())
    }

    /// The values as a type of your own. [`Items::of`](super::Items::of) reads a table so, and
    /// compares the type with the table at the start.
    ///
    /// # Errors
    /// `internal_error` for values that do not fit the type.
    pub fn values_as<T: DeserializeOwned>(&self) -> Result<T> {
        serde_json::from_str(&self.json).map_err(Error::internal)
    }

    /// The record as JSON, in the order of its columns.
    #[must_use]
    pub fn json(&self) -> &str {
        &self.json
    }
}

impl Index<&str> for Record {
    type Output = Json;

    fn index(&self, column: &str) -> &Json {
        self.value(column)
    }
}

impl PartialEq for Record {
    fn eq(&self, other: &Self) -> bool {
        self.json == other.json
    }
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Record").field(&self.json).finish()
    }
}

impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        self.values().serialize(serializer)
    }
}

/// A page of records.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct List {
    pub(super) joined: String,
    /// The limit of the query.
    pub limit: u32,
    /// The cursor of the next page; None at the end.
    pub next: Option<String>,
    /// Number of all matching rows, if the query asked for `count`.
    pub total: Option<i64>,
}

impl List {
    /// The records in the order of the query.
    ///
    /// # Errors
    /// `internal_error` for JSON that the database has not written.
    pub fn records(&self) -> Result<Vec<Record>> {
        let joined = format!("[{}]", self.joined);
        let records: Vec<&RawValue> = serde_json::from_str(&joined).map_err(Error::internal)?;
        Ok(records.into_iter().map(|record| Record::new(record.get().to_owned())).collect())
    }

    /// The records as JSON objects, joined by commas: the REST API sends them on unparsed.
    #[doc(hidden)]
    #[must_use]
    pub fn joined(&self) -> &str {
        &self.joined
    }
}

/// A record after a write.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Written {
    /// Its id, as the parameter `id` writes it.
    pub id: String,
    /// Its id, as events show it.
    pub key: Json,
    /// The record as stored.
    pub record: Record,
    /// Names of the columns whose values have changed; for a new record, the columns that
    /// were written.
    pub changed: Vec<String>,
    /// The record as it was before; None for a new one.
    pub before: Option<Record>,
}

impl Written {
    /// Whether the write created the record.
    pub(crate) fn is_new(&self) -> bool {
        self.before.is_none()
    }

    /// Whether the column's value has changed; for a new record, whether the column was written.
    pub(crate) fn has_changed(&self, column: &str) -> bool {
        self.changed.iter().any(|name| name == column)
    }
}
