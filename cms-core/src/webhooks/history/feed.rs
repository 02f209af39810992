//! Recorded events in the order in which they become visible. The order does not depend
//! on any clock.

use std::{collections::BTreeSet, time::Duration};

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::watch;

use super::messages::{Pattern, pattern};
use crate::{Code, Error, Result, db::Db, events::RecordedEvent, webhooks::Webhooks};

/// Limits of one read: a number of events, and bytes after which no further event is read. An
/// event holds a whole record, which may be much larger than the body of a request.
const STEP: (i64, i64) = (16, 4 << 20);

/// Where an event stands: its row, its place among the events that share this row on PostgreSQL,
/// and its id, since events of an earlier version have no place.
type Position = (i64, i64, String);

/// Before all events of a row and of later ones.
fn before(row: i64) -> Position {
    (row, 0, String::new())
}

/// Follows recorded events, each once.
pub struct Feed {
    webhooks: Webhooks,
    pattern: Pattern,
    after: Position,
    /// Row and id of the last event before `after`. Set only on an engine that may give the row of
    /// a removed event to the next one.
    stands: Option<(i64, String)>,
    /// Events after `after` that existed when the feed was opened and are not to be given out.
    known: BTreeSet<String>,
    news: watch::Receiver<()>,
    /// There may be more to read: events that were not final yet, or too many for one step.
    unread: bool,
    /// A read has shown that nothing is left before `after`.
    drained: bool,
    /// The rows were renumbered, so this feed can read no further.
    over: bool,
    gap: bool,
}

/// How long `settled` waits for a change under way elsewhere that holds events back.
const HELD_BACK: Duration = Duration::from_secs(5);

/// The row of the last final event, once all events committed by now are final. On PostgreSQL a
/// transaction under way holds them back. Stops waiting after 5 s.
pub(in crate::webhooks) async fn settled(db: &Db) -> Result<i64> {
    let (newest, begun) = (sql::last(db).await?, tokio::time::Instant::now());
    loop {
        let (last, _) = sql::settled(db).await?;
        if last >= newest || begun.elapsed() > HELD_BACK {
            return Ok(last);
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

impl Webhooks {
    /// The row of the last final event, once all events committed by now are final.
    #[cfg(feature = "testing")]
    pub(crate) async fn settled(&self) -> Result<i64> {
        settled(self.0.base.db()).await
    }

    /// Follows events with this name, or with a name that begins with the text before `*`. Follows
    /// those after the event with the id `after`; for the empty text all events, and for `None`
    /// the events from now on. When retention has removed that event, all recorded events follow:
    /// see [`Feed::has_gap`].
    ///
    /// # Errors
    /// `bad_query` for a pattern with `*` anywhere but at the end.
    pub async fn feed(&self, event: Option<&str>, after: Option<&str>) -> Result<Feed> {
        let pattern = event.map(pattern).transpose()?.unwrap_or_default();
        let (db, news) = (self.0.base.db(), self.0.base.outbox().news());
        let (settled, newest) = sql::settled(db).await?;
        let position = match after {
            Some(id) => sql::position(db, id).await?,
            None => None,
        };
        let gap = after.is_some_and(|id| !id.is_empty()) && position.is_none();
        let stands = newest.map(|id| (settled, id));
        let (after, stands, known) = match (position, after) {
            (None, Some(_)) => (before(i64::MIN), None, Vec::new()),
            (Some(position), _) if position.0 <= settled => {
                let stands = stands.map(|_| (position.0, position.2.clone()));
                (position, stands, Vec::new())
            }
            (position, _) => {
                // Events that exist but are not final: a change under way may still commit one
                // before them.
                let end = position.unwrap_or_else(|| before(i64::MAX));
                let known = sql::between(db, settled, &end).await?;
                (before(settled + 1), stands, known)
            }
        };
        let known = known.into_iter().collect();
        let webhooks = self.clone();
        let (unread, drained, over) = (true, false, false);
        Ok(Feed { webhooks, pattern, after, stands, known, news, unread, drained, over, gap })
    }
}

impl Feed {
    /// Whether the event to continue after was missing, so that others may be missing too.
    #[must_use]
    pub fn has_gap(&self) -> bool {
        self.gap
    }

    /// Whether the feed must be opened again, after the last event that it gave out.
    pub(in crate::webhooks) fn is_over(&self) -> bool {
        self.over
    }

    /// The id of the last event up to which nothing is left to read, if that is known.
    pub(in crate::webhooks) async fn read_up_to(&self) -> Result<Option<String>> {
        match &self.stands {
            _ if !self.drained || self.over => Ok(None),
            // The row is not enough here: another event may have it by now.
            Some((_, id)) => Ok(Some(id.clone())),
            None => sql::newest(self.webhooks.0.base.db(), self.after.0 - 1).await,
        }
    }

    /// Waits for a commit since the last [`Feed::next`], at most for this long: an open change can
    /// hold an event back.
    pub(in crate::webhooks) async fn wait(&self, longest: Duration) {
        let mut news = self.news.clone();
        if tokio::time::timeout(longest, news.changed()).await.is_ok_and(|open| open.is_err()) {
            tokio::time::sleep(longest).await;
        }
    }

    /// The next events; empty when there are no new ones. Reads only after a commit
    /// of any process.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be reached, or has renumbered its events. A caller
    /// that opens a new feed after the last event misses none.
    pub async fn next(&mut self) -> Result<Vec<RecordedEvent>> {
        let db = self.webhooks.0.base.db();
        if self.news.has_changed().unwrap_or(true) {
            self.news.mark_unchanged();
            self.unread = true;
        }
        if !self.unread {
            return Ok(Vec::new());
        }
        let (settled, newest) = sql::settled(db).await?;
        // SQLite counts from one again when retention has emptied the table, and a VACUUM
        // renumbers the rows. An empty table has no event to miss.
        if settled > 0 && settled + 1 < self.after.0 {
            return Err(self.renumbered());
        }
        let mut found = sql::next(db, &self.pattern, &self.after, settled, STEP).await?;
        // Checked after the read: while this event keeps its row, no earlier row was reused.
        if let (true, Some((row, id))) = (settled > 0, &self.stands)
            && sql::position(db, id).await?.is_none_or(|position| position.0 != *row)
        {
            return Err(self.renumbered());
        }
        self.drained = found.is_empty() && self.known.is_empty();
        if let Some(last) = found.last() {
            self.after = (last.row, last.place, last.id.clone());
            self.stands = newest.map(|_| (last.row, last.id.clone()));
        } else {
            self.stands = newest.map(|id| (settled, id));
            self.unread = sql::beyond(db, settled).await?;
            // Moves on, so that a rare name is not searched among the same events again and again.
            self.after = before(settled + 1);
        }
        found.retain(|one| !self.known.remove(&one.id));
        Ok(found)
    }

    fn renumbered(&mut self) -> Error {
        self.over = true;
        Error::new(Code::Unavailable, "The events were renumbered.")
    }
}

/// The data from the body of a delivery, byte for byte.
fn data(body: String) -> Result<String> {
    #[derive(Deserialize)]
    struct Delivery<'b> {
        #[serde(borrow)]
        data: &'b RawValue,
    }
    let delivery: Delivery<'_> = serde_json::from_str(&body).map_err(Error::internal)?;
    Ok(delivery.data.get().to_owned())
}

/// Statements that follow events.
pub(in crate::webhooks) mod sql {
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
        place: "e.place",
        depth: "e.depth",
    } }

    statements! {
        /// Events after the position `$1`, `$2`, `$3` and not later than the row `$4`: at most
        /// `$5`, and no further event once the previous ones have `$8` bytes. Bodies are read only
        /// after that selection.
        NEXT = concat!(
            "select ", recorded_columns!(), " from (select n.id, cast(sum(n.bytes) over (order by \
             n.number, n.place, n.id) as bigint) - n.bytes as bytes_before from (select e.id, \
             e.rowid as number, e.place, octet_length(e.body) as bytes from cms_events e \
             where (e.rowid, e.place, e.id) > ($1, $2, $3) and e.rowid <= $4 \
             and (cast($6 as text) is null or e.name = $6) \
             and (cast($7 as text) is null or substr(e.name, 1, length($7)) = $7) \
             order by e.rowid, e.place, e.id limit $5) n) s cross join cms_events e \
             where e.id = s.id and s.bytes_before < $8 order by e.rowid, e.place, e.id"
        );
        POSITION = "select e.rowid, e.place, e.id from cms_events e where e.id = $1";
        /// After the row `$1`, up to the position `$2`, `$3`, `$4`.
        BETWEEN = "select e.id from cms_events e where e.rowid > $1 \
                   and (e.rowid, e.place, e.id) <= ($2, $3, $4) order by e.rowid limit 10000";
        NEWEST = "select e.id from cms_events e where e.rowid <= $1 \
                  order by e.rowid desc, e.place desc, e.id desc limit 1";
        LAST = "select cast(coalesce(max(e.rowid), 0) as bigint) from cms_events e";
        BEYOND = "select count(*) from \
                  (select 1 as one from cms_events e where e.rowid > $1 limit 1) b";
    }

    /// On PostgreSQL a row is the number of a transaction, its own or a later one. A transaction
    /// under way anywhere on the server holds events back.
    const SETTLED: PerEngine<&str> = PerEngine {
        sqlite: "select coalesce((select max(rowid) from cms_events), 0), \
                 (select id from cms_events order by rowid desc limit 1)",
        postgres: "select txid_snapshot_xmin(txid_current_snapshot()) - 1, cast(null as text)",
    };

    /// Moves events restored from another server, whose transactions had higher numbers, before
    /// those of this server, and keeps their order.
    pub(in crate::webhooks) const RESTORED: PerEngine<Option<&str>> = PerEngine {
        sqlite: None,
        postgres: Some(
            "update cms_events set rowid = rowid - (select max(m.rowid) from cms_events m) where \
             (select max(m.rowid) from cms_events m) >= \
             txid_snapshot_xmax(txid_current_snapshot())",
        ),
    };

    /// The last row up to which no further event can appear. Includes its event on the engine that
    /// reuses rows.
    pub(in crate::webhooks) async fn settled(db: &Db) -> Result<(i64, Option<String>)> {
        db.one(db.dialect().of(&SETTLED), args![]).await
    }

    pub(super) async fn next(
        db: &Db,
        pattern: &Pattern,
        (row, place, id): &Position,
        until: i64,
        (limit, bytes): (i64, i64),
    ) -> Result<Vec<RecordedEvent>> {
        let (name, beginning) = (pattern.name.clone(), pattern.beginning.clone());
        db.all(NEXT, args![*row, *place, id, until, limit, name, beginning, bytes]).await
    }

    /// The position of an event; `None`: the event does not exist.
    pub(super) async fn position(db: &Db, id: &str) -> Result<Option<Position>> {
        db.optional(POSITION, args![id]).await
    }

    /// The events after a row, up to a position.
    pub(super) async fn between(
        db: &Db,
        after: i64,
        (row, place, id): &Position,
    ) -> Result<Vec<String>> {
        let found: Vec<(String,)> = db.all(BETWEEN, args![after, *row, *place, id]).await?;
        Ok(found.into_iter().map(|(id,)| id).collect())
    }

    /// The newest event up to a row.
    pub(super) async fn newest(db: &Db, row: i64) -> Result<Option<String>> {
        let found: Option<(String,)> = db.optional(NEWEST, args![row]).await?;
        Ok(found.map(|(id,)| id))
    }

    /// The last committed row; 0 without events.
    pub(super) async fn last(db: &Db) -> Result<i64> {
        let (row,): (i64,) = db.one(LAST, Vec::new()).await?;
        Ok(row)
    }

    /// Whether there are events after a row.
    pub(super) async fn beyond(db: &Db, row: i64) -> Result<bool> {
        let (found,): (i64,) = db.one(BEYOND, args![row]).await?;
        Ok(found > 0)
    }
}
