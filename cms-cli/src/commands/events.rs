//! `cms events`: known and recorded events, through `/api/backend/webhooks/events`, `/emit` and
//! `/messages`. `cms events tail` shows the last recorded events, then each new one, and prints
//! every event exactly once

use std::{collections::BTreeSet, path::PathBuf, time::Duration};

use clap::{Args, Subcommand};
use cms_core::{
    Millis, parse_rfc3339,
    webhooks::{DescribedEvent, Message},
};
use cms_http::{
    client::{Client, ClientError, Following},
    wire::{
        NoBody, OneOrPage, Page,
        events::{Emit, Event, List, Messages, Named, WhichMessages},
        parameters::{Limit, ListQuery, Moment, NoQuery},
        stream::Followed,
    },
};
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};

use crate::{
    flags::Flags,
    input,
    output::{Done, Exit, Failure, Output},
    reply::{self, Chosen, LARGEST_PAGE},
    signals::until_signal,
    site::Site,
};

#[derive(Debug, Subcommand)]
pub(crate) enum EventsCommand {
    /// List the known events, and who raises them
    List(Chosen),
    /// Show an event, with an example of its data and the schema of what receivers get
    #[command(after_help = "Example:
  cms events show order.created --schema > order.created.schema.json")]
    Show {
        /// Name of the event
        name: String,
        /// Print the JSON Schema alone (draft 2020-12, of the whole body)
        #[arg(long)]
        schema: bool,
    },
    /// Raise an event of a plugin or of another program
    #[command(after_help = "Example:
  echo '{\"order\": {\"id\": 7}}' | cms events emit order.created --data -

Data that does not fit the event's schema is refused (cms events show order.created --schema).
Events that the service raises itself (items, pages, media, forms, logins) cannot be raised here.")]
    Emit {
        /// Name of the event
        name: String,
        /// File with its data, a JSON object; - for standard input
        #[arg(long, value_name = "FILE")]
        data: PathBuf,
    },
    /// Print events as they are recorded
    Tail(TailArgs),
    /// Print what is sent for a recorded event
    Payload {
        /// Id of the event, which receivers see as webhook-id
        id: String,
    },
}

pub(crate) async fn run(_: &Flags, out: &Output, site: &Site, command: EventsCommand) -> Done {
    let client = &site.client;
    match command {
        EventsCommand::List(chosen) => {
            let columns = ["event_name", "plugin_id", "event_type", "content_table", "description"];
            let query = |limit, cursor| Named { name: None, list: ListQuery::page(limit, cursor) };
            reply::chosen::<List>(out, client, &chosen, (&columns, reply::plain), query).await
        }
        EventsCommand::Show { name, schema } => {
            let named = Named { name: Some(name), ..Named::default() };
            if !schema {
                return reply::record_as::<List>(out, client, &named, &NoBody, cell).await;
            }
            let event = reply::data::<List>(client, &named, &NoBody).await?;
            let text = serde_json::to_string_pretty(&event.schema).map_err(Failure::unexpected)?;
            Ok(out.line(&text)?)
        }
        EventsCommand::Emit { name, data } => {
            let event = Event { event: name, data: input::object(&data)? };
            reply::record::<Emit>(out, client, &NoQuery {}, &event).await
        }
        EventsCommand::Tail(args) => tail(out, client, args).await,
        EventsCommand::Payload { id } => {
            let which = WhichMessages { id: Some(id), ..WhichMessages::default() };
            reply::record::<Messages>(out, client, &which, &NoBody).await
        }
    }
}

/// Hides the schema: it is longer than a line.
fn cell(_: &DescribedEvent, name: &str) -> Option<String> {
    (name == "schema").then(|| "--schema prints it".to_owned())
}

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

async fn tail(out: &Output, client: &Client, args: TailArgs) -> Done {
    until_signal(follow(out, client, &args)).await
}

async fn follow(out: &Output, client: &Client, args: &TailArgs) -> Done {
    let since = args.since;
    let later = WhichMessages {
        event: args.event.clone(),
        oldest_first: Some(true),
        limit: Limit(LARGEST_PAGE),
        ..WhichMessages::default()
    };
    let mut printed = Printed::default();
    if since.is_some() {
        pages(out, client, &WhichMessages { since, ..later.clone() }, &mut printed).await?;
    } else {
        let last = WhichMessages {
            event: args.event.clone(),
            limit: Limit(LAST),
            ..WhichMessages::default()
        };
        let mut last = page(client, &last).await?.data;
        last.reverse();
        printed.print(out, &last)?;
        // The end of the list of all events: a filter may have left out the last ones.
        let end = WhichMessages { limit: Limit(1), ..WhichMessages::default() };
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
        match pages(out, client, &WhichMessages { since, ..later.clone() }, &mut printed).await {
            // The site may be restarting.
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

async fn page(client: &Client, which: &WhichMessages) -> Done<Page<Message>> {
    match client.call::<Messages>(which, &NoBody).await? {
        OneOrPage::Page(page) => Ok(page),
        OneOrPage::One(_) => Err(Failure::unexpected("it holds no list")),
    }
}

/// Reads all pages and prints the new events.
async fn pages(
    out: &Output,
    client: &Client,
    which: &WhichMessages,
    printed: &mut Printed,
) -> Done {
    let mut which = which.clone();
    loop {
        let Page { data, meta, .. } = page(client, &which).await?;
        printed.print(out, &data)?;
        which.cursor = meta.next;
        if which.cursor.is_none() {
            return Ok(());
        }
    }
}

/// How far back every request reaches, because a change that began earlier may commit later.
const OVERLAP: Millis = 10_000;

/// The events printed recently.
#[derive(Default)]
struct Printed {
    newest: Option<Millis>,
    recent: BTreeSet<Place>,
    /// Events before this one are not printed.
    floor: Option<Place>,
}

/// The place of an event in the list of all events: its moment and its id.
type Place = (Millis, String);

impl Printed {
    /// Prints the events that were not printed before.
    fn print(&mut self, out: &Output, events: &[Message]) -> Done {
        for event in events {
            let place = place(event)?;
            let too_early = self.floor.as_ref().is_some_and(|floor| place < *floor);
            if too_early || self.recent.contains(&place) {
                continue;
            }
            let Message { id, event: name, created_at, jobs, .. } = event;
            if out.json {
                out.line(&serde_json::to_string(event).map_err(Failure::unexpected)?)?;
            } else {
                out.line(
                    &[created_at, name, &jobs.to_string(), id].map(String::as_str).join(out.gap()),
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

    /// Where the next request begins; None when no event has been seen.
    fn ask_again_from(&self) -> Option<Moment> {
        self.newest.map(|newest| Moment(newest - OVERLAP))
    }

    /// The id of the newest event that was seen.
    fn newest(&self) -> Option<&str> {
        let place = self.recent.last().or(self.floor.as_ref())?;
        Some(&place.1)
    }

    /// From now on prints only events later than those printed, or later than `end` if none were.
    fn begin(&mut self, end: Option<&Message>) -> Done {
        let end = end.map(place).transpose()?;
        self.newest = self.newest.max(end.as_ref().map(|(at, _)| *at));
        self.floor = self.recent.first().cloned().or(end);
        Ok(())
    }
}

fn place(event: &Message) -> Done<Place> {
    let at = parse_rfc3339(&event.created_at);
    let wrong = || Failure::unexpected(format!("{:?} is not a date-time", event.created_at));
    Ok((at.ok_or_else(wrong)?, event.id.clone()))
}

/// Time between two requests for new events.
const PAUSE: Duration = Duration::from_secs(1);

/// Time between two requests while the stream is silent. The stream has only events that the
/// caller may subscribe to or read; the list may have more.
const SILENCE: Duration = Duration::from_secs(5);

/// Waits until there may be new events. Follows the stream, or polls if the site refuses to stream.
struct News<'a> {
    out: &'a Output,
    client: &'a Client,
    which: Followed,
    following: Option<Following>,
    /// The last event of the stream. The next stream goes on after it, so that nothing is left out.
    last: Option<String>,
    /// The site refuses to stream to this caller.
    is_refused: bool,
    asked_at: Instant,
}

impl<'a> News<'a> {
    /// For these events, beginning after the event `last`.
    fn new(
        out: &'a Output,
        client: &'a Client,
        event: Option<String>,
        last: Option<String>,
    ) -> Self {
        let which = Followed { event };
        let asked_at = Instant::now();
        Self { out, client, which, following: None, last, is_refused: false, asked_at }
    }

    /// Returns when there may be new events, but at most once in each pause.
    async fn wait(&mut self) {
        match &mut self.following {
            Some(following) => match timeout(SILENCE, following.next()).await {
                Err(_) => {}
                Ok(Some(Ok(happened))) => {
                    self.last = happened.id.or(self.last.take());
                    self.gather().await;
                }
                // The stream ends when the service stops; then open another one.
                Ok(_) => {
                    self.following = None;
                    sleep(PAUSE).await;
                }
            },
            None if self.is_refused => sleep(PAUSE).await,
            None => self.open().await,
        }
        self.asked_at = Instant::now();
    }

    async fn open(&mut self) {
        match self.client.follow(&self.which, self.last.as_deref()).await {
            Ok(following) => {
                self.out.detail("the site tells of events as they happen");
                self.following = Some(following);
            }
            Err(ClientError::Problem { status, .. })
                if status.is_client_error() && status.as_u16() != 429 =>
            {
                self.out
                    .detail("the site does not stream to this caller: it is asked every second");
                self.is_refused = true;
            }
            Err(_) => sleep(PAUSE).await,
        }
    }

    /// Collects further events until a pause has passed since the last request.
    async fn gather(&mut self) {
        let until = self.asked_at + PAUSE;
        while let Some(following) = &mut self.following {
            match timeout_at(until, following.next()).await {
                Ok(Some(Ok(happened))) => self.last = happened.id.or(self.last.take()),
                Ok(_) => {
                    self.following = None;
                    sleep_until(until).await;
                }
                Err(_) => return,
            }
        }
    }
}
