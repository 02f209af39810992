//! Why a database cannot be used, and what helps: for the checks of a site.

use std::{fs, io::ErrorKind, os::unix::fs::MetadataExt, path::Path};

use crate::{
    Error,
    ground::Secret,
    settings::{Database, Settings},
};

/// Why a database fails, as far as the remedy differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing listens at the address.
    Refused,
    /// Nobody answers in time.
    Silent,
    /// Another error of the network, such as a name that is not found.
    Network,
    /// The peer does not speak PostgreSQL's protocol, or ends the connection.
    Speechless,
    /// The user or the password is wrong.
    Login,
    /// There is no database of this name.
    Unknown,
    /// All connections are taken.
    Crowded,
    /// The server begins or ends.
    Starting,
    /// Nothing can be written.
    ReadOnly,
    /// The user may not do this.
    Forbidden,
    /// Another program keeps a lock.
    Locked,
    /// The disk is full.
    Full,
    /// The file cannot be opened.
    Unopened,
    /// The socket, or a file that the address names, is not there.
    Missing,
}

impl Fault {
    /// Whether no connection could be opened, or the connection ended.
    pub(crate) fn is_of_connection(self) -> bool {
        match self {
            Self::Refused
            | Self::Silent
            | Self::Network
            | Self::Speechless
            | Self::Login
            | Self::Unknown
            | Self::Crowded
            | Self::Starting
            | Self::Missing => true,
            Self::ReadOnly | Self::Forbidden | Self::Locked | Self::Full | Self::Unopened => false,
        }
    }
}

/// PostgreSQL's message about a database that does not exist.
#[cfg(feature = "postgres")]
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct NoDatabase(pub(super) String);

impl Error {
    /// Why the database failed; None for any other error.
    pub(crate) fn fault(&self) -> Option<Fault> {
        #[cfg(feature = "postgres")]
        if std::error::Error::source(self).is_some_and(|cause| cause.is::<NoDatabase>()) {
            return Some(Fault::Unknown);
        }
        fault_of(self.database()?)
    }
}

pub(super) fn fault_of(error: &sqlx::Error) -> Option<Fault> {
    match error {
        sqlx::Error::Io(error) => Some(match error.kind() {
            ErrorKind::ConnectionRefused => Fault::Refused,
            ErrorKind::NotFound => Fault::Missing,
            ErrorKind::TimedOut => Fault::Silent,
            ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset => Fault::Speechless,
            _ => Fault::Network,
        }),
        sqlx::Error::PoolTimedOut => Some(Fault::Silent),
        sqlx::Error::Protocol(_) | sqlx::Error::Tls(_) => Some(Fault::Speechless),
        sqlx::Error::Database(error) => of_code(&error.code()?),
        _ => None,
    }
}

/// By the engine's code: SQLite's in its low byte, PostgreSQL's five characters.
fn of_code(code: &str) -> Option<Fault> {
    if code.len() == 5 {
        return Some(match code {
            "28P01" | "28000" => Fault::Login,
            "3D000" => Fault::Unknown,
            "53300" => Fault::Crowded,
            "53100" => Fault::Full,
            "25006" => Fault::ReadOnly,
            "42501" => Fault::Forbidden,
            "55P03" => Fault::Locked,
            _ if code.starts_with("57P") => Fault::Starting,
            _ => return None,
        });
    }
    match code.parse::<u32>().ok()? & 0xff {
        5 | 6 => Some(Fault::Locked),
        8 => Some(Fault::ReadOnly),
        13 => Some(Fault::Full),
        14 => Some(Fault::Unopened),
        _ => None,
    }
}

/// Host, port and database of an address, never the password.
#[cfg(feature = "postgres")]
fn parts(url: &Secret) -> Option<(String, String)> {
    use std::str::FromStr as _;

    use sqlx::postgres::PgConnectOptions;
    let options = PgConnectOptions::from_str(url.expose()).ok()?;
    let name = options.get_database().unwrap_or("").to_owned();
    let place = match options.get_socket() {
        Some(folder) => folder.display().to_string(),
        None => format!("{}:{}", options.get_host(), options.get_port()),
    };
    Some((place, name))
}

#[cfg(not(feature = "postgres"))]
fn parts(_: &Secret) -> Option<(String, String)> {
    None
}

/// Where a server is: `host:port, database name`.
pub(crate) fn place(url: &Secret) -> String {
    match parts(url) {
        Some((place, name)) => format!("{place}, database {name}"),
        None => "the configured address".to_owned(),
    }
}

/// What helps when the database of these settings cannot be reached or used.
pub(crate) fn remedy(settings: &Settings, error: &Error) -> String {
    let fault = error.fault();
    let url = match settings.database() {
        Ok(Database::Postgres { url, .. }) => url,
        Ok(Database::Sqlite { path, .. }) => {
            return match fault {
                _ if path.is_dir() => "it is a folder: let database_url name a file".to_owned(),
                Some(Fault::Locked) => "end the program that keeps it locked".to_owned(),
                Some(Fault::Full) => "make room on the database's disk".to_owned(),
                Some(Fault::Unopened) if !super::ready::is_obstructed(&path) => {
                    "correct what the error names".to_owned()
                }
                Some(Fault::ReadOnly | Fault::Unopened) => writing(settings),
                _ if path.exists() => "correct what the error names".to_owned(),
                _ => "put the file back, or correct database_url; for a new site `cms migrate up` \
                      makes one"
                    .to_owned(),
            };
        }
        Err(_) => return "correct the setting".to_owned(),
    };
    let (host, login, name) = match settings.database_url {
        Some(_) => ("database_url", "database_url", "database_url"),
        None => ("db_host", "db_user and db_pw", "db_db"),
    };
    let Some((place, database)) = parts(&url) else {
        return format!("correct what the error names, see {host}");
    };
    match fault {
        Some(Fault::Missing) if !place.starts_with('/') => {
            format!("a file that {host} names is not there: correct sslrootcert, sslcert or sslkey")
        }
        Some(Fault::Refused | Fault::Missing) => format!(
            "nothing listens at {place}: start PostgreSQL there (`systemctl start postgresql`), or \
             correct {host}"
        ),
        Some(Fault::Silent) => format!(
            "{place} does not answer: look at its machine and at firewalls in between, or correct \
             {host}, or let database.max_connections be smaller"
        ),
        Some(Fault::Speechless) => format!(
            "{place} accepts connections but does not speak PostgreSQL: check the server behind \
             the proxy, or correct {host}"
        ),
        Some(Fault::Login) => format!("correct {login}"),
        Some(Fault::Unknown) => {
            format!("`createdb {database}` on the server, then `cms migrate up`; or correct {name}")
        }
        Some(Fault::Crowded) => {
            "let database.max_connections be smaller, or raise the limit: max_connections of \
             PostgreSQL, `alter role USER connection limit N`"
                .to_owned()
        }
        Some(Fault::Starting) => "wait until PostgreSQL has started, then ask again".to_owned(),
        Some(Fault::Network) => format!("correct {host}, or look at the network to {place}"),
        Some(Fault::ReadOnly | Fault::Forbidden) => writing(settings),
        Some(Fault::Locked) => "end the program that keeps it locked".to_owned(),
        Some(Fault::Full) => "make room on the server's disk".to_owned(),
        Some(Fault::Unopened) | None => {
            format!("correct what the error names; the server is {place}, see {host}")
        }
    }
}

/// What helps when a database answers but cannot be written.
pub(crate) fn writing(settings: &Settings) -> String {
    match settings.database() {
        Ok(Database::Sqlite { path, .. }) => {
            let folder = path.parent().unwrap_or(&path);
            if is_of_another(&path) || is_of_another(folder) {
                return format!(
                    "another user owns the file or its folder: run cms as that user, or \
                     `chown -R USER {}` as root, where USER runs cms",
                    folder.display()
                );
            }
            let path = path.display();
            format!("let the user that runs cms write the file and its folder: chmod u+rw {path}")
        }
        _ => "let the database's user write: `alter role USER set default_transaction_read_only = \
              off`, and grant it select, insert, update and delete on all tables; options in \
              database_url count too"
            .to_owned(),
    }
}

/// Whether the file or folder is there and belongs to another user than this process runs as.
pub(crate) fn is_of_another(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.uid() != rustix::process::geteuid().as_raw())
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    fn told(url: &str, fault: io::ErrorKind) -> String {
        let settings = Settings { database_url: Some(Secret::new(url)), ..Settings::default() };
        let error = Error::from(sqlx::Error::Io(io::Error::from(fault)));
        remedy(&settings, &error)
    }

    #[test]
    #[cfg(feature = "postgres")]
    fn a_server_that_is_down_is_named_without_its_password() {
        let url = "postgres://u:sesame@db.example.org:5433/shop";
        for (kind, word) in [
            (io::ErrorKind::ConnectionRefused, "start PostgreSQL there"),
            (io::ErrorKind::TimedOut, "firewalls"),
            (io::ErrorKind::UnexpectedEof, "behind the proxy"),
            (io::ErrorKind::Other, "the network to"),
        ] {
            let told = told(url, kind);
            assert!(told.contains(word) && told.contains("db.example.org:5433"), "{told}");
            assert!(told.contains("database_url") && !told.contains("sesame"), "{told}");
        }
        assert_eq!(place(&Secret::new(url)), "db.example.org:5433, database shop");
    }

    #[test]
    #[cfg(feature = "postgres")]
    fn a_missing_file_is_a_socket_or_a_certificate() {
        for (url, words) in [
            ("postgres://u@%2Frun%2Fpg/shop", "nothing listens at /run/pg"),
            ("postgres://u@h/shop?sslrootcert=/none", "correct sslrootcert"),
        ] {
            let told = told(url, io::ErrorKind::NotFound);
            assert!(told.contains(words), "{told}");
        }
    }

    #[test]
    #[cfg(feature = "postgres")]
    fn a_database_that_does_not_exist_is_to_be_made() {
        let cause = NoDatabase("database \"shop\" does not exist".to_owned());
        let error = Error::new(crate::Code::Unavailable, "").caused_by(cause);
        assert_eq!(error.fault(), Some(Fault::Unknown));
        let url = Secret::new("postgres://u:sesame@db.example.org/shop");
        let settings = Settings { database_url: Some(url), ..Settings::default() };
        assert!(remedy(&settings, &error).starts_with("`createdb shop`"));
    }

    #[test]
    fn a_folder_is_no_database() {
        let folder = tempfile::tempdir().expect("a folder");
        let url = format!("sqlite://{}", folder.path().display());
        assert_eq!(
            told(&url, io::ErrorKind::Other),
            "it is a folder: let database_url name a file"
        );
    }

    #[test]
    fn an_address_that_cannot_be_read_is_not_repeated() {
        for url in ["postgres://u:sesame@h:port/d", "postgres://u:sesame@h:99999/d"] {
            let told = told(url, io::ErrorKind::Other);
            assert!(!told.contains("server is ,") && !told.contains("sesame"), "{told}");
        }
    }

    #[test]
    fn codes_of_both_engines_are_told_apart() {
        for (code, fault) in [
            ("25006", Some(Fault::ReadOnly)),
            ("42501", Some(Fault::Forbidden)),
            ("28P01", Some(Fault::Login)),
            ("57P03", Some(Fault::Starting)),
            ("23505", None),
            ("5", Some(Fault::Locked)),
            ("517", Some(Fault::Locked)),
            ("14", Some(Fault::Unopened)),
            ("13", Some(Fault::Full)),
            ("1", None),
        ] {
            assert_eq!(of_code(code), fault, "{code}");
        }
        assert!(of_code("53300").is_some_and(Fault::is_of_connection));
        assert!(!of_code("25006").is_some_and(Fault::is_of_connection));
    }
}
