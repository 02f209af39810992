//! How far a copy has come. The target holds this state, and each batch of rows is committed
//! together with its record, so that a killed copy can go on.

use super::{
    cell::{Key, Sum, literal},
    side::Side,
    table::Table,
};
use crate::{Error, Result, db::Statement};

/// The table of what is known about the copy as a whole.
pub(super) const TABLE: &str = "cms_copy";
const CREATE: &str = "create table if not exists cms_copy (name text primary key, \
                      value text not null); \
                      create table if not exists cms_copy_chunks (table_name text not null, \
                      number bigint not null, upto text not null, row_count bigint not null, \
                      digest text not null, primary key (table_name, number))";
pub(super) const DROP: &str = "drop table cms_copy; drop table cms_copy_chunks";
/// Identifies a database: no two were made at the same moments.
pub(super) const MADE: Statement = Statement::new(
    concat!(module_path!(), "::MADE"),
    "select version, applied_at from cms_migrations order by version",
);

/// Rows that are in the target, up to a key.
#[derive(Clone, Debug)]
pub(super) struct Chunk {
    pub(super) number: i64,
    pub(super) upto: Vec<Key>,
    pub(super) sum: Sum,
}

impl Side {
    pub(super) async fn make_state(&mut self) -> Result<()> {
        self.run(CREATE).await
    }

    pub(super) async fn has_state(&mut self) -> Result<bool> {
        Ok(self.tables().await?.iter().any(|name| name == TABLE))
    }

    pub(super) async fn set_value(&mut self, name: &str, value: &str) -> Result<()> {
        let (name, value) = (literal(name), literal(value));
        self.run(format!(
            "insert into cms_copy (name, value) values ({name}, {value}) on conflict (name) do \
             update set value = excluded.value"
        ))
        .await
    }

    pub(super) async fn value(&mut self, name: &str) -> Result<Option<String>> {
        let text = format!("select value from cms_copy where name = {}", literal(name));
        Ok(self.all::<(String,)>(text).await?.into_iter().next().map(|(value,)| value))
    }

    /// All values whose names begin with `prefix`.
    pub(super) async fn values_with_prefix(&mut self, prefix: &str) -> Result<Vec<String>> {
        let text = format!(
            "select value from cms_copy where substr(name, 1, {}) = {} order by name",
            prefix.len(),
            literal(prefix)
        );
        Ok(self.all::<(String,)>(text).await?.into_iter().map(|(value,)| value).collect())
    }

    /// The chunks of a table that are in the target, in the order of their keys.
    pub(super) async fn chunks(&mut self, table: &Table) -> Result<Vec<Chunk>> {
        let text = format!(
            "select number, upto, row_count, digest from cms_copy_chunks where table_name = {}",
            literal(&table.name)
        );
        let rows: Vec<(i64, String, i64, String)> = self.all(text).await?;
        let chunk = |(number, upto, rows, digest): (i64, String, i64, String)| {
            let upto = serde_json::from_str(&upto).map_err(Error::internal)?;
            let digest = u128::from_str_radix(&digest, 16).map_err(Error::internal)?;
            Ok(Chunk { number, upto, sum: Sum { rows, digest } })
        };
        let mut chunks = rows.into_iter().map(chunk).collect::<Result<Vec<_>>>()?;
        chunks.sort_by(|one, other| one.upto.cmp(&other.upto));
        Ok(chunks)
    }

    pub(super) async fn record(&mut self, table: &Table, chunk: &Chunk) -> Result<()> {
        let upto = serde_json::to_string(&chunk.upto).map_err(Error::internal)?;
        self.run(format!(
            "insert into cms_copy_chunks (table_name, number, upto, row_count, digest) values \
             ({}, {}, {}, {}, '{:x}')",
            literal(&table.name),
            chunk.number,
            literal(&upto),
            chunk.sum.rows,
            chunk.sum.digest
        ))
        .await
    }

    pub(super) async fn forget(&mut self, table: &Table, chunks: &[Chunk]) -> Result<()> {
        let numbers: Vec<_> = chunks.iter().map(|chunk| chunk.number.to_string()).collect();
        if numbers.is_empty() {
            return Ok(());
        }
        self.run(format!(
            "delete from cms_copy_chunks where table_name = {} and number in ({})",
            literal(&table.name),
            numbers.join(", ")
        ))
        .await
    }
}
