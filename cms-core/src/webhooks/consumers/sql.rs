//! Statements of consumers.

use crate::{
    Change, Millis, Result,
    db::{Db, args, record, statements},
    jobs::Lease,
};

record! {
    /// A consumer as it is stored.
    #[derive(Clone, Debug)]
    pub(super) struct Row: row_columns {
        /// The last event that is done.
        pub(super) event: String = "event_id",
        /// Whether events after it were removed.
        pub(super) has_gap: bool = "has_gap",
        pub(super) lease: Lease = "lease_until" + "lease_token" => Lease::stored,
        pub(super) failures: i64 = "failures",
        pub(super) next_try_at: Millis = "next_try_at",
    }
}

statements! {
    ROW = concat!("select ", row_columns!(), " from cms_event_consumers where name = $1");
    ADD = "insert into cms_event_consumers (name, event_id) values ($1, coalesce((select e.id \
           from cms_events e where e.rowid <= $2 order by e.rowid desc, e.place desc, e.id desc \
           limit 1), '')) on conflict (name) do nothing";
    /// Compares the end too: the token alone does not show that the owner has renewed the lease.
    TAKE = "update cms_event_consumers set lease_token = $4, lease_until = $5 \
            where name = $1 and lease_token = $2 and lease_until = $3";
    RENEW = "update cms_event_consumers set lease_until = $3 where name = $1 and lease_token = $2";
    /// A name cannot stand at an event that was erased in the meantime.
    PASS = "update cms_event_consumers set event_id = $3 where name = $1 and lease_token = $2 \
            and exists (select 1 from cms_events e where e.id = $3)";
    /// Keeps a gap that the consumer has not shown.
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

/// Adds a new name, which stands at the last event up to a row.
pub(super) async fn add(change: &mut Change, name: &str, settled: i64) -> Result<()> {
    change.run(ADD, args![name, settled]).await.map(drop)
}

/// Takes the lease. False: another process was faster.
pub(super) async fn take(
    change: &mut Change,
    name: &str,
    old: Lease,
    lease: Lease,
) -> Result<bool> {
    let args = args![name, old.token, old.until, lease.token, lease.until];
    Ok(change.run(TAKE, args).await? > 0)
}

/// Renews or ends the lease. Returns false when the lease is lost. Locks the row, so that on
/// PostgreSQL later statements of the change notice every removal of an event.
pub(super) async fn renew(change: &mut Change, name: &str, lease: Lease) -> Result<bool> {
    Ok(change.run(RENEW, args![name, lease.token, lease.until]).await? > 0)
}

/// Moves the name to an event up to which nothing is left to do. False: the event is not there.
pub(super) async fn pass(
    change: &mut Change,
    name: &str,
    lease: Lease,
    event: &str,
) -> Result<bool> {
    Ok(change.run(PASS, args![name, lease.token, event]).await? > 0)
}

/// Records that the event after another one is done, and whether a gap before it was shown. False:
/// the lease is lost, or the event is already done or removed.
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

/// Records that the event after this one failed.
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

/// The names whose next event fails, each with its failures in a row and the reason. Only names
/// that a process has followed since then are included.
pub(super) async fn failing(db: &Db, since: Millis) -> Result<Vec<(String, i64, Option<String>)>> {
    db.all(FAILING, args![since]).await
}
