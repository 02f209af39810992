//! `cms queue`: jobs of webhooks that wait, through `/api/backend/webhooks/queue`

use clap::Subcommand;
use cms_http::client::Ask;
use serde_json::json;

use crate::{
    args::Global,
    commands::webhooks::{WEBHOOKS, record},
    failure::Done,
    output::Output,
    paging::{self, Paging},
    prompt,
    site::Site,
};

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

pub(crate) async fn run(global: &Global, out: &Output, site: &Site, command: QueueCommand) -> Done {
    let path = format!("{WEBHOOKS}/queue");
    match command {
        QueueCommand::Stats => record(out, site, Ask::get(&format!("{path}/stats"))).await,
        QueueCommand::List { status, webhook, paging } => {
            let ask = Ask::get(&path).maybe("status", status).maybe("subscription", webhook);
            let columns = [
                "id",
                "event",
                "subscription",
                "status",
                "retry_count",
                "next_retry_at",
                "error_message",
            ];
            paging::print(out, &site.client, ask, &paging, &columns).await
        }
        QueueCommand::Retry { id } => act(out, site, &path, "retry", id, "is due now").await,
        QueueCommand::Cancel { id } => {
            prompt::confirm(
                global,
                &format!("Cancel the job {id}? Its receiver does not hear of the event."),
            )?;
            act(out, site, &path, "cancel", id, "is cancelled").await
        }
        QueueCommand::Purge { status } => {
            prompt::confirm(global, &format!("Remove all jobs that are {status}?"))?;
            let mut removed = 0;
            loop {
                let answer =
                    site.client.send(Ask::delete(&path).query("status", &status)).await?.json()?;
                let batch = answer["data"]["removed"].as_u64().unwrap_or(0);
                removed += batch;
                // Batches are of 1,000; on a busy site there is always something new.
                if batch < 1000 {
                    break;
                }
            }
            if out.json {
                return Ok(out.data(&json!({"removed": removed}))?);
            }
            out.note(&format!("{removed} jobs are removed."));
            Ok(())
        }
    }
}

async fn act(out: &Output, site: &Site, path: &str, action: &str, id: i64, done: &str) -> Done {
    site.client.send(Ask::post(&format!("{path}/{action}")).query("id", id)).await?;
    if out.json {
        return Ok(out.data(&json!({"id": id, "action": action}))?);
    }
    out.note(&format!("The job {id} {done}."));
    Ok(())
}
