//! PostgreSQL without `pg_dump`: tables by `COPY` in its text format, and the schema as
//! statements that the catalogs give. Everything concerns the first schema of the connection's
//! `search_path`; objects of extensions are left out.

use std::collections::BTreeMap;

use futures_util::{StreamExt as _, stream::BoxStream};
use sqlx::{
    AssertSqlSafe, ConnectOptions as _, Connection as _, PgConnection,
    postgres::{PgConnectOptions, PgCopyIn},
};
use tracing::Instrument as _;

use super::super::{connect, dialect::quote, fault::NO_SCHEMA, statements::span};
use crate::{Error, Result};

mod sql;

/// A table with its columns, without those that the engine computes.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Table {
    /// Its name, without quotes.
    pub(crate) name: String,
    /// The columns, in their order, without quotes.
    pub(crate) columns: Vec<String>,
}

/// A sequence, and how far it has counted.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Sequence {
    /// Its name, without quotes.
    pub(crate) name: String,
    /// The table and the column that it gives numbers to, if it is tied to one.
    pub(crate) of: Option<(String, String)>,
    /// The number that it gave last; none when it gave none.
    pub(crate) last: Option<i64>,
}

/// Statements that make the schema again, in the order in which they run.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Schema {
    /// Before rows: types, sequences, functions, tables.
    pub(crate) before: Vec<String>,
    /// The tables that have rows.
    pub(crate) tables: Vec<Table>,
    /// After rows: keys and other rules, then unique indexes, replica identities, foreign keys,
    /// views, triggers.
    pub(crate) after: Vec<String>,
    /// Last: name and statement of indexes, without which the database is only slower.
    pub(crate) indexes: Vec<(String, String)>,
    /// Functions whose own `search_path` names the schema that they were made in.
    pub(crate) bound: Vec<String>,
}

/// A connection of its own, which may run statements and stay in a transaction without a limit.
pub(crate) async fn session(url: &str) -> Result<PgConnection> {
    let options = connect::options(url, 0)?.options([("statement_timeout", "0")]);
    open(options).await
}

async fn open(options: PgConnectOptions) -> Result<PgConnection> {
    let opened = tokio::time::timeout(std::time::Duration::from_secs(10), options.connect()).await;
    let late = |_| std::io::Error::from(std::io::ErrorKind::TimedOut);
    opened.map_err(late).map_err(sqlx::Error::from).flatten().map_err(connect::unreachable)
}

/// Closes the connection; an open transaction is undone.
pub(crate) async fn close(connection: PgConnection) {
    let _ = connection.close().await;
}

/// Runs statements that have no values.
pub(crate) async fn run(connection: &mut PgConnection, text: impl Into<String>) -> Result<()> {
    let done = sqlx::raw_sql(AssertSqlSafe(text.into())).execute(connection);
    done.instrument(span("composed")).await.map(drop).map_err(Error::from)
}

/// Runs a statement with these values.
pub(crate) async fn run_with(
    connection: &mut PgConnection,
    text: &'static str,
    values: &[i64],
) -> Result<()> {
    let query = sqlx::query::<sqlx::Postgres>(text);
    let query = values.iter().fold(query, |query, value| query.bind(*value));
    query.execute(connection).instrument(span("fixed")).await.map(drop).map_err(Error::from)
}

/// Begins to read one state. Only changes of the schema wait for this reader.
pub(crate) async fn begin_snapshot(connection: &mut PgConnection) -> Result<()> {
    run(connection, sql::SNAPSHOT).await?;
    let tables = tables(connection).await?;
    if tables.is_empty() {
        return Ok(());
    }
    let names: Vec<_> = tables.iter().map(|table| quote(&table.name)).collect();
    run(connection, format!("lock table only {} in access share mode", names.join(", only "))).await
}

/// The name of the schema.
pub(crate) async fn schema_name(connection: &mut PgConnection) -> Result<String> {
    let name: Option<String> =
        sqlx::query_scalar(sql::NAME).fetch_one(connection).instrument(span("schema")).await?;
    name.ok_or_else(|| Error::new(crate::Code::Unavailable, NO_SCHEMA))
}

/// The schemas in which names are looked up, as `set search_path` takes them.
pub(crate) async fn search_path(connection: &mut PgConnection) -> Result<String> {
    let read = sqlx::query_scalar(sql::PATH).fetch_one(connection);
    Ok(read.instrument(span("schema")).await?)
}

/// The tables, by name.
pub(crate) async fn tables(connection: &mut PgConnection) -> Result<Vec<Table>> {
    let rows: Vec<(String, Vec<String>)> =
        sqlx::query_as(sql::TABLES).fetch_all(connection).instrument(span("tables")).await?;
    Ok(rows.into_iter().map(|(name, columns)| Table { name, columns }).collect())
}

/// About how many bytes the rows take.
pub(crate) async fn bytes(connection: &mut PgConnection) -> Result<i64> {
    let read = sqlx::query_scalar(sql::BYTES).fetch_one(connection);
    Ok(read.instrument(span("bytes")).await?)
}

/// The number of rows of each table.
pub(crate) async fn counts(connection: &mut PgConnection) -> Result<BTreeMap<String, i64>> {
    let mut counts = BTreeMap::new();
    for table in tables(connection).await? {
        let text = format!("select count(*) from {}", quote(&table.name));
        let read = sqlx::query_scalar(AssertSqlSafe(text)).fetch_one(&mut *connection);
        counts.insert(table.name, read.instrument(span("composed")).await?);
    }
    Ok(counts)
}

/// Which objects of the schema cannot be saved here, one sentence or name each.
pub(crate) async fn foreign(connection: &mut PgConnection) -> Result<Vec<String>> {
    let mut found = texts(connection, sql::FOREIGN).await?;
    found.extend(texts(connection, sql::UNSAVED).await?);
    found.extend(outside(connection, "").await?);
    Ok(found)
}

/// What refers to an object of `schema`, or of a schema that is not in `search_path`, one sentence
/// each.
pub(crate) async fn outside(connection: &mut PgConnection, schema: &str) -> Result<Vec<String>> {
    let read = sqlx::query_scalar(sql::OUTSIDE).bind(schema).fetch_all(connection);
    Ok(read.instrument(span("schema")).await?)
}

async fn texts(connection: &mut PgConnection, text: &'static str) -> Result<Vec<String>> {
    let read = sqlx::query_scalar(text).fetch_all(connection);
    Ok(read.instrument(span("schema")).await?)
}

/// The statements that make the schema again.
pub(crate) async fn schema(connection: &mut PgConnection) -> Result<Schema> {
    let mut schema = Schema { tables: tables(connection).await?, ..Schema::default() };
    for text in [sql::ENUMS, sql::DOMAINS, sql::SEQUENCES, sql::FUNCTIONS, sql::CREATE, sql::OWNED]
    {
        schema.before.extend(texts(connection, text).await?);
    }
    let rules = [sql::RULES, sql::UNIQUE, sql::IDENTITIES, sql::REFERENCES];
    for text in rules.into_iter().chain([sql::VIEWS, sql::TRIGGERS]) {
        schema.after.extend(texts(connection, text).await?);
    }
    let indexes = sqlx::query_as(sql::INDEXES).fetch_all(&mut *connection);
    schema.indexes = indexes.instrument(span("schema")).await?;
    schema.bound = texts(connection, sql::BOUND).await?;
    Ok(schema)
}

/// How far the sequences have counted. They stand outside of snapshots: read them after the rows.
pub(crate) async fn sequences(connection: &mut PgConnection) -> Result<Vec<Sequence>> {
    type Row = (String, Option<String>, Option<String>, Option<i64>);
    let rows: Vec<Row> =
        sqlx::query_as(sql::COUNTED).fetch_all(connection).instrument(span("sequences")).await?;
    let sequence =
        |(name, table, column, last): Row| Sequence { name, of: table.zip(column), last };
    Ok(rows.into_iter().map(sequence).collect())
}

/// Sets each sequence to go on after its last number and after the largest number of its column.
pub(crate) async fn settle(connection: &mut PgConnection, sequences: &[Sequence]) -> Result<()> {
    for sequence in sequences {
        let (place, largest) = match &sequence.of {
            Some((table, column)) => (
                format!("pg_get_serial_sequence({}, {})", literal(&quote(table)), literal(column)),
                format!("(select cast(max({}) as bigint) from {})", quote(column), quote(table)),
            ),
            None => (literal(&quote(&sequence.name)), "null".to_owned()),
        };
        let last = sequence.last.map_or("null".to_owned(), |last| last.to_string());
        // A sequence that has given no number begins where its definition says.
        run(
            connection,
            format!(
                "select setval(cast({place} as regclass), n) from (select \
                 greatest(cast({last} as bigint), {largest}) as n) s where n >= 1"
            ),
        )
        .await?;
    }
    Ok(())
}

/// Sequences that would give a number that their column already holds: table and column.
pub(crate) async fn lagging_sequences(
    connection: &mut PgConnection,
) -> Result<Vec<(String, String)>> {
    let mut found = Vec::new();
    for Sequence { of, last, .. } in sequences(connection).await? {
        let Some((table, column)) = of else { continue };
        let text = format!("select cast(max({}) as bigint) from {}", quote(&column), quote(&table));
        let largest: Option<i64> = sqlx::query_scalar(AssertSqlSafe(text))
            .fetch_one(&mut *connection)
            .instrument(span("composed"))
            .await?;
        if largest.is_some_and(|largest| largest > last.unwrap_or(0)) {
            found.push((table, column));
        }
    }
    Ok(found)
}

/// Rules that were declared without checking the existing rows: name and table.
pub(crate) async fn unproved(connection: &mut PgConnection) -> Result<Vec<String>> {
    texts(connection, sql::UNPROVED).await
}

/// The rows of a table, as `COPY` writes them: one line each. The connection can be used again
/// once all rows were read.
pub(crate) async fn copy_out<'c>(
    connection: &'c mut PgConnection,
    table: &Table,
) -> Result<BoxStream<'c, Result<bytes::Bytes>>> {
    let text = format!("copy {} to stdout", with_columns(table));
    let rows = connection.copy_out_raw(&text).instrument(span("copy")).await?;
    Ok(rows.map(|part| part.map_err(Error::from)).boxed())
}

/// Takes the rows that [`copy_out`] writes. Ends with `finish` or `abort`.
pub(crate) async fn copy_in<'c>(
    connection: &'c mut PgConnection,
    table: &Table,
) -> Result<PgCopyIn<&'c mut PgConnection>> {
    let text = format!("copy {} from stdin", with_columns(table));
    Ok(connection.copy_in_raw(&text).instrument(span("copy")).await?)
}

fn with_columns(table: &Table) -> String {
    let columns: Vec<_> = table.columns.iter().map(|column| quote(column)).collect();
    format!("{} ({})", quote(&table.name), columns.join(", "))
}

/// A text as SQL writes it.
pub(crate) fn literal(text: &str) -> String {
    let doubled = text.replace('\'', "''");
    match doubled.contains('\\') {
        true => format!("E'{}'", doubled.replace('\\', "\\\\")),
        false => format!("'{doubled}'"),
    }
}

/// Statements that move everything of one schema into another.
pub(crate) async fn moves(
    connection: &mut PgConnection,
    from: &str,
    to: &str,
) -> Result<Vec<String>> {
    let read = sqlx::query_scalar(sql::MOVES).bind(from).bind(to).fetch_all(connection);
    Ok(read.instrument(span("moves")).await?)
}

/// Other sessions of the same user and program in this database.
pub(crate) async fn others(connection: &mut PgConnection) -> Result<i64> {
    let read = sqlx::query_scalar(sql::OTHERS).fetch_one(connection);
    Ok(read.instrument(span("others")).await?)
}

/// The schemas of this user whose names start with `begin`.
pub(crate) async fn schemas(connection: &mut PgConnection, begin: &str) -> Result<Vec<String>> {
    let read = sqlx::query_scalar(sql::SCHEMAS).bind(begin).fetch_all(connection);
    Ok(read.instrument(span("schema")).await?)
}

/// Whether there is a schema of this name.
pub(crate) async fn has_schema(connection: &mut PgConnection, name: &str) -> Result<bool> {
    let read = sqlx::query_scalar(sql::HAS).bind(name).fetch_one(connection);
    Ok(read.instrument(span("schema")).await?)
}
