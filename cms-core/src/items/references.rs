//! Finds the broken reference or the violated unique index of a refused write. PostgreSQL names
//! the columns in its error; SQLite often does not, so its tables are queried.

use sqlx::AssertSqlSafe;

use super::write::{self, Values};
use crate::{Change, Error, Result, content::Table, db::args, db::dialect::quote};

/// The outcome of a write; a refusal is explained in terms of the table.
pub(super) async fn explain_refusal<T>(
    change: &mut Change,
    table: &Table,
    values: &Values<'_>,
    outcome: Result<T>,
) -> Result<T> {
    let error = match outcome {
        Ok(done) => return Ok(done),
        Err(error) => error,
    };
    // The column names are optional: when they cannot be found, the refusal is reported
    // without them.
    let broken = broken_columns(change, table, values, &error).await.unwrap_or_default();
    Err(write::refused(table, error, &broken))
}

/// The columns whose value names a missing record; if there are none, the key, which other records
/// name. For a violated index, the columns of the index.
async fn broken_columns(
    change: &mut Change,
    table: &Table,
    values: &Values<'_>,
    error: &Error,
) -> Result<Vec<String>> {
    let Some(keys) = table.dialect.foreign_keys().filter(|_| error.is_broken_reference()) else {
        return index_columns(change, table, error).await;
    };
    let keys: Vec<(String, String, String)> =
        change.all_after_failure(keys, args![&table.source]).await?;
    let mut broken = Vec::new();
    for (column, target, key) in keys {
        let written = values.iter().position(|(written, _)| written.name == column);
        let Some((place, (written, value))) = written.map(|place| (place, &values[place])) else {
            continue;
        };
        if value.is_null() || broken.contains(&column) {
            continue;
        }
        let input = table.dialect.input(place, written.col());
        let sql =
            format!("select count(*) from {} where {} = {input}", quote(&target), quote(&key));
        let document = write::document(values.clone());
        let found: Vec<(i64,)> =
            change.all_after_failure(AssertSqlSafe(sql), vec![document]).await?;
        if found.iter().all(|(count,)| *count == 0) {
            broken.push(column);
        }
    }
    if broken.is_empty() {
        broken.extend(table.key_columns().map(|key| key.name.clone()));
    }
    Ok(broken)
}

/// The columns of a violated unique index over expressions: SQLite reports only the name
/// of the index.
async fn index_columns(change: &mut Change, table: &Table, error: &Error) -> Result<Vec<String>> {
    let Some(sqlx::Error::Database(cause)) = error.database() else { return Ok(Vec::new()) };
    let index = cause.message().strip_prefix("UNIQUE constraint failed: index '");
    let index = index.and_then(|rest| rest.strip_suffix('\''));
    let (Some(index), Some(made)) = (index, table.dialect.made_index()) else {
        return Ok(Vec::new());
    };
    let made: Vec<(String,)> = change.all_after_failure(made, args![index]).await?;
    // The definition has the index and its table before the columns, and a `where` after them.
    let columns = made.first().and_then(|(sql,)| sql.split_once('(')).map_or("", |(_, rest)| rest);
    let columns = columns.split(") where ").next().unwrap_or(columns);
    let named = table.columns.iter().filter(|column| write::mentions(columns, &column.name));
    Ok(named.map(|column| column.name.clone()).collect())
}
