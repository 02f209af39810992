//! The database of a test, asked beside the service.

use std::ops::{Deref, DerefMut};

use cms_core::{settings::Settings, testing};
use sqlx::{AssertSqlSafe, Connection, Executor, FromRow, postgres::PgRow, sqlite::SqliteRow};

/// The kit's database, and what this suite looks at in it.
pub struct TestDatabase(testing::TestDatabase);

impl Deref for TestDatabase {
    type Target = testing::TestDatabase;

    fn deref(&self) -> &testing::TestDatabase {
        &self.0
    }
}

impl DerefMut for TestDatabase {
    fn deref_mut(&mut self) -> &mut testing::TestDatabase {
        &mut self.0
    }
}

impl From<testing::TestDatabase> for TestDatabase {
    fn from(kit: testing::TestDatabase) -> Self {
        Self(kit)
    }
}

impl From<TestDatabase> for testing::TestDatabase {
    fn from(database: TestDatabase) -> Self {
        database.0
    }
}

pub fn server() -> Option<String> {
    std::env::var("CMS_TEST_DB").ok().filter(|url| !url.is_empty())
}

/// Takes a lock of the service on PostgreSQL, by its number. All versions agree on the numbers.
pub fn lock_of_schema(number: i64) -> String {
    format!(
        "select pg_advisory_xact_lock({number} \
         # (cast(hashtext(coalesce(current_schema(), '')) as bigint) << 32))"
    )
}

impl TestDatabase {
    pub async fn new() -> Self {
        Self(testing::TestDatabase::new().await)
    }

    /// SQLite whatever `CMS_TEST_DB` says.
    pub async fn sqlite() -> Self {
        Self(testing::TestDatabase::sqlite().await)
    }

    /// Settings of a site on this database, in this folder: as an operator has them, but for the
    /// limiter, and without a cache that would hide what a test has changed.
    pub fn settings(&self) -> Settings {
        let mut settings = self.0.settings();
        settings.webhooks = Settings::default().webhooks;
        settings.languages = vec!["en".to_owned(), "de".to_owned()];
        settings.cache.enabled = false;
        settings
    }

    /// Runs statements as somebody else would who shares the database.
    pub async fn run(&self, sql: impl Into<String>) {
        let sql = sql.into();
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

    /// Inserts rows by a statement that ends with what it selects of `i`, their number from 1, and
    /// has the server look at them.
    pub async fn fill(&self, insert: &str, rows: usize) {
        let numbers = format!(
            "from (with recursive n (i) as (select 1 union all select i + 1 from n \
             where i < {rows}) select i from n) numbers"
        );
        self.run(format!("{insert} {numbers}")).await;
        if self.is_postgres() {
            let table = insert.split(' ').nth(2).unwrap();
            self.run(format!("analyze {table}")).await;
        }
    }

    pub async fn sqlite_connection(&self) -> sqlx::SqliteConnection {
        let path = self.folder().join("data/cms.db");
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        sqlx::SqliteConnection::connect(&format!("sqlite://{}?mode=rwc", path.display()))
            .await
            .unwrap()
    }

    /// A text out of the database.
    pub async fn text(&self, sql: &str) -> String {
        self.column(sql).await.remove(0)
    }

    /// A number out of the database.
    pub async fn count(&self, sql: &str) -> i64 {
        self.column(sql).await.remove(0)
    }

    /// How many rows there are of a table, or of what else may follow `from`.
    pub async fn rows(&self, of: &str) -> i64 {
        self.count(&format!("select count(*) from {of}")).await
    }

    /// A column of numbers out of the database.
    pub async fn numbers(&self, sql: &str) -> Vec<i64> {
        self.column(sql).await
    }

    async fn column<T: Send + Unpin>(&self, sql: &str) -> Vec<T>
    where
        (T,): for<'r> FromRow<'r, PgRow> + for<'r> FromRow<'r, SqliteRow>,
    {
        let sql = AssertSqlSafe(sql.to_owned());
        match &self.url {
            Some(url) => {
                let mut connection = sqlx::PgConnection::connect(url).await.unwrap();
                sqlx::query_scalar(sql).fetch_all(&mut connection).await.unwrap()
            }
            None => {
                let mut connection = self.sqlite_connection().await;
                sqlx::query_scalar(sql).fetch_all(&mut connection).await.unwrap()
            }
        }
    }

    /// Every row of the tables whose names begin so, as text, in an order of its own.
    pub async fn dump(&self, prefix: &str) -> String {
        let tables = self.rows_of(&format!("name like '{prefix}%'")).await;
        tables.into_iter().map(|(table, rows)| format!("{table}\n{rows}\n")).collect()
    }

    /// The tables whose names fit a condition, each with all of its rows.
    pub async fn rows_of(&self, names: &str) -> Vec<(String, String)> {
        let is_postgres = self.is_postgres();
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
        let mut all = Vec::new();
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
            all.push((table.to_owned(), self.text(&rows).await));
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
}
