//! Small values with a form of their own.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::{Number, Value};

/// The status of rows that show a button: a number, or text that begins with one.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ForStatus {
    /// As a number.
    Number(Number),
    /// As text.
    Text(#[schemars(regex(pattern = "^\\s*[+-]?[0-9]"))] String),
}

impl ForStatus {
    /// Its whole number, by the rule of `parseInt`; None matches no row.
    #[must_use]
    pub fn number(&self) -> Option<i128> {
        match self {
            Self::Number(number) => parse_int(&number.to_string()),
            Self::Text(text) => parse_int(text),
        }
    }

    /// Whether a row with this `status` shows the button.
    #[must_use]
    pub fn shows(&self, status: Option<&Value>) -> bool {
        let wanted = self.number();
        let held = match status {
            Some(Value::Number(number)) => parse_int(&number.to_string()),
            Some(Value::String(text)) => parse_int(text),
            _ => None,
        };
        wanted == Some(-1) || (wanted.is_some() && wanted == held)
    }
}

/// The whole number at the start of a text, as `parseInt` of browsers reads it: `"2abc"` is 2.
#[must_use]
pub(crate) fn parse_int(text: &str) -> Option<i128> {
    let text = text.trim_start();
    let (sign, digits) = match text.as_bytes().first() {
        Some(b'-') => (-1, &text[1..]),
        Some(b'+') => (1, &text[1..]),
        _ => (1, text),
    };
    let hex = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let (digits, radix) = hex.map_or((digits, 10), |digits| (digits, 16));
    let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    i128::from_str_radix(&digits[..end], radix).ok().map(|number| sign * number)
}

/// On or off: `true` or `"1"`, `false` or `"0"`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Switch(pub bool);

impl Switch {
    /// Whether it is off.
    #[must_use]
    pub fn is_off(&self) -> bool {
        !self.0
    }
}

impl<'de> Deserialize<'de> for Switch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Bool(on) => Ok(Self(on)),
            Value::String(text) if text == "1" => Ok(Self(true)),
            Value::String(text) if text == "0" => Ok(Self(false)),
            _ => Err(D::Error::custom("\"1\" or true is expected")),
        }
    }
}

impl JsonSchema for Switch {
    fn schema_name() -> Cow<'static, str> {
        "Switch".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"enum": ["1", true, "0", false]})
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn for_status_compares_by_parse_int() {
        for (wanted, status, shown) in [
            (json!(2), json!(2), true),
            (json!(2), json!("2"), true),
            (json!("2abc"), json!(2), true),
            (json!(2), json!("2abc"), true),
            (json!(" 2"), json!("\t2.9"), true),
            (json!(2.7), json!(2.1), true),
            (json!("+2"), json!("2"), true),
            (json!("0x10"), json!(16), true),
            (json!("2e3"), json!(2), true),
            (json!(2), json!(3), false),
            (json!(2), json!(null), false),
            (json!(2), json!(true), false),
            (json!(2), json!("abc"), false),
            (json!("abc"), json!("abc"), false),
            (json!("abc"), json!(null), false),
            (json!(-1), json!(null), true),
            (json!("-1"), json!(7), true),
            (json!(-1), json!("abc"), true),
            (json!(0), json!(""), false),
            (json!(0), json!("-0"), true),
            (json!("-"), json!("-"), false),
        ] {
            let rule: ForStatus = serde_json::from_value(wanted.clone()).expect("forStatus");
            assert_eq!(rule.shows(Some(&status)), shown, "{wanted} {status}");
        }
        assert!(!ForStatus::Text("1".to_owned()).shows(None));
    }
}
