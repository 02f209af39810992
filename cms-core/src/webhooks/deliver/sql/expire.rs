//! Removal of old rows. Each statement removes at most 1,000.

crate::db::statements! {
    DELIVERED = "delete from cms_webhook_queue where id in (select id from cms_webhook_queue \
                 where settled_at <= $1 and status = 'delivered' limit 1000)";
    /// Failed, cancelled and held jobs are kept as long as the log.
    GIVEN_UP = "delete from cms_webhook_queue where id in (select id from cms_webhook_queue \
                where settled_at <= $1 and status in ('failed', 'cancelled') limit 1000)";
    TOO_LONG_HELD = "delete from cms_webhook_queue where id in \
                     (select id from cms_webhook_queue \
                     where status = 'held' and created_at <= $1 limit 1000) and status = 'held'";
    /// Jobs that were queued or returned while their subscription was being deleted. Only waiting
    /// jobs are searched; the other statements remove the rest by age.
    LEFT_OVER = "delete from cms_webhook_queue where id in (select q.id from cms_webhook_queue q \
                 where q.status in ('pending', 'retry') and q.created_at <= $1 and not exists \
                 (select 1 from cms_webhook_subscriptions s where s.id = q.subscription_id) \
                 limit 1000)";
    /// Forgets old secrets whose grace is over.
    OLD_SECRETS = "update cms_webhook_subscriptions \
                   set old_secret = null, old_secret_until = null where old_secret_until <= $1";
    DELIVERIES = "delete from cms_webhook_deliveries where id in \
                  (select id from cms_webhook_deliveries \
                  where created_at <= $1 order by created_at limit 1000)";
    /// Keeps events that still have jobs.
    EVENTS = "delete from cms_events where id in (select e.id from cms_events e \
              where e.created_at <= $1 and not exists \
              (select 1 from cms_webhook_queue q where q.event_id = e.id) \
              order by e.created_at limit 1000)";
}
