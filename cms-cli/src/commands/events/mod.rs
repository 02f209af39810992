//! `cms events`: what can happen and what has happened, through `/api/backend/webhooks/events`,
//! `/emit` and `/messages`

mod printed;
mod tail;

use std::path::PathBuf;

use clap::Subcommand;
use cms_http::client::{Ask, Client};
use serde_json::json;

use self::tail::TailArgs;
use crate::{
    flags::Flags,
    input,
    output::{Done, Output},
    reply::{self, Paging},
    site,
};

#[derive(Debug, Subcommand)]
pub(crate) enum EventsCommand {
    /// Events that are raised, and by whom
    List(Paging),
    /// One event, and what its data looks like
    Show {
        /// Its name
        name: String,
    },
    /// Raise an event: of a plugin, or one of those that only others know of
    #[command(
        after_help = "Example: echo '{\"order\": {\"id\": 7}}' | cms events emit order.created --data -

What the service itself observes (items, pages, media, forms, logins) cannot be raised by hand."
    )]
    Emit {
        /// Its name
        name: String,
        /// Its data, a JSON object: a file, or - for standard input
        #[arg(long, value_name = "FILE")]
        data: PathBuf,
    },
    /// Print events as they are recorded
    Tail(TailArgs),
    /// What is sent of a recorded event
    Payload {
        /// Its id; receivers see it as webhook-id
        id: String,
    },
}

pub(crate) async fn run(flags: &Flags, out: &Output, command: EventsCommand) -> Done {
    site::with(flags, out, async |site| at(out, &site.client, command).await).await
}

async fn at(out: &Output, client: &Client, command: EventsCommand) -> Done {
    let at = |path: &str| format!("/api/backend/webhooks/{path}");
    match command {
        EventsCommand::List(paging) => {
            let columns = ["event_name", "plugin_id", "event_type", "content_table", "description"];
            reply::print(out, client, Ask::get(&at("events")), &paging, &columns).await
        }
        EventsCommand::Show { name } => {
            reply::record(out, client, Ask::get(&at("events")).query("name", name)).await
        }
        EventsCommand::Emit { name, data } => {
            let body = json!({"event": name, "data": input::object(&data)?});
            reply::record(out, client, Ask::post(&at("emit")).json(&body)).await
        }
        EventsCommand::Tail(args) => tail::run(out, client, args).await,
        EventsCommand::Payload { id } => {
            reply::record(out, client, Ask::get(&at("messages")).query("id", id)).await
        }
    }
}
