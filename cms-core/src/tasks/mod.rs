//! Tasks of plugins, and of the service itself. Each runs once in its interval, in one process of
//! the site.
//!
//! ```text
//! declared   the tasks that the plugins in service declare, and the service's own
//! run        takes a due task for the time of a lease, runs it, writes down the end (fenced)
//! scheduler  claims what is due and runs it
//! sql        statements
//! ```

mod declared;
mod run;
mod scheduler;
pub(crate) mod sql;

use std::{sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

pub(crate) use self::declared::{ServiceTask, TIMEOUT_S};
use self::{
    declared::TaskOwner,
    run::{Cause, claim, perform},
};
pub use self::{run::Claimed, scheduler::Scheduler};
use crate::{
    AuditActor, AuditEntry, Change, Code, Error, Millis, Page, Paging, Result,
    base::Base,
    db::{args, watched},
    ground::ListName,
    items::Items,
    jobs::{self, Counters, Outcomes},
    plugins::Plugins,
    scripts::Scripts,
};

/// How long a stop waits for runs that were asked to end.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// A task of a plugin, or of the service itself. Times are RFC 3339 in UTC.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Task {
    /// The plugin that declares it, or the area of the service that it belongs to.
    pub plugin: String,
    /// Its name, unique in the plugin.
    pub name: String,
    /// Seconds from the start of one run to the next.
    pub interval_s: u64,
    /// When it is due; null before its first run, which is due at once.
    pub next_due_at: Option<String>,
    /// `running` while a process runs it, else `waiting`.
    pub state: String,
    /// Its latest run.
    pub last_run: Option<Run>,
}

/// A run in the history. Times are RFC 3339 in UTC.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Run {
    /// Ids grow with time.
    pub id: i64,
    /// The plugin of the task.
    pub plugin: String,
    /// The name of the task.
    pub task: String,
    /// Who caused it: `system` for the schedule.
    pub actor: AuditActor,
    /// Machine and process that ran it.
    pub process: String,
    /// When it began.
    pub started_at: String,
    /// When it ended; null while it runs, and when its process died.
    pub ended_at: Option<String>,
    /// `running`, `done`, `failed`, `stopped` (the service ended) or `lost` (its process died or
    /// stood still for longer than its lease).
    pub outcome: String,
    /// Why it did not end well, 2,000 characters at most.
    pub error: Option<String>,
}

/// The tasks of a site: `cms.tasks()`.
#[derive(Clone)]
pub struct Tasks(Arc<Inner>);

struct Inner {
    base: Base,
    items: Items,
    plugins: Plugins,
    scripts: Scripts,
    own: Vec<ServiceTask>,
    /// The machine and the process, as runs record them.
    process: String,
    /// Turns true when the site closes.
    closed: watch::Sender<bool>,
    /// Number of runs and of working schedulers in this process.
    under_way: watch::Sender<usize>,
    counters: Counters,
}

impl Tasks {
    pub(crate) fn new(
        base: &Base,
        items: &Items,
        plugins: &Plugins,
        scripts: &Scripts,
        own: Vec<ServiceTask>,
    ) -> Self {
        let machine = rustix::system::uname().nodename().to_string_lossy().into_owned();
        Self(Arc::new(Inner {
            base: base.clone(),
            items: items.clone(),
            plugins: plugins.clone(),
            scripts: scripts.clone(),
            own,
            process: format!("{machine}:{}", std::process::id()),
            closed: watch::Sender::new(false),
            under_way: watch::Sender::new(0),
            counters: Counters::default(),
        }))
    }

    /// Runs tasks of plugins when they are due.
    #[must_use]
    pub fn scheduler(&self) -> Scheduler {
        Scheduler::new(self.0.clone(), TaskOwner::Plugins)
    }

    /// Runs the service's own tasks when they are due.
    #[must_use]
    pub fn own_scheduler(&self) -> Scheduler {
        Scheduler::new(self.0.clone(), TaskOwner::Service)
    }

    /// The tasks of the plugins in service, in load order, then the service's own.
    pub async fn list(&self) -> Result<Vec<Task>> {
        let (base, now) = (&self.0.base, self.0.base.clock().now());
        let rows = sql::rows(base.db()).await?;
        let last: Vec<Run> = base.db().all(sql::LAST, args![now]).await?;
        let tasks = declared::all(&self.0).into_iter().map(|task| {
            let row = rows.iter().find(|row| row.is_of(&task));
            let is_running = row.is_some_and(|row| !row.lease.is_free(now));
            let of_task = |run: &&Run| run.plugin == task.plugin && run.task == task.name;
            Task {
                interval_s: task.interval_s,
                next_due_at: row.map(|row| crate::rfc3339(row.next_due_at)),
                state: if is_running { "running" } else { "waiting" }.to_owned(),
                last_run: last.iter().find(of_task).cloned(),
                plugin: task.plugin,
                name: task.name,
            }
        });
        Ok(tasks.collect())
    }

    /// Runs of all tasks, or of those with this name, newest first.
    ///
    /// # Errors
    /// `not_found` for a name that no task has.
    pub async fn history(&self, which: Option<&TaskName>, paging: &Paging) -> Result<Page<Run>> {
        let (base, now) = (&self.0.base, self.0.base.clock().now());
        let task = match which {
            Some(which) => Some(self.find(which)?),
            None => None,
        };
        let of = task.as_ref().map(|task| (task.plugin.as_str(), task.name.as_str()));
        let list = base.list(ListName::TaskRuns).of(of);
        let read = async |before, limit| sql::runs(base.db(), now, of, before, limit).await;
        let page = Page::newest_first(list, paging, read, |run: &Run| run.id).await?;
        page.counted(paging, async || sql::count_runs(base.db(), now, of).await).await
    }

    /// A run of the history.
    pub async fn run_of(&self, id: i64) -> Result<Run> {
        let args = args![self.0.base.clock().now(), id];
        let found = self.0.base.db().optional(sql::RUN, args).await?;
        found.ok_or_else(|| Error::new(Code::NotFound, format!("There is no run with id {id}.")))
    }

    /// When the newest successful run of a task began, in whatever process. Also finds tasks that
    /// are no longer declared.
    pub(crate) async fn last_done(&self, plugin: &str, name: &str) -> Result<Option<Millis>> {
        let found = self.0.base.db().optional(sql::LAST_DONE, args![plugin, name]).await?;
        Ok(found.map(|(began,): (Millis,)| began))
    }

    /// Claims a task for a run now; its schedule does not change. After the commit, begin the run
    /// with [`Tasks::begin`].
    ///
    /// # Errors
    /// `not_found` for a name that no task has, `validation_failed` for one that several plugins
    /// use, `conflict` while the task runs.
    pub async fn claim(&self, change: &mut Change, which: &TaskName) -> Result<Claimed> {
        let task = self.find(which)?;
        let name = task.name.clone();
        let claimed = claim(&self.0, change, task, Cause::Asked).await?.ok_or_else(|| {
            let why = format!("The task {name} is running: see the history for its end.");
            Error::new(Code::Conflict, why)
        })?;
        let id = claimed.run_id().to_string();
        let entry = AuditEntry { action: "run", table: "tasks", id: &id, columns: &[] };
        change.audit(entry).await?;
        Ok(claimed)
    }

    /// The run of a claimed task, as the change that claims it sees it.
    pub async fn opened(&self, change: &mut Change, claimed: &Claimed) -> Result<Run> {
        change.one(sql::RUN, args![change.now(), claimed.run_id()]).await
    }

    /// Runs a claimed task to its end, even if the returned future is dropped.
    pub fn begin(&self, claimed: Claimed) -> impl Future<Output = ()> + Send + use<> {
        let run = perform(self.0.clone(), claimed, self.0.closed.subscribe());
        let running = tokio::spawn(watched(run));
        async move {
            // A panic of the task itself is recorded as its outcome, so this result does
            // not matter.
            let _ = running.await;
        }
    }

    /// Runs of this process since its start, by outcome. A run ended by a stop of the service
    /// counts as put back; no run is retried.
    #[must_use]
    pub fn outcomes(&self) -> Outcomes {
        self.0.counters.outcomes()
    }

    /// Whether this process runs tasks on their schedule: `running` or `none`.
    #[must_use]
    pub fn scheduler_state(&self) -> &'static str {
        self.0.counters.workers.state()
    }

    /// Ends all runs of this process; each is recorded as stopped.
    pub(crate) async fn close(&self) {
        self.0.closed.send_replace(true);
        let mut under_way = self.0.under_way.subscribe();
        let ended = under_way.wait_for(|runs| *runs == 0);
        if tokio::time::timeout(SHUTDOWN_TIMEOUT, ended).await.is_err() {
            tracing::warn!("some runs of tasks did not end in time");
        }
    }

    /// Removes runs older than `retention.task_runs_days`.
    pub(crate) async fn expire(&self) -> Result<u64> {
        let days = self.0.base.settings().retention.task_runs_days;
        let horizon = jobs::days_before(self.0.base.clock().now(), days);
        jobs::expire(&self.0.base, &[(sql::EXPIRE, horizon)]).await
    }

    fn find(&self, which: &TaskName) -> Result<declared::Declared> {
        let TaskName { name, plugin } = which;
        let of_plugin = |task: &declared::Declared| {
            task.name == *name && plugin.as_ref().is_none_or(|plugin| task.plugin == *plugin)
        };
        let mut found: Vec<_> = declared::all(&self.0);
        found.retain(of_plugin);
        match (found.pop(), found.is_empty()) {
            (Some(task), true) => Ok(task),
            (None, _) => {
                let of = plugin.as_ref().map(|plugin| format!(" of the plugin {plugin:?}"));
                let of = of.unwrap_or_default();
                Err(Error::new(Code::NotFound, format!("There is no task named {name:?}{of}.")))
            }
            (Some(last), false) => {
                let plugins = found.iter().chain([&last]).map(|task| task.plugin.as_str());
                let plugins: Vec<_> = plugins.collect();
                let why = format!("name one of the plugins that have it: {}", plugins.join(", "));
                Err(Error::invalid_field("plugin", "required", why))
            }
        }
    }
}

/// The name of a task, and of its plugin where several plugins use the name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskName {
    /// Name of the task.
    pub name: String,
    /// Id of its plugin.
    pub plugin: Option<String>,
}

impl Inner {
    fn note(&self, outcome: &Outcome) {
        let mut ended = Outcomes::default();
        match outcome {
            Outcome::Done => ended.done = 1,
            Outcome::Failed(_) => ended.failed = 1,
            Outcome::Stopped => ended.put_back = 1,
            Outcome::Lost => ended.lost = 1,
        }
        self.counters.note(&ended);
    }
}

/// Characters of an error's text that are kept.
const MOST_ERROR: usize = 2_000;

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    Done,
    Failed(String),
    /// The service has stopped.
    Stopped,
    /// Another process may run the task by now, so nothing is written.
    Lost,
}

impl Outcome {
    fn name(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed(_) => "failed",
            Self::Stopped => "stopped",
            Self::Lost => "lost",
        }
    }

    fn error(&self) -> Option<String> {
        match self {
            Self::Failed(why) => Some(why.replace('\0', " ").chars().take(MOST_ERROR).collect()),
            Self::Stopped => Some("the service ended; the task is due again".to_owned()),
            Self::Done | Self::Lost => None,
        }
    }
}
