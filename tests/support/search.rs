//! Looks for secrets where none may be.

use std::path::Path;

use sqlx::AssertSqlSafe;

use super::TestDatabase;

/// Fails when one of the texts stands in the log, in a file of the site's folder (the settings
/// aside) or in a table.
pub async fn nowhere(database: &TestDatabase, log: &str, secrets: &[&str]) {
    for secret in secrets {
        assert!(!secret.is_empty() && !log.contains(secret), "a secret stands in the log");
    }
    files(database.folder(), secrets);
    for secret in secrets {
        let holders = holders(database, secret).await;
        assert!(holders.is_empty(), "a secret stands in {holders:?}");
    }
}

/// The tables in which a text stands.
pub async fn holders(database: &TestDatabase, text: &str) -> Vec<String> {
    let mut holders = Vec::new();
    for table in tables(database).await {
        let whole = if database.is_postgres() {
            format!("cast({table} as text)")
        } else {
            columns(database, &table).await
        };
        let count = format!("select count(*) from {table} where {whole} like '%{text}%'");
        if database.count(&count).await > 0 {
            holders.push(table);
        }
    }
    holders
}

async fn tables(database: &TestDatabase) -> Vec<String> {
    let sqlite = "select name from sqlite_schema where type = 'table' and name like 'cms%'";
    let postgres = "select tablename from pg_tables where schemaname = current_schema()";
    match &database.url {
        None => sqlx::query_scalar(sqlite)
            .fetch_all(&mut database.sqlite_connection().await)
            .await
            .unwrap(),
        Some(url) => {
            let mut connection =
                <sqlx::PgConnection as sqlx::Connection>::connect(url).await.unwrap();
            sqlx::query_scalar(postgres).fetch_all(&mut connection).await.unwrap()
        }
    }
}

async fn columns(database: &TestDatabase, table: &str) -> String {
    let sql = format!(
        "select group_concat('coalesce(\"' || name || '\", '''')', ' || ') \
         from pragma_table_info('{table}')"
    );
    sqlx::query_scalar(AssertSqlSafe(sql))
        .fetch_one(&mut database.sqlite_connection().await)
        .await
        .unwrap()
}

fn files(folder: &Path, secrets: &[&str]) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, secrets);
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        for secret in secrets {
            assert!(
                !bytes.windows(secret.len()).any(|part| part == secret.as_bytes()),
                "a secret stands in {}",
                path.display()
            );
        }
    }
}
