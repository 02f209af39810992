//! PostgreSQL's part of an archive: the schema as statements, tables in the format of `COPY` in
//! entries of a few megabytes, and the states of sequences.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use futures_util::TryStreamExt as _;
use sqlx::PgConnection;
use tokio::sync::mpsc;

use super::{archive::Archive, manifest::refused};
use crate::{
    Error, Result,
    db::{
        dialect::quote,
        save::postgres::{self, Schema, Sequence, Table},
    },
};

/// Maximum size of an entry in bytes.
const CHUNK: usize = 4 << 20;
const SCHEMA: &str = "database/schema.json";
const SEQUENCES: &str = "database/sequences.json";
/// Occurs in an index that needs the extension pg_trgm.
const TRIGRAMS: &str = "gin_trgm_ops";
/// As for a new site. An existing extension stays in its schema.
const MAKE_TRIGRAMS: &str = "create extension if not exists pg_trgm with schema public";
const TABLES: &str = "database/tables/";
/// Maximum size of the statements in bytes.
const LARGEST: usize = 64 << 20;

/// Writes the content of the connection's snapshot. Returns the number of rows of each table.
pub(super) async fn save(
    connection: &mut PgConnection,
    archive: &mut Archive,
) -> Result<BTreeMap<String, i64>> {
    let schema = postgres::schema(connection).await?;
    archive.text(SCHEMA, serde_json::to_vec(&schema).map_err(Error::internal)?).await?;
    let mut rows = BTreeMap::new();
    for (at, table) in schema.tables.iter().enumerate() {
        rows.insert(table.name.clone(), save_table(connection, archive, at, table).await?);
    }
    let sequences = postgres::sequences(connection).await?;
    archive.text(SEQUENCES, serde_json::to_vec(&sequences).map_err(Error::internal)?).await?;
    Ok(rows)
}

async fn save_table(
    connection: &mut PgConnection,
    archive: &mut Archive,
    at: usize,
    table: &Table,
) -> Result<i64> {
    let (mut rows, mut chunk, mut waiting) = (0, 0, BytesMut::new());
    let mut parts = postgres::copy_out(connection, table).await?;
    loop {
        let part = parts.try_next().await?;
        if let Some(part) = &part {
            // Each row is a line: line ends in values are written as two characters.
            rows += part.iter().filter(|byte| **byte == b'\n').count() as i64;
            waiting.extend_from_slice(part);
        }
        if waiting.len() >= CHUNK || part.is_none() && !waiting.is_empty() {
            let bytes = waiting.split().freeze();
            archive.text(&format!("{TABLES}{at:05}/{chunk:06}"), bytes).await?;
            chunk += 1;
        }
        if part.is_none() {
            return Ok(rows);
        }
    }
}

/// A piece of the database's part of an archive.
pub(super) enum Piece {
    Begin(String),
    Bytes(Bytes),
}

/// The result of loading a schema.
pub(super) struct Loaded {
    /// Functions that are bound to the schema in which they were made.
    pub(super) bound: Vec<String>,
    /// What is slower than before, one sentence each.
    pub(super) warnings: Vec<String>,
}

struct Loading<'c> {
    connection: &'c mut PgConnection,
    pieces: mpsc::Receiver<Piece>,
    next: Option<String>,
}

impl Loading<'_> {
    /// All bytes of the current entry.
    async fn whole(&mut self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        loop {
            match self.pieces.recv().await {
                Some(Piece::Bytes(part)) => bytes.extend_from_slice(&part),
                Some(Piece::Begin(name)) => {
                    self.next = Some(name);
                    return Ok(bytes);
                }
                None => return Ok(bytes),
            }
            if bytes.len() > LARGEST {
                return Err(refused("an entry of its database is too large"));
            }
        }
    }

    async fn begun(&mut self) -> Option<String> {
        match self.next.take() {
            Some(name) => Some(name),
            None => match self.pieces.recv().await? {
                Piece::Begin(name) => Some(name),
                Piece::Bytes(_) => None,
            },
        }
    }

    /// The rows of a table whose first entry has begun.
    async fn rows(&mut self, table: &Table, folder: &str) -> Result<u64> {
        let mut copy = postgres::copy_in(self.connection, table).await?;
        loop {
            match self.pieces.recv().await {
                Some(Piece::Bytes(part)) => copy.send(part).await.map(drop)?,
                Some(Piece::Begin(name)) if name.starts_with(folder) => {}
                Some(Piece::Begin(name)) => {
                    self.next = Some(name);
                    break;
                }
                None => break,
            }
        }
        Ok(copy.finish().await?)
    }
}

/// Creates the schema `into` from the incoming pieces, in one transaction. A trial must not need
/// the site that it was made from.
pub(super) async fn load(
    connection: &mut PgConnection,
    into: &str,
    pieces: mpsc::Receiver<Piece>,
    is_trial: bool,
) -> Result<Loaded> {
    let site = match is_trial {
        true => Some(postgres::schema_name(connection).await?),
        false => None,
    };
    // The other schemas follow in the path, because they may contain extensions.
    let path = postgres::search_path(connection).await?;
    let path = if path.is_empty() { path } else { format!(", {path}") };
    let begin = format!(
        "begin; create schema {0}; set local search_path to {0}{path}; \
         set local check_function_bodies = off; set local idle_in_transaction_session_timeout = 0",
        quote(into)
    );
    postgres::run(connection, begin).await?;
    let mut loading = Loading { connection, pieces, next: None };
    let loaded = async {
        let loaded = schema_and_rows(&mut loading).await?;
        if let Some(site) = &site
            && let Some(first) = postgres::outside(loading.connection, site).await?.first()
        {
            let what = format!("Another server could not restore this backup: {first}.");
            return Err(super::conflict(what));
        }
        Ok(loaded)
    };
    let loaded = loaded.await;
    match loaded {
        Ok(loaded) => {
            postgres::run(connection, "commit").await?;
            // The planner needs statistics on the new tables.
            postgres::run(connection, format!("set search_path to {}", quote(into))).await?;
            for table in postgres::tables(connection).await? {
                postgres::run(connection, format!("analyze {}", quote(&table.name))).await?;
            }
            postgres::run(connection, "reset search_path").await?;
            Ok(loaded)
        }
        Err(error) => {
            // The connection may be lost, so the result is ignored.
            let _ = postgres::run(connection, "rollback").await;
            Err(error)
        }
    }
}

async fn schema_and_rows(loading: &mut Loading<'_>) -> Result<Loaded> {
    let named = |expected| move || refused(format!("{expected} is missing"));
    loading.begun().await.filter(|name| name == SCHEMA).ok_or_else(named(SCHEMA))?;
    let schema: Schema = serde_json::from_slice(&loading.whole().await?)
        .map_err(|error| refused(format!("{SCHEMA}: {error}")))?;
    for statement in &schema.before {
        postgres::run(loading.connection, statement.as_str()).await?;
    }
    let mut sequences: Option<Vec<Sequence>> = None;
    while let Some(name) = loading.begun().await {
        if name == SEQUENCES {
            let text = loading.whole().await?;
            let read = serde_json::from_slice(&text);
            sequences = Some(read.map_err(|error| refused(format!("{SEQUENCES}: {error}")))?);
            continue;
        }
        let folder = name.strip_prefix(TABLES).and_then(|rest| Some(rest.split_once('/')?.0));
        let table = folder.and_then(|at| schema.tables.get(at.parse::<usize>().ok()?));
        let (Some(folder), Some(table)) = (folder, table) else {
            return Err(refused(format!("{name} belongs to no table")));
        };
        loading.rows(table, &format!("{TABLES}{folder}/")).await?;
    }
    let sequences = sequences.ok_or_else(named(SEQUENCES))?;
    for statement in &schema.after {
        postgres::run(loading.connection, statement.as_str()).await?;
    }
    if schema.indexes.iter().any(|(_, statement)| statement.contains(TRIGRAMS)) {
        postgres::run(loading.connection, "savepoint made").await?;
        // If this is refused, the index below reports it.
        if postgres::run(loading.connection, MAKE_TRIGRAMS).await.is_err() {
            postgres::run(loading.connection, "rollback to made").await?;
        }
    }
    let mut warnings = Vec::new();
    for (name, statement) in &schema.indexes {
        postgres::run(loading.connection, "savepoint made").await?;
        if let Err(error) = postgres::run(loading.connection, statement.as_str()).await {
            postgres::run(loading.connection, "rollback to made").await?;
            let why = std::error::Error::source(&error).map(ToString::to_string);
            let why = why.unwrap_or_default();
            warnings.push(format!("the index {name} could not be made: {why}"));
        }
    }
    postgres::settle(loading.connection, &sequences).await?;
    Ok(Loaded { bound: schema.bound, warnings })
}

/// The number of rows of each table of a schema.
pub(super) async fn counts(
    connection: &mut PgConnection,
    schema: &str,
) -> Result<BTreeMap<String, i64>> {
    postgres::run(connection, format!("set search_path to {}", quote(schema))).await?;
    let counts = postgres::counts(connection).await;
    postgres::run(connection, "reset search_path").await?;
    counts
}
