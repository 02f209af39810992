//! `cms queue`: jobs (deliveries in the queue), through `/api/backend/webhooks/queue`

use clap::Subcommand;
use cms_http::client::{Ask, Client};
use serde_json::json;

use crate::{
    flags::Flags,
    output::{Done, Output, counted},
    prompt,
    reply::{self, Paging},
    site,
};

const QUEUE: &str = "/api/backend/webhooks/queue";

#[derive(Debug, Subcommand)]
pub(crate) enum QueueCommand {
    /// Tell how many jobs wait, and for how long
    Stats,
    /// List jobs
    List {
        /// Only this status: pending, sending, retry, delivered, failed, held or cancelled
        #[arg(long)]
        status: Option<String>,
        /// Only jobs of this subscription
        #[arg(long, value_name = "ID")]
        webhook: Option<i64>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Try a waiting job now
    Retry {
        /// Id of the job
        id: i64,
    },
    /// Cancel a waiting job
    Cancel {
        /// Id of the job
        id: i64,
    },
    /// Remove settled jobs now, before their retention ends
    Purge {
        /// Their status: delivered, failed or cancelled
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
                &format!("Cancel the job {id}? Its receiver will not get the event."),
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
                // A batch has up to 1,000 jobs. A smaller one is the last: on a busy site a later
                // batch is never empty.
                if batch < 1000 {
                    break;
                }
            }
            out.done(&json!({"removed": removed}), &format!("{} removed.", counted(removed, "job")))
        }
    }
}

async fn act(out: &Output, client: &Client, action: &str, id: i64, done: &str) -> Done {
    client.send(Ask::post(&format!("{QUEUE}/{action}")).query("id", id)).await?;
    out.done(&json!({"id": id, "action": action}), &format!("The job {id} {done}."))
}
