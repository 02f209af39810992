//! Statements of consumers.

use crate::{
    Change, Millis, Result,
    db::{Db, args, record, statements},
    jobs::Lease,
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
    lease: "lease_until" + "lease_token" => Lease::stored,
    failures: "failures",
    next_try_at: "next_try_at",
} }

statements! {
    ROW = concat!("select ", row_columns!(), " from cms_event_consumers where name = $1");
    ADD = "insert into cms_event_consumers (name, event_id) values ($1, coalesce((select e.id \
           from cms_events e where e.rowid <= $2 order by e.rowid desc, e.id desc limit 1), '')) \
           on conflict (name) do nothing";
    /// The token alone would not notice that the owner has renewed the lease meanwhile.
    TAKE = "update cms_event_consumers set lease_token = $4, lease_until = $5 \
            where name = $1 and lease_token = $2 and lease_until = $3";
    RENEW = "update cms_event_consumers set lease_until = $3 where name = $1 and lease_token = $2";
    /// An event that was erased meanwhile cannot be where a name stands.
    PASS = "update cms_event_consumers set event_id = $3 where name = $1 and lease_token = $2 \
            and exists (select 1 from cms_events e where e.id = $3)";
    /// A gap that the consumer did not show stays.
    DONE = "update cms_event_consumers set event_id = $4, has_gap = (has_gap and not $5), \
            failures = 0, error_message = null, next_try_at = 0 \
            where name = $1 and lease_token = $2 and event_id = $3 \
            and exists (select 1 from cms_events e where e.id = $4)";
    FAIL = "update cms_event_consumers set failures = $4, error_message = $5, next_try_at = $6 \
            where name = $1 and lease_token = $2 and event_id = $3";
    FAILING = "select name, failures, error_message from cms_event_consumers \
               where failures > 0 and lease_until >= $1 order by name limit 50";
}

pub(super) async fn row(db: &Db, name: &str) -> Result<Option<Row>> {
    db.optional(ROW, args![name]).await
}

/// Enters a name that is new, after the events up to a row.
pub(super) async fn add(change: &mut Change, name: &str, settled: i64) -> Result<()> {
    change.run(ADD, args![name, settled]).await.map(drop)
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

/// Renews the lease, or ends it. The row is locked then: on PostgreSQL no event can be removed
/// unnoticed by a later statement of the change. False: the lease is lost.
pub(super) async fn renew(change: &mut Change, name: &str, lease: Lease) -> Result<bool> {
    Ok(change.run(RENEW, args![name, lease.token, lease.until]).await? > 0)
}

/// Has the name stand at an event up to which there is nothing to do. False: it is not there.
pub(super) async fn pass(
    change: &mut Change,
    name: &str,
    lease: Lease,
    event: &str,
) -> Result<bool> {
    Ok(change.run(PASS, args![name, lease.token, event]).await? > 0)
}

/// Writes down that the event after another one is done, and whether a gap before it was shown.
/// False: the lease is lost, or it is done or removed already.
pub(super) async fn done(
    change: &mut Change,
    name: &str,
    lease: Lease,
    [after, event]: [&str; 2],
    shown: bool,
) -> Result<bool> {
    Ok(renew(change, name, lease).await?
        && change.run(DONE, args![name, lease.token, after, event, shown]).await? > 0)
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
