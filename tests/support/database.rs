//! A database for one test: a file, or a schema on the server that `CMS_TEST_DB` names.

use std::sync::atomic::{AtomicU64, Ordering};

use cms_core::settings::{Secret, Settings};
use sqlx::{AssertSqlSafe, Connection, Executor};
use tempfile::TempDir;

pub struct TestDatabase {
    pub folder: TempDir,
    /// URL of the schema, on PostgreSQL.
    pub url: Option<String>,
}

static COUNT: AtomicU64 = AtomicU64::new(0);

pub fn server() -> Option<String> {
    std::env::var("CMS_TEST_DB").ok().filter(|url| !url.is_empty())
}

impl TestDatabase {
    pub async fn new() -> Self {
        Self::on(server()).await
    }

    /// SQLite whatever `CMS_TEST_DB` says.
    pub async fn sqlite() -> Self {
        Self::on(None).await
    }

    async fn on(server: Option<String>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let Some(server) = server else { return Self { folder, url: None } };
        let schema = format!("t{}_{}", std::process::id(), COUNT.fetch_add(1, Ordering::SeqCst));
        let mut connection =
            sqlx::PgConnection::connect(&server).await.expect("CMS_TEST_DB answers");
        let sql = format!("drop schema if exists {schema} cascade; create schema {schema}");
        connection.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await.unwrap();
        connection.close().await.unwrap();
        let separator = if server.contains('?') { '&' } else { '?' };
        // By its name a test knows the connections of its own site.
        let url =
            format!("{server}{separator}options[search_path]={schema}&application_name={schema}");
        Self { folder, url: Some(url) }
    }

    pub fn is_postgres(&self) -> bool {
        self.url.is_some()
    }

    /// Settings of a site on this database, in this folder.
    pub fn settings(&self) -> Settings {
        let mut settings = Settings::default();
        let folder = self.folder.path();
        settings.dirs.data = folder.join("data");
        settings.dirs.plugins = folder.join("plugins");
        settings.dirs.media = folder.join("media");
        settings.languages = vec!["en".to_owned(), "de".to_owned()];
        settings.cache.enabled = false;
        settings.limiter.store = cms_core::settings::LimiterStore::Off;
        settings.database_url = self.url.clone().map(Secret::new);
        settings.password_salt = Some(Secret::new("a salt that only tests have"));
        settings.encryption_key = Some(Secret::new("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="));
        settings
    }

    /// Runs statements as somebody else would who shares the database.
    pub async fn run(&self, sql: String) {
        match &self.url {
            Some(url) => {
                let mut connection = sqlx::PgConnection::connect(url).await.unwrap();
                connection.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await.unwrap();
                connection.close().await.unwrap();
            }
            None => {
                let mut connection = self.sqlite_connection().await;
                connection.execute(sqlx::raw_sql(AssertSqlSafe(sql))).await.unwrap();
                connection.close().await.unwrap();
            }
        }
    }

    pub async fn sqlite_connection(&self) -> sqlx::SqliteConnection {
        let path = self.folder.path().join("data/cms.db");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        sqlx::SqliteConnection::connect(&format!("sqlite://{}?mode=rwc", path.display()))
            .await
            .unwrap()
    }

    /// A text out of the database.
    pub async fn text(&self, sql: &str) -> String {
        let sql = AssertSqlSafe(sql.to_owned());
        match &self.url {
            Some(url) => {
                let mut connection = sqlx::PgConnection::connect(url).await.unwrap();
                sqlx::query_scalar(sql).fetch_one(&mut connection).await.unwrap()
            }
            None => sqlx::query_scalar(sql)
                .fetch_one(&mut self.sqlite_connection().await)
                .await
                .unwrap(),
        }
    }

    /// Every row of the tables whose names begin so, as text, in an order of its own.
    pub async fn dump(&self, prefix: &str) -> String {
        let (names, is_postgres) = (format!("name like '{prefix}%'"), self.is_postgres());
        let tables = match is_postgres {
            true => format!(
                "select coalesce(string_agg(name, ',' order by name), '') from (select tablename \
                 as name from pg_tables where schemaname = current_schema()) t where {names}"
            ),
            false => format!(
                "select coalesce(group_concat(name), '') from (select name from sqlite_schema \
                 where type = 'table' and {names} order by name)"
            ),
        };
        let mut all = String::new();
        for table in self.text(&tables).await.split(',').filter(|name| !name.is_empty()) {
            let rows = if is_postgres {
                format!(
                    "select coalesce(string_agg(t::text, chr(10) order by t::text), '') from \
                     {table} t"
                )
            } else {
                let columns = format!(
                    "select group_concat('quote(\"' || name || '\")', ' || '','' || ') \
                     from pragma_table_info('{table}')"
                );
                let columns = self.text(&columns).await;
                format!(
                    "select coalesce(group_concat(line, char(10)), '') from (select {columns} as \
                     line from {table} order by 1)"
                )
            };
            all.push_str(&format!("{table}\n{}\n", self.text(&rows).await));
        }
        all
    }

    /// The tables that a statement reads from their beginning to their end.
    pub async fn plan(&self, sql: &str) -> Vec<String> {
        if let Some(url) = &self.url {
            let mut connection = sqlx::PgConnection::connect(url).await.unwrap();
            let sql = AssertSqlSafe(format!("explain (format text) {sql}"));
            let lines: Vec<String> =
                sqlx::query_scalar(sql).fetch_all(&mut connection).await.unwrap();
            let scans = lines.iter().filter_map(|line| line.split("Seq Scan on ").nth(1));
            return scans.filter_map(|rest| Some(rest.split(' ').next()?.to_owned())).collect();
        }
        let mut connection = self.sqlite_connection().await;
        let sql = AssertSqlSafe(format!("explain query plan {sql}"));
        let rows: Vec<(i64, i64, i64, String)> =
            sqlx::query_as(sql).fetch_all(&mut connection).await.unwrap();
        // SQLite tells the alias, or the table where there is none.
        let scans = rows.iter().filter_map(|row| row.3.strip_prefix("SCAN "));
        scans.filter_map(|rest| Some(rest.split(' ').next()?.to_owned())).collect()
    }

    /// A number out of the database.
    pub async fn count(&self, sql: &str) -> i64 {
        let sql = AssertSqlSafe(sql.to_owned());
        match &self.url {
            Some(url) => {
                let mut connection = sqlx::PgConnection::connect(url).await.unwrap();
                sqlx::query_scalar(sql).fetch_one(&mut connection).await.unwrap()
            }
            None => sqlx::query_scalar(sql)
                .fetch_one(&mut self.sqlite_connection().await)
                .await
                .unwrap(),
        }
    }

    /// A column of numbers out of the database.
    pub async fn numbers(&self, sql: &str) -> Vec<i64> {
        let sql = AssertSqlSafe(sql.to_owned());
        match &self.url {
            Some(url) => {
                let mut connection = sqlx::PgConnection::connect(url).await.unwrap();
                sqlx::query_scalar(sql).fetch_all(&mut connection).await.unwrap()
            }
            None => sqlx::query_scalar(sql)
                .fetch_all(&mut self.sqlite_connection().await)
                .await
                .unwrap(),
        }
    }
}
