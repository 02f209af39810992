//! The defaults file: known keys, default values, and the two files that `cms init` makes from it.

use std::sync::LazyLock;

use serde::Deserialize;
use toml::{Table, Value};

use super::{Settings, file};

const TEXT: &str = include_str!("settings.default.toml");
/// The keys below this line of the defaults file belong to `cms.local.toml`.
const LOCAL: &str = "# === cms.local.toml";

pub(super) struct Defaults {
    /// Every key with its default, in the order of the file.
    pub(super) values: Vec<(String, Value)>,
    pub(super) settings: Settings,
}

static DEFAULTS: LazyLock<Defaults> = LazyLock::new(|| {
    let values = file::lines(TEXT)
        .map(|lines| lines.into_iter().map(|l| (l.key, l.value)).collect::<Vec<_>>());
    let Ok(values) = values else {
        unreachable!("settings.default.toml is part of the program and tested")
    };
    match typed_settings(values.iter().map(|(key, value)| (key.as_str(), value))) {
        Ok(settings) => Defaults { values, settings },
        Err(error) => {
            unreachable!("settings.default.toml is part of the program and tested: {error}")
        }
    }
});

pub(super) fn defaults() -> &'static Defaults {
    &DEFAULTS
}

impl Default for Settings {
    fn default() -> Self {
        defaults().settings.clone()
    }
}

/// Settings from a complete list of dotted keys.
pub(super) fn typed_settings<'v>(
    values: impl Iterator<Item = (&'v str, &'v Value)>,
) -> Result<Settings, toml::de::Error> {
    let mut table = Table::new();
    for (key, value) in values {
        insert(&mut table, key, value);
    }
    Settings::deserialize(table)
}

fn insert(table: &mut Table, key: &str, value: &Value) {
    match key.split_once('.') {
        None => {
            table.insert(key.to_owned(), value.clone());
        }
        Some((outer, inner)) => {
            let outer = table.entry(outer).or_insert_with(|| Table::new().into());
            if let Some(outer) = outer.as_table_mut() {
                insert(outer, inner, value);
            }
        }
    }
}

/// The text of a new `cms.toml`: every key that may be under version control, with an explanation
/// and its default as a comment. The text has no table header, so that lines can be appended.
#[must_use]
pub fn starter_file() -> String {
    let versioned = TEXT.split_once(LOCAL).map_or(TEXT, |(versioned, _)| versioned);
    versioned.trim_end().lines().map(|line| commented(line) + "\n").collect()
}

/// The text of a new `cms.local.toml` with the two secrets, except those that another layer has.
/// Only the service's user may read this file (mode 0600). `encryption_key` is base64 of 32 bytes.
#[must_use]
pub fn starter_local_file(salt: Option<&str>, encryption_key: Option<&str>) -> String {
    let local = TEXT.split_once(LOCAL).map_or("", |(_, local)| local);
    let line = |line: &str| {
        let secret = match line.split_once(" = ") {
            Some(("password_salt", _)) => salt,
            Some(("encryption_key", _)) => encryption_key,
            _ => None,
        };
        match (secret, line.split_once(" = ")) {
            (Some(secret), Some((key, _))) => format!("{key} = {}\n", Value::from(secret)),
            _ => commented(line) + "\n",
        }
    };
    local.trim_start().lines().map(line).collect()
}

/// Comments out a setting without a space after `#`; explanations have a space.
fn commented(line: &str) -> String {
    if line.is_empty() || line.starts_with('#') { line.to_owned() } else { format!("#{line}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str) -> Vec<String> {
        file::lines(text).expect("toml").into_iter().map(|line| line.key).collect()
    }

    /// The text with every commented setting enabled.
    fn switched_on(text: &str) -> String {
        let on = |line: &str| match line.strip_prefix('#') {
            Some(rest) if rest.starts_with(|c: char| c.is_ascii_lowercase()) => format!("{rest}\n"),
            _ => format!("{line}\n"),
        };
        text.lines().map(on).collect()
    }

    #[test]
    fn defaults_are_valid_and_of_types_that_a_variable_can_hold() {
        Settings::default().validate().expect("defaults");
        for (key, value) in &defaults().values {
            assert!(
                value.is_str() || value.is_integer() || value.is_bool() || value.is_array(),
                "{key}"
            );
        }
    }

    #[test]
    fn starters_set_nothing_but_the_secrets_and_take_an_appended_key() {
        let (shared, local) = (starter_file(), starter_local_file(Some("p\"epper"), Some("a2V5")));
        assert_eq!(keys(&format!("{shared}listen = \"[::]:80\"\n")), ["listen"]);
        assert_eq!(
            keys(&format!("{shared}[http]\nmax_connections = 1\n")),
            ["http.max_connections"]
        );
        assert_eq!(keys(&local), ["password_salt", "encryption_key"]);
        let salt = file::lines(&local).expect("toml").swap_remove(0).value;
        assert_eq!(salt.as_str(), Some("p\"epper"));
        let all: Vec<_> = defaults().values.iter().map(|(key, _)| key.clone()).collect();
        assert_eq!([keys(&switched_on(&shared)), keys(&switched_on(&local))].concat(), all);
        for secret in super::super::SECRET_KEYS {
            assert!(
                !shared.contains(&format!("#{secret} =")),
                "{secret} belongs into the local file"
            );
        }
    }
}
