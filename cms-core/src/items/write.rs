//! Builds the writes. Inserts and updates bind one JSON array of values and return the
//! key of the row.

use serde_json::{Map, Value as Json, json};

use super::{
    key::Key,
    passwords,
    select::{self, Conditions, Statement},
};
use crate::{
    Code, Error, FieldError, Result,
    base::Base,
    content::{Column, Table, check, core},
    db::{
        Value,
        dialect::{Kind, quote},
    },
    events::{ItemData, is_removed},
    ground::plain,
};

/// Checked columns with the values to store, in the table's order.
pub(super) type Values<'t> = Vec<(&'t Column, Json)>;

/// 2^53 - 1: exact in every JSON reader, and far below the end of the database's counter.
const MAX_ID: i64 = 9_007_199_254_740_991;

/// Refuses columns that do not exist.
pub(super) fn expect_columns(table: &Table, body: &Map<String, Json>) -> Result<()> {
    let is_known = |name: &String| table.columns.iter().any(|column| column.name == *name);
    let Some(unknown) = body.keys().find(|name| !is_known(name)) else { return Ok(()) };
    let known: Vec<_> = table.columns.iter().map(|column| column.name.as_str()).collect();
    Err(Error::new(
        Code::DatabaseError,
        format!("{} has no column {unknown:?}; it has {}.", table.name, known.join(", ")),
    ))
}

/// Checks a body against the columns. `new` also requires the required columns.
pub(super) fn values<'t>(
    table: &'t Table,
    base: &Base,
    body: &Map<String, Json>,
    new: bool,
) -> Result<Values<'t>> {
    expect_columns(table, body)?;
    let mut problems = Vec::new();
    let mut values = Vec::new();
    for column in &table.columns {
        let Some(sent) = body.get(&column.name) else {
            if new && column.required && !column.has_default && !column.generated {
                problems.push(FieldError {
                    field: column.name.clone(),
                    code: "required",
                    message: "is required".to_owned(),
                });
            }
            continue;
        };
        if column.generated {
            problems.push(FieldError {
                field: column.name.clone(),
                code: "type",
                message: "is computed by the database".to_owned(),
            });
            continue;
        }
        if is_name(table, column)
            && let Some(problem) = sent.as_str().and_then(|text| plain::problem(&column.name, text))
        {
            problems.push(problem);
            continue;
        }
        let checked = check::value(column, table.dialect, sent)
            .and_then(|value| check::permitted(column, sent, &value).map(|()| value));
        match checked {
            Ok(Json::String(plain)) if column.kind == Kind::Password => {
                values.push((
                    column,
                    base.vault()
                        .seal(&passwords::context(&table.name, &column.name), plain.as_bytes())?
                        .into(),
                ));
            }
            Ok(Json::Number(id))
                if column.own && holds_id(table, column) && id.as_i64() > Some(MAX_ID) =>
            {
                let message = format!("ids given by hand go up to {MAX_ID}");
                problems.push(FieldError { field: column.name.clone(), code: "range", message });
            }
            Ok(value) => {
                let faults = faults(base, table, column, (sent, &value));
                if faults.is_empty() {
                    values.push((column, table.dialect.stored(column.col(), value)));
                }
                problems.extend(faults);
            }
            Err(problem) => problems.push(problem),
        }
    }
    if !problems.is_empty() {
        return Err(Error::invalid(problems));
    }
    fitting(table, &values)?;
    Ok(values)
}

/// Whether a column holds ids of the table itself: its key, or the bases of language versions.
fn holds_id(table: &Table, column: &Column) -> bool {
    table.key_columns().any(|key| key.name == column.name)
        || (table.multilanguage && column.name == "base_id")
}

/// What is wrong with a value of the right type in one of the core's own tables, and with the
/// language of a record.
fn faults(
    base: &Base,
    table: &Table,
    column: &Column,
    (sent, checked): (&Json, &Json),
) -> Vec<FieldError> {
    // The canonical form of JSON is its text, so the sent value is checked.
    let value = if column.kind == Kind::Json { sent } else { checked };
    let mut faults = match table.plugin == core::ID {
        true => core::problems(&table.name, &column.name, value),
        false => Vec::new(),
    };
    let language = value.as_str().filter(|_| column.own && column.name == "language_short");
    if let (true, Some(message)) = (faults.is_empty(), language.and_then(|l| misspelled(base, l))) {
        faults.push(FieldError { field: column.name.clone(), code: "format", message });
    }
    faults
}

/// What is wrong with a language. Each is written in one case of letters: that of the setting
/// `languages`, or else the usual one. `de-AT` and `de_AT` are two languages.
fn misspelled(base: &Base, language: &str) -> Option<String> {
    if !plain::is_language(language) {
        return Some("a language such as en or pt-BR is expected".to_owned());
    }
    let mut own = base.settings().languages.iter();
    let own = own.find(|one| one.eq_ignore_ascii_case(language)).cloned();
    let expected = own.unwrap_or_else(|| usual(language));
    (expected != language).then(|| format!("the language {expected} is expected in this spelling"))
}

/// The usual spelling of a language: `pt-BR`, `zh-Hans`.
fn usual(language: &str) -> String {
    let (mut usual, mut at) = (language.to_ascii_lowercase(), 0);
    for part in language.split(['-', '_']) {
        let capitals = match part.len() {
            2 if at > 0 => 2,
            4 if at > 0 => 1,
            _ => 0,
        };
        usual[at..at + capitals].make_ascii_uppercase();
        at += part.len() + 1;
    }
    usual
}

/// Whether a column of the core's own tables holds a name or an address.
fn is_name(table: &Table, column: &Column) -> bool {
    table.plugin == core::ID && core::NAMES.contains(&column.name.as_str())
}

/// Checks what the database cuts off, or refuses without naming the column: long texts, numbers out
/// of range, and what is no UUID.
fn fitting(table: &Table, values: &Values) -> Result<()> {
    if let Some((column, _)) = values.iter().find(|(column, value)| !is_held(column, value)) {
        let code = if column.kind == Kind::Text { "format" } else { "range" };
        let message = format!("holds only values of the type {}", column.cast);
        return Err(unfit((table, column), code, message));
    }
    let too_long = |(column, value): &&(&Column, Json)| {
        // The database cuts off blanks at the end.
        let characters =
            value.as_str().map_or(0, |text| text.trim_end_matches(' ').chars().count());
        column.length.is_some_and(|length| characters > length)
    };
    let Some((column, _)) = values.iter().find(too_long) else { return Ok(()) };
    let message = format!("holds at most {} characters", column.length.unwrap_or_default());
    Err(unfit((table, column), "length", message))
}

fn unfit((table, column): (&Table, &Column), code: &'static str, message: String) -> Error {
    let detail = format!("{}.{} {message}.", table.name, column.name);
    let error = Error::new(Code::DatabaseError, detail);
    error.with_fields(vec![FieldError { field: column.name.clone(), code, message }])
}

/// Whether a column of PostgreSQL can hold a value, as far as its type alone tells.
fn is_held(column: &Column, value: &Json) -> bool {
    match (column.cast.as_str(), value) {
        ("smallint", Json::Number(n)) => n.as_i64().is_none_or(|n| i16::try_from(n).is_ok()),
        ("integer", Json::Number(n)) => n.as_i64().is_none_or(|n| i32::try_from(n).is_ok()),
        ("real", Json::Number(n)) => n.as_f64().is_none_or(|n| {
            let short = n as f32;
            short.is_finite() && (short != 0.0 || n == 0.0)
        }),
        // A cast to these types cuts longer text off.
        (r#""char""#, Json::String(text)) => text.len() <= 1,
        ("name", Json::String(text)) => text.len() < 64,
        // It takes more spellings than one.
        ("uuid", Json::String(text)) => {
            let digits = text.bytes().filter(u8::is_ascii_hexdigit).count();
            digits == 32 && text.bytes().all(|b| b.is_ascii_hexdigit() || b"-{}".contains(&b))
        }
        _ => true,
    }
}

pub(super) fn document(values: Values) -> Value {
    Json::Array(values.into_iter().map(|(_, value)| value).collect()).to_string().into()
}

/// The key of a row `of` as a JSON array, for [`Key::from_json`].
pub(super) fn key_of(table: &Table, of: &str) -> String {
    let key: Vec<_> =
        table.key_columns().map(|column| table.dialect.placed(of, column.col())).collect();
    table.dialect.array(&key)
}

/// The key of a written row `of`, and the row as JSON. Triggers of an adopted table may still
/// change the row, so there the JSON is null.
fn returning(table: &Table, of: &str) -> String {
    let key = key_of(table, of);
    if table.adopted {
        return format!("{key}, cast(null as text)");
    }
    format!("{key}, {}", select::whole(table, of))
}

pub(super) fn insert(table: &Table, values: Values) -> Statement {
    let source = table.quoted();
    let columns: Vec<_> = values.iter().map(|(column, _)| quote(&column.name)).collect();
    let inputs: Vec<_> = values
        .iter()
        .enumerate()
        .map(|(i, (column, _))| table.dialect.input(i, column.col()))
        .collect();
    let returning = returning(table, &source);
    if columns.is_empty() {
        return Statement {
            sql: format!("insert into {source} default values returning {returning}"),
            args: Vec::new(),
        };
    }
    let sql = format!(
        "insert into {source} ({}) values ({}) returning {returning}",
        columns.join(", "),
        inputs.join(", ")
    );
    Statement { sql, args: vec![document(values)] }
}

/// The base among the written values of a row with language versions.
pub(super) fn base<'v>(values: &'v Values<'_>) -> Option<&'v Json> {
    values.iter().find(|(column, _)| column.name == "base_id").map(|(_, value)| value)
}

/// Sets the base of a row with language versions to itself, unless the row has another.
pub(super) fn own_base(table: &Table, key: &Key) -> Statement {
    let mut conditions = Conditions::new(table);
    conditions.key(key);
    let id = table.key_columns().next().map(|c| quote(&c.name)).unwrap_or_default();
    let sql = format!(
        "update {} as t set \"base_id\" = t.{id}{} and t.\"base_id\" is null",
        table.quoted(),
        conditions.sql()
    );
    Statement { sql, args: conditions.into_args() }
}

pub(super) fn update(table: &Table, key: &Key, values: Values) -> Statement {
    let set: Vec<_> = values
        .iter()
        .enumerate()
        .map(|(i, (column, _))| {
            format!("{} = {}", quote(&column.name), table.dialect.input(i, column.col()))
        })
        .collect();
    let mut conditions = Conditions::after(table, vec![document(values)]);
    conditions.key(key);
    let source = table.quoted();
    let returning = returning(table, table.dialect.updated(&source));
    Statement {
        sql: format!(
            "update {source} as t set {}{} returning {returning}",
            set.join(", "),
            conditions.sql()
        ),
        args: conditions.into_args(),
    }
}

pub(super) fn delete(table: &Table, key: &Key) -> Statement {
    let mut conditions = Conditions::new(table);
    conditions.key(key);
    Statement {
        sql: format!("delete from {} as t{}", table.quoted(), conditions.sql()),
        args: conditions.into_args(),
    }
}

/// Names of the columns that differ between two records.
pub(super) fn changed(before: &Json, after: &Json) -> Vec<String> {
    let empty = Map::new();
    let before = before.as_object().unwrap_or(&empty);
    let members = after.as_object().into_iter().flatten();
    members
        .filter(|(name, value)| before.get(*name) != Some(value))
        .map(|(name, _)| name.clone())
        .collect()
}

/// The data of an event of a row. Names of changed columns that look like secrets are left out.
pub(crate) fn event(
    table: &Table,
    id: &Json,
    language: Option<&str>,
    record: &Json,
    changed: Option<Vec<String>>,
) -> Json {
    let seen = |names: Vec<String>| names.into_iter().filter(|name| !is_removed(name)).collect();
    json!(ItemData { table: &table.name, id, language, record, changed: changed.map(seen) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_has_one_spelling() {
        for (sent, expected) in [
            ("DE", "de"),
            ("pt-br", "pt-BR"),
            ("DE_at", "de_AT"),
            ("ZH-hans-cn", "zh-Hans-CN"),
            ("es-419", "es-419"),
        ] {
            assert_eq!(usual(sent), expected);
        }
    }
}
