//! Query parameters as text ↔ a query type.

use std::fmt;

use serde::{
    Deserializer, Serialize,
    de::{
        DeserializeOwned, IntoDeserializer, Visitor,
        value::{MapDeserializer, StrDeserializer},
    },
};
use serde_json::Value as Json;

/// Reads a query type from decoded parameters.
///
/// # Errors
/// A sentence that names the parameter.
pub fn read<T: DeserializeOwned>(pairs: &[(&str, &str)]) -> Result<T, String> {
    read_named(pairs).map_err(|wrong| wrong.detail)
}

/// As [`read`], where parameters of the path are among `pairs`: nobody is told to send these.
pub(crate) fn read_with_path<T: DeserializeOwned>(
    pairs: &[(&str, &str)],
    path: &[(String, String)],
) -> Result<T, String> {
    let is_sent = |name: &&str| path.iter().all(|(other, _)| other != *name);
    read_named(pairs).map_err(|wrong| match wrong.name {
        Some(name) if !wrong.known.is_empty() => {
            unknown(&name, &wrong.known.iter().copied().filter(is_sent).collect::<Vec<_>>())
        }
        _ => wrong.detail,
    })
}

fn unknown(name: &str, known: &[&str]) -> String {
    match known {
        [] => format!("There is no parameter {name:?} here."),
        known => format!("There is no parameter {name:?}; there are {}.", known.join(", ")),
    }
}

/// As [`read`], with the name of what is wrong.
pub(super) fn read_named<T: DeserializeOwned>(pairs: &[(&str, &str)]) -> Result<T, Wrong> {
    let values = pairs.iter().map(|(name, value)| (*name, Value { name, value }));
    T::deserialize(MapDeserializer::new(values))
}

/// The parameters of a query; what is null is left out.
#[must_use]
pub fn write(query: &impl Serialize) -> Vec<(String, String)> {
    let text = |value: Json| match value {
        Json::Null => None,
        Json::String(text) => Some(text),
        other => Some(other.to_string()),
    };
    match serde_json::to_value(query) {
        Ok(Json::Object(members)) => {
            members.into_iter().filter_map(|(name, value)| Some((name, text(value)?))).collect()
        }
        _ => Vec::new(),
    }
}

/// What is wrong with a query, for a person.
#[derive(Debug)]
pub(super) struct Wrong {
    /// The parameter, where it is known.
    pub(super) name: Option<String>,
    /// As in `errors`.
    pub(super) code: &'static str,
    pub(super) detail: String,
    /// The parameters that there are, where another was sent.
    known: &'static [&'static str],
}

impl Wrong {
    fn of(name: &str, code: &'static str, detail: String) -> Self {
        Self { name: Some(name.to_owned()), code, detail, known: &[] }
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

impl std::error::Error for Wrong {}

impl serde::de::Error for Wrong {
    fn custom<T: fmt::Display>(detail: T) -> Self {
        Self { name: None, code: "format", detail: detail.to_string(), known: &[] }
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let known = expected;
        Self { known, ..Self::of(field, "unexpected", unknown(field, known)) }
    }

    fn missing_field(field: &'static str) -> Self {
        Self::of(field, "required", format!("The parameter {field} is missing."))
    }
}

/// The text of one parameter, read as whatever type the query gives it.
struct Value<'a> {
    name: &'a str,
    value: &'a str,
}

impl<'a, 'de> IntoDeserializer<'de, Wrong> for Value<'a> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

macro_rules! numbers {
    ($($method:ident $visit:ident $number:ty),+) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
            let number: $number = self.value.parse().map_err(|_| {
                Wrong::of(self.name, "type", format!("{} is a whole number.", self.name))
            })?;
            visitor.$visit(number)
        })+
    };
}

impl<'de> Deserializer<'de> for Value<'_> {
    type Error = Wrong;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_str(self.value)
    }

    numbers! {
        deserialize_i64 visit_i64 i64, deserialize_u64 visit_u64 u64, deserialize_u32 visit_u32 u32
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.value {
            "true" => visitor.visit_bool(true),
            "false" => visitor.visit_bool(false),
            _ => Err(Wrong::of(self.name, "type", format!("{} is true or false.", self.name))),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        if !variants.contains(&self.value) {
            let detail = format!("{} is one of {}.", self.name, variants.join(", "));
            return Err(Wrong::of(self.name, "enum", detail));
        }
        let value: StrDeserializer<'_, Wrong> = self.value.into_deserializer();
        value.deserialize_enum(name, variants, visitor)
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i32 i128 u8 u16 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq
        tuple tuple_struct map struct identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Parameters {
        id: i64,
        name: Option<String>,
        all: Option<bool>,
    }

    #[test]
    fn a_query_is_read_and_written() {
        let pairs = [("id", "7"), ("all", "true")];
        let asked: Parameters = read(&pairs).expect("a query");
        assert_eq!(asked, Parameters { id: 7, name: None, all: Some(true) });
        assert_eq!(
            write(&asked),
            [("all".to_owned(), "true".to_owned()), ("id".to_owned(), "7".to_owned())]
        );
        for (pairs, detail) in [
            (&[("id", "x")][..], "id is a whole number."),
            (&[], "The parameter id is missing."),
            (&[("id", "1"), ("all", "yes")], "all is true or false."),
            (&[("x", "1")], "There is no parameter \"x\"; there are id, name, all."),
        ] {
            let refused = read::<Parameters>(pairs).expect_err("refused");
            assert_eq!(refused, detail);
        }
        let path = [("id".to_owned(), "7".to_owned())];
        let refused = read_with_path::<Parameters>(&[("id", "7"), ("x", "1")], &path);
        let detail = "There is no parameter \"x\"; there are name, all.";
        assert_eq!(refused.expect_err("refused"), detail);
    }
}
