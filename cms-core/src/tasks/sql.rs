//! Statements of tasks and their runs.

use super::{Outcome, Run, declared::Declared};
use crate::{
    AuditActor, Change, Result,
    db::{Db, Statement, Value, args, read, record, statements},
    jobs::Lease,
};

record! {
    /// A task as stored.
    #[derive(Clone, Debug)]
    pub(super) struct Row: row_columns {
        pub(super) id: i64 = "id",
        plugin: String = "plugin_id",
        name: String = "name",
        pub(super) next_due_at: i64 = "next_due_at",
        pub(super) lease: Lease = "lease_until" + "lease_token" => Lease::stored,
    }
}

impl Row {
    pub(super) fn is_of(&self, task: &Declared) -> bool {
        self.plugin == task.plugin && self.name == task.name
    }
}

record! { Run: run_columns {
    id: "r.id",
    plugin: "t.plugin_id",
    task: "t.name",
    actor: "r.actor_kind" + "r.actor_id" + "r.actor_name" => actor,
    process: "r.process",
    started_at: "r.started_at" => read::time,
    ended_at: "r.ended_at" => read::optional_time,
    // The run of a process that died stays open until the next run begins.
    outcome: "case when r.outcome = 'running' and (t.lease_token <> r.lease_token or t.lease_until \
              <= $1) then 'lost' else r.outcome end",
    error: "r.error_message",
} }

fn actor((kind, id, name): (String, Option<i64>, Option<String>)) -> Result<AuditActor> {
    Ok(AuditActor { kind, id, name })
}

statements! {
    ROWS = concat!("select ", row_columns!(), " from cms_tasks");
    ROW = concat!("select ", row_columns!(), " from cms_tasks where plugin_id = $1 and name = $2");
    ADD = "insert into cms_tasks (plugin_id, name, next_due_at) values ($1, $2, $3) \
           on conflict (plugin_id, name) do nothing";
    /// Compares the end too: the token alone does not show that the owner has renewed the lease.
    TAKE = "update cms_tasks set lease_token = $4, lease_until = $5, next_due_at = $6 \
            where id = $1 and lease_token = $2 and lease_until = $3";
    /// Closes the open runs of a task whose process has lost it.
    LOSE = "update cms_task_runs set outcome = 'lost', ended_at = $2, error_message = $3 \
            where task_id = $1 and outcome = 'running'";
    OPEN = "insert into cms_task_runs (task_id, lease_token, process, actor_kind, actor_id, \
            actor_name, started_at, outcome) values ($1, $2, $3, $4, $5, $6, $7, 'running') \
            returning id";
    RENEW = "update cms_tasks set lease_until = $3 where id = $1 and lease_token = $2";
    FREE = "update cms_tasks set lease_until = 0, next_due_at = coalesce($3, next_due_at) \
            where id = $1 and lease_token = $2";
    CLOSE = "update cms_task_runs set outcome = $2, ended_at = $3, error_message = $4 \
             where id = $1";
    RUN = concat!(
        "select ", run_columns!(), " from cms_task_runs r join cms_tasks t on t.id = r.task_id \
         where r.id = $2"
    );
    RUNS = concat!(
        "select ", run_columns!(), " from cms_task_runs r join cms_tasks t on t.id = r.task_id \
         where r.id < $2 order by r.id desc limit $3"
    );
    RUNS_OF = concat!(
        "select ", run_columns!(), " from cms_task_runs r join cms_tasks t on t.id = r.task_id \
         where r.id < $2 and r.task_id = (select o.id from cms_tasks o where o.plugin_id = $4 and \
         o.name = $5) order by r.id desc limit $3"
    );
    /// The latest run of each task.
    LAST = concat!(
        "select ", run_columns!(), " from cms_tasks t join cms_task_runs r on r.id = \
         (select max(o.id) from cms_task_runs o where o.task_id = t.id)"
    );
    /// When the newest successful run of a task began.
    LAST_DONE = "select r.started_at from cms_task_runs r where r.outcome = 'done' and r.task_id = \
                 (select t.id from cms_tasks t where t.plugin_id = $1 and t.name = $2) \
                 order by r.id desc limit 1";
    EXPIRE = "delete from cms_task_runs where id in (select id from cms_task_runs \
              where started_at <= $1 order by started_at limit 1000)";
}

/// All tasks that have run at least once.
pub(super) async fn rows(db: &Db) -> Result<Vec<Row>> {
    db.all(ROWS, args![]).await
}

/// The row of a task. Creates a missing row, which is due at once.
pub(super) async fn row_of(change: &mut Change, task: &Declared) -> Result<Row> {
    let row = async |change: &mut Change| -> Result<Option<Row>> {
        change.optional(ROW, args![&task.plugin, &task.name]).await
    };
    if let Some(row) = row(change).await? {
        return Ok(row);
    }
    change.run(ADD, args![&task.plugin, &task.name, change.now()]).await?;
    change.one(ROW, args![&task.plugin, &task.name]).await
}

/// Takes the lease. False: another process was faster.
pub(super) async fn take(
    change: &mut Change,
    row: &Row,
    lease: Lease,
    next_due: i64,
) -> Result<bool> {
    let args = args![row.id, row.lease.token, row.lease.until, lease.token, lease.until, next_due];
    Ok(change.run(TAKE, args).await? > 0)
}

/// Opens a run on behalf of the change's actor. Returns its id.
pub(super) async fn open_run(
    change: &mut Change,
    task: i64,
    lease: Lease,
    process: &str,
) -> Result<i64> {
    let (kind, id, name) = change.actor().columns();
    let name = name.map(str::to_owned);
    let args = args![task, lease.token, process, kind, id, name, change.now()];
    let (id,): (i64,) = change.one(OPEN, args).await?;
    Ok(id)
}

/// Renews a lease. False: it was lost.
pub(super) async fn renew(change: &mut Change, task: i64, lease: Lease) -> Result<bool> {
    Ok(change.run(RENEW, args![task, lease.token, lease.until]).await? > 0)
}

/// Ends a run and its lease. A stopped run makes the task due again at once. False: the lease was
/// lost, and nothing was written.
pub(super) async fn close(
    change: &mut Change,
    (task, run): (i64, i64),
    lease: Lease,
    outcome: &Outcome,
) -> Result<bool> {
    let due = (*outcome == Outcome::Stopped).then(|| change.now());
    if change.run(FREE, args![task, lease.token, due]).await? == 0 {
        return Ok(false);
    }
    let args = args![run, outcome.name(), change.now(), outcome.error()];
    // Retention may have removed the run.
    change.run(CLOSE, args).await?;
    Ok(true)
}

/// Runs before an id, newest first; of one task, or of all.
pub(super) async fn runs(
    db: &Db,
    now: i64,
    of: Option<(&str, &str)>,
    before: i64,
    limit: i64,
) -> Result<Vec<Run>> {
    let (statement, args) = selected_runs(now, of, before, limit);
    db.all(statement, args).await
}

/// The number of runs, of one task or of all.
pub(super) async fn count_runs(db: &Db, now: i64, of: Option<(&str, &str)>) -> Result<i64> {
    let (statement, args) = selected_runs(now, of, i64::MAX, i64::MAX);
    db.count_rows(statement, args).await
}

fn selected_runs(
    now: i64,
    of: Option<(&str, &str)>,
    before: i64,
    limit: i64,
) -> (Statement, Vec<Value>) {
    match of {
        None => (RUNS, args![now, before, limit]),
        Some((plugin, name)) => (RUNS_OF, args![now, before, limit, plugin, name]),
    }
}
