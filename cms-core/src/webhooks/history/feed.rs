//! Recorded events in the order in which they become visible. No clock has a part in it.

use std::{collections::BTreeSet, time::Duration};

use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::sync::watch;

use super::messages::{Pattern, pattern};
use crate::{Code, Error, Result, db::Db, events::RecordedEvent, webhooks::Webhooks};

/// Events that are read at once at most, and the bytes after which no further one is: an event
/// holds a whole record, which may be much larger than the body of a request.
const STEP: (i64, i64) = (16, 4 << 20);

/// Where an event stands: its row, which events of one transaction share on PostgreSQL, and its id.
type Position = (i64, String);

/// Follows recorded events, each once.
pub struct Feed {
    webhooks: Webhooks,
    pattern: Pattern,
    after: Position,
    /// The last event before that position, on an engine that gives its row to the next event once
    /// it is removed.
    stands: Option<Position>,
    /// Events after that position which are known already.
    known: BTreeSet<String>,
    news: watch::Receiver<()>,
    /// There may be more than was read: not final then, or too many for one step.
    unread: bool,
    /// Everything up to that position was read, which a read has shown.
    drained: bool,
    /// The rows were numbered anew: it can read nothing more.
    over: bool,
    gap: bool,
}

/// How long a change that is under way elsewhere may hold events back, for a step that wants all.
const HELD_BACK: Duration = Duration::from_secs(5);

/// The last event that is final, once all that are committed now are: on PostgreSQL a transaction
/// that is under way holds them back. After 5 s it does not wait for them.
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
    /// The last event that is final, as soon as all that are committed are.
    #[cfg(feature = "testing")]
    pub(crate) async fn settled(&self) -> Result<i64> {
        settled(self.0.base.db()).await
    }

    /// Follows events with this name, or with a name that begins with the text before `*`: those
    /// after the event with the id `after`, all for the empty text, else those that happen from now
    /// on. When retention has removed that event, all that are kept follow: see [`Feed::has_gap`].
    ///
    /// # Errors
    /// `bad_query` for a pattern with `*` anywhere but at the end.
    pub async fn feed(&self, event: Option<&str>, after: Option<&str>) -> Result<Feed> {
        let pattern = event.map(pattern).transpose()?.unwrap_or_default();
        let (db, news) = (self.0.base.db(), self.0.base.outbox().news());
        let (settled, newest) = sql::settled(db).await?;
        let row = match after {
            Some(id) => sql::row(db, id).await?,
            None => None,
        };
        let gap = after.is_some_and(|id| !id.is_empty()) && row.is_none();
        let stands = newest.map(|id| (settled, id));
        let (after, stands, known) = match (row, after) {
            (None, Some(_)) => ((i64::MIN, String::new()), None, Vec::new()),
            (Some(row), Some(id)) if row <= settled => {
                let position = (row, id.to_owned());
                (position.clone(), stands.map(|_| position), Vec::new())
            }
            _ => {
                // What is there and not final: a change that is under way may still come before it.
                let end = (row.unwrap_or(i64::MAX), after.unwrap_or_default().to_owned());
                let known = sql::between(db, settled, &end).await?;
                ((settled + 1, String::new()), stands, known)
            }
        };
        let known = known.into_iter().collect();
        let webhooks = self.clone();
        let (unread, drained, over) = (true, false, false);
        Ok(Feed { webhooks, pattern, after, stands, known, news, unread, drained, over, gap })
    }
}

impl Feed {
    /// Whether the event to go on after was not there, so that some may be missing.
    #[must_use]
    pub fn has_gap(&self) -> bool {
        self.gap
    }

    /// Whether it must be opened again, after the last event that it gave out.
    pub(in crate::webhooks) fn is_over(&self) -> bool {
        self.over
    }

    /// The id of the last event up to which nothing is left to read, where that is known.
    pub(in crate::webhooks) async fn read_up_to(&self) -> Result<Option<String>> {
        match &self.stands {
            _ if !self.drained || self.over => Ok(None),
            // Another event may have the row by now.
            Some((_, id)) => Ok(Some(id.clone())),
            None => sql::newest(self.webhooks.0.base.db(), self.after.0 - 1).await,
        }
    }

    /// Waits until somebody has committed something since the last [`Feed::next`], or for this
    /// long: an event can be held back by a change that is still open.
    pub(in crate::webhooks) async fn wait(&self, longest: Duration) {
        let mut news = self.news.clone();
        if tokio::time::timeout(longest, news.changed()).await.is_ok_and(|open| open.is_err()) {
            tokio::time::sleep(longest).await;
        }
    }

    /// The next events; none when there are no new ones. Reads only after a commit of any process.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be reached, or has renumbered its events: who
    /// begins again after the last one misses none.
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
        // SQLite counts from one again when retention has emptied the table, and a VACUUM renumbers
        // it. An empty table has nothing to miss.
        if settled > 0 && settled + 1 < self.after.0 {
            return Err(self.renumbered());
        }
        let mut found = sql::next(db, &self.pattern, &self.after, settled, STEP).await?;
        // After the read: as long as this event stands in its row, no row before has got another.
        if let (true, Some((row, id))) = (settled > 0, &self.stands)
            && sql::row(db, id).await? != Some(*row)
        {
            return Err(self.renumbered());
        }
        self.drained = found.is_empty() && self.known.is_empty();
        if let Some(last) = found.last() {
            self.after = (last.row, last.id.clone());
            self.stands = newest.map(|_| self.after.clone());
        } else {
            self.stands = newest.map(|id| (settled, id));
            self.unread = sql::beyond(db, settled).await?;
            // So that a rare name is not searched among all others again and again.
            self.after = (settled + 1, String::new());
        }
        found.retain(|one| !self.known.remove(&one.id));
        Ok(found)
    }

    fn renumbered(&mut self) -> Error {
        self.over = true;
        Error::new(Code::Unavailable, "The events were renumbered.")
    }
}

/// The data within the body of a delivery, as it is written there.
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
    } }

    statements! {
        /// After the position `$1`, `$2` and not later than the row `$3`: `$4` at most, and no
        /// further one once those before have `$7` bytes together. A body is read only then.
        NEXT = concat!(
            "select ", recorded_columns!(), " from (select n.id, cast(sum(n.bytes) over (order by \
             n.place, n.id) as bigint) - n.bytes as bytes_before from (select e.id, e.rowid as \
             place, octet_length(e.body) as bytes from cms_events e \
             where (e.rowid, e.id) > ($1, $2) and e.rowid <= $3 \
             and (cast($5 as text) is null or e.name = $5) \
             and (cast($6 as text) is null or substr(e.name, 1, length($6)) = $6) \
             order by e.rowid, e.id limit $4) n) s cross join cms_events e \
             where e.id = s.id and s.bytes_before < $7 order by e.rowid, e.id"
        );
        ROW = "select e.rowid from cms_events e where e.id = $1";
        /// After the row `$1`, up to the position `$2`, `$3`.
        BETWEEN = "select e.id from cms_events e where e.rowid > $1 and (e.rowid, e.id) <= ($2, \
                   $3) order by e.rowid limit 10000";
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

    /// Puts events that came from another server, whose transactions had higher numbers, before
    /// those of this one, in their order.
    pub(in crate::webhooks) const RESTORED: PerEngine<Option<&str>> = PerEngine {
        sqlite: None,
        postgres: Some(
            "update cms_events set rowid = rowid - (select max(m.rowid) from cms_events m) where \
             (select max(m.rowid) from cms_events m) >= \
             txid_snapshot_xmax(txid_current_snapshot())",
        ),
    };

    /// The last row up to which no further event can appear, and its event where rows are used
    /// again.
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
    pub(super) async fn newest(db: &Db, row: i64) -> Result<Option<String>> {
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
}
