//! From an event to the rows of those who listen: part of the change that makes the event.

use crate::{
    Result, args,
    db::{Change, statements},
    webhooks::matching::family,
};

statements! {
    /// `$4` is `item.*` for events of items, else the name again. In order, so that the indexes
    /// grow at one place each: for 10,000 listeners PostgreSQL takes two thirds of the time. Nor
    /// does it join the subscriptions, which would take it a quarter more (and SQLite a fifth
    /// less).
    ENQUEUE = "insert into cms_webhook_queue (event_id, subscription_id, status, next_retry_at, created_at) \
               select cast($1 as text), l.id, case when exists (select 1 from cms_webhook_subscriptions s where s.id = l.id and not s.active) \
               then 'held' else 'pending' end, cast($2 as bigint), cast($2 as bigint) from \
               (select distinct i.subscription_id as id from cms_webhook_interests i where i.event in ($3, $4, '*')) l order by l.id";
}

/// Returns how many rows were made.
pub(crate) async fn enqueue(change: &mut Change, event_id: &str, event: &str) -> Result<u64> {
    change.run(ENQUEUE, args![event_id, change.now(), event, family(event)]).await
}
