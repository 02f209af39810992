//! `cms events`: what can happen and what has happened, through `/api/backend/webhooks/events`,
//! `/emit` and `/messages`

mod tail;

use std::path::PathBuf;

use clap::Subcommand;
use cms_http::client::Ask;
use serde_json::json;

use self::tail::TailArgs;
use crate::{
    commands::webhooks::{WEBHOOKS, record},
    failure::Done,
    input,
    output::Output,
    paging::{self, Paging},
    site::Site,
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

pub(crate) async fn run(out: &Output, site: &Site, command: EventsCommand) -> Done {
    let at = |path: &str| format!("{WEBHOOKS}/{path}");
    match command {
        EventsCommand::List(paging) => {
            let columns = ["event_name", "plugin_id", "event_type", "content_table", "description"];
            paging::print(out, &site.client, Ask::get(&at("events")), &paging, &columns).await
        }
        EventsCommand::Show { name } => {
            record(out, site, Ask::get(&at("events")).query("name", name)).await
        }
        EventsCommand::Emit { name, data } => {
            let body = json!({"event": name, "data": input::object(&data)?});
            record(out, site, Ask::post(&at("emit")).json(&body)).await
        }
        EventsCommand::Tail(args) => tail::run(out, site, args).await,
        EventsCommand::Payload { id } => {
            record(out, site, Ask::get(&at("messages")).query("id", id)).await
        }
    }
}
