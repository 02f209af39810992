//! `cms events`: what can be subscribed to, through `/api/backend/webhooks/events`

use clap::Subcommand;
use cms_http::client::Ask;

use crate::{
    commands::webhooks::WEBHOOKS,
    failure::Done,
    output::Output,
    paging::{self, Paging},
    site::Site,
};

#[derive(Debug, Subcommand)]
pub(crate) enum EventsCommand {
    /// Events that are raised, and by whom
    List(Paging),
}

pub(crate) async fn run(out: &Output, site: &Site, command: &EventsCommand) -> Done {
    let EventsCommand::List(paging) = command;
    let columns = ["event_name", "plugin_id", "event_type", "content_table", "description"];
    paging::print(out, &site.client, Ask::get(&format!("{WEBHOOKS}/events")), paging, &columns).await
}
