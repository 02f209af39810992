//! What the database itself says: rows read column by column, without the library.

use std::collections::BTreeMap;

use data_encoding::{BASE64, HEXLOWER};
use serde_json::{Value as Json, value::RawValue};
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};

use crate::support::TestDatabase;

/// What a column means, from the type its maker gave it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Meaning {
    Integer,
    Decimal,
    Double,
    Boolean,
    Bytes,
    Instant,
    Json,
    Text,
}

#[derive(Debug)]
pub struct Table {
    pub columns: Vec<(String, Meaning)>,
    /// Columns of the primary key in order.
    pub key: Vec<String>,
}

pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

async fn postgres(database: &TestDatabase) -> PgConnection {
    PgConnection::connect(database.url.as_ref().unwrap()).await.unwrap()
}

async fn strings(database: &TestDatabase, sqlite: &str, postgres_sql: &str) -> Vec<Vec<String>> {
    let texts = |width: usize, get: &dyn Fn(usize) -> Option<String>| -> Vec<String> {
        (0..width).map(|i| get(i).unwrap_or_default()).collect()
    };
    if database.is_postgres() {
        let sql = AssertSqlSafe(postgres_sql.to_owned());
        let rows = sqlx::query(sql).fetch_all(&mut postgres(database).await).await.unwrap();
        rows.iter().map(|row| texts(row.len(), &|i| row.get_unchecked(i))).collect()
    } else {
        let sql = AssertSqlSafe(sqlite.to_owned());
        let rows =
            sqlx::query(sql).fetch_all(&mut database.sqlite_connection().await).await.unwrap();
        rows.iter().map(|row| texts(row.len(), &|i| row.get_unchecked(i))).collect()
    }
}

/// Tables and views that are not the service's.
pub async fn tables(database: &TestDatabase) -> Vec<String> {
    let sqlite = "select name from sqlite_schema where type in ('table', 'view') \
                  and name not glob 'sqlite_*' and name not glob 'cms_*' order by 1";
    let postgres = "select cast(table_name as text) collate \"C\" from information_schema.tables \
                    where table_schema = current_schema() \
                    and table_name not like 'cms\\_%' order by 1";
    strings(database, sqlite, postgres).await.into_iter().map(|row| row[0].clone()).collect()
}

/// Everything that describes the tables, indexes and rules that are not the service's.
pub async fn schema(database: &TestDatabase) -> Vec<Vec<String>> {
    let sqlite = "select type, name, tbl_name, sql from sqlite_schema \
                  where name not glob 'sqlite_*' and tbl_name not glob 'cms_*' order by 1, 2";
    let postgres = "select cast(table_name as text), cast(column_name as text), \
                    concat_ws(' ', data_type, character_maximum_length, numeric_precision, \
                    numeric_scale, is_nullable, column_default, is_identity) \
                    from information_schema.columns \
                    where table_schema = current_schema() and table_name not like 'cms\\_%' \
                    union all \
                    select cast(conrelid as regclass)::text, cast(conname as text), \
                    pg_get_constraintdef(oid) from pg_constraint \
                    where connamespace = cast(current_schema() as regnamespace) \
                    and cast(conrelid as regclass)::text not like '%cms\\_%' union all \
                    select cast(tablename as text), cast(indexname as text), indexdef \
                    from pg_indexes \
                    where schemaname = current_schema() and tablename not like 'cms\\_%' \
                    order by 1, 2, 3";
    strings(database, sqlite, postgres).await
}

pub async fn table(database: &TestDatabase, name: &str) -> Table {
    let literal = format!("'{}'", name.replace('\'', "''"));
    let sqlite =
        format!("select name, type, '' || pk from pragma_table_info({literal}) order by cid");
    let postgres = format!(
        "select cast(c.column_name as text), cast(c.data_type as text), \
         (select cast(k.ordinal_position as text) \
         from information_schema.table_constraints p join information_schema.key_column_usage k \
         using (constraint_schema, constraint_name) \
         where p.constraint_type = 'PRIMARY KEY' and p.table_schema = current_schema() \
         and p.table_name = c.table_name \
         and k.table_name = c.table_name and k.column_name = c.column_name) \
         from information_schema.columns c where c.table_schema = current_schema() \
         and c.table_name = {literal} order by c.ordinal_position"
    );
    let rows = strings(database, &sqlite, &postgres).await;
    let mut key: Vec<(String, String)> = rows
        .iter()
        .filter(|row| !["", "0"].contains(&row[2].as_str()))
        .map(|row| (row[2].clone(), row[0].clone()))
        .collect();
    key.sort();
    let columns = rows.into_iter().map(|row| (row[0].clone(), meaning(&row[1]))).collect();
    Table { columns, key: key.into_iter().map(|(_, name)| name).collect() }
}

/// By hand, for the types that the two samples use.
fn meaning(native: &str) -> Meaning {
    let bare = native.split('(').next().unwrap().to_ascii_lowercase();
    match bare.as_str() {
        "integer" | "smallint" | "bigint" => Meaning::Integer,
        "numeric" | "decimal" => Meaning::Decimal,
        "double" | "real" | "double precision" => Meaning::Double,
        "boolean" => Meaning::Boolean,
        "blob" | "bytea" => Meaning::Bytes,
        "datetime" | "timestamp without time zone" => Meaning::Instant,
        "json" | "jsonb" => Meaning::Json,
        "varchar" | "char" | "text" | "date" | "" | "character" | "character varying" | "uuid" => {
            Meaning::Text
        }
        other => panic!("type {other}"),
    }
}

/// One spelling for each value: `null`, or the meaning and the value.
fn spelled(meaning: Meaning, text: &str) -> String {
    let value = match meaning {
        Meaning::Decimal => decimal(text),
        Meaning::Double => format!("{:016x}", (text.parse::<f64>().unwrap() + 0.0).to_bits()),
        Meaning::Boolean => ["true", "1", "t"].contains(&text).to_string(),
        Meaning::Instant => instant(text).to_string(),
        Meaning::Json => {
            serde_json::from_str::<Json>(text).unwrap_or_else(|e| panic!("{e}: {text}")).to_string()
        }
        Meaning::Integer => text.parse::<i64>().unwrap().to_string(),
        Meaning::Bytes | Meaning::Text => text.to_owned(),
    };
    format!("{meaning:?} {value}")
}

/// Equal; of doubles near the ends of their range the last bit may differ, because SQLite does not
/// round correctly there: it reads `1e-300` as the double below.
pub fn same(found: &str, expected: &str) -> bool {
    let bits =
        |text: &str| text.strip_prefix("Double ").and_then(|hex| u64::from_str_radix(hex, 16).ok());
    match (bits(found), bits(expected)) {
        (Some(a), Some(b)) if !(1e-200..1e200).contains(&f64::from_bits(b).abs()) => {
            a.abs_diff(b) <= 1
        }
        _ => found == expected,
    }
}

fn decimal(text: &str) -> String {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text.to_owned()
    }
}

/// All in UTC; `jiff::Timestamp` ends before the 9999-12-31 of the samples.
fn instant(text: &str) -> jiff::civil::DateTime {
    text.trim_end_matches('Z').parse().unwrap_or_else(|e| panic!("{e}: {text}"))
}

/// The rows in the order of the primary key, each value in its one spelling.
pub async fn rows(database: &TestDatabase, name: &str, table: &Table) -> Vec<Vec<String>> {
    if database.is_postgres() {
        postgres_rows(database, name, table).await
    } else {
        sqlite_rows(database, name, table).await
    }
}

fn order_by(parts: Vec<String>) -> String {
    if parts.is_empty() { String::new() } else { format!(" order by {}", parts.join(", ")) }
}

async fn sqlite_rows(database: &TestDatabase, name: &str, table: &Table) -> Vec<Vec<String>> {
    let columns: Vec<_> =
        table.columns.iter().map(|(c, _)| format!("typeof({0}), {0}", quoted(c))).collect();
    let order = order_by(table.key.iter().map(|c| quoted(c)).collect());
    let sql = format!("select {} from {}{order}", columns.join(", "), quoted(name));
    let rows = sqlx::query(AssertSqlSafe(sql))
        .fetch_all(&mut database.sqlite_connection().await)
        .await
        .unwrap();
    let value = |row: &sqlx::sqlite::SqliteRow, i: usize, meaning: Meaning| {
        let at = 2 * i + 1;
        match (row.get_unchecked::<String, _>(2 * i).as_str(), meaning) {
            ("null", _) => "null".to_owned(),
            ("integer", Meaning::Text) => {
                spelled(Meaning::Integer, &row.get_unchecked::<i64, _>(at).to_string())
            }
            ("integer", _) => spelled(meaning, &row.get_unchecked::<i64, _>(at).to_string()),
            // A view's computed column has no type.
            ("real", Meaning::Text) => {
                spelled(Meaning::Double, &row.get_unchecked::<f64, _>(at).to_string())
            }
            ("real", _) => spelled(meaning, &row.get_unchecked::<f64, _>(at).to_string()),
            ("text", _) => spelled(meaning, &row.get_unchecked::<String, _>(at)),
            ("blob", Meaning::Bytes) => {
                spelled(meaning, &HEXLOWER.encode(&row.get_unchecked::<Vec<u8>, _>(at)))
            }
            other => panic!("{name}.{}: {other:?}", table.columns[i].0),
        }
    };
    let spell = |row| {
        table.columns.iter().enumerate().map(|(i, (_, meaning))| value(row, i, *meaning)).collect()
    };
    rows.iter().map(spell).collect()
}

async fn postgres_rows(database: &TestDatabase, name: &str, table: &Table) -> Vec<Vec<String>> {
    let column = |(name, meaning): &(String, Meaning)| match meaning {
        Meaning::Bytes => format!("encode({}, 'hex')", quoted(name)),
        Meaning::Double => quoted(name),
        // A cast to text would take the padding of char(n).
        Meaning::Text => format!("format('%s', {0}), {0} is null", quoted(name)),
        _ => format!("cast({} as text)", quoted(name)),
    };
    let columns: Vec<_> = table.columns.iter().map(column).collect();
    let meaning = |key: &String| table.columns.iter().find(|(name, _)| name == key).unwrap().1;
    let ordered = |key: &String| match meaning(key) {
        Meaning::Text => format!("cast(r.{} as text) collate \"C\"", quoted(key)),
        _ => format!("r.{}", quoted(key)),
    };
    let order = order_by(table.key.iter().map(ordered).collect());
    let sql = format!("select {} from {} r{order}", columns.join(", "), quoted(name));
    let rows =
        sqlx::query(AssertSqlSafe(sql)).fetch_all(&mut postgres(database).await).await.unwrap();
    let spell = |row: &sqlx::postgres::PgRow| {
        let mut at = 0;
        let mut values = Vec::new();
        for (_, meaning) in &table.columns {
            let text = match meaning {
                Meaning::Double => row.get_unchecked::<Option<f64>, _>(at).map(|f| f.to_string()),
                Meaning::Text => {
                    at += 1;
                    (!row.get_unchecked::<bool, _>(at)).then(|| row.get_unchecked(at - 1))
                }
                _ => row.get_unchecked(at),
            };
            at += 1;
            values.push(text.map_or("null".to_owned(), |text| spelled(*meaning, &text)));
        }
        values
    };
    rows.iter().map(spell).collect()
}

/// The values of a record of the API in the same spelling, in the order of its columns.
pub fn record(table: &Table, json: &str) -> Vec<String> {
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(json).unwrap();
    assert_eq!(members.len(), table.columns.len(), "{json}");
    let value = |(name, meaning): &(String, Meaning)| {
        let raw = members.get(name).unwrap_or_else(|| panic!("no {name}: {json}")).get();
        let text =
            || serde_json::from_str::<String>(raw).unwrap_or_else(|e| panic!("{name}: {e}: {raw}"));
        match meaning {
            _ if raw == "null" => "null".to_owned(),
            Meaning::Json => spelled(*meaning, raw),
            Meaning::Bytes => {
                spelled(*meaning, &HEXLOWER.encode(&BASE64.decode(text().as_bytes()).unwrap()))
            }
            Meaning::Instant => {
                assert!(raw.ends_with("Z\"") && raw.as_bytes()[11] == b'T', "{name}: {raw}");
                spelled(*meaning, &text())
            }
            Meaning::Boolean => {
                assert!(["true", "false"].contains(&raw), "{name}: {raw}");
                spelled(*meaning, raw)
            }
            Meaning::Text if raw.starts_with('"') => spelled(*meaning, &text()),
            Meaning::Text => spelled(Meaning::Double, raw),
            Meaning::Integer | Meaning::Decimal | Meaning::Double => spelled(*meaning, raw),
        }
    };
    table.columns.iter().map(value).collect()
}
