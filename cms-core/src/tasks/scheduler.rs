//! Claims due tasks and runs them. Every step returns the result; only [`Scheduler::run`] sleeps.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{oneshot, watch},
    task::JoinSet,
};

use super::{
    Inner,
    declared::{self, Declared, TaskOwner},
    run::{Cause, Claimed, claim, perform},
    sql,
};
use crate::{
    Actor, Error, Result,
    db::watched,
    jobs::{self, FaultLog},
};

/// Interval between searches for due tasks.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// The same while the database does not answer.
const PAUSE: Duration = Duration::from_secs(5);
/// Timeout of a claim: its row may be locked by a hung process.
const CLAIM_TIMEOUT: Duration = Duration::from_secs(5);
/// How long runs may continue after a stop.
const GRACE: Duration = Duration::from_secs(5);
/// How long stopped runs may take to record their end.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// Runs tasks when they are due. Several schedulers may work at once, in one process or in many.
pub struct Scheduler {
    site: Arc<Inner>,
    owner: TaskOwner,
    under_way: JoinSet<()>,
    stop: watch::Sender<bool>,
}

/// Claims a task. `None`: another process has it, or its row is locked.
async fn try_claim(site: &Inner, task: Declared) -> Result<Option<Claimed>> {
    let claimed = async {
        let mut change = site.base.change(Actor::System).await?;
        let claimed = claim(site, &mut change, task, Cause::Schedule).await?;
        Ok::<_, Error>((change, claimed))
    };
    let Ok(claimed) = tokio::time::timeout(CLAIM_TIMEOUT, claimed).await else { return Ok(None) };
    let (change, claimed) = claimed?;
    change.commit().await?;
    Ok(claimed)
}

impl Scheduler {
    pub(super) fn new(site: Arc<Inner>, owner: TaskOwner) -> Self {
        Self { site, owner, under_way: JoinSet::new(), stop: watch::Sender::new(false) }
    }

    /// Begins the due tasks that no process runs. Returns their number.
    pub async fn claim(&mut self) -> Result<usize> {
        while self.under_way.try_join_next().is_some() {}
        let tasks = declared::of(&self.site, self.owner);
        if tasks.is_empty() {
            return Ok(0);
        }
        let now = self.site.base.clock().now();
        let rows = sql::rows(self.site.base.db()).await?;
        let mut begun = 0;
        for task in tasks {
            let row = rows.iter().find(|row| row.is_of(&task));
            let waits = row.is_some_and(|row| {
                !row.lease.is_free(now) || !jobs::is_due(row.next_due_at, task.interval(), now)
            });
            if waits {
                continue;
            }
            let name = task.name.clone();
            match tokio::time::timeout(2 * CLAIM_TIMEOUT, self.take(task)).await {
                Ok(Ok(Ok(is_taken))) => begun += usize::from(is_taken),
                Ok(Ok(Err(error))) => return Err(error),
                // The claim may still commit and then run.
                Ok(Err(_)) | Err(_) => {
                    tracing::warn!(task = name, "a task was not claimed in time")
                }
            }
        }
        Ok(begun)
    }

    /// Claims a task and begins its run in a task of its own, so that nothing can come between the
    /// commit of the claim and the run. Sends whether the task was claimed.
    fn take(&mut self, task: Declared) -> oneshot::Receiver<Result<bool>> {
        let (tell, told) = oneshot::channel();
        let (site, stop) = (self.site.clone(), self.stop.subscribe());
        self.under_way.spawn(watched(async move {
            let (outcome, claimed) = match try_claim(&site, task).await {
                Ok(claimed) => (Ok(claimed.is_some()), claimed),
                Err(error) => (Err(error), None),
            };
            // The receiver may be gone.
            let _ = tell.send(outcome);
            if let Some(claimed) = claimed {
                perform(site, claimed, stop).await;
            }
        }));
        told
    }

    /// Claims once, then waits for the runs to end: for tests, and for programs that drive the
    /// scheduler themselves. Returns the number of runs begun.
    pub async fn step(&mut self) -> Result<usize> {
        let begun = self.claim().await?;
        while self.under_way.join_next().await.is_some() {}
        Ok(begun)
    }

    /// Works until `stop` turns true. Runs under way then have five seconds to end. Longer ones
    /// are stopped and are due again.
    pub async fn run(mut self, stop: watch::Receiver<bool>) {
        let site = self.site.clone();
        // `/readyz` shows whether tasks of plugins run.
        let of_plugins = self.owner == TaskOwner::Plugins;
        let _working = of_plugins.then(|| site.counters.workers.begin());
        let (faults, name) = (FaultLog::default(), if of_plugins { "tasks" } else { "own tasks" });
        loop {
            let claimed = tokio::select! {
                claimed = self.claim() => claimed,
                // The database does not answer, so no run can record its end.
                () = jobs::stopped(stop.clone(), STOP_TIMEOUT) => {
                    return self.finish(Duration::ZERO).await;
                }
            };
            let pause = match &claimed {
                Ok(_) => POLL_INTERVAL,
                Err(_) if site.base.db().is_closed() => break,
                Err(_) => PAUSE,
            };
            faults.note(name, "due tasks cannot be read or claimed; trying again", &claimed);
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = jobs::stopped(stop.clone(), Duration::ZERO) => break,
            }
        }
        self.finish(GRACE).await;
    }

    /// Waits for the runs under way, stops the remaining ones, and gives up if their ends cannot
    /// be recorded: when their leases end, the tasks are due again.
    async fn finish(&mut self, grace: Duration) {
        let site = self.site.clone();
        // Without the database they cannot record anything.
        let away = async {
            while site.base.db().answers().await {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        };
        let have_ended = tokio::select! {
            have_ended = self.ended(grace) => have_ended,
            () = away => false,
        };
        if have_ended {
            return;
        }
        self.stop.send_replace(true);
        if !self.ended(STOP_TIMEOUT).await {
            tracing::warn!("runs of tasks were given up; their leases make them due again");
            self.under_way.shutdown().await;
        }
    }

    /// Whether all runs end within this time.
    async fn ended(&mut self, time: Duration) -> bool {
        let ended = async { while self.under_way.join_next().await.is_some() {} };
        tokio::time::timeout(time, ended).await.is_ok()
    }
}
