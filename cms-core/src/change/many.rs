//! The same happens to many rows in one change: their events and their rows of the audit log are
//! written together.

use std::time::Duration;

use serde_json::{Value as Json, json};
use tokio::time::Instant;

use super::Change;
use crate::{
    Code, Error, Result,
    db::{PerEngine, Statement, args},
    events::{self, Event, Payload, family},
};

/// How long guards may take for all rows: the change holds SQLite's one writer.
const GUARDED: Duration = Duration::from_secs(30);
/// Rows of one trip.
const BATCH_SIZE: usize = 500;

impl Change {
    /// Makes room for the change of many rows, before it writes anything. On SQLite it then has a
    /// transaction of its own and no savepoint, whose undo data would stay in memory: 50,000 rows
    /// took twice as long.
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

    /// As [`Change::raise_audited`] for many rows: the same event and act, and for each row its id
    /// and the data.
    pub(crate) async fn raise_each<P: Payload>(
        &mut self,
        event: Event<P>,
        (action, table, columns): (&'static str, &str, &[&str]),
        rows: Vec<(i64, P)>,
    ) -> Result<()> {
        let event = event.name;
        let (is_guarded, begun) = (!self.guards_before(event).is_empty(), Instant::now());
        let (many, columns) = (self.dialect.of(&MANY), json!(columns).to_string());
        let mut rows = rows.into_iter().peekable();
        while rows.peek().is_some() {
            let mut told = Vec::new();
            for (row, data) in rows.by_ref().take(BATCH_SIZE) {
                let data = json!(data);
                if is_guarded {
                    self.ask_guards(event, &data).await?;
                    if begun.elapsed() > GUARDED {
                        let seconds = GUARDED.as_secs();
                        let why = format!("Guards took longer than {seconds} s for all rows.");
                        return Err(Error::new(Code::Unavailable, why));
                    }
                }
                let id = self.random.uuid_v7(&self.clock)?;
                let (body, removed) = events::body(&id, event, self.now, data);
                let removed = (!removed.is_empty()).then(|| json!(removed).to_string());
                told.push(json!([id, body, removed, row.to_string()]));
                if !self.silent {
                    self.emitted.push(id);
                }
            }
            let (told, (kind, actor, name)) = (Json::from(told).to_string(), self.actor.columns());
            let audit = args![&told, kind, actor, name, action, table, &columns, self.now];
            if self.silent {
                self.run(many.audit, audit).await?;
                continue;
            }
            self.run(many.events, args![&told, event, self.now]).await?;
            self.run(many.audit, audit).await?;
            let jobs = args![&told, self.now, event, family(event)];
            let queued = self.run(many.jobs, jobs).await?;
            self.queued |= queued > 0;
        }
        Ok(())
    }

    /// Raises an event of the service for each of these. No webhook gets it, and no guard is
    /// asked: it tells of what has ended by itself.
    pub(crate) async fn raise_inside<P: Payload>(
        &mut self,
        event: Event<P>,
        all: &[P],
    ) -> Result<()> {
        let many = self.dialect.of(&MANY);
        for some in all.chunks(BATCH_SIZE) {
            let mut told = Vec::new();
            for data in some {
                let id = self.random.uuid_v7(&self.clock)?;
                let (body, removed) = events::body(&id, event.name, self.now, json!(data));
                let removed = (!removed.is_empty()).then(|| json!(removed).to_string());
                told.push(json!([id, body, removed]));
                self.emitted.push(id);
            }
            let told = Json::from(told).to_string();
            self.run(many.events, args![told, event.name, self.now]).await?;
        }
        Ok(())
    }

    /// Moves the events of a slow change to its end. Who asks for events by time has read past its
    /// beginning.
    pub(super) async fn move_late_events(&mut self) -> Result<()> {
        let now = self.clock.now();
        if now - self.now >= events::LATE_AFTER {
            let later = self.dialect.of(&MANY).later;
            for ids in std::mem::take(&mut self.emitted).chunks(BATCH_SIZE) {
                let ids: Vec<_> = ids.iter().map(|id| [id]).collect();
                self.tx.run(later, args![json!(ids).to_string(), now]).await?;
            }
        }
        Ok(())
    }
}

/// Writes what happened to many rows. `$1` is a JSON array; of each row an array: the id of the
/// event, its payload, what was removed from it, the row's id.
#[derive(Clone, Copy)]
pub(crate) struct Many {
    /// The events: their name, the time.
    pub(crate) events: Statement,
    /// Their jobs, those of one subscription in the order of the events: the time, the name, its
    /// family.
    pub(crate) jobs: Statement,
    /// Their rows of the audit log: kind, id and name of the actor, action, table, columns, time.
    pub(crate) audit: Statement,
    /// Moves events, `$1` their ids alone, to a time.
    pub(crate) later: Statement,
}

impl Many {
    /// All of them, to be tried.
    pub(crate) const fn all(&self) -> [Statement; 4] {
        [self.events, self.jobs, self.audit, self.later]
    }
}

macro_rules! many {
    ($rows:literal) => {
        Many {
            events: Statement::new(
                "change::many::events",
                concat!(
                    "insert into cms_events (id, name, body, removed, created_at) \
                     select e.value ->> 0, cast($2 as text), e.value ->> 1, e.value ->> 2, \
                     cast($3 as bigint) from ",
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
            later: Statement::new(
                "change::many::later",
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
