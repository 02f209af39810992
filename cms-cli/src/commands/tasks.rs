//! `cms tasks`: tasks of plugins and their runs, through `/api/backend/tasks`

use std::time::Duration;

use clap::{Args, Subcommand};
use cms_core::tasks::{Run, Task};
use cms_http::{
    client::Client,
    wire::{
        NoBody, OneOrPage,
        tasks::{History, Read, Start, WhichRuns, WhichTask},
    },
};

use crate::{
    flags::Flags,
    output::{Done, Exit, Failure, Output},
    reply::{self, Paging},
    site::Site,
};

/// How often the end of a long run is asked for.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

#[derive(Debug, Subcommand)]
pub(crate) enum TasksCommand {
    /// List tasks: when they are due, how their latest run ended
    List(Paging),
    /// Run a task now and wait for its end; its schedule stays as it is
    #[command(after_help = "Example: cms tasks run nightly

The exit code is 0 for a run that ends well, else 1. A task that is running is refused.")]
    Run(TaskArgs),
    /// List runs, newest first
    History {
        /// Only runs of the task with this name
        name: Option<String>,
        /// Id of its plugin, where several plugins have a task of this name
        #[arg(long, requires = "name")]
        plugin: Option<String>,
        #[command(flatten)]
        paging: Paging,
    },
}

/// A task.
#[derive(Args, Clone, Debug)]
pub(crate) struct TaskArgs {
    /// Name of the task
    name: String,
    /// Id of its plugin, where several plugins have a task of this name
    #[arg(long)]
    plugin: Option<String>,
}

pub(crate) async fn run(_: &Flags, out: &Output, site: &Site, command: TasksCommand) -> Done {
    let client = &site.client;
    match command {
        TasksCommand::List(paging) => {
            let columns = ["plugin", "name", "interval_s", "state", "next_due_at", "last_run"];
            let query = reply::listing;
            reply::list_as::<Read>(out, client, &paging, (&columns, last_run), query).await
        }
        TasksCommand::Run(which) => start(out, client, which).await,
        TasksCommand::History { name, plugin, paging } => {
            let columns =
                ["id", "plugin", "task", "started_at", "ended_at", "outcome", "actor", "error"];
            let query = |limit, cursor| WhichRuns {
                id: None,
                name: name.clone(),
                plugin: plugin.clone(),
                limit,
                cursor,
                count: None,
            };
            reply::list_as::<History>(out, client, &paging, (&columns, actor), query).await
        }
    }
}

/// Runs a task and waits for its end.
async fn start(out: &Output, client: &Client, which: TaskArgs) -> Done {
    let which = WhichTask { name: which.name, plugin: which.plugin };
    let (mut answer, begun) = reply::call::<Start>(client, &which, &NoBody).await?;
    let mut run = begun.data;
    while run.outcome == "running" {
        tokio::time::sleep(POLL_INTERVAL).await;
        let asked = WhichRuns { id: Some(run.id), ..WhichRuns::default() };
        let (latest, found) = reply::call::<History>(client, &asked, &NoBody).await?;
        let OneOrPage::One(found) = found else {
            return Err(Failure::unexpected("it holds no single run"));
        };
        (answer, run) = (latest, found.data);
    }
    if out.json {
        out.line(&answer.body)?;
    } else if run.outcome == "done" {
        out.note(&format!("The task {} is done.", run.task));
    }
    if run.outcome == "done" {
        return Ok(());
    }
    let why = run.error.map(|error| format!(": {error}")).unwrap_or_default();
    let ended = format!("the run {} of {} ended as {}{why}", run.id, run.task, run.outcome);
    Err(Failure::new(Exit::Failed, ended))
}

/// Shows the latest run as its outcome and its start.
fn last_run(task: &Task, column: &str) -> Option<String> {
    let shown = || {
        let run = task.last_run.as_ref();
        run.map(|run| format!("{} {}", run.outcome, run.started_at)).unwrap_or_default()
    };
    (column == "last_run").then(shown)
}

/// Shows who caused a run as one word.
fn actor(run: &Run, column: &str) -> Option<String> {
    let name = || run.actor.name.clone().unwrap_or_else(|| run.actor.kind.clone());
    (column == "actor").then(name)
}
