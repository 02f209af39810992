//! `cms events`: known and recorded events, through `/api/backend/webhooks/events`, `/emit` and
//! `/messages`

mod tail;

use std::path::PathBuf;

use clap::Subcommand;
use cms_core::webhooks::DescribedEvent;
use cms_http::wire::{
    NoBody,
    events::{Emit, Event, List, Messages, Named, WhichMessages},
    parameters::{ListQuery, NoQuery},
};

use self::tail::TailArgs;
use crate::{
    flags::Flags,
    input,
    output::{Done, Failure, Output},
    reply::{self, Chosen},
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
        EventsCommand::Tail(args) => tail::run(out, client, args).await,
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
