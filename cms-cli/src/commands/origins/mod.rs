//! `cms origins`: websites whose pages may call, through `/api/backend/origins`

mod check;
mod which;

use clap::Subcommand;
use cms_core::traffic::origins::{NewOrigin, OriginPatch};
use cms_http::{
    client::Client,
    wire::{
        NoBody,
        origins::{Create, Delete, Read, Update},
        parameters::NoQuery,
    },
};
use serde_json::json;

use self::which::Which;
use crate::{
    flags::Flags,
    output::{Done, Output},
    prompt,
    reply::{self, Chosen},
    site,
};

#[derive(Debug, Subcommand)]
pub(crate) enum OriginsCommand {
    /// List all origins
    List(Chosen),
    /// Add a website; its pages may call from the next request on
    #[command(after_help = "Example: cms origins add https://shop.example.org")]
    Add {
        /// Scheme and host, and the port unless it is the default one
        #[arg(value_name = "URL")]
        origin: String,
        /// Add it switched off
        #[arg(long)]
        inactive: bool,
    },
    /// Switch an origin on
    Activate {
        /// Its address or its id
        #[arg(value_name = "URL|ID")]
        origin: Which,
    },
    /// Switch an origin off: its pages can no longer call
    Deactivate {
        /// Its address or its id
        #[arg(value_name = "URL|ID")]
        origin: Which,
    },
    /// Remove an origin for good
    Remove {
        /// Its address or its id
        #[arg(value_name = "URL|ID")]
        origin: Which,
    },
    /// Tell whether the pages of a website may call; exit code 0 or 1
    #[command(
        after_help = "It reads the registered origins. The site's own host is always allowed."
    )]
    Check {
        /// Scheme and host, and the port unless it is the default one
        #[arg(value_name = "URL")]
        origin: String,
    },
}

pub(crate) async fn run(flags: &Flags, out: &Output, command: OriginsCommand) -> Done {
    site::with(flags, out, async |site| at(flags, out, &site.client, command).await).await
}

async fn at(flags: &Flags, out: &Output, client: &Client, command: OriginsCommand) -> Done {
    match command {
        OriginsCommand::List(chosen) => {
            let columns = ["id", "origin", "active", "created_at"];
            let (shown, query) = ((&columns[..], reply::plain as _), reply::list_query);
            reply::chosen::<Read>(out, client, &chosen, shown, query).await
        }
        OriginsCommand::Add { origin, inactive } => {
            let mut new = NewOrigin::new(origin);
            new.active = !inactive;
            reply::record::<Create>(out, client, &NoQuery {}, &new).await
        }
        OriginsCommand::Activate { origin } => switch(out, client, &origin, true).await,
        OriginsCommand::Deactivate { origin } => switch(out, client, &origin, false).await,
        OriginsCommand::Remove { origin } => {
            let id = origin.id(client).await?;
            prompt::confirm(
                flags,
                &format!("Remove the origin {origin}? Its pages can no longer call."),
            )?;
            client.call::<Delete>(&reply::by_id(id), &NoBody).await?;
            out.done(&json!({"deleted": [id]}), &format!("The origin {origin} is removed."))
        }
        OriginsCommand::Check { origin } => check::run(out, client, &origin).await,
    }
}

async fn switch(out: &Output, client: &Client, origin: &Which, active: bool) -> Done {
    let mut patch = OriginPatch::default();
    patch.active = Some(active);
    let id = origin.id(client).await?;
    reply::record::<Update>(out, client, &reply::by_id(id), &patch).await
}
