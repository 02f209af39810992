//! Finds records that hold a text. A table with one whole number as key is read in slices,
//! so that each read is short however large the table is. Other tables are read whole, one
//! table at a time.

use sqlx::AssertSqlSafe;
use tokio::time::{Instant, timeout_at};

use super::{Items, Key, write::key_of};
use crate::{
    Code, Error, Result,
    content::{Column, Table},
    db::{Dialect, Kind, args, dialect::quote},
};

/// Number of rows in a slice.
const SLICE: usize = 10_000;
/// Seconds after which a caller that got no turn may try again.
const AGAIN_S: u64 = 10;
/// Field types whose texts cannot hold a path.
const NEVER: [&str; 2] = ["select", "color"];

/// A record that holds the text.
#[derive(Debug)]
pub(crate) struct Holder {
    /// Its id, as the parameter `id` writes it; empty in a table without a key.
    pub(crate) id: String,
    /// The first of its columns that holds the text.
    pub(crate) column: String,
}

impl Items {
    /// Records of a table that hold `text` verbatim in a text or JSON column, at most
    /// `most`. `text` consists of letters and digits. A caller waits for its turn until
    /// `until` at the latest.
    ///
    /// # Errors
    /// `unavailable` when the caller gets no turn until then.
    pub(crate) async fn holding(
        &self,
        table: &Table,
        text: &str,
        most: usize,
        until: Instant,
    ) -> Result<Vec<Holder>> {
        let columns: Vec<&Column> = table.columns.iter().filter(|one| can_hold(one)).collect();
        let mut holders = Vec::new();
        if columns.is_empty() {
            return Ok(holders);
        }
        let db = self.0.base.db();
        let counted = table.key_columns().next();
        let counted = counted.filter(|key| table.key.len() == 1 && key.kind == Kind::Integer);
        let Some(key) = counted.map(|key| quote(&key.name)) else {
            let sql = select(table, &columns, "", most);
            let rows = self.read_whole(sql, text, until).await?;
            return rows.into_iter().map(|row| holder(table, &columns, row)).collect();
        };
        let end = format!(
            "select cast(max(k) as bigint) from (select {key} as k from {} where {key} > $1 \
             order by {key} limit {SLICE}) s",
            table.quoted()
        );
        let bounds = format!("t.{key} > $2 and t.{key} <= $3 and ");
        let mut after = i64::MIN;
        while holders.len() < most {
            let (last,): (Option<i64>,) = db.one(AssertSqlSafe(end.clone()), args![after]).await?;
            let Some(last) = last else { break };
            let sql = select(table, &columns, &bounds, most - holders.len());
            let rows = db.all(AssertSqlSafe(sql), args![text, after, last]).await?;
            for row in rows {
                holders.push(holder(table, &columns, row)?);
            }
            after = last;
        }
        Ok(holders)
    }

    /// Reads a whole table. The database goes on reading when the caller has gone, so the turn
    /// lasts until the read ends: all such reads together occupy only one reader.
    async fn read_whole(
        &self,
        sql: String,
        text: &str,
        until: Instant,
    ) -> Result<Vec<(String, i64)>> {
        let turn = timeout_at(until, self.0.whole.clone().lock_owned()).await;
        let turn = turn.map_err(|_| {
            let detail = "Other requests are searching large tables: try again.";
            Error::new(Code::Unavailable, detail).retry_after(AGAIN_S)
        })?;
        let (db, text) = (self.0.base.db().clone(), text.to_owned());
        let read = tokio::spawn(async move {
            let rows = db.all(AssertSqlSafe(sql), args![text]).await;
            drop(turn);
            rows
        });
        read.await.map_err(Error::internal)?
    }
}

fn can_hold(column: &Column) -> bool {
    matches!(column.kind, Kind::Text | Kind::Json) && !NEVER.contains(&column.field_type.as_str())
}

/// Rows within bounds that hold `$1`: their key, and the place of the first column that holds it.
fn select(table: &Table, columns: &[&Column], bounds: &str, most: usize) -> String {
    let dialect = table.dialect;
    let held: Vec<_> = columns.iter().map(|column| holds(dialect, column)).collect();
    let which: String =
        held.iter().enumerate().map(|(at, held)| format!(" when {held} then {at}")).collect();
    let key = if table.key.is_empty() { "'[]'".to_owned() } else { key_of(table, "t") };
    format!(
        "select {key}, cast(case{which} end as bigint) from {} t where {bounds}({}) limit {most}",
        table.quoted(),
        held.join(" or ")
    )
}

/// Whether a column holds `$1`.
fn holds(dialect: Dialect, column: &Column) -> String {
    dialect.holds(&dialect.compared("t", column.col()), 1)
}

fn holder(table: &Table, columns: &[&Column], row: (String, i64)) -> Result<Holder> {
    let (key, at) = row;
    let id = Key::from_json(table, &key)?.spelled(table);
    let column = usize::try_from(at).ok().and_then(|at| columns.get(at));
    Ok(Holder {
        id: if table.key.is_empty() { String::new() } else { id },
        column: column.map(|column| column.name.clone()).unwrap_or_default(),
    })
}
