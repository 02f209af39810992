//! Statements of consumers.

use crate::{
    Change, Millis, Result,
    db::{Db, args, record, statements},
    jobs::Lease,
    webhooks::history::feed,
};

/// A consumer as it is stored.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// The last event that is done.
    pub(super) event: String,
    /// Events after it were removed.
    pub(super) has_gap: bool,
    pub(super) lease: Lease,
    pub(super) failures: i64,
    pub(super) next_try_at: Millis,
}

record! { Row: row_columns {
    event: "event_id",
    has_gap: "has_gap",
    lease: "lease_until" + "lease_token" => lease,
    failures: "failures",
    next_try_at: "next_try_at",
} }

fn lease((until, token): (i64, i64)) -> Result<Lease> {
    Ok(Lease { until, token })
}

statements! {
    ROW = concat!("select ", row_columns!(), " from cms_event_consumers where name = $1");
    ADD = "insert into cms_event_consumers (name, event_id) values ($1, $2) \
           on conflict (name) do nothing";
    /// The token alone would not notice that the owner has renewed the lease meanwhile.
    TAKE = "update cms_event_consumers set lease_token = $4, lease_until = $5 \
            where name = $1 and lease_token = $2 and lease_until = $3";
    RENEW = "update cms_event_consumers set lease_until = $3, event_id = coalesce($4, event_id) \
             where name = $1 and lease_token = $2";
    /// An event that was erased meanwhile cannot be where a name stands.
    DONE = "update cms_event_consumers set event_id = $5, lease_until = $3, has_gap = false, \
            failures = 0, error_message = null, next_try_at = 0 \
            where name = $1 and lease_token = $2 and event_id = $4 \
            and exists (select 1 from cms_events e where e.id = $5)";
    FAIL = "update cms_event_consumers set failures = $4, error_message = $5, next_try_at = $6 \
            where name = $1 and lease_token = $2 and event_id = $3";
    FAILING = "select name, failures, error_message from cms_event_consumers \
               where failures > 0 and lease_until >= $1 order by name limit 50";
}

/// The newest event before which no other can appear any more; empty: there is none.
pub(super) async fn newest(db: &Db) -> Result<String> {
    let (settled, _) = feed::sql::settled(db).await?;
    Ok(feed::sql::newest(db, settled).await?.unwrap_or_default())
}

pub(super) async fn row(db: &Db, name: &str) -> Result<Option<Row>> {
    db.optional(ROW, args![name]).await
}

/// Enters a name that is new.
pub(super) async fn add(change: &mut Change, name: &str, event: &str) -> Result<()> {
    change.run(ADD, args![name, event]).await.map(drop)
}

/// Takes the lease. False: somebody else was quicker.
pub(super) async fn take(
    change: &mut Change,
    name: &str,
    old: Lease,
    lease: Lease,
) -> Result<bool> {
    let args = args![name, old.token, old.until, lease.token, lease.until];
    Ok(change.run(TAKE, args).await? > 0)
}

/// Renews the lease, or ends it; nothing is left to do up to the event. False: the lease is lost.
pub(super) async fn renew(
    change: &mut Change,
    name: &str,
    lease: Lease,
    event: Option<&str>,
) -> Result<bool> {
    Ok(change.run(RENEW, args![name, lease.token, lease.until, event]).await? > 0)
}

/// Writes down that the event after another one is done. False: the lease is lost, or it is done
/// already.
pub(super) async fn done(
    change: &mut Change,
    name: &str,
    lease: Lease,
    [after, event]: [&str; 2],
) -> Result<bool> {
    Ok(change.run(DONE, args![name, lease.token, lease.until, after, event]).await? > 0)
}

/// Writes down that the event after this one failed.
pub(super) async fn fail(
    change: &mut Change,
    name: &str,
    lease: Lease,
    after: &str,
    (failures, why, next_try_at): (i64, &str, Millis),
) -> Result<()> {
    let args = args![name, lease.token, after, failures, why, next_try_at];
    change.run(FAIL, args).await.map(drop)
}

/// The names whose next event fails, how often in a row, and why; those alone that a process has
/// followed since then.
pub(super) async fn failing(db: &Db, since: Millis) -> Result<Vec<(String, i64, Option<String>)>> {
    db.all(FAILING, args![since]).await
}
