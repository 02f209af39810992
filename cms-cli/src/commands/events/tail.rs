//! `cms events tail`: the last recorded events, then each new one

use std::time::Duration;

use clap::Args;
use cms_http::client::{Ask, Client};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::signal::unix::{SignalKind, signal};

use super::printed::Printed;
use crate::{
    output::{Done, Failure, Output},
    reply::{LARGEST_PAGE, Meta},
};

/// Time between two requests for new events.
const PAUSE: Duration = Duration::from_secs(1);
/// How many events are printed first, without `--since`.
const LAST: u32 = 10;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cms events tail --event 'item.orders.*'
  cms events tail --since 2026-11-21T00:00:00Z --no-follow --json

Prints a line for each event: time, name, jobs in the queue, id. With --json, a JSON object a line.
Ctrl-C ends it.")]
pub(crate) struct TailArgs {
    /// Only events with this name; item.* fits all names that begin with item.
    #[arg(long, value_name = "PATTERN")]
    event: Option<String>,
    /// Begin at this date-time, such as 2026-11-21T09:30:00Z, instead of with the last 10
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Wait for new events (the default)
    #[arg(long = "follow", id = "follow", overrides_with = "no_follow")]
    _follow: bool,
    /// End after the events that are there
    #[arg(long, overrides_with = "follow")]
    no_follow: bool,
}

/// A page of recorded events as text.
#[derive(Deserialize)]
struct Page {
    data: Vec<Box<RawValue>>,
    meta: Meta,
}

pub(super) async fn run(out: &Output, client: &Client, args: TailArgs) -> Done {
    let (mut terminate, mut interrupt) =
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::select! {
        _ = terminate.recv() => Ok(()),
        _ = interrupt.recv() => Ok(()),
        outcome = tail(out, client, &args) => outcome,
    }
}

async fn tail(out: &Output, client: &Client, args: &TailArgs) -> Done {
    let all = Ask::get("/api/backend/webhooks/messages");
    let ask = all.clone().maybe("event", args.event.as_deref());
    let later = ask.clone().query("oldest_first", true).query("limit", LARGEST_PAGE);
    let mut printed = Printed::default();
    if args.since.is_some() {
        pages(out, client, later.clone().maybe("since", args.since.as_deref()), &mut printed)
            .await?;
    } else {
        let mut last = page(client, ask.query("limit", LAST)).await?.data;
        last.reverse();
        printed.print(out, &last)?;
        // Where the list of all events ends now: a filter may have left its last ones out.
        let end = page(client, all.query("limit", 1)).await?.data;
        printed.begin(end.first().map(AsRef::as_ref))?;
    }
    if args.no_follow {
        return Ok(());
    }
    loop {
        tokio::time::sleep(PAUSE).await;
        let since = printed.ask_again_from().or_else(|| args.since.clone());
        pages(out, client, later.clone().maybe("since", since), &mut printed).await?;
    }
}

async fn page(client: &Client, ask: Ask) -> Done<Page> {
    serde_json::from_str(&client.send(ask).await?.body).map_err(Failure::unexpected)
}

/// Reads all pages and prints the new events.
async fn pages(out: &Output, client: &Client, ask: Ask, printed: &mut Printed) -> Done {
    let mut cursor = None;
    loop {
        let Page { data, meta } =
            page(client, ask.clone().maybe("cursor", cursor.as_deref())).await?;
        printed.print(out, &data)?;
        cursor = meta.next;
        if cursor.is_none() {
            return Ok(());
        }
    }
}
