//! Environment variables and flags: their names, and texts read as the type of the default.

use toml::Value;

/// Variables that have the prefix of settings but belong to the command line or the tests.
pub(super) const NOT_SETTINGS: [&str; 13] = [
    "CMS_API_KEY", "CMS_API_KEY_FILE", "CMS_CONTEXT", "CMS_COPY_TO", "CMS_DIR", "CMS_KEY_FILE",
    "CMS_LOG", "CMS_TEST_DB", "CMS_TEST_REDIS", "CMS_TEST_UPDATE_KILL", "CMS_TOKEN_FILE",
    "CMS_URL", "CMS_WEBHOOK_SECRET",
];

/// The variables of this process for [`Settings::load`](super::Settings::load). Skips those that
/// are not Unicode, because [`std::env::vars`] panics on them.
pub fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// The variable of a setting: `webhooks.allow_http` → `CMS_WEBHOOKS__ALLOW_HTTP`.
#[must_use]
pub fn variable(key: &str) -> String {
    format!("CMS_{}", key.to_ascii_uppercase().replace('.', "__"))
}

/// `site_url` → `--site-url`.
pub(super) fn flag(key: &str) -> String {
    format!("--{}", key.replace('_', "-"))
}

/// Reads `text` as a value of the type of `like`.
pub(super) fn typed(text: &str, like: &Value) -> Option<Value> {
    Some(match like {
        Value::Boolean(_) => Value::Boolean(match text.trim() {
            "true" | "1" => true,
            "false" | "0" => false,
            _ => return None,
        }),
        Value::Integer(_) => Value::Integer(text.trim().parse().ok()?),
        Value::Array(_) if is_toml_list(text) => text.trim().parse().ok()?,
        Value::Array(_) => text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .map(Value::from)
            .collect::<Vec<_>>()
            .into(),
        _ => text.into(),
    })
}

/// Whether a text is meant as a TOML list. `[::1], example.org` is a list of hosts instead.
fn is_toml_list(text: &str) -> bool {
    let first = text.trim_start().strip_prefix('[').map(str::trim_start);
    first.is_some_and(|first| first.starts_with(['"', '\'', ']']))
}

/// The opposite of [`typed`]: `value` as a variable would hold it.
pub(super) fn untyped(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().map(untyped).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert_eq!(variable("database_url"), "CMS_DATABASE_URL");
        assert_eq!(variable("webhooks.allow_http"), "CMS_WEBHOOKS__ALLOW_HTTP");
        assert_eq!(flag("site_url"), "--site-url");
    }

    #[test]
    fn texts_take_the_type_of_the_default() {
        let (flag, number, list, text) =
            (Value::from(false), Value::from(1), Value::Array(vec![]), Value::from(""));
        let table = [
            ("true", &flag, Some(Value::from(true))),
            ("0", &flag, Some(Value::from(false))),
            ("yes", &flag, None),
            (" 17 ", &number, Some(Value::from(17))),
            ("1.5", &number, None),
            ("", &number, None),
            ("a, b,,c", &list, Some(Value::from(vec!["a", "b", "c"]))),
            ("", &list, Some(Value::Array(vec![]))),
            (r#" ["a", "b, c"] "#, &list, Some(Value::from(vec!["a", "b, c"]))),
            ("[]", &list, Some(Value::Array(vec![]))),
            (r#"["a""#, &list, None),
            ("[ 'a' ]", &list, Some(Value::from(vec!["a"]))),
            ("[::1],example.org", &list, Some(Value::from(vec!["[::1]", "example.org"]))),
            ("true", &text, Some(Value::from("true"))),
        ];
        for (given, like, value) in table {
            assert_eq!(typed(given, like), value, "{given}");
        }
    }
}
