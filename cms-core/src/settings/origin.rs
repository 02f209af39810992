//! The origin of each value in force, with secrets masked.

use std::fmt;

use super::SECRET_KEYS;

/// Where a value was read from. Prints as `cms.toml:12`, `CMS_LISTEN` or `--listen`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueOrigin {
    /// The built-in default.
    Default,
    /// A line of `cms.toml` or `cms.local.toml`.
    File {
        /// Name of the file in the site's folder.
        name: &'static str,
        /// Line, counted from 1.
        line: usize,
    },
    /// An environment variable, by name.
    Variable(String),
    /// A flag of the command line, with its dashes.
    Flag(String),
}

impl fmt::Display for ValueOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueOrigin::Default => f.write_str("default"),
            ValueOrigin::File { name, line } => write!(f, "{name}:{line}"),
            ValueOrigin::Variable(name) | ValueOrigin::Flag(name) => f.write_str(name),
        }
    }
}

/// One setting as `cms config show --origin` prints it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Setting {
    /// The dotted key.
    pub key: String,
    /// The value in the form of an environment variable; empty when not set. Secrets and passwords
    /// in addresses are `***`. Relative paths stay as given.
    pub value: String,
    /// Where the value came from.
    pub origin: ValueOrigin,
}

/// Every setting in the order of the defaults file.
#[derive(Clone, Debug, Default)]
pub struct ValueOrigins(Vec<Setting>);

impl ValueOrigins {
    pub(super) fn new(values: impl Iterator<Item = (String, String, ValueOrigin)>) -> Self {
        let setting = |(key, value, origin): (String, String, _)| Setting {
            value: masked(&key, &value),
            key,
            origin,
        };
        Self(values.map(setting).collect())
    }

    /// The setting with this dotted key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Setting> {
        self.0.iter().find(|setting| setting.key == key)
    }

    /// All settings.
    pub fn iter(&self) -> std::slice::Iter<'_, Setting> {
        self.0.iter()
    }
}

impl<'o> IntoIterator for &'o ValueOrigins {
    type Item = &'o Setting;
    type IntoIter = std::slice::Iter<'o, Setting>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// `value` with its secret parts masked.
fn masked(key: &str, value: &str) -> String {
    if value.is_empty() || !SECRET_KEYS.contains(&key) {
        value.to_owned()
    } else if key.ends_with("_url") {
        masked_url(value)
    } else {
        "***".to_owned()
    }
}

/// An address without its password and options.
fn masked_url(url: &str) -> String {
    if url.starts_with("sqlite:") {
        return url.to_owned();
    }
    let Some((scheme, rest)) = url.split_once("://") else { return "***".to_owned() };
    let (user, server) =
        rest.rsplit_once('@').map_or((None, rest), |(user, server)| (Some(user), server));
    let user = match user.map(|user| (user, user.split_once(':'))) {
        // The password or an option contains an unencoded `@`, so it is unclear where the
        // secret ends.
        Some((user, _)) if user.contains(['/', '?', '#']) => return format!("{scheme}://***"),
        Some((_, Some((name, _)))) => format!("{name}:***@"),
        Some((name, None)) => format!("{name}@"),
        None => String::new(),
    };
    match server.split_once(['?', '#']) {
        Some((server, _)) => format!("{scheme}://{user}{server}?***"),
        None => format!("{scheme}://{user}{server}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked() {
        let table = [
            ("listen", "[::1]:80", "[::1]:80"),
            ("password_salt", "", ""),
            ("password_salt", "pepper", "***"),
            ("old_encryption_keys", "a,b", "***"),
            ("database_url", "sqlite://data/cms.db", "sqlite://data/cms.db"),
            ("database_url", "postgres://u:p@h:5432/d", "postgres://u:***@h:5432/d"),
            ("database_url", "postgres://u:p@ss@h/d", "postgres://u:***@h/d"),
            ("database_url", "postgres://h/d?user=u&password=p", "postgres://h/d?***"),
            ("database_url", "postgres://u@h/d", "postgres://u@h/d"),
            ("database_url", "postgres:u:p", "***"),
            ("database_url", "postgres://u:p/a@h/d", "postgres://***"),
            ("database_url", "postgres://h:1/d?password=p@q", "postgres://***"),
            ("redis_url", "redis://:p@h", "redis://:***@h"),
        ];
        for (key, value, shown) in table {
            assert_eq!(masked(key, value), shown, "{value}");
        }
    }
}
