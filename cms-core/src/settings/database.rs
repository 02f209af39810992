//! Chooses the database: one address, the four `db_` keys, or the SQLite file in the data folder.

use std::path::{Path, PathBuf};

use url::Url;

use super::{Settings, SettingsError, Synchronous};
use crate::ground::Secret;

/// The configured database.
#[derive(Clone, Debug)]
pub enum Database {
    /// An SQLite file.
    Sqlite {
        /// Path of the file.
        path: PathBuf,
        /// When a commit is reported.
        synchronous: Synchronous,
    },
    /// A PostgreSQL server.
    Postgres {
        /// `postgres://user:password@host:port/name`, percent-encoded.
        url: Secret,
        /// Seconds after which PostgreSQL ends an idle transaction.
        idle_in_transaction_s: u64,
        /// Most connections of the pool.
        max_connections: u64,
    },
}

const HOST: &str = "must be a host, host:port or the folder of a Unix socket";
const SCHEMES: &str = "must begin with sqlite:// or postgres://, such as sqlite://data/cms.db";

const FORM: &str = "must be postgres://user:password@host:port/name, with a port of at most \
                    65535; write signs such as / @ # in user and password as %2F %40 %23";

impl Settings {
    /// The configured database. The default is SQLite in `cms.db` of the data folder.
    ///
    /// # Errors
    /// An error when `database_url` and a `db_` key are both set, when the address has another
    /// scheme, names no database or cannot be parsed, and when one of `db_host`, `db_user`,
    /// `db_db` is missing.
    pub fn database(&self) -> Result<Database, SettingsError> {
        let parts = [&self.db_host, &self.db_user, &self.db_db];
        let in_parts = self.db_pw.is_some() || parts.iter().any(|part| part.is_some());
        match &self.database_url {
            Some(_) if in_parts => Err(SettingsError::invalid(
                "database_url",
                "must not be set together with db_host, db_user, db_pw or db_db; set one of the \
                 two to \"\"",
            )),
            Some(url) => self.of_url(url),
            None if in_parts => self.parts_url(),
            None => Ok(self.sqlite(self.dirs.data.join("cms.db"))),
        }
    }

    fn sqlite(&self, path: PathBuf) -> Database {
        Database::Sqlite { path, synchronous: self.database.synchronous }
    }

    fn postgres(&self, url: Secret) -> Database {
        let idle_in_transaction_s = self.database.idle_in_transaction_s;
        let max_connections = self.database.max_connections;
        Database::Postgres { url, idle_in_transaction_s, max_connections }
    }

    fn of_url(&self, url: &Secret) -> Result<Database, SettingsError> {
        let invalid = |rule| Err(SettingsError::invalid("database_url", rule));
        if let Some(path) = sqlite_path(url.expose()) {
            return match path {
                _ if path.is_empty() || path.ends_with('/') => {
                    invalid("must name a file after sqlite://, such as sqlite://data/cms.db")
                }
                ":memory:" => {
                    invalid("must name a file: a database in memory ends with its first connection")
                }
                _ if path.contains('?') => {
                    invalid("must be a plain path after sqlite://, without options after a ?")
                }
                _ => Ok(self.sqlite(path.into())),
            };
        }
        match url.expose().split_once("://") {
            Some(("postgres" | "postgresql", rest)) if !rest.is_empty() => {
                match Url::parse(url.expose()) {
                    Ok(_) => Ok(self.postgres(url.clone())),
                    Err(_) => invalid(FORM),
                }
            }
            _ => invalid(SCHEMES),
        }
    }

    fn parts_url(&self) -> Result<Database, SettingsError> {
        let part = |key, value: &Option<String>| {
            let missing = || {
                SettingsError::invalid(
                    key,
                    "must be set too: db_host, db_user and db_db go together",
                )
            };
            value.clone().ok_or_else(missing)
        };
        let host = host(&part("db_host", &self.db_host)?)?;
        let user = encoded(&part("db_user", &self.db_user)?);
        let name = encoded(&part("db_db", &self.db_db)?);
        let password =
            self.db_pw.as_ref().map(|pw| format!(":{}", encoded(pw.expose()))).unwrap_or_default();
        let url = Secret::new(format!("postgres://{user}{password}@{host}/{name}"));
        match Url::parse(url.expose()) {
            Ok(_) => Ok(self.postgres(url)),
            Err(_) => Err(SettingsError::invalid("db_host", HOST)),
        }
    }
}

/// The path in `sqlite://path` or `sqlite:path`.
fn sqlite_path(url: &str) -> Option<&str> {
    let path = url.strip_prefix("sqlite:")?;
    Some(path.strip_prefix("//").unwrap_or(path))
}

/// `url` with a relative SQLite path joined to `dir`.
pub(super) fn rooted(url: &Secret, dir: &Path) -> Result<Secret, SettingsError> {
    let Some(path) = sqlite_path(url.expose()) else { return Ok(url.clone()) };
    match dir.join(path).to_str() {
        Some(path) => Ok(Secret::new(format!("sqlite://{path}"))),
        None => Err(SettingsError::invalid(
            "database_url",
            "must be an absolute path: the folder is not Unicode",
        )),
    }
}

/// The host part of an address. Percent-encodes a socket's folder and puts brackets around a bare
/// v6 address.
fn host(host: &str) -> Result<String, SettingsError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._:[]%".contains(c);
    if host.starts_with('/') {
        Ok(encoded(host))
    } else if host.parse::<std::net::Ipv6Addr>().is_ok() {
        Ok(format!("[{host}]"))
    } else if host.chars().all(plain) {
        Ok(host.to_owned())
    } else {
        Err(SettingsError::invalid("db_host", HOST))
    }
}

/// Percent-encodes all characters except letters, digits and `-._~` (RFC 3986, unreserved).
fn encoded(text: &str) -> String {
    let encode = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result or the error of `database()` for `database_url` and the four parts.
    fn chosen(url: &str, [host, user, pw, db]: [&str; 4]) -> String {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let settings = Settings {
            database_url: some(url).map(Secret::new),
            db_host: some(host),
            db_user: some(user),
            db_pw: some(pw).map(Secret::new),
            db_db: some(db),
            ..Settings::default()
        };
        match settings.database() {
            Ok(Database::Sqlite { path, .. }) => path.display().to_string(),
            Ok(Database::Postgres { url, .. }) => url.expose().to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn the_database_is_chosen_from_address_or_parts() {
        let none = ["", "", "", ""];
        let table = [
            ("", none, "data/cms.db"),
            ("sqlite://x/y.db", none, "x/y.db"),
            ("sqlite:y.db", none, "y.db"),
            ("sqlite:///abs.db", none, "/abs.db"),
            ("postgres://h/d", none, "postgres://h/d"),
            ("postgresql://u:p@h/d", none, "postgresql://u:p@h/d"),
            ("", ["h:5433", "u", "p@:/ü", "d b"], "postgres://u:p%40%3A%2F%C3%BC@h:5433/d%20b"),
            ("", ["h", "u", "", "d"], "postgres://u@h/d"),
            ("", ["::1", "u", "", "d"], "postgres://u@[::1]/d"),
            ("", ["/run/pg", "u", "", "d"], "postgres://u@%2Frun%2Fpg/d"),
        ];
        for (url, parts, expected) in table {
            assert_eq!(chosen(url, parts), expected, "{url} {parts:?}");
        }
    }

    #[test]
    fn ambiguous_settings_are_refused() {
        let none = ["", "", "", ""];
        let table = [
            ("mysql://h/d", none, "`database_url` must begin with sqlite:// or postgres://"),
            ("postgres://", none, "`database_url` must begin"),
            ("postgres://u:p@h:port/d", none, "`database_url` must be postgres://user:password"),
            ("postgres://u:p@h:99999/d", none, "`database_url` must be postgres://user:password"),
            ("postgres://u:p/w@h/d", none, "as %2F"),
            ("sqlite://", none, "must name a file"),
            ("sqlite:///", none, "must name a file"),
            ("sqlite://data/", none, "must name a file"),
            ("sqlite::memory:", none, "must name a file"),
            ("sqlite://a.db?mode=ro", none, "without options"),
            ("sqlite://a.db", ["", "", "p", ""], "`database_url` must not be set together"),
            ("", ["", "u", "", ""], "`db_host` must be set too"),
            ("", ["h", "u", "", ""], "`db_db` must be set too"),
            ("", ["h@evil/", "u", "", "d"], "`db_host` must be a host"),
            ("", ["h:99999", "u", "", "d"], "`db_host` must be a host"),
        ];
        for (url, parts, expected) in table {
            let error = chosen(url, parts);
            assert!(error.contains(expected), "{url} {parts:?}: {error}");
        }
    }
}
