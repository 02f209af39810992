//! `cms events tail`: recorded events, the last ones and then each as it comes

use std::{collections::BTreeSet, time::Duration};

use clap::Args;
use cms_core::{Millis, parse_rfc3339, rfc3339};
use cms_http::client::{Ask, Client};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    commands::webhooks::WEBHOOKS,
    exit::Exit,
    failure::{Done, Failure},
    output::Output,
    paging::{LARGEST_PAGE, unexpected},
    record::Meta,
    site::Site,
};

/// How often is asked.
const PAUSE: Duration = Duration::from_secs(1);
/// Without a moment to begin at, so many of the last.
const LAST: u32 = 10;
/// A change that was begun earlier may be committed later: so far back is asked again.
const OVERLAP: Millis = 10_000;

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cms events tail --event 'item.orders.*'
  cms events tail --since 2026-11-21T00:00:00Z --no-follow --json

Prints time, name, jobs in the queue and id; with --json an object a line. Ctrl-C ends it.")]
pub(crate) struct TailArgs {
    /// A name, or the beginning of names and *
    #[arg(long, value_name = "PATTERN")]
    event: Option<String>,
    /// Begin here instead of with the last 10: a date-time such as 2026-11-21T09:30:00Z
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Wait for more (the default)
    #[arg(long = "follow", id = "follow", overrides_with = "no_follow")]
    _follow: bool,
    /// End after what is there
    #[arg(long, overrides_with = "follow")]
    no_follow: bool,
}

/// A page of recorded events, whose text is kept.
#[derive(Deserialize)]
struct Page {
    data: Vec<Box<RawValue>>,
    meta: Meta,
}

#[derive(Deserialize)]
struct Recorded {
    id: String,
    event: String,
    created_at: String,
    jobs: i64,
}

pub(super) async fn run(out: &Output, site: &Site, args: TailArgs) -> Done {
    let (mut terminate, mut interrupt) =
        (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    tokio::select! {
        _ = terminate.recv() => Ok(()),
        _ = interrupt.recv() => Ok(()),
        outcome = tail(out, &site.client, &args) => outcome,
    }
}

async fn tail(out: &Output, client: &Client, args: &TailArgs) -> Done {
    let all = Ask::get(&format!("{WEBHOOKS}/messages"));
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
        // The place where the list ends now, though nothing of it was asked for.
        let end = page(client, all.query("limit", 1)).await?.data;
        printed.begin(end.first().map(|last| recorded(last)).transpose()?)?;
    }
    if args.no_follow {
        return Ok(());
    }
    loop {
        tokio::time::sleep(PAUSE).await;
        let since =
            printed.newest.map(|newest| rfc3339(newest - OVERLAP)).or_else(|| args.since.clone());
        pages(out, client, later.clone().maybe("since", since), &mut printed).await?;
    }
}

/// What was printed of late, so that it is not printed again.
#[derive(Default)]
struct Printed {
    newest: Option<Millis>,
    recent: BTreeSet<(Millis, String)>,
    /// Nothing before this was asked for.
    floor: Option<(Millis, String)>,
}

impl Printed {
    fn print(&mut self, out: &Output, data: &[Box<RawValue>]) -> Done {
        for raw in data {
            let Recorded { id, event, created_at, jobs } = recorded(raw)?;
            let place = (moment(&created_at)?, id);
            if self.floor.as_ref().is_some_and(|floor| place < *floor)
                || self.recent.contains(&place)
            {
                continue;
            }
            if out.json {
                out.line(raw.get())?;
            } else {
                out.line(
                    &[&created_at, &event, &jobs.to_string(), &place.1]
                        .map(String::as_str)
                        .join(out.gap()),
                )?;
            }
            self.newest = self.newest.max(Some(place.0));
            self.recent.insert(place);
        }
        if let Some(newest) = self.newest {
            self.recent = self.recent.split_off(&(newest - OVERLAP, String::new()));
        }
        Ok(())
    }

    /// From here on only what is later than what was printed, or than `end` when nothing was.
    fn begin(&mut self, end: Option<Recorded>) -> Done {
        let end =
            end.map(|end| Ok::<_, Failure>((moment(&end.created_at)?, end.id))).transpose()?;
        self.newest = self.newest.max(end.as_ref().map(|(at, _)| *at));
        self.floor = self.recent.first().cloned().or(end);
        Ok(())
    }
}

fn recorded(raw: &RawValue) -> Done<Recorded> {
    serde_json::from_str(raw.get()).map_err(unexpected)
}

fn moment(text: &str) -> Done<Millis> {
    parse_rfc3339(text).ok_or_else(|| {
        Failure::new(Exit::Failed, format!("the reply holds no date-time but {text:?}"))
    })
}

async fn page(client: &Client, ask: Ask) -> Done<Page> {
    serde_json::from_str(&client.send(ask).await?.body).map_err(unexpected)
}

/// Prints what is new of all pages.
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
