//! Opens the database that the settings name.

use std::sync::Arc;

#[cfg(feature = "postgres")]
use super::reach::{Fault, NoDatabase, fault_of};
use super::{Db, Pool, own_pool::OwnPool};
use crate::{Error, Result, settings::Database};

impl Db {
    /// Opens the database. Creates SQLite's file and folder when missing.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be reached. The error says what was tried, never the
    /// password.
    pub async fn open(database: &Database) -> Result<Self> {
        #[cfg(feature = "sqlite")]
        if let Database::Sqlite { path, .. } = database {
            super::sqlite::create(path).await?;
        }
        Self::existing(database).await
    }

    /// As [`Db::open`], without creating anything.
    ///
    /// # Errors
    /// As [`Db::open`], and `unavailable` when SQLite's file does not exist.
    pub async fn existing(database: &Database) -> Result<Self> {
        let epochs = Arc::default();
        let (pool, own, index, is_read_only) = match database {
            #[cfg(feature = "sqlite")]
            Database::Sqlite { path, synchronous } => {
                let (readers, writer) = super::sqlite::open(path, *synchronous).await?;
                let index = super::snapshot_version::Index::of(path);
                let is_read_only = super::ready::write_obstacle(path).is_some();
                (Pool::Sqlite(readers, writer), OwnPool::sqlite(path), index, is_read_only)
            }
            #[cfg(feature = "postgres")]
            Database::Postgres { url, idle_in_transaction_s, max_connections } => {
                let options = options(url.expose(), *idle_in_transaction_s)?;
                let server = postgres(options.clone(), *max_connections, &epochs).await?;
                (Pool::Postgres(server), OwnPool::postgres(options), None, false)
            }
            #[cfg(not(all(feature = "sqlite", feature = "postgres")))]
            _ => {
                return Err(Error::new(
                    crate::Code::Unavailable,
                    "This build does not include that database: enable the feature `sqlite` or \
                     `postgres`.",
                ));
            }
        };
        let (count, reading, counted) = (Arc::default(), Arc::default(), Arc::default());
        let file = match database {
            Database::Sqlite { path, .. } => Some(Arc::from(path.as_path())),
            Database::Postgres { .. } => None,
        };
        Ok(Self { pool, own, count, epochs, reading, index, is_read_only, file, counted })
    }
}

/// How long a connection to the server may take.
#[cfg(feature = "postgres")]
const CONNECT_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(10);

#[cfg(feature = "postgres")]
async fn postgres(
    options: sqlx::postgres::PgConnectOptions,
    max_connections: u64,
    epochs: &Arc<super::Epochs>,
) -> Result<super::server::Server> {
    use std::io;

    use sqlx::{ConnectOptions, Connection};
    // Without this first try the pool would ask a refusing server again and again, and then
    // report only its own timeout.
    let first = tokio::time::timeout(CONNECT_TIMEOUT, options.connect()).await;
    let late = |_| io::Error::new(io::ErrorKind::TimedOut, "no answer within 10 s");
    let name = options.get_database().unwrap_or(options.get_username());
    let refused = |cause| match fault_of(&cause) {
        Some(Fault::Unknown) => no_database(name, &cause),
        _ => unreachable(cause),
    };
    let first = first.map_err(late).map_err(|e| unreachable(e.into()))?.map_err(refused)?;
    first.close().await.map_err(unreachable)?;
    Ok(super::server::Server::new(options, CONNECT_TIMEOUT, max_connections, epochs))
}

#[cfg(feature = "postgres")]
pub(super) fn unreachable(cause: sqlx::Error) -> Error {
    Error::new(
        crate::Code::Unavailable,
        "PostgreSQL cannot be reached: check database_url or db_host, db_user, db_pw, db_db.",
    )
    .caused_by(cause)
}

/// The server is there, and has no database of this name.
#[cfg(feature = "postgres")]
fn no_database(name: &str, cause: &sqlx::Error) -> Error {
    let how = format!(
        "PostgreSQL has no such database, and cms makes none: `createdb {name}` on its server, or \
         correct database_url or db_db."
    );
    // The driver would add the line of PostgreSQL's own source.
    let said =
        cause.as_database_error().map_or_else(|| cause.to_string(), |e| e.message().to_owned());
    Error::new(crate::Code::Unavailable, how).caused_by(NoDatabase(said))
}

/// How every connection is opened.
#[cfg(feature = "postgres")]
pub(super) fn options(
    url: &str,
    idle_in_transaction_s: u64,
) -> Result<sqlx::postgres::PgConnectOptions> {
    use std::str::FromStr as _;

    use sqlx::{ConnectOptions, postgres::PgConnectOptions};
    let options = PgConnectOptions::from_str(url).map_err(unreachable)?;
    // The driver keeps the brackets of an IPv6 address, and then looks for a host of that name,
    // also in `.pgpass`. It takes the parameter `host` as it is.
    let bare = options.get_host().strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let options = match bare {
        Some(bare) => {
            let parsed = url::Url::parse(url);
            let mut url = parsed.map_err(|e| unreachable(sqlx::Error::Configuration(e.into())))?;
            url.query_pairs_mut().append_pair("host", bare);
            PgConnectOptions::from_url(&url).map_err(unreachable)?
        }
        None => options,
    };
    let options = options
        // Values, names and locks must not depend on what the server, the database or the role
        // has set.
        .options([
            ("timezone", "UTC"),
            ("datestyle", "ISO"),
            ("intervalstyle", "iso_8601"),
            ("extra_float_digits", "1"),
            ("bytea_output", "hex"),
            ("array_nulls", "on"),
            ("standard_conforming_strings", "on"),
            ("quote_all_identifiers", "off"),
            ("default_transaction_isolation", "read committed"),
        ])
        // A process that stands still, or loses its network, must not hold its locks for long.
        .options([("idle_in_transaction_session_timeout", format!("{idle_in_transaction_s}s"))])
        // A lock that another program holds must not keep the few connections of this pool.
        // Shorter than CONNECT_TIMEOUT: reads that wait for a connection still get one.
        .options([("lock_timeout", "5000")])
        .statement_cache_capacity(200)
        .disable_statement_logging();
    // The name `cms`, unless the address gives another.
    Ok(match options.get_application_name() {
        None => options.application_name("cms"),
        Some(_) => options,
    })
}

#[cfg(all(test, feature = "postgres"))]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_either_protocol_is_a_host() {
        for (url, host) in [
            ("postgres://u:p@[::1]:5433/d", "::1"),
            ("postgres://u@[2001:db8::1]/d?options[search_path]=shop#x", "2001:db8::1"),
            ("postgres://u:p@127.0.0.1/d", "127.0.0.1"),
            ("postgres://db.example.org/d", "db.example.org"),
        ] {
            let found = options(url, 5).map(|options| options.get_host().to_owned());
            assert_eq!(found.ok().as_deref(), Some(host), "{url}");
        }
    }
}
