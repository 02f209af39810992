//! JSON without the values that differ from run to run.

use std::collections::HashMap;

use serde_json::{Map, Value as Json};
use uuid::Uuid;

use crate::{keys::PlainKey, parse_rfc3339};

/// A reply in the form of a snapshot: ids become `[id:1]`, times `[time:1]`, secrets `[secret:1]`.
/// Each is numbered by its first occurrence, so equal values stay equal.
///
/// A number is an id in a member that is named `id` or ends in `_id`; a text is an id if it is a
/// UUID. Times are texts of RFC 3339. Secrets are API keys and secrets of webhooks.
///
/// ```
/// use cms_core::testing::masked;
/// use serde_json::json;
/// let reply = json!({"id": 17, "at": "2026-11-21T09:30:00Z", "parent_id": 17, "amount": 17});
/// let expected = json!({"id": "[id:1]", "at": "[time:1]", "parent_id": "[id:1]", "amount": 17});
/// assert_eq!(masked(&reply), expected);
/// ```
#[must_use]
pub fn masked(value: &Json) -> Json {
    Masks::default().masked(value, false)
}

/// The values found so far.
#[derive(Default)]
struct Masks(HashMap<&'static str, Vec<String>>);

impl Masks {
    fn masked(&mut self, value: &Json, is_id: bool) -> Json {
        match value {
            Json::Object(members) => {
                let members = members.iter().map(|(name, value)| {
                    let is_id = name == "id" || name.ends_with("_id");
                    (name.clone(), self.masked(value, is_id))
                });
                Json::Object(members.collect::<Map<_, _>>())
            }
            Json::Array(values) => {
                Json::Array(values.iter().map(|value| self.masked(value, is_id)).collect())
            }
            Json::Number(number) if is_id => self.numbered("id", number.to_string()),
            Json::String(text) => match kind(text) {
                Some(kind) => self.numbered(kind, text.clone()),
                None => value.clone(),
            },
            _ => value.clone(),
        }
    }

    fn numbered(&mut self, kind: &'static str, value: String) -> Json {
        let seen = self.0.entry(kind).or_default();
        let place = seen.iter().position(|one| *one == value).unwrap_or_else(|| {
            seen.push(value);
            seen.len() - 1
        });
        format!("[{kind}:{}]", place + 1).into()
    }
}

fn kind(text: &str) -> Option<&'static str> {
    match text {
        _ if Uuid::try_parse(text).is_ok() => Some("id"),
        _ if parse_rfc3339(text).is_some() => Some("time"),
        _ if text.starts_with("whsec_") || PlainKey::parse(text).is_some() => Some("secret"),
        _ => None,
    }
}
