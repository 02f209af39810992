//! What is kept only for a time is removed, a batch at a time, so that no table grows without
//! bound.

use crate::{Actor, Cms, Result, accounts, args};

pub(crate) mod sql {
    crate::db::statements! {
        REPLIES = "delete from cms_idempotency where (caller, idempotency_key) in (select caller, idempotency_key from cms_idempotency \
                   where created_at <= $1 order by created_at limit 1000)";
        AUDIT = "delete from cms_audit where id in (select id from cms_audit where created_at <= $1 order by created_at limit 1000)";
        CLEARS = "delete from cms_cache_clears where created_at <= $1 and id < (select max(id) from cms_cache_clears)";
        ATTEMPTS = "delete from cms_login_attempts where id in (select id from cms_login_attempts where created_at <= $1 limit 1000)";
        NETWORKS = "delete from cms_login_networks where id in (select id from cms_login_networks where last_attempt_at <= $1 limit 1000) and last_attempt_at <= $1";
        PENDING = "delete from cms_pending_logins where hash in (select hash from cms_pending_logins where created_at <= $1 limit 1000)";
        IDLE_SESSIONS = "delete from cms_sessions where id in (select id from cms_sessions where last_seen_at <= $1 limit 1000) and last_seen_at <= $1";
        /// An event that is still to be delivered stays.
        EVENTS = "delete from cms_events where id in (select e.id from cms_events e where e.created_at <= $1 \
                  and not exists (select 1 from cms_webhook_queue q where q.event_id = e.id) order by e.created_at limit 1000)";
        DELIVERED = "delete from cms_webhook_queue where id in (select id from cms_webhook_queue where settled_at <= $1 and status = 'delivered' \
                     limit 1000)";
        /// Failed and cancelled jobs go with the log; so do those that were held all that time.
        GIVEN_UP = "delete from cms_webhook_queue where id in (select id from cms_webhook_queue where settled_at <= $1 \
                    and status in ('failed', 'cancelled') limit 1000)";
        TOO_LONG_HELD = "delete from cms_webhook_queue where id in (select id from cms_webhook_queue where status = 'held' and created_at <= $1 limit 1000) \
                         and status = 'held'";
        /// Queued, or given back, while their subscription was deleted. Only what waits is looked
        /// at: the rest goes by time.
        LEFT_OVER = "delete from cms_webhook_queue where id in (select q.id from cms_webhook_queue q where q.status in ('pending', 'retry') \
                     and q.created_at <= $1 and not exists (select 1 from cms_webhook_subscriptions s where s.id = q.subscription_id) limit 1000)";
        /// Their grace is over.
        OLD_SECRETS = "update cms_webhook_subscriptions set old_secret = null, old_secret_until = null where old_secret_until <= $1";
        DELIVERIES = "delete from cms_webhook_deliveries where id in (select id from cms_webhook_deliveries where created_at <= $1 \
                      order by created_at limit 1000)";
    }
}

const DAY: i64 = 24 * 3_600_000;
/// A call ends some time, whatever there is to do.
const BATCHES: usize = 1000;

impl Cms {
    /// Removes replies, audit rows and events whose time under `retention` is over, and logins and
    /// sessions that have ended. Returns how many rows went. They go in batches of 1,000, so that
    /// no transaction is long. To be called about once a minute.
    ///
    /// # Errors
    /// As every write.
    pub async fn expire(&self) -> Result<u64> {
        let (now, keep) = (self.clock().now(), &self.settings().retention);
        let days = |days: u64| {
            now.saturating_sub(i64::try_from(days).unwrap_or(i64::MAX).saturating_mul(DAY))
        };
        let seconds = |seconds: i64| now.saturating_sub(seconds.saturating_mul(1000));
        let due = [
            (sql::REPLIES, self.idempotency_horizon()),
            (sql::AUDIT, days(keep.audit_days)),
            (
                sql::DELIVERED,
                seconds(i64::try_from(keep.queue_h).unwrap_or(i64::MAX).saturating_mul(3600)),
            ),
            (sql::LEFT_OVER, now),
            (sql::GIVEN_UP, days(keep.deliveries_days)),
            (sql::TOO_LONG_HELD, days(keep.deliveries_days)),
            (sql::OLD_SECRETS, now),
            (sql::DELIVERIES, days(keep.deliveries_days)),
            (sql::EVENTS, days(keep.events_days)),
            (sql::CLEARS, days(1)),
            (sql::ATTEMPTS, seconds(accounts::WINDOW_S)),
            (sql::NETWORKS, seconds(accounts::WINDOW_S)),
            (sql::PENDING, seconds(accounts::PENDING_S)),
            (
                sql::IDLE_SESSIONS,
                seconds(i64::try_from(self.settings().session.idle_s).unwrap_or(i64::MAX)),
            ),
        ];
        let mut removed = 0;
        for (statement, horizon) in due {
            for _ in 0..BATCHES {
                let mut change = self.change(Actor::System).await?;
                let batch = change.run(statement, args![horizon]).await?;
                change.commit().await?;
                removed += batch;
                if batch < 1000 {
                    break;
                }
            }
        }
        Ok(removed)
    }
}
