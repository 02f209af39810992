//! A database for one test: a file, or a schema on the server that `CMS_TEST_DB` names.

use std::{
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use tempfile::TempDir;

use crate::{
    Secret,
    settings::{LimiterStore, Settings},
};

/// A database of one test, and a folder for the site's files.
pub struct TestDatabase {
    folder: TempDir,
    /// URL of the schema, on PostgreSQL.
    pub url: Option<String>,
    /// How many sites were opened on it.
    opened: AtomicU64,
}

impl TestDatabase {
    /// A new, empty database: SQLite in a folder, or a schema on the PostgreSQL server of the
    /// variable `CMS_TEST_DB`, such as `postgres://postgres@127.0.0.1/test`. A site creates its
    /// tables when it opens.
    ///
    /// # Panics
    /// If the database cannot be created, or the server does not answer.
    pub async fn new() -> Self {
        Self::at(std::env::var("CMS_TEST_DB").ok().filter(|url| !url.is_empty())).await
    }

    /// A SQLite database, even if `CMS_TEST_DB` is set.
    ///
    /// # Panics
    /// As [`TestDatabase::new`].
    pub async fn sqlite() -> Self {
        Self::at(None).await
    }

    async fn at(server: Option<String>) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let url = match server {
            Some(server) => Some(postgres::schema(&server).await),
            None => None,
        };
        Self { folder, url, opened: AtomicU64::new(0) }
    }

    /// The folder of the site's files, which is removed at the end. It contains SQLite's
    /// file `data/cms.db`.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Whether it is PostgreSQL.
    #[must_use]
    pub fn is_postgres(&self) -> bool {
        self.url.is_some()
    }

    /// Settings of a site on it. There is no limiter, so a test may send any number of requests.
    /// Webhooks to loopback are allowed.
    ///
    /// # Panics
    /// Never: the allowed addresses are constants.
    #[must_use]
    pub fn settings(&self) -> Settings {
        let (mut settings, folder) = (Settings::default(), self.folder.path());
        settings.dirs.data = folder.join("data");
        settings.dirs.plugins = folder.join("plugins");
        settings.dirs.media = folder.join("media");
        settings.limiter.store = LimiterStore::Off;
        settings.webhooks.allow_http = true;
        settings.webhooks.allow_cidrs = vec!["127.0.0.1/32".parse().expect("loopback")];
        settings.database_url = self.url.clone().map(Secret::new);
        settings.password_salt = Some(Secret::new("a salt that only tests have"));
        settings.encryption_key = Some(Secret::new("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="));
        settings
    }

    /// The start of the sequence of a site's ids. A second site on the same database gets
    /// other ids.
    pub(super) fn sequence(&self, seed: u32) -> u64 {
        (u64::from(seed) << 32) + (self.opened.fetch_add(1, Ordering::SeqCst) << 24)
    }

    /// Removes the database from its server.
    ///
    /// # Panics
    /// If the server does not answer.
    pub async fn remove(self) {
        if let Some(url) = &self.url {
            postgres::remove(url).await;
        }
    }
}

/// The database of a failed test stays for inspection.
impl Drop for TestDatabase {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.folder.disable_cleanup(true);
        }
    }
}

#[cfg(feature = "postgres")]
mod postgres {
    use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection};

    use crate::Random;

    /// Creates a schema; returns its URL.
    pub(super) async fn schema(server: &str) -> String {
        let number = u64::from_be_bytes(Random::system().bytes().expect("randomness"));
        let schema = format!("t{number:016x}");
        run(server, format!("create schema {schema}")).await;
        let separator = if server.contains('?') { '&' } else { '?' };
        // The name lets a test recognise the connections of its own site.
        format!("{server}{separator}options[search_path]={schema}&application_name={schema}")
    }

    pub(super) async fn remove(url: &str) {
        let schema = url.rsplit('=').next().unwrap_or_default();
        run(url, format!("drop schema if exists {schema} cascade")).await;
    }

    async fn run(url: &str, sql: String) {
        let mut connection = PgConnection::connect(url).await.expect("CMS_TEST_DB answers");
        connection.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await.expect("CMS_TEST_DB obeys");
        connection.close().await.expect("CMS_TEST_DB ends the connection");
    }
}

#[cfg(not(feature = "postgres"))]
mod postgres {
    pub(super) async fn schema(_: &str) -> String {
        panic!("CMS_TEST_DB is set, but cms-core is built without its feature `postgres`")
    }

    pub(super) async fn remove(_: &str) {}
}
