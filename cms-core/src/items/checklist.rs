//! Adds to and removes from a JSON array of a record in one step.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::{IfMatch, Items, parsed};
use crate::{Change, Code, Error, Result, content::core, db::dialect::Kind};

/// A change of a checklist: either all values, or values to add and to remove.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{
    "table": "user_groups",
    "column": "rights",
    "id": 2,
    "add": ["pages_pages_view"],
}], "oneOf" = [
    {"required": ["value"], "properties": {
        "value": {"type": "array"}, "add": {"maxItems": 0}, "remove": {"maxItems": 0},
    }},
    {"properties": {"value": {"type": "null"}}},
]))]
pub struct Checklist {
    /// The content table.
    pub table: String,
    /// A JSON column of the table.
    pub column: String,
    /// Id of the record.
    #[schemars(extend("type" = ["integer", "string", "array"]))]
    pub id: Json,
    /// Values to append, unless present.
    #[serde(default)]
    pub add: Vec<Json>,
    /// Values to remove.
    #[serde(default)]
    pub remove: Vec<Json>,
    /// All values. Excludes `add` and `remove`.
    #[serde(default)]
    pub value: Option<Vec<Json>>,
}

impl Items {
    /// Applies the change under the row's lock and returns the resulting values.
    ///
    /// # Errors
    /// `unknown_table`, `not_found`, `stale`, `precondition_required`, `validation_failed` when the
    /// column holds no array.
    pub async fn checklist(
        &self,
        change: &mut Change,
        request: &Checklist,
        if_match: &IfMatch,
    ) -> Result<Vec<Json>> {
        core::check_caller_write(&request.table, Some([&request.column]), false)?;
        let table = self.writable(&request.table)?;
        let column = table
            .readable(&request.column)
            .map_err(|e| Error::new(Code::DatabaseError, e.detail()))?;
        if column.kind != Kind::Json {
            return Err(Error::invalid_field(
                "column",
                "type",
                format!("{} is no JSON column", request.column),
            ));
        }
        let id = match &request.id {
            Json::String(id) => id.clone(),
            other => other.to_string(),
        };
        // Locked, so that the values are added to what is there.
        let (_, before) = self.lock_record(change, &table, &id, None).await?;
        if_match.check(self.0.base.cursors(), &table, &before)?;
        let values = request.applied(&parsed(&before)?[&request.column])?;
        let body = Map::from_iter([(request.column.clone(), Json::Array(values))]);
        let checked = IfMatch::Any;
        let written = self.set(change, &request.table, &id, None, &checked, &body).await?;
        match written.record.value(&request.column) {
            Json::Array(values) => Ok(values.clone()),
            _ => Ok(Vec::new()),
        }
    }
}

impl Checklist {
    /// The values after the change; `present` are the values before.
    pub(crate) fn applied(&self, present: &Json) -> Result<Vec<Json>> {
        if self.value.is_some() && !(self.add.is_empty() && self.remove.is_empty()) {
            return Err(Error::invalid_field(
                "value",
                "format",
                "send either value, or add and \
                                             remove",
            ));
        }
        if let Some(values) = &self.value {
            return Ok(values.clone());
        }
        let mut values = match present {
            Json::Null => Vec::new(),
            Json::Array(values) => values.clone(),
            _ => {
                return Err(Error::invalid_field(
                    "column",
                    "type",
                    "the column holds no array: set `value` first",
                ));
            }
        };
        values.retain(|value| !self.remove.contains(value));
        for value in &self.add {
            if !values.contains(value) {
                values.push(value.clone());
            }
        }
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_added_once_and_removed() {
        let request = |add: Json, remove: Json| -> Checklist {
            serde_json::from_value(
                json!({"table": "t", "column": "c", "id": 1, "add": add, "remove": remove}),
            )
            .expect("request")
        };
        for (present, add, remove, expected) in [
            (json!(null), json!(["a"]), json!([]), json!(["a"])),
            (json!(["a", "b"]), json!(["b", "c", "c"]), json!(["a"]), json!(["b", "c"])),
            (json!(["a"]), json!(["a"]), json!(["a"]), json!(["a"])),
            (json!([1, "1"]), json!([]), json!(["1"]), json!([1])),
        ] {
            assert_eq!(
                Json::Array(request(add, remove).applied(&present).expect("array")),
                expected
            );
        }
        assert!(request(json!([]), json!([])).applied(&json!({"a": 1})).is_err());
    }
}
