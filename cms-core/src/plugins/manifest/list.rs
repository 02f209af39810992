//! Lists in a manifest. Text may stand for JSON: `"[...]"` for a list, `"{...}"` for an element.

use std::{borrow::Cow, ops::Deref};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned, de::Error as _};

/// A list. A manifest may give an array or the same array as text, and each element may be text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct List<T>(pub Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> List<T> {
    /// Whether it has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<T> Deref for List<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> From<Vec<T>> for List<T> {
    fn from(elements: Vec<T>) -> Self {
        Self(elements)
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let list: Vec<serde_json::Value> = native(serde_json::Value::deserialize(deserializer)?)
            .map_err(|e| D::Error::custom(format!("the text is no array: {e}")))?;
        let elements = list.into_iter().map(native);
        elements.collect::<Result<_, _>>().map(Self).map_err(D::Error::custom)
    }
}

/// Reads a value that may be JSON in a text.
fn native<T: DeserializeOwned>(given: serde_json::Value) -> serde_json::Result<T> {
    match given {
        serde_json::Value::String(text) => serde_json::from_str(&text),
        given => serde_json::from_value(given),
    }
}

impl<T: JsonSchema> JsonSchema for List<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("List_of_{}", T::schema_name()).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let element = generator.subschema_for::<T>();
        let array = json_schema!({"type": "array", "items": or_text(&element)});
        or_text(&array)
    }
}

/// The schema of a value, or of a text that contains it as JSON.
fn or_text(schema: &Schema) -> Schema {
    json_schema!({"anyOf": [
        schema,
        {
            "type": "string",
            "contentMediaType": "application/json",
            "contentSchema": schema,
        },
    ]})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stands_for_lists_and_elements() {
        for given in [r#"[1, 2]"#, r#""[1, 2]""#, r#"["1", 2]"#, r#""[\"1\", \"2\"]""#] {
            assert_eq!(serde_json::from_str::<List<u8>>(given).expect(given), List(vec![1, 2]));
        }
        for given in ["{}", "1", r#""1""#, r#""[""#, r#"["x"]"#, r#"[""]"#] {
            assert!(serde_json::from_str::<List<u8>>(given).is_err(), "{given}");
        }
    }
}
