//! `cms events tail`: the last recorded events, then each new one

use clap::Args;
use cms_core::webhooks::Message;
use cms_http::{
    client::Client,
    wire::{
        NoBody, OneOrPage, Page,
        events::{Messages, Which},
        parameters::{Limit, Moment},
    },
};

use super::{
    news::{News, PAUSE},
    printed::Printed,
};
use crate::{
    input,
    output::{Done, Exit, Failure, Output},
    reply::LARGEST_PAGE,
    signals::until_told,
};

/// How many events are printed first, without `--since`.
const LAST: u32 = 10;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cms events tail --event 'item.orders.*'
  cms events tail --since 2h --no-follow --json

Prints a line for each event: time, name, jobs in the queue, id. With --json, a JSON object a line.
The site tells of events as they happen; where it does not, it is asked every second. A site that
starts again is waited for, and nothing is left out. Ctrl-C ends it.")]
pub(crate) struct TailArgs {
    /// Only events with this name; item.* fits all names that begin with item.
    #[arg(long, value_name = "PATTERN")]
    event: Option<String>,
    /// Begin at this date-time, such as 2026-11-21T09:30:00Z, or this long ago, such as 2h,
    /// instead of with the last 10
    #[arg(long, value_name = "TIME", value_parser = input::moment)]
    since: Option<Moment>,
    /// Wait for new events (the default)
    #[arg(long = "follow", id = "follow", overrides_with = "no_follow")]
    _follow: bool,
    /// End after the events that are there
    #[arg(long, overrides_with = "follow")]
    no_follow: bool,
}

pub(super) async fn run(out: &Output, client: &Client, args: TailArgs) -> Done {
    until_told(tail(out, client, &args)).await
}

async fn tail(out: &Output, client: &Client, args: &TailArgs) -> Done {
    let since = args.since;
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
    let last = printed.newest().map(str::to_owned);
    let mut news = News::new(out, client, args.event.clone(), last);
    let mut is_away = false;
    loop {
        news.wait().await;
        let since = printed.ask_again_from().or(since);
        match pages(out, client, &Which { since, ..later.clone() }, &mut printed).await {
            // It may only be starting again.
            Err(failure) if failure.exit == Exit::Unreachable => {
                if !std::mem::replace(&mut is_away, true) {
                    out.note(&format!("{}; waiting for it", failure.what));
                }
                tokio::time::sleep(PAUSE).await;
            }
            outcome => {
                outcome?;
                is_away = false;
            }
        }
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
