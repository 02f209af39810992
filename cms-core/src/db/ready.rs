//! Whether the database can serve this site: a session can be opened and may write, and the
//! schema is up to date.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::{fs, io::Errno};

use super::{Db, Pool, args};
use crate::{Code, Error, Result};

pub(crate) mod sql {
    use crate::db::{PerEngine, Statement};

    /// What keeps the session from writing (0 nothing, 1 its settings, 2 the server is a standby,
    /// 3 its user has no right to), and the number of steps that the schema has.
    pub(crate) const READY: PerEngine<Statement> = PerEngine {
        sqlite: Statement::new(
            concat!(module_path!(), "::READY"),
            "select 0, (select count(*) from cms_migrations)",
        ),
        postgres: Statement::new(
            concat!(module_path!(), "::READY"),
            "select cast(case when pg_is_in_recovery() then 2 \
             when current_setting('transaction_read_only') = 'on' then 1 \
             when has_table_privilege('cms_table_epochs', 'insert') \
             and has_table_privilege('cms_table_epochs', 'update') then 0 else 3 end as bigint), \
             (select count(*) from cms_migrations)",
        ),
    };
}

/// How long a session may take to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// The two numbers of [`sql::READY`].
type Answer = (i64, i64);

impl Db {
    /// Whether a session can be opened that may write, and the schema has every step. A session
    /// of the pool may have ended without notice, or belong to a server that has become a
    /// standby: its refusal is believed only when a new session refuses too.
    ///
    /// # Errors
    /// `unavailable` with the reason.
    pub(crate) async fn ready(&self) -> Result<()> {
        self.expect_file()?;
        // After disk errors the system mounts the disk again, read-only. Rights to the file that
        // were taken away since do not count: this process has the file open.
        let obstacle = self.file.as_deref().and_then(write_obstacle);
        if self.is_read_only || obstacle == Some(Errno::ROFS) {
            let what = "The database file is read-only, or was when it was opened: let the user of \
                        this process write it, and start again.";
            return Err(Error::new(Code::Unavailable, what));
        }
        let pooled = self.one::<Answer>(self.dialect().of(&sql::READY), args![]);
        match in_time(pooled).await {
            Err(error) if self.dialect() == super::Dialect::Sqlite => Err(error),
            Ok(answer) if judge(answer).is_ok() => Ok(()),
            Ok(_) | Err(_) => judge(in_time(self.ask_apart()).await?),
        }
    }

    /// Whether SQLite's file is still in its place.
    ///
    /// # Errors
    /// `unavailable` when it was moved, removed or replaced; every write is then refused.
    pub(crate) fn expect_file(&self) -> Result<()> {
        match &self.pool {
            #[cfg(feature = "sqlite")]
            Pool::Sqlite(_, writer) => writer.expect_file(),
            #[cfg(feature = "postgres")]
            Pool::Postgres(_) => Ok(()),
        }
    }

    /// Whether the database can be written, even while others hold all sessions of the pool.
    pub(crate) async fn answers(&self) -> bool {
        let pooled = self.one::<Answer>(self.dialect().of(&sql::READY), args![]);
        tokio::select! {
            true = async { in_time(pooled).await.and_then(judge).is_ok() } => true,
            true = async { in_time(self.ask_apart()).await.and_then(judge).is_ok() } => true,
            else => false,
        }
    }

    /// Asks over a new session.
    async fn ask_apart(&self) -> Result<Answer> {
        let statement = self.dialect().of(&sql::READY);
        match &self.pool {
            #[cfg(feature = "sqlite")]
            Pool::Sqlite(..) => self.one(statement, args![]).await,
            #[cfg(feature = "postgres")]
            Pool::Postgres(server) => Ok(server.ask_apart(statement).await?),
        }
    }
}

/// Why this process may not write the file, if it may not.
pub(super) fn write_obstacle(file: &Path) -> Option<Errno> {
    let refused = fs::access(file, fs::Access::WRITE_OK).err();
    refused.filter(|why| [Errno::ACCESS, Errno::PERM, Errno::ROFS].contains(why))
}

/// Whether this process may not write the file, its log and the log's index, or their folder. A
/// link that leads nowhere counts: SQLite does not follow it.
pub(super) fn is_obstructed(file: &Path) -> bool {
    let beside = |end: &str| {
        let mut path = file.as_os_str().to_owned();
        path.push(end);
        PathBuf::from(path)
    };
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new(".")).to_owned();
    let mut paths = ["", "-wal", "-shm"].map(beside).into_iter().chain([folder]);
    paths.any(|path| write_obstacle(&path).is_some() || (path.is_symlink() && !path.exists()))
}

async fn in_time(answer: impl Future<Output = Result<Answer>>) -> Result<Answer> {
    match tokio::time::timeout(ANSWER_TIMEOUT, answer).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) if error.code() == Code::Unavailable => Err(error),
        // Such as a schema without tables: no fault of the service.
        Ok(Err(error)) => {
            let what = "The database does not serve this site: run `cms doctor`.";
            Err(Error::new(Code::Unavailable, what).caused_by(error))
        }
        Err(_) => {
            let what = format!("The database has not answered for {} s.", ANSWER_TIMEOUT.as_secs());
            Err(Error::new(Code::Unavailable, what))
        }
    }
}

fn judge((obstacle, steps): Answer) -> Result<()> {
    let why = match obstacle {
        0 if steps >= cms_migrations::ALL.len() as i64 => return Ok(()),
        0 => return Err(Error::outdated("steps of the schema are missing")),
        1 => {
            "The database is read-only: let its user write (default_transaction_read_only), or \
             correct database_url."
        }
        3 => {
            "The database's user may only read: grant it select, insert, update and delete on all \
             tables, or correct database_url."
        }
        _ => {
            "The database is a standby, which only reads: correct database_url, or make it the \
             primary (pg_promote)."
        }
    };
    Err(Error::new(Code::Unavailable, why))
}

#[cfg(all(test, feature = "sqlite"))]
mod tests {
    use super::*;
    use crate::{
        db::{NewIndex, Statement},
        settings::{Database, Synchronous},
    };

    #[tokio::test]
    async fn a_file_that_only_reads_is_not_ready() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("cms.db");
        let file = Database::Sqlite { path, synchronous: Synchronous::Full };
        let db = Db::open(&file).await.expect("opened");
        db.migrate(&crate::Clock::system(), true).await.expect("migrated");
        db.ready().await.expect("ready");
        let reading = Db { is_read_only: true, ..db };
        let refusal = reading.ready().await.expect_err("read-only");
        assert_eq!(refusal.code(), Code::Unavailable);
    }

    #[tokio::test]
    async fn a_file_that_is_moved_or_replaced_is_not_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, away) = (folder.path().join("cms.db"), folder.path().join("away.db"));
        let file = Database::Sqlite { path: path.clone(), synchronous: Synchronous::Full };
        let db = Db::open(&file).await.expect("opened");
        db.migrate(&crate::Clock::system(), true).await.expect("migrated");
        db.scrub(true).await.expect("rewritten in its place");
        db.ready().await.expect("ready");
        std::fs::rename(&path, &away).expect("moved");
        for other in [None, Some("another file")] {
            if let Some(text) = other {
                std::fs::write(&path, text).expect("replaced");
            }
            let refusal = db.ready().await.expect_err("gone");
            assert!(refusal.detail().contains("gone from its place"), "{refusal} {other:?}");
            assert!(db.begin(true).await.is_err(), "{other:?}");
            assert!(db.scrub(true).await.is_err(), "{other:?}");
            assert!(db.build_index(undeclared()).await.is_err(), "{other:?}");
        }
        std::fs::rename(&away, &path).expect("put back");
        db.ready().await.expect("ready again");
        assert!(db.begin(true).await.is_ok());
        assert!(!db.build_index(undeclared()).await.expect("asked"), "not declared");
    }

    /// An index that no table declares.
    fn undeclared() -> NewIndex {
        NewIndex {
            table: "none".to_owned(),
            #[cfg(feature = "postgres")]
            name: "none".to_owned(),
            create: String::new(),
            declaration: Statement::new("declaration", "select '', '' where $1 is null"),
            is_declared: std::sync::Arc::new(|_| false),
        }
    }
}
