//! Statements of subscriptions.

use std::collections::BTreeMap;

use super::SubscriptionHealth;
use crate::{
    Change, Error, Result,
    db::{Db, Statement, args, read, record, statements},
    items::{Made, OwnColumn, RowList},
};

record! {
    /// A subscription as stored, with its secret and header values encrypted.
    #[derive(Clone, Debug)]
    pub(in crate::webhooks) struct Stored: subscription_columns {
        pub(in crate::webhooks) id: i64 = "id",
        pub(in crate::webhooks) name: String = "name",
        pub(in crate::webhooks) url: String = "url",
        pub(in crate::webhooks) events: Vec<String> = "events" => read::json,
        pub(in crate::webhooks) custom_headers: Vec<(String, String)> =
            "custom_headers" => |text: String| headers(&text),
        pub(in crate::webhooks) max_retries: i64 = "max_retries",
        pub(in crate::webhooks) failure_count: i64 = "failure_count",
        pub(in crate::webhooks) active: bool = "active",
        pub(in crate::webhooks) disabled_reason: Option<String> = "disabled_reason",
        pub(in crate::webhooks) created_at: i64 = "created_at",
        pub(in crate::webhooks) secret: String = "secret",
        /// Until when the previous secret also signs. This time may have passed.
        pub(in crate::webhooks) old_secret_until: Option<i64> = "old_secret_until",
    }
}

// Health is read from the log and the queue, so no delivery has to write it.
// Jobs are counted by the indexes of their states. Each count has a limit, so a long queue costs
// no more.
record! { SubscriptionHealth: health_columns {
    last_attempt_at: "d.created_at" => read::optional_time,
    last_status: "d.outcome",
    last_response_code: "d.status_code",
    waiting_jobs:
        "(select count(*) from (select 1 as one from cms_webhook_queue q \
         where q.subscription_id = s.id and q.status in ('pending', 'retry') limit 1000) due) \
         + (select count(*) from (select 1 as one from cms_webhook_queue q \
         where q.subscription_id = s.id and q.status = 'held' limit 1000) held)",
} }

record! {
    /// The id of a subscription and its health.
    struct HealthRow: health_row_columns {
        id: i64 = "s.id",
        health: SubscriptionHealth = (health_columns),
    }
}

record! {
    /// A subscription that fails, or was switched off because it failed.
    pub(crate) struct InTrouble: in_trouble_columns {
        pub(crate) id: i64 = "id",
        pub(crate) name: String = "name",
        /// Failed attempts in a row.
        pub(crate) failures: i64 = "failure_count",
        /// Why it was switched off; `None`: the subscription is on.
        pub(crate) switched_off: Option<String> = "case when not active then disabled_reason end",
    }
}

/// Reads the last attempt as ranges of indexes. Otherwise PostgreSQL would read the whole log:
/// backward for the newest id of an idle subscription, or once to join it to a page.
macro_rules! health {
    ($of:literal) => {
        concat!(
            "select ",
            health_row_columns!(),
            " from (select i.id, (select l.id from cms_webhook_deliveries l \
             where l.subscription_id between i.id and i.id \
             order by l.subscription_id desc, l.id desc limit 1) as last_id \
             from cms_webhook_subscriptions i) s \
             left join cms_webhook_deliveries d on d.id between s.last_id and s.last_id \
             where s.id ",
            $of
        )
    };
}

/// Subscriptions as a list.
pub(crate) static LIST: RowList = RowList {
    name: "The list of webhooks",
    table: "cms_webhook_subscriptions",
    columns: &[
        OwnColumn::integer("id"),
        OwnColumn::text("name").searched(),
        OwnColumn::text("url").searched(),
        OwnColumn::boolean("active"),
        OwnColumn::text("disabled_reason").nullable(),
        OwnColumn::integer("failure_count"),
        OwnColumn::integer("max_retries"),
        OwnColumn::time("created_at"),
    ],
    rows: Statement::new(
        concat!(module_path!(), "::LIST"),
        concat!("select ", subscription_columns!(), " from cms_webhook_subscriptions where id in"),
    ),
    made: Made::new(),
};

pub(super) const HEALTH_OF: Statement =
    Statement::new(concat!(module_path!(), "::HEALTH_OF"), health!("in"));

statements! {
    GET = concat!(
        "select ", subscription_columns!(), " from cms_webhook_subscriptions where id = $1"
    );
    FIRST = concat!(
        "select ", subscription_columns!(), " from cms_webhook_subscriptions order by id limit $1"
    );
    HEALTH = health!("= $1");
    OLD_SECRETS = "select id, old_secret from cms_webhook_subscriptions \
                   where old_secret is not null order by id limit 1000";
    IN_TROUBLE = concat!(
        "select ", in_trouble_columns!(),
        " from cms_webhook_subscriptions where (active and failure_count > 0) \
         or (not active and disabled_reason is not null and disabled_reason <> $1) \
         order by active, id limit 20"
    );
    LOCK = concat!(
        "update cms_webhook_subscriptions set active = active where id = $1 returning ",
        subscription_columns!()
    );
    INSERT = "insert into cms_webhook_subscriptions \
              (name, url, events, secret, custom_headers, max_retries, active, created_at) \
              values ($1, $2, $3, '', '{}', $4, $5, $6) returning id";
    UPDATE = "update cms_webhook_subscriptions set name = $2, url = $3, events = $4, \
              custom_headers = $5, max_retries = $6 where id = $1";
    SET_SECRET = "update cms_webhook_subscriptions \
                  set secret = $2, old_secret = $3, old_secret_until = $4 where id = $1";
    DELETE = "delete from cms_webhook_subscriptions where id = $1";
    DELETE_JOBS = "delete from cms_webhook_queue where subscription_id = $1";
    FORGET_INTERESTS = "delete from cms_webhook_interests where subscription_id = $1";
    ADD_INTEREST = "insert into cms_webhook_interests (subscription_id, event) \
                    values ($1, $2) on conflict do nothing";
    ACTIVATE = "update cms_webhook_subscriptions set active = $2, disabled_reason = null, \
                failure_count = 0, not_before = 0 where id = $1";
    DEACTIVATE = "update cms_webhook_subscriptions set active = $2, disabled_reason = $3 \
                  where id = $1";
    RELEASE = "update cms_webhook_queue \
               set status = case when retry_count > 0 then 'retry' else 'pending' end, \
               next_retry_at = $2 where subscription_id = $1 and status = 'held'";
    CANCEL_HELD = "update cms_webhook_queue set status = 'cancelled', settled_at = $2 \
                   where subscription_id = $1 and status = 'held'";
    HOLD = "update cms_webhook_queue set status = 'held' \
            where subscription_id = $1 and status in ('pending', 'retry')";
}

/// Header names and encrypted values.
pub(in crate::webhooks) fn headers(text: &str) -> Result<Vec<(String, String)>> {
    let members: std::collections::BTreeMap<String, String> =
        serde_json::from_str(text).map_err(Error::internal)?;
    Ok(members.into_iter().collect())
}

fn text(value: &impl serde::Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(Error::internal)
}

pub(in crate::webhooks) async fn get(db: &Db, id: i64) -> Result<Option<Stored>> {
    db.optional(GET, args![id]).await
}

/// The health of subscriptions.
pub(in crate::webhooks) async fn health(
    db: &Db,
    ids: &[i64],
) -> Result<BTreeMap<i64, SubscriptionHealth>> {
    let rows: Vec<HealthRow> = db.among(HEALTH_OF, Vec::new(), ids).await?;
    Ok(rows.into_iter().map(|row| (row.id, row.health)).collect())
}

/// The health of one subscription, including what the change has written.
pub(in crate::webhooks) async fn health_in(
    change: &mut Change,
    id: i64,
) -> Result<SubscriptionHealth> {
    let row: Option<HealthRow> = change.optional(HEALTH, args![id]).await?;
    Ok(row.map(|row| row.health).unwrap_or_default())
}

/// Reads a subscription and locks it until this change ends.
pub(in crate::webhooks) async fn lock(change: &mut Change, id: i64) -> Result<Option<Stored>> {
    change.optional(LOCK, args![id]).await
}

pub(in crate::webhooks) async fn insert(change: &mut Change, new: &Stored) -> Result<i64> {
    let args =
        args![&new.name, &new.url, text(&new.events)?, new.max_retries, new.active, change.now()];
    let (id,): (i64,) = change.one(INSERT, args).await?;
    Ok(id)
}

pub(in crate::webhooks) async fn update(change: &mut Change, row: &Stored) -> Result<()> {
    let headers: std::collections::BTreeMap<_, _> =
        row.custom_headers.iter().map(|(name, value)| (name, value)).collect();
    let args =
        args![row.id, &row.name, &row.url, text(&row.events)?, text(&headers)?, row.max_retries];
    change.run_one(UPDATE, args).await?;
    change.run(FORGET_INTERESTS, args![row.id]).await?;
    for event in &row.events {
        change.run(ADD_INTEREST, args![row.id, event]).await?;
    }
    Ok(())
}

/// Sets the secret. `old` is the previous one, and until when it also signs.
pub(in crate::webhooks) async fn set_secret(
    change: &mut Change,
    id: i64,
    sealed: &str,
    old: Option<(String, i64)>,
) -> Result<()> {
    let (old, until) = old.unzip();
    change.run_one(SET_SECRET, args![id, sealed, old, until]).await
}

pub(in crate::webhooks) async fn delete(change: &mut Change, id: i64) -> Result<()> {
    change.run_one(DELETE, args![id]).await?;
    change.run(DELETE_JOBS, args![id]).await.map(drop)
}

/// Switches a subscription on. Held jobs are sent (`replay`) or cancelled; returns their number.
pub(in crate::webhooks) async fn activate(
    change: &mut Change,
    id: i64,
    replay: bool,
) -> Result<u64> {
    change.run_one(ACTIVATE, args![id, true]).await?;
    if replay {
        release(change, id).await
    } else {
        change.run(CANCEL_HELD, args![id, change.now()]).await
    }
}

/// Switches a subscription off. The caller holds its waiting jobs.
pub(in crate::webhooks) async fn switch_off(
    change: &mut Change,
    id: i64,
    reason: &str,
) -> Result<()> {
    change.run_one(DEACTIVATE, args![id, false, reason]).await
}

/// Holds the waiting jobs.
pub(in crate::webhooks) async fn hold(change: &mut Change, id: i64) -> Result<()> {
    change.run(HOLD, args![id]).await.map(drop)
}

/// Makes held jobs due now. Returns their number.
pub(in crate::webhooks) async fn release(change: &mut Change, id: i64) -> Result<u64> {
    change.run(RELEASE, args![id, change.now()]).await
}
