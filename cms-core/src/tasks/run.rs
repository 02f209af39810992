//! Claims a task for the time of a lease and opens its run in the history. Runs the task, renews
//! the lease meanwhile, and records the end.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt as _;

use super::{
    Inner, Outcome,
    declared::{Declared, Work},
    sql,
};
use crate::{
    Actor, Change, Code, Error, Millis, Result,
    base::Base,
    db::{args, watched},
    jobs::{self, Lease, Stop},
    plugins::{Begin, TaskRun},
};

/// Why a task runs.
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
    began: Millis,
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

/// Claims a task if no process runs it and, for the schedule, it is due. An earlier run that is
/// still open was lost: its process no longer owns the task.
pub(super) async fn claim(
    site: &Inner,
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
    let why = "its process died or stood still for longer than its lease";
    change.run(sql::LOSE, args![row.id, now, why]).await?;
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

/// How often the lease is checked for renewal.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Timeout of a renewal.
const RENEW_TIMEOUT: Duration = Duration::from_secs(5);
/// Number of tries to record the end of a run.
const TRIES: u32 = 3;

/// Runs a task to its end, or until the stop. Dropping the work rolls back what it has
/// not committed.
pub(super) async fn perform(site: Arc<Inner>, claimed: Claimed, stop: Stop) {
    let _under_way = UnderWay::begin(&site);
    let Claimed { task_id, run_id, plugin, name, lease, .. } = &claimed;
    tracing::debug!(plugin, task = name, run = run_id, "a task begins");
    let outcome = tokio::select! {
        outcome = worked(&site, &claimed) => outcome,
        () = lost(&site.base, *task_id, *lease) => Outcome::Lost,
        () = overdue(&site.base, &claimed) => {
            let limit = claimed.timeout_s;
            Outcome::Failed(format!("It took longer than its timeout_s, {limit} s, and was ended."))
        }
        () = jobs::stopped(stop, Duration::ZERO) => Outcome::Stopped,
    };
    let outcome = settle(&site, &claimed, outcome).await;
    match &outcome {
        Outcome::Failed(why) => {
            tracing::warn!(plugin, task = name, run = run_id, why, "a task failed");
        }
        Outcome::Lost => {
            tracing::warn!(plugin, task = name, run = run_id, "a task has lost its lease");
        }
        Outcome::Done | Outcome::Stopped => {}
    }
    site.note(&outcome);
}

/// Counts a run of this process until dropped.
struct UnderWay(Arc<Inner>);

impl UnderWay {
    fn begin(site: &Arc<Inner>) -> Self {
        site.under_way.send_modify(|runs| *runs += 1);
        Self(site.clone())
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.under_way.send_modify(|runs| *runs -= 1);
    }
}

/// Does the work. A panic is a failure.
async fn worked(site: &Inner, claimed: &Claimed) -> Outcome {
    let work = async {
        match &claimed.work {
            Work::Handler(handler) => {
                let begin = fenced(&site.base, claimed.task_id, claimed.lease);
                let call = begin.call();
                let run = TaskRun {
                    id: claimed.run_id,
                    name: claimed.name.clone(),
                    items: site.items.clone(),
                    begin,
                    site: site.plugins.site(),
                };
                call.run(handler(run)).await
            }
            Work::Script(path) => site.scripts.run_task(&claimed.plugin, path, &claimed.name).await,
            Work::Nothing => Err(Error::internal("a task with neither handler nor script")),
        }
    };
    // Runs concurrently with the renewal of the lease.
    match AssertUnwindSafe(watched(work)).catch_unwind().await {
        Ok(Ok(())) => Outcome::Done,
        Ok(Err(error)) if error.code() == Code::Internal => {
            tracing::error!(?error, task = claimed.name, "a task failed");
            Outcome::Failed("The task failed; the log has the cause.".to_owned())
        }
        Ok(Err(error)) => {
            if let Some(cause) = std::error::Error::source(&error) {
                tracing::warn!(cause, task = claimed.name, "the cause of a task that failed");
            }
            Outcome::Failed(error.detail().to_owned())
        }
        Err(_) => Outcome::Failed("The task panicked; the log has the cause.".to_owned()),
    }
}

/// Begins changes that lock the row of the task until they end.
fn fenced(base: &Base, task: i64, lease: Lease) -> Begin {
    let of = base.clone();
    Begin::new(base, move || {
        let base = of.clone();
        Box::pin(async move {
            let mut change = base.change(Actor::System).await?;
            let lease = lease.renewed(change.now());
            if sql::renew(&mut change, task, lease).await? {
                return Ok(change);
            }
            let why = "The lease of this run is lost: another process runs the task.";
            Err(Error::new(Code::Conflict, why))
        })
    })
}

/// Ends when the run has exceeded its timeout.
async fn overdue(base: &Base, claimed: &Claimed) {
    let most = i64::try_from(claimed.timeout_s).unwrap_or(i64::MAX).saturating_mul(1000);
    while base.clock().now() - claimed.began < most {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Renews the lease. Ends when the lease is lost, or may be lost.
async fn lost(base: &Base, task: i64, mut lease: Lease) {
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        let now = base.clock().now();
        if !lease.is_aging(now) {
            continue;
        }
        let renewed = lease.renewed(now);
        let renewal = async {
            let mut change = base.change(Actor::System).await?;
            let held = sql::renew(&mut change, task, renewed).await?;
            change.commit().await.map(|()| held)
        };
        match tokio::time::timeout(RENEW_TIMEOUT, watched(renewal)).await {
            Ok(Ok(true)) => lease = renewed,
            Ok(Ok(false)) => return,
            Ok(Err(error)) => tracing::debug!(%error, "a lease was not renewed"),
            Err(_) => tracing::debug!("a lease was not renewed in time"),
        }
        if lease.is_free(base.clock().now()) && !is_owned(base, task, lease.token).await {
            return;
        }
    }
}

/// Whether no other process has claimed the task. Renewing can fail while the task is still owned:
/// a change of the run may lock its row for longer than the lease, and a long change may lock all
/// of SQLite. Then no other process can claim the task either.
async fn is_owned(base: &Base, task: i64, token: i64) -> bool {
    let rows = tokio::time::timeout(RENEW_TIMEOUT, sql::rows(base.db())).await;
    let is_own = |row: &sql::Row| row.id == task && row.lease.token == token;
    rows.is_ok_and(|rows| rows.is_ok_and(|rows| rows.iter().any(is_own)))
}

/// Records the end. Returns `outcome`, or `Lost` if the lease was lost before.
async fn settle(site: &Inner, claimed: &Claimed, outcome: Outcome) -> Outcome {
    if outcome == Outcome::Lost {
        return outcome;
    }
    for _ in 0..TRIES {
        let written = async {
            let mut change = site.base.change(Actor::System).await?;
            let ids = (claimed.task_id, claimed.run_id);
            let held = sql::close(&mut change, ids, claimed.lease, &outcome).await?;
            change.commit().await.map(|()| held)
        };
        match tokio::time::timeout(RENEW_TIMEOUT, written).await {
            Ok(Ok(true)) => return outcome,
            Ok(Ok(false)) => return Outcome::Lost,
            Ok(Err(error)) => tracing::warn!(?error, "the end of a task was not written down"),
            Err(_) => tracing::warn!("the end of a task was not written down in time"),
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    Outcome::Lost
}
