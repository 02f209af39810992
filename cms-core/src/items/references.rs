//! Which reference of a write is broken. PostgreSQL names the column in its error; SQLite does not,
//! so its tables are asked.

use sqlx::AssertSqlSafe;

use super::write::{self, Values};
use crate::{Change, Error, Result, content::Table, db::args, db::dialect::quote};

/// The outcome of a write, its refusal in terms of the table.
pub(super) async fn explained<T>(
    change: &mut Change,
    table: &Table,
    values: &Values<'_>,
    outcome: Result<T>,
) -> Result<T> {
    let error = match outcome {
        Ok(done) => return Ok(done),
        Err(error) => error,
    };
    // Naming the column is a kindness: when it fails, the refusal itself is still told.
    let broken = broken(change, table, values, &error).await.unwrap_or_default();
    Err(write::refused(table, error, &broken))
}

/// The columns whose value names a missing record. Without one, other records name the key.
async fn broken(
    change: &mut Change,
    table: &Table,
    values: &Values<'_>,
    error: &Error,
) -> Result<Vec<String>> {
    let Some(keys) = table.dialect.foreign_keys().filter(|_| error.is_broken_reference()) else {
        return Ok(Vec::new());
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
