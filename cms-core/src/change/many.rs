//! One act on many rows in one change: their events and their audit rows are written together.

use std::time::Duration;

use serde_json::{Value as Json, json};
use tokio::time::Instant;

use super::Change;
use crate::{
    Code, Error, Result,
    db::{PerEngine, Statement, args},
    events::{self, Event, Payload, family},
};

/// How long guards may take for all rows together: the change holds SQLite's one writer.
const GUARDS_TIMEOUT: Duration = Duration::from_secs(30);
/// Rows of one trip.
const BATCH_SIZE: usize = 500;

impl Change {
    /// Prepares the change for many rows; call it before the change writes anything. On SQLite
    /// the change gets a transaction of its own instead of a savepoint, whose undo data would
    /// stay in memory: 50,000 rows took twice as long.
    ///
    /// # Errors
    /// `unavailable` when what this change has read may be old, because another process wrote in
    /// the same instant; `internal_error` for a change that has written already.
    pub async fn large(self) -> Result<Self> {
        if !self.touched.is_empty() || !self.emitted.is_empty() {
            return Err(Error::internal("a large change that has written already"));
        }
        Ok(Self { tx: self.tx.grow().await?, ..self })
    }

    /// As [`Change::raise_about`] for many rows: one event and one act, and for each row its id
    /// and its data.
    pub(crate) async fn raise_each<P: Payload>(
        &mut self,
        event: Event<P>,
        (action, table, columns): (&'static str, &str, &[&str]),
        rows: Vec<(i64, P)>,
    ) -> Result<()> {
        let event = event.name;
        let (is_guarded, begun) = (!self.guards_before(event).is_empty(), Instant::now());
        let (many, columns) = (self.dialect().of(&MANY), json!(columns).to_string());
        let mut rows = rows.into_iter().peekable();
        while rows.peek().is_some() {
            let mut batch = Vec::new();
            for (row, data) in rows.by_ref().take(BATCH_SIZE) {
                let data = json!(data);
                if is_guarded {
                    self.ask_guards(event, &data).await?;
                    if begun.elapsed() > GUARDS_TIMEOUT {
                        let seconds = GUARDS_TIMEOUT.as_secs();
                        let why = format!("Guards took longer than {seconds} s for all rows.");
                        return Err(Error::new(Code::Unavailable, why));
                    }
                }
                let id = self.random.uuid_v7(&self.clock)?;
                let (body, removed) = events::body(&id, event, self.now, data);
                let removed = (!removed.is_empty()).then(|| json!(removed).to_string());
                batch.push(json!([id, body, removed, row.to_string()]));
                if !self.silent {
                    self.emitted.push(id);
                }
            }
            let (batch, (kind, actor, name)) =
                (Json::from(batch).to_string(), self.actor.columns());
            let audit = args![&batch, kind, actor, name, action, table, &columns, self.now];
            if self.silent {
                self.run(many.audit, audit).await?;
                continue;
            }
            self.run(many.events, args![&batch, event, self.now, self.depth]).await?;
            self.run(many.audit, audit).await?;
            let jobs = args![&batch, self.now, event, family(event)];
            let queued = self.run(many.jobs, jobs).await?;
            self.queued |= queued > 0;
        }
        Ok(())
    }

    /// Raises an event of the service for each of `all`. No webhook gets these events and no
    /// guard is asked: they report what has ended by itself.
    pub(crate) async fn raise_inside<P: Payload>(
        &mut self,
        event: Event<P>,
        all: &[P],
    ) -> Result<()> {
        let many = self.dialect().of(&MANY);
        for some in all.chunks(BATCH_SIZE) {
            let mut batch = Vec::new();
            for data in some {
                let id = self.random.uuid_v7(&self.clock)?;
                let (body, removed) = events::body(&id, event.name, self.now, json!(data));
                let removed = (!removed.is_empty()).then(|| json!(removed).to_string());
                batch.push(json!([id, body, removed]));
                self.emitted.push(id);
            }
            let batch = Json::from(batch).to_string();
            self.run(many.events, args![batch, event.name, self.now, self.depth]).await?;
        }
        Ok(())
    }

    /// Moves the events of a slow change to the time of its end. Readers that ask for events by
    /// time may have read past its beginning.
    pub(super) async fn move_late_events(&mut self) -> Result<()> {
        let now = self.clock.now();
        if now - self.now >= events::LATE_AFTER {
            let set_time = self.dialect().of(&MANY).set_time;
            for ids in std::mem::take(&mut self.emitted).chunks(BATCH_SIZE) {
                let ids: Vec<_> = ids.iter().map(|id| [id]).collect();
                self.tx.run(set_time, args![json!(ids).to_string(), now]).await?;
            }
        }
        Ok(())
    }
}

/// The statements that write what happened to many rows. `$1` is a JSON array with one array for
/// each row: the id of the event, its payload, the members removed from it, the row's id.
#[derive(Clone, Copy)]
pub(crate) struct Many {
    /// Records the events. Further values: their name, the time, their depth.
    pub(crate) events: Statement,
    /// Queues the jobs, for each subscription in the order of the events. Further values: the
    /// time, the name, its family.
    pub(crate) jobs: Statement,
    /// Writes the audit rows. Further values: kind, id and name of the actor, action, table,
    /// columns, time.
    pub(crate) audit: Statement,
    /// Moves events to a time. Here `$1` holds only their ids.
    pub(crate) set_time: Statement,
}

impl Many {
    /// All statements, for the test that prepares them.
    pub(crate) const fn all(&self) -> [Statement; 4] {
        [self.events, self.jobs, self.audit, self.set_time]
    }
}

macro_rules! many {
    ($rows:literal) => {
        Many {
            events: Statement::new(
                "change::many::events",
                concat!(
                    "insert into cms_events (id, name, body, removed, created_at, depth) \
                     select e.value ->> 0, cast($2 as text), e.value ->> 1, e.value ->> 2, \
                     cast($3 as bigint), cast($4 as bigint) from ",
                    $rows,
                    " e"
                ),
            ),
            jobs: Statement::new(
                "change::many::jobs",
                concat!(
                    "insert into cms_webhook_queue \
                     (event_id, subscription_id, status, next_retry_at, created_at) \
                     select e.value ->> 0, l.id, \
                     case when exists (select 1 from cms_webhook_subscriptions s \
                     where s.id = l.id and not s.active) then 'held' else 'pending' end, \
                     cast($2 as bigint), cast($2 as bigint) from \
                     (select distinct i.subscription_id as id from cms_webhook_interests i \
                     where i.event in ($3, $4, '*')) l, ",
                    $rows,
                    " e order by l.id, e.value ->> 0"
                ),
            ),
            audit: Statement::new(
                "change::many::audit",
                concat!(
                    "insert into cms_audit (actor_kind, actor_id, actor_name, action, table_name, \
                     row_id, columns, created_at) select cast($2 as text), cast($3 as bigint), \
                     cast($4 as text), cast($5 as text), cast($6 as text), e.value ->> 3, \
                     cast($7 as text), cast($8 as bigint) from ",
                    $rows,
                    " e"
                ),
            ),
            set_time: Statement::new(
                "change::many::set_time",
                concat!(
                    "update cms_events set created_at = $2 where id in (select e.value ->> 0 from ",
                    $rows,
                    " e)"
                ),
            ),
        }
    };
}

pub(crate) const MANY: PerEngine<Many> = PerEngine {
    sqlite: many!("json_each($1)"),
    postgres: many!("json_array_elements(cast($1 as json))"),
};
