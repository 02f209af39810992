//! Notices commits of other processes. PostgreSQL notifies of some commits at once; polling
//! notices all others.

use std::time::Duration;

#[cfg(feature = "sqlite")]
use tracing::Instrument;

#[cfg(feature = "sqlite")]
use super::statements::span;
use super::{Db, Pool};
use crate::{Code, Error, Result};

pub(crate) mod sql {
    /// Changes whenever another connection has committed; reads only the file's header.
    #[cfg(feature = "sqlite")]
    pub(super) const DATA_VERSION: &str = "pragma data_version";
    /// Notified by commits that change what every process keeps in memory. Other commits do not
    /// notify: PostgreSQL lets notifying commits pass one at a time.
    #[cfg(feature = "postgres")]
    pub(super) const CHANNEL: &str = "cms_followed";
    /// The statement that notifies the channel.
    pub(crate) const NOTIFY: &str = "notify cms_followed";
}

/// Timeout of [`Db::catch_up`]: a dead connection must not hide commits for longer.
const CATCH_UP_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a commit of another process may go unnoticed.
#[cfg(feature = "postgres")]
const POLL: Duration = Duration::from_millis(400);
#[cfg(feature = "sqlite")]
const POLL_FILE: Duration = Duration::from_millis(250);
/// How many times in a row an unchanged snapshot version is believed before SQLite is asked.
#[cfg(feature = "sqlite")]
const BELIEVED: u32 = 12;

/// A connection that waits for commits of other processes. It is returned as soon as the pool
/// closes, because closing SQLite's pool waits for it.
pub(crate) enum Follower {
    #[cfg(feature = "sqlite")]
    Sqlite {
        pool: sqlx::SqlitePool,
        connection: sqlx::pool::PoolConnection<sqlx::Sqlite>,
        version: i64,
        index: Option<super::snapshot_version::Index>,
        snapshot_version: Option<super::SnapshotVersion>,
        believed: u32,
    },
    #[cfg(feature = "postgres")]
    Postgres { pool: sqlx::PgPool, listener: Box<sqlx::postgres::PgListener> },
}

impl Follower {
    pub(crate) async fn new(db: &Db) -> Result<Self> {
        Ok(match &db.pool {
            #[cfg(feature = "sqlite")]
            Pool::Sqlite(readers, ..) => Self::Sqlite {
                pool: readers.clone(),
                connection: readers.acquire().await?,
                version: 0,
                index: db.index.clone(),
                snapshot_version: None,
                believed: 0,
            },
            #[cfg(feature = "postgres")]
            Pool::Postgres(server) => {
                let listening = async {
                    let apart = server.apart();
                    let mut listener = sqlx::postgres::PgListener::connect_with(&apart).await?;
                    // It would reconnect within each poll, which may be too short.
                    listener.eager_reconnect(false);
                    listener.listen(sql::CHANNEL).await.map(|()| listener)
                };
                let listener = Box::new(server.watch(listening).await?);
                Self::Postgres { pool: (**server).clone(), listener }
            }
        })
    }

    /// Waits until another process may have committed.
    ///
    /// # Errors
    /// An error when the pool is closed or the connection is lost.
    pub(crate) async fn news(&mut self) -> Result<()> {
        match self {
            #[cfg(feature = "sqlite")]
            Self::Sqlite { pool, connection, version, index, snapshot_version, believed } => loop {
                pool.close_event().do_until(tokio::time::sleep(POLL_FILE)).await?;
                // Reads the version in this thread; a statement would wake the connection's.
                let seen = index.as_ref().and_then(|index| index.snapshot_version());
                let is_same = seen.is_some() && std::mem::replace(snapshot_version, seen) == seen;
                if is_same && *believed < BELIEVED {
                    *believed += 1;
                    continue;
                }
                *believed = 0;
                let read = sqlx::query_scalar(sql::DATA_VERSION).fetch_one(&mut **connection);
                let present: i64 = read.instrument(span(sql::DATA_VERSION)).await?;
                if std::mem::replace(version, present) != present {
                    return Ok(());
                }
            },
            #[cfg(feature = "postgres")]
            Self::Postgres { pool, listener } => {
                let heard = tokio::time::timeout(POLL, listener.try_recv());
                match pool.close_event().do_until(heard).await? {
                    Ok(Err(error)) => Err(error.into()),
                    Ok(Ok(None)) => {
                        let what = "The connection that reports other processes' commits was lost.";
                        Err(Error::new(Code::Unavailable, what))
                    }
                    Ok(Ok(Some(_))) | Err(_) => Ok(()),
                }
            }
        }
    }
}

impl Db {
    /// Reads all epochs. Returns the tables that others have changed since the last time.
    pub(crate) async fn catch_up(&self) -> Result<Vec<String>> {
        let read = tokio::time::timeout(CATCH_UP_TIMEOUT, self.changed_by_others()).await;
        read.map_err(|_| {
            let what = "The database does not answer: which tables have changed is unknown.";
            Error::new(Code::Unavailable, what)
        })?
    }
}
