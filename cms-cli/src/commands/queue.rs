//! `cms queue`: jobs (deliveries in the queue), through `/api/backend/webhooks/queue`

use clap::{Args, Subcommand};
use cms_http::{
    client::Client,
    wire::{
        NoBody,
        parameters::NoQuery,
        webhooks::{Cancel, OfStatus, Purge, Queue, Retry, Stats, WhichJobs},
    },
};
use serde_json::json;

use crate::{
    flags::Flags,
    input,
    output::{Done, Output, counted},
    prompt,
    reply::{self, Paging, WEBHOOKS},
    site::Site,
};

/// The states of a job.
const JOB_STATES: [&str; 7] =
    ["pending", "sending", "retry", "delivered", "failed", "held", "cancelled"];
/// The most jobs that one request removes.
const BATCH: u64 = 1000;

#[derive(Debug, Subcommand)]
pub(crate) enum QueueCommand {
    /// Tell how many jobs wait, and for how long
    Stats,
    /// List jobs
    List {
        /// Only this status
        #[arg(long, value_parser = JOB_STATES)]
        status: Option<String>,
        /// Only jobs of this subscription, by its id or its name
        #[arg(long, value_name = "WEBHOOK")]
        webhook: Option<String>,
        /// Only jobs of the event with this id: the webhook-id that receivers see
        #[arg(long, value_name = "ID")]
        event_id: Option<String>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Try waiting jobs now
    #[command(after_help = "Examples:
  cms queue retry 17 18
  cms queue list --status retry --all | cms queue retry -

Jobs that have failed for good: cms webhooks deliveries redeliver --status failed --expected N")]
    Retry(Several),
    /// Cancel waiting jobs
    Cancel(Several),
    /// Remove settled jobs now, before their retention ends
    Purge {
        /// Their status
        #[arg(long, value_parser = ["delivered", "failed", "cancelled"])]
        status: String,
    },
}

/// Jobs.
#[derive(Args, Debug)]
pub(crate) struct Several {
    /// Ids of the jobs; - takes them from standard input
    #[arg(required = true, value_name = "IDS")]
    ids: Vec<String>,
}

pub(crate) async fn run(flags: &Flags, out: &Output, site: &Site, command: QueueCommand) -> Done {
    let client = &site.client;
    match command {
        QueueCommand::Stats => reply::record::<Stats>(out, client, &NoQuery {}, &NoBody).await,
        QueueCommand::List { status, webhook, event_id, paging } => {
            let subscription = WEBHOOKS.maybe_id(client, webhook.as_deref()).await?;
            let query = |limit, cursor| WhichJobs {
                status: status.clone(),
                subscription,
                event_id: event_id.clone(),
                limit,
                cursor,
                ..WhichJobs::default()
            };
            let columns = [
                "id", "event", "subscription", "status", "retry_count", "next_retry_at",
                "error_message",
            ];
            reply::list::<Queue>(out, client, &paging, &columns, query).await
        }
        QueueCommand::Retry(Several { ids }) => {
            let ids = input::ids(ids)?;
            reply::act::<Retry>(out, client, &ids).await?;
            report(out, &ids, "retry", "due now")
        }
        QueueCommand::Cancel(Several { ids }) => {
            let ids = input::ids(ids)?;
            let jobs = counted(ids.len() as u64, "job");
            prompt::confirm(flags, &format!("Cancel {jobs}? Receivers will not get the events."))?;
            reply::act::<Cancel>(out, client, &ids).await?;
            report(out, &ids, "cancel", "cancelled")
        }
        QueueCommand::Purge { status } => {
            prompt::confirm(flags, &format!("Remove all jobs that are {status}?"))?;
            let removed = purge(client, status).await?;
            let text = format!("{} removed.", counted(removed, "job"));
            out.done(&json!({"removed": removed}), &text)
        }
    }
}

/// Reports what happened to jobs.
fn report(out: &Output, ids: &[i64], action: &str, became: &str) -> Done {
    let text = format!("{} {became}.", counted(ids.len() as u64, "job"));
    match ids {
        [id] => out.done(&json!({"id": id, "action": action}), &text),
        ids => out.done(&json!({"ids": ids, "action": action}), &text),
    }
}

/// Removes settled jobs batch by batch, and returns their number. Ends at the first batch that is
/// not full: on a busy site, later ones would never be empty.
async fn purge(client: &Client, status: String) -> Done<u64> {
    let (which, mut removed) = (OfStatus { status }, 0);
    loop {
        let batch = reply::data::<Purge>(client, &which, &NoBody).await?.removed;
        removed += batch;
        if batch < BATCH {
            return Ok(removed);
        }
    }
}
