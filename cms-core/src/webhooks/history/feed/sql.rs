//! Statements that follow events.

use super::{Pattern, Position, data};
use crate::{
    Result,
    db::{Db, PerEngine, args, record, statements},
    events::RecordedEvent,
};

record! { RecordedEvent: recorded_columns {
    id: "e.id",
    event: "e.name",
    data: "e.body" => data,
    row: "e.rowid",
} }

statements! {
    /// After the position `$1`, `$2` and not later than the row `$3`: `$4` at most, and no further
    /// one once those before have `$7` bytes together. A body is read only then.
    NEXT = concat!(
        "select ", recorded_columns!(), " from (select n.id, cast(sum(n.bytes) over (order by \
         n.place, n.id) as bigint) - n.bytes as bytes_before from (select e.id, e.rowid as place, \
         octet_length(e.body) as bytes from cms_events e \
         where (e.rowid, e.id) > ($1, $2) and e.rowid <= $3 \
         and (cast($5 as text) is null or e.name = $5) \
         and (cast($6 as text) is null or substr(e.name, 1, length($6)) = $6) \
         order by e.rowid, e.id limit $4) n) s cross join cms_events e \
         where e.id = s.id and s.bytes_before < $7 order by e.rowid, e.id"
    );
    ROW = "select e.rowid from cms_events e where e.id = $1";
    /// After the row `$1`, up to the position `$2`, `$3`.
    BETWEEN = "select e.id from cms_events e where e.rowid > $1 and (e.rowid, e.id) <= ($2, $3) \
               order by e.rowid limit 10000";
    NEWEST = "select e.id from cms_events e where e.rowid <= $1 \
              order by e.rowid desc, e.id desc limit 1";
    LAST = "select cast(coalesce(max(e.rowid), 0) as bigint) from cms_events e";
    BEYOND = "select count(*) from \
              (select 1 as one from cms_events e where e.rowid > $1 limit 1) b";
}

/// On PostgreSQL a transaction that is under way anywhere on the server holds events back.
const SETTLED: PerEngine<&str> = PerEngine {
    sqlite: "select coalesce((select max(rowid) from cms_events), 0), \
             (select id from cms_events order by rowid desc limit 1)",
    postgres: "select txid_snapshot_xmin(txid_current_snapshot()) - 1, cast(null as text)",
};

/// Puts events that came from another server, whose transactions had higher numbers, before those
/// of this one, in their order.
pub(in crate::webhooks) const RESTORED: PerEngine<Option<&str>> = PerEngine {
    sqlite: None,
    postgres: Some(
        "update cms_events set rowid = rowid - (select max(m.rowid) from cms_events m) where \
         (select max(m.rowid) from cms_events m) >= txid_snapshot_xmax(txid_current_snapshot())",
    ),
};

/// The last row up to which no further event can appear, and its event where rows are used again.
pub(in crate::webhooks) async fn settled(db: &Db) -> Result<(i64, Option<String>)> {
    db.one(db.dialect().of(&SETTLED), args![]).await
}

pub(super) async fn next(
    db: &Db,
    pattern: &Pattern,
    (row, id): &Position,
    until: i64,
    (limit, bytes): (i64, i64),
) -> Result<Vec<RecordedEvent>> {
    let (name, beginning) = (pattern.name.clone(), pattern.beginning.clone());
    db.all(NEXT, args![*row, id, until, limit, name, beginning, bytes]).await
}

/// The row of an event; None: it is not there.
pub(super) async fn row(db: &Db, id: &str) -> Result<Option<i64>> {
    let found: Option<(i64,)> = db.optional(ROW, args![id]).await?;
    Ok(found.map(|(row,)| row))
}

/// The events after a row, up to a position.
pub(super) async fn between(db: &Db, after: i64, (row, id): &Position) -> Result<Vec<String>> {
    let found: Vec<(String,)> = db.all(BETWEEN, args![after, *row, id]).await?;
    Ok(found.into_iter().map(|(id,)| id).collect())
}

/// The newest event up to a row.
pub(in crate::webhooks) async fn newest(db: &Db, row: i64) -> Result<Option<String>> {
    let found: Option<(String,)> = db.optional(NEWEST, args![row]).await?;
    Ok(found.map(|(id,)| id))
}

/// The last row of an event that is committed; 0 without any.
pub(super) async fn last(db: &Db) -> Result<i64> {
    let (row,): (i64,) = db.one(LAST, Vec::new()).await?;
    Ok(row)
}

/// Whether there are events after a row.
pub(super) async fn beyond(db: &Db, row: i64) -> Result<bool> {
    let (found,): (i64,) = db.one(BEYOND, args![row]).await?;
    Ok(found > 0)
}
