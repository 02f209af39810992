//! `cms webhooks deliveries`: attempts to deliver, through `/api/backend/webhooks/deliveries`

use clap::{Args, Subcommand};
use cms_core::rfc3339;
use cms_http::{
    client::Client,
    wire::{
        NoBody,
        parameters::{Moment, NoQuery},
        webhooks::{Deliveries, Redeliver, Redelivery, RedeliveryFilter, WhichDeliveries},
    },
};

use crate::{
    input,
    output::{Done, Failure, Output},
    reply::{self, Paging, WEBHOOKS, named},
};

#[derive(Debug, Subcommand)]
pub(crate) enum DeliveriesCommand {
    /// List attempts, newest first
    #[command(after_help = "Example:
  cms webhooks deliveries list --webhook shop --status failed --since 2d

With --event-id, all attempts of what a receiver knows by that webhook-id.")]
    List {
        #[command(flatten)]
        which: AttemptFilter,
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
  cms webhooks deliveries redeliver --webhook 3 --status failed --expected 12
  cms webhooks deliveries redeliver --submission 17 --expected 3

A filter takes only the last attempt of each event at each webhook, where that one matches and both
are still there. An event that waits for its webhook gets no second job: its job is due now, or
stays held while the webhook is off.")]
    Redeliver {
        /// Ids of the deliveries
        ids: Vec<i64>,
        #[command(flatten)]
        which: AttemptFilter,
        /// How many deliveries the filter should match; with more or fewer, none is sent again
        #[arg(
            long,
            alias = "expect",
            value_name = "N",
            conflicts_with = "ids",
            required_unless_present = "ids"
        )]
        expected: Option<u64>,
    },
}

/// Flags that choose attempts.
#[derive(Args, Debug, Default)]
pub(crate) struct AttemptFilter {
    /// Only of this subscription, by its id or its name
    #[arg(long, value_name = "WEBHOOK")]
    webhook: Option<String>,
    /// Only of this event
    #[arg(long, value_name = "EVENT")]
    event: Option<String>,
    /// Only of the event with this id: the webhook-id that receivers see
    #[arg(long, value_name = "ID")]
    event_id: Option<String>,
    /// Only of the events of this visit of a funnel, by the id or reference of its submission
    #[arg(long, value_name = "SUBMISSION")]
    submission: Option<String>,
    /// Only these: delivered, failed (all others), or one fault such as timeout, status, connect
    #[arg(long)]
    status: Option<String>,
    /// Only since this date-time, such as 2026-11-21T09:30:00Z, or for this long, such as 2d
    #[arg(long, value_name = "TIME", value_parser = input::moment)]
    since: Option<Moment>,
    /// Only before this date-time, or until this long ago
    #[arg(long, value_name = "TIME", value_parser = input::moment)]
    until: Option<Moment>,
}

pub(super) async fn run(out: &Output, client: &Client, command: DeliveriesCommand) -> Done {
    match command {
        DeliveriesCommand::List { which, job, paging } => {
            let subscription = WEBHOOKS.maybe_id(client, which.webhook.as_deref()).await?;
            let submission = named::maybe_submission(client, which.submission.as_deref()).await?;
            let query = |limit, cursor| WhichDeliveries {
                id: None,
                job,
                event_id: which.event_id.clone(),
                submission,
                subscription,
                event: which.event.clone(),
                status: which.status.clone(),
                since: which.since,
                until: which.until,
                limit,
                cursor,
                count: None,
            };
            let columns = [
                "id", "subscription", "event", "attempt", "status", "response_code", "duration_ms",
                "created_at",
            ];
            reply::list::<Deliveries>(out, client, &paging, &columns, query).await
        }
        DeliveriesCommand::Show { id } => {
            let which = WhichDeliveries { id: Some(id), ..WhichDeliveries::default() };
            reply::record::<Deliveries>(out, client, &which, &NoBody).await
        }
        DeliveriesCommand::Redeliver { ids, which, expected } => {
            let again = again(client, ids, which, expected).await?;
            reply::record::<Redeliver>(out, client, &NoQuery {}, &again).await
        }
    }
}

/// Deliveries to send again: by their ids, or by a filter and how many it should match.
async fn again(
    client: &Client,
    ids: Vec<i64>,
    which: AttemptFilter,
    expected: Option<u64>,
) -> Done<Redelivery> {
    if !ids.is_empty() {
        return Ok(Redelivery { ids: Some(ids), ..Redelivery::default() });
    }
    if expected.is_none() {
        return Err(Failure::usage(
            "no deliveries are named: give their ids, or a filter with --expected N",
        ));
    }
    let AttemptFilter { webhook, event, event_id, submission, status, since, until } = which;
    let subscription = WEBHOOKS.maybe_id(client, webhook.as_deref()).await?;
    let submission = named::maybe_submission(client, submission.as_deref()).await?;
    let text = |moment: Option<Moment>| moment.map(|moment| rfc3339(moment.0));
    let (since, until) = (text(since), text(until));
    let filter =
        RedeliveryFilter { event_id, submission, subscription, event, status, since, until };
    Ok(Redelivery { ids: None, filter: Some(filter), expected })
}
