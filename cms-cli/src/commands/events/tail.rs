//! `cms events tail`: the last recorded events, then each new one

use std::time::Duration;

use clap::Args;
use cms_core::webhooks::Message;
use cms_http::{
    client::Client,
    wire::{
        NoBody, OneOrPage, Page,
        events::{Messages, Which},
        parameters::Limit,
    },
};
use tokio::signal::unix::{SignalKind, signal};

use super::printed::Printed;
use crate::{
    input,
    output::{Done, Failure, Output},
    reply::LARGEST_PAGE,
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
    let since = args.since.as_deref().map(input::moment).transpose()?;
    let later = Which {
        event: args.event.clone(),
        oldest_first: Some(true),
        limit: Limit(LARGEST_PAGE),
        ..Which::default()
    };
    let mut printed = Printed::default();
    if since.is_some() {
        pages(out, client, &Which { since, ..later.clone() }, &mut printed).await?;
    } else {
        let last = Which { event: args.event.clone(), limit: Limit(LAST), ..Which::default() };
        let mut last = page(client, &last).await?.data;
        last.reverse();
        printed.print(out, &last)?;
        // Where the list of all events ends now: a filter may have left its last ones out.
        let end = Which { limit: Limit(1), ..Which::default() };
        printed.begin(page(client, &end).await?.data.first())?;
    }
    if args.no_follow {
        return Ok(());
    }
    loop {
        tokio::time::sleep(PAUSE).await;
        let since = printed.ask_again_from().or(since);
        pages(out, client, &Which { since, ..later.clone() }, &mut printed).await?;
    }
}

async fn page(client: &Client, which: &Which) -> Done<Page<Message>> {
    match client.call::<Messages>(which, &NoBody).await? {
        OneOrPage::Page(page) => Ok(page),
        OneOrPage::One(_) => Err(Failure::unexpected("it holds no list")),
    }
}

/// Reads all pages and prints the new events.
async fn pages(out: &Output, client: &Client, which: &Which, printed: &mut Printed) -> Done {
    let mut which = which.clone();
    loop {
        let Page { data, meta } = page(client, &which).await?;
        printed.print(out, &data)?;
        which.cursor = meta.next;
        if which.cursor.is_none() {
            return Ok(());
        }
    }
}
