//! Records as the API sent them: columns in order, numbers with all digits.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{MapAccess, Visitor},
};
use serde_json::{Value as Json, value::RawValue};

use super::failure::{Done, Failure};

/// An object of the API as text. Parsed numbers would lose digits, and a map the order.
#[derive(Clone, Debug)]
pub(crate) struct Record(Vec<(String, Box<RawValue>)>);

impl Record {
    /// A value of the API as a record, which must be an object.
    pub(crate) fn of(value: &impl Serialize) -> Done<Self> {
        let text = serde_json::to_string(value).map_err(Failure::unexpected)?;
        serde_json::from_str(&text).map_err(Failure::unexpected)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, raw)| (name.as_str(), raw.get()))
    }

    /// The JSON text of a column.
    pub(crate) fn raw(&self, name: &str) -> Option<&str> {
        self.iter().find(|(known, _)| *known == name).map(|(_, raw)| raw)
    }

    /// A column for people; empty for null.
    pub(crate) fn shown(&self, name: &str) -> String {
        self.raw(name).map(|raw| readable(raw).into_owned()).unwrap_or_default()
    }
}

/// JSON text for people: strings without quotes, null as an empty text.
pub(crate) fn readable(raw: &str) -> Cow<'_, str> {
    match raw {
        "null" => Cow::Borrowed(""),
        _ if raw.starts_with('"') => {
            serde_json::from_str::<String>(raw).map_or(Cow::Borrowed(raw), Cow::Owned)
        }
        _ => Cow::Borrowed(raw),
    }
}

/// A value for people; empty for null.
pub(crate) fn text(value: &Json) -> String {
    match value {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

impl<'de> Deserialize<'de> for Record {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Record;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Record, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Record(fields))
            }
        }
        deserializer.deserialize_map(Fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_digits_stay() {
        let record: Record =
            serde_json::from_str(r#"{"z":9007199254740993,"a":4.70,"t":"x\ty","n":null}"#)
                .expect("record");
        assert_eq!(record.names().collect::<Vec<_>>(), ["z", "a", "t", "n"]);
        assert_eq!(record.raw("z"), Some("9007199254740993"));
        assert_eq!(["a", "t", "n"].map(|name| record.shown(name)), ["4.70", "x\ty", ""]);
    }
}
