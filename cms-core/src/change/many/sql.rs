//! Events and audit rows of many rows at once, from a JSON array, which each engine reads in its
//! own words.

use crate::db::{PerEngine, Statement};

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
