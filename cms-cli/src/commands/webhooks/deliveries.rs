//! `cms webhooks deliveries`: attempts to deliver, through `/api/backend/webhooks/deliveries`

use clap::{Args, Subcommand};
use cms_http::{
    client::Client,
    wire::{
        NoBody,
        parameters::NoQuery,
        webhooks::{Deliveries, Redeliver, Redelivery, RedeliveryFilter, WhichDeliveries},
    },
};

use crate::{
    input,
    output::{Done, Failure, Output},
    reply::{self, Paging},
};

#[derive(Debug, Subcommand)]
pub(crate) enum DeliveriesCommand {
    /// List attempts, newest first
    #[command(after_help = "Example:
  cms webhooks deliveries list --webhook 3 --status failed --since 2026-11-20T00:00:00Z

With --event-id, all attempts of what a receiver knows by that webhook-id.")]
    List {
        #[command(flatten)]
        which: Which,
        /// Only of this job of the queue
        #[arg(long, value_name = "ID")]
        job: Option<i64>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Show an attempt with its request and response
    Show {
        /// Id of the delivery
        id: i64,
    },
    /// Send deliveries again: same event and body, new signature
    #[command(after_help = "Examples:
  cms webhooks deliveries redeliver 4711 4712
  cms webhooks deliveries redeliver --webhook 3 --status failed --expect 12
  cms webhooks deliveries redeliver --submission 17 --expect 3")]
    Redeliver {
        /// Ids of the deliveries
        ids: Vec<i64>,
        #[command(flatten)]
        which: Which,
        /// How many deliveries the filter should match; with more or fewer, none is sent again
        #[arg(long, value_name = "N", conflicts_with = "ids", required_unless_present = "ids")]
        expect: Option<u64>,
    },
}

/// Flags that choose attempts.
#[derive(Args, Debug, Default)]
pub(crate) struct Which {
    /// Only of this subscription
    #[arg(long, value_name = "ID")]
    webhook: Option<i64>,
    /// Only of this event
    #[arg(long, value_name = "EVENT")]
    event: Option<String>,
    /// Only of the event with this id: the webhook-id that receivers see
    #[arg(long, value_name = "ID")]
    event_id: Option<String>,
    /// Only of the events of this visit of a funnel, by the id of its submission
    #[arg(long, value_name = "ID")]
    submission: Option<i64>,
    /// Only these: delivered, failed (all others), or one fault such as timeout, status, connect
    #[arg(long)]
    status: Option<String>,
    /// Only since this date-time, such as 2026-11-21T09:30:00Z
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only before this date-time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
}

pub(super) async fn run(out: &Output, client: &Client, command: DeliveriesCommand) -> Done {
    match command {
        DeliveriesCommand::List { which, job, paging } => {
            let since = which.since.as_deref().map(input::moment).transpose()?;
            let until = which.until.as_deref().map(input::moment).transpose()?;
            let query = |limit, cursor| WhichDeliveries {
                id: None,
                job,
                event_id: which.event_id.clone(),
                submission: which.submission,
                subscription: which.webhook,
                event: which.event.clone(),
                status: which.status.clone(),
                since,
                until,
                limit,
                cursor,
            };
            let columns = [
                "id",
                "subscription",
                "event",
                "attempt",
                "status",
                "response_code",
                "duration_ms",
                "created_at",
            ];
            reply::list::<Deliveries>(out, client, &paging, &columns, query).await
        }
        DeliveriesCommand::Show { id } => {
            let which = WhichDeliveries { id: Some(id), ..WhichDeliveries::default() };
            reply::record::<Deliveries>(out, client, &which, &NoBody).await
        }
        DeliveriesCommand::Redeliver { ids, which, expect } => {
            let again = again(ids, which, expect)?;
            reply::record::<Redeliver>(out, client, &NoQuery {}, &again).await
        }
    }
}

/// Deliveries to send again: by their ids, or by a filter and how many it should match.
fn again(ids: Vec<i64>, which: Which, expected: Option<u64>) -> Done<Redelivery> {
    if !ids.is_empty() {
        return Ok(Redelivery { ids: Some(ids), ..Redelivery::default() });
    }
    if expected.is_none() {
        return Err(Failure::usage(
            "no deliveries are named: give their ids, or a filter with --expect N",
        ));
    }
    let Which { webhook: subscription, event, event_id, submission, status, since, until } = which;
    let filter =
        RedeliveryFilter { event_id, submission, subscription, event, status, since, until };
    Ok(Redelivery { ids: None, filter: Some(filter), expected })
}
