//! From an event to the rows of those who listen: part of the change that makes the event.

use crate::{
    Result, args,
    db::{Change, statements},
    webhooks::matching::family,
};

statements! {
    /// `$4` is `item.*` for events of items, else the name again. In order, so that the indexes grow at one place each: for 10,000 listeners
    /// PostgreSQL takes two thirds of the time.
    ENQUEUE = "insert into cms_webhook_queue (event_id, subscription_id, status, next_retry_at, created_at) \
               select cast($1 as text), s.id, case when s.active then 'pending' else 'held' end, cast($2 as bigint), cast($2 as bigint) \
               from cms_webhook_subscriptions s where s.id in \
               (select i.subscription_id from cms_webhook_interests i where i.event in ($3, $4, '*')) order by s.id";
}

/// Returns how many rows were made.
pub(crate) async fn enqueue(change: &mut Change, event_id: &str, event: &str) -> Result<u64> {
    change.run(ENQUEUE, args![event_id, change.now(), event, family(event)]).await
}
