//! Takes a task for the time of a lease, and opens its run in the history.

use super::{
    State,
    declared::{Declared, Work},
    sql,
};
use crate::{
    Change, Millis, Result,
    jobs::{self, Lease},
};

/// Why a task is to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    Schedule,
    Asked,
}

/// A task that this process owns until its lease ends.
pub struct Claimed {
    pub(super) task_id: i64,
    pub(super) run_id: i64,
    pub(super) name: String,
    pub(super) plugin: String,
    pub(super) lease: Lease,
    pub(super) began: Millis,
    pub(super) timeout_s: u64,
    pub(super) work: Work,
}

impl Claimed {
    /// The id of its run in the history.
    #[must_use]
    pub fn run_id(&self) -> i64 {
        self.run_id
    }
}

/// Claims a task if nobody runs it and, for the schedule, it is due. An earlier run that is still
/// open was lost: whoever had it no longer owns the task.
pub(super) async fn claim(
    site: &State,
    change: &mut Change,
    task: Declared,
    cause: Cause,
) -> Result<Option<Claimed>> {
    let (now, interval) = (change.now(), task.interval());
    let row = sql::row_of(change, &task).await?;
    let is_due = cause == Cause::Asked || jobs::is_due(row.next_due_at, interval, now);
    if !is_due || !row.lease.is_free(now) {
        return Ok(None);
    }
    let lease = row.lease.next(now);
    let next_due = jobs::next_due(row.next_due_at, interval, now);
    if !sql::take(change, &row, lease, next_due).await? {
        return Ok(None);
    }
    sql::lose_open_runs(change, row.id).await?;
    let run_id = sql::open_run(change, row.id, lease, &site.process).await?;
    Ok(Some(Claimed {
        task_id: row.id,
        run_id,
        name: task.name,
        plugin: task.plugin,
        lease,
        began: now,
        timeout_s: task.timeout_s,
        work: task.work,
    }))
}
