//! Explains why the database refused a write, and finds the broken reference or the violated unique
//! index. PostgreSQL names the columns in its error; SQLite often does not, so its tables are
//! queried.

use sqlx::{
    AssertSqlSafe,
    error::{DatabaseError, ErrorKind},
};

use super::write::{self, Values};
use crate::{
    Change, Code, Error, FieldError, Result,
    content::Table,
    db::{self, Dialect, args, dialect::quote},
};

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
    Err(refused(table, error, &broken))
}

/// The refusal of a write that has reached no row, as triggers and rules of an adopted table may
/// arrange. The change takes no further statement: the trigger may have written something else.
pub(super) fn without_row(change: &mut Change, table: &Table) -> Error {
    change.fail();
    match table.adopted {
        true => Error::new(
            Code::DatabaseError,
            format!(
                "The database did not carry out the change: a trigger or rule of {} skips it.",
                table.name
            ),
        ),
        false => Error::internal(format!("a write of {} reached no row", table.name)),
    }
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
    let named = table.columns.iter().filter(|column| mentions(columns, &column.name));
    Ok(named.map(|column| column.name.clone()).collect())
}

/// Explains a refusal of the engine in terms of the table. `broken`: the columns of a broken
/// reference or a violated index, where the engine does not name them.
pub(super) fn refused(table: &Table, error: Error, broken: &[String]) -> Error {
    let Some(sqlx::Error::Database(cause)) = error.database() else { return error };
    let is_named =
        |name: &&str| broken.iter().any(|one| one == name) || names(table, cause.as_ref(), name);
    let named: Vec<&str> = table.columns.iter().map(|c| c.name.as_str()).filter(is_named).collect();
    let columns = if named.is_empty() { String::new() } else { format!(" ({})", named.join(", ")) };
    let name = &table.name;
    let engine_code = cause.code().unwrap_or_default().into_owned();
    let (code, detail) = match cause.kind() {
        ErrorKind::UniqueViolation => {
            (Code::Conflict, format!("Another row of {name} already has this value{columns}."))
        }
        ErrorKind::ForeignKeyViolation | ErrorKind::Other
            if is_referred_to(table, cause.as_ref(), broken) =>
        {
            (
                Code::Conflict,
                format!("Other records name this row of {name}: change or delete them first."),
            )
        }
        ErrorKind::ForeignKeyViolation => (
            Code::Conflict,
            format!(
                "A reference is broken{columns}: the row of {name} names a record that is \
                 missing, or is named by another record."
            ),
        ),
        ErrorKind::ExclusionViolation => {
            (Code::Conflict, format!("Another row of {name} excludes this one{columns}."))
        }
        ErrorKind::NotNullViolation => {
            (Code::DatabaseError, format!("A column of {name} may not be null{columns}."))
        }
        ErrorKind::CheckViolation => {
            (Code::DatabaseError, format!("The row breaks a rule of {name}{columns}."))
        }
        ErrorKind::Other if engine_code.starts_with("P0") || engine_code == "1811" => {
            (Code::DatabaseError, format!("A trigger of {name} refuses the row."))
        }
        ErrorKind::Other if engine_code == "2200H" => {
            (Code::DatabaseError, format!("The numbers for {name} are used up."))
        }
        ErrorKind::Other if table.adopted && engine_code == "0A000" => (
            Code::DatabaseError,
            format!(
                "The database cannot carry out this change of {name}; a rule may stand in its \
                 place."
            ),
        ),
        ErrorKind::Other if is_data_error(table, &engine_code) => (
            Code::DatabaseError,
            format!(
                "The database refuses a value for {name}{columns}: it does not match the column's \
                 type or length."
            ),
        ),
        ErrorKind::Other if engine_code == "42501" => (
            Code::DatabaseError,
            format!("The database user of the service has no right to do this to {name}."),
        ),
        ErrorKind::Other if lacks_column(cause.as_ref()) => (
            Code::DatabaseError,
            format!(
                "{name} has lost a column since the service read its schema{columns}: start the \
                 service again."
            ),
        ),
        _ => return error,
    };
    let fields = named
        .iter()
        .map(|n| FieldError {
            field: (*n).to_owned(),
            code: "refused",
            message: "refused by the database".to_owned(),
        })
        .collect();
    Error::new(code, detail).with_fields(fields).caused_by(error)
}

/// Whether the engine names the column: PostgreSQL beside its message, SQLite within it. The rest
/// of a message holds words of the engine or of a trigger, and values of the caller. A trigger may
/// write to another table, whose columns do not count.
fn names(table: &Table, cause: &dyn DatabaseError, name: &str) -> bool {
    // Of a broken reference PostgreSQL reports the referring table.
    let is_ours = is_of_reference(cause) || cause.table().is_none_or(|one| one == table.source);
    if is_ours && mentions(db::violated_columns(cause), name) {
        return true;
    }
    let message = cause.message();
    match cause.kind() {
        _ if lacks_column(cause) => mentions(message, name),
        _ if table.dialect != Dialect::Sqlite => false,
        // The message ends with the rule, whose texts stand in quotes.
        ErrorKind::CheckViolation => {
            let rule = message.split_once(": ").map_or(message, |(_, rule)| rule);
            rule.split('\'').step_by(2).any(|code| mentions(code, name))
        }
        ErrorKind::Other if cause.code().as_deref() == Some("1811") => false,
        // Such as `UNIQUE constraint failed: t.a, t.b`, with the table as its maker spelled it.
        _ => {
            let column = format!(" {}.{name}", table.source).to_ascii_lowercase();
            message.to_ascii_lowercase().split(',').any(|one| one.ends_with(&column))
        }
    }
}

/// PostgreSQL 18 has a code for `on delete restrict` that sqlx does not know.
fn is_of_reference(cause: &dyn DatabaseError) -> bool {
    cause.is_foreign_key_violation() || cause.code().as_deref() == Some("23001")
}

/// Whether other records name the row, so that its key must stay. The violated columns are then
/// the ones that the other records name: PostgreSQL reports them, and for SQLite they are
/// `broken`. PostgreSQL also reports the referring table, in a field that does not depend on
/// its language.
fn is_referred_to(table: &Table, cause: &dyn DatabaseError, broken: &[String]) -> bool {
    // SQLite carries out `on delete restrict` by a trigger of its own.
    let is_own = cause.code().as_deref() == Some("1811");
    if is_own && cause.message() == "FOREIGN KEY constraint failed" {
        return true;
    }
    if !is_of_reference(cause) {
        return false;
    }
    let told = db::violated_columns(cause);
    let columns: Vec<&str> = if told.is_empty() {
        broken.iter().map(String::as_str).collect()
    } else {
        told.split(", ").map(|name| name.trim_matches('"')).collect()
    };
    let found = columns.iter().map(|name| table.columns.iter().find(|column| column.name == *name));
    let Some(found) = found.collect::<Option<Vec<_>>>() else { return false };
    let is_key = table.key_columns().map(|key| key.name.as_str()).eq(columns);
    let may_name = found.iter().any(|column| column.references.is_some());
    match cause.table() {
        Some(referring) if referring != table.source => is_key || !may_name,
        _ => is_key && !may_name,
    }
}

/// Whether a column was dropped or renamed while the service runs. SQLite has no code for it.
fn lacks_column(cause: &dyn DatabaseError) -> bool {
    match cause.code().as_deref() {
        Some("42703") => true,
        Some("1") => ["no such column", "has no column named"]
            .iter()
            .any(|told| cause.message().contains(told)),
        _ => false,
    }
}

/// SQLSTATE class 22 (data exception), 42804/42846 (types), 428C9 (generated), 42601 (the syntax of
/// a value, such as a tsquery, which only adopted columns hold); SQLite's 20 (mismatch), 25
/// (range), 18 (too big), 3091 (STRICT type).
fn is_data_error(table: &Table, code: &str) -> bool {
    let known = ["42804", "42846", "428C9", "20", "25", "18", "3091"];
    (code.len() == 5 && code.starts_with("22"))
        || known.contains(&code)
        || (table.adopted && code == "42601")
}

fn mentions(message: &str, name: &str) -> bool {
    let bounded = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '_');
    message.match_indices(name).any(|(at, _)| {
        bounded(message[..at].chars().next_back())
            && bounded(message[at + name.len()..].chars().next())
    })
}
