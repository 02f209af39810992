//! `cms queue`: jobs of webhooks that wait, through `/api/backend/webhooks/queue`

use clap::Subcommand;
use cms_http::client::{Ask, Client};
use serde_json::json;

use crate::{
    flags::Flags,
    output::{Done, Output},
    prompt,
    reply::{self, Paging},
    site,
};

const QUEUE: &str = "/api/backend/webhooks/queue";

#[derive(Debug, Subcommand)]
pub(crate) enum QueueCommand {
    /// How full it is, and how late
    Stats,
    /// Jobs
    List {
        /// pending, sending, retry, delivered, failed, held or cancelled
        #[arg(long)]
        status: Option<String>,
        /// Of one webhook
        #[arg(long, value_name = "ID")]
        webhook: Option<i64>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Make a job due that waits for its next attempt
    Retry { id: i64 },
    /// Take a job that waits out of the queue
    Cancel { id: i64 },
    /// Remove settled jobs now, instead of when their time is over
    Purge {
        /// delivered, failed or cancelled
        #[arg(long)]
        status: String,
    },
}

pub(crate) async fn run(flags: &Flags, out: &Output, command: QueueCommand) -> Done {
    site::with(flags, out, async |site| at(flags, out, &site.client, command).await).await
}

async fn at(flags: &Flags, out: &Output, client: &Client, command: QueueCommand) -> Done {
    match command {
        QueueCommand::Stats => {
            reply::record(out, client, Ask::get(&format!("{QUEUE}/stats"))).await
        }
        QueueCommand::List { status, webhook, paging } => {
            let ask = Ask::get(QUEUE).maybe("status", status).maybe("subscription", webhook);
            let columns = [
                "id",
                "event",
                "subscription",
                "status",
                "retry_count",
                "next_retry_at",
                "error_message",
            ];
            reply::print(out, client, ask, &paging, &columns).await
        }
        QueueCommand::Retry { id } => act(out, client, "retry", id, "is due now").await,
        QueueCommand::Cancel { id } => {
            prompt::confirm(
                flags,
                &format!("Cancel the job {id}? Its receiver does not hear of the event."),
            )?;
            act(out, client, "cancel", id, "is cancelled").await
        }
        QueueCommand::Purge { status } => {
            prompt::confirm(flags, &format!("Remove all jobs that are {status}?"))?;
            let mut removed = 0;
            loop {
                let answer =
                    client.send(Ask::delete(QUEUE).query("status", &status)).await?.json()?;
                let batch = answer["data"]["removed"].as_u64().unwrap_or(0);
                removed += batch;
                // Batches are of 1,000; on a busy site there is always something new.
                if batch < 1000 {
                    break;
                }
            }
            out.done(&json!({"removed": removed}), &format!("{removed} jobs are removed."))
        }
    }
}

async fn act(out: &Output, client: &Client, action: &str, id: i64, done: &str) -> Done {
    client.send(Ask::post(&format!("{QUEUE}/{action}")).query("id", id)).await?;
    out.done(&json!({"id": id, "action": action}), &format!("The job {id} {done}."))
}
