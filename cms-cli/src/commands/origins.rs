//! `cms origins`: websites whose pages may call, through `/api/backend/origins`

use clap::{Args, Subcommand};
use cms_core::traffic::origins::{NewOrigin, Origin, normalise};
use cms_http::{
    client::Client,
    wire::{
        origins::{Create, Delete, Read, Update},
        parameters::NoQuery,
    },
};
use serde_json::json;

use crate::{
    flags::Flags,
    output::{Done, Exit, Failure, Output},
    reply::{self, Chosen, Noun},
    site::Site,
};

/// Origins, by their addresses.
static ORIGINS: Noun<Read> = Noun {
    one: "origin",
    hint: "cms origins list, or cms origins add URL",
    name: "origin",
    id_and_name: |origin| (origin.id, origin.origin.clone()),
    columns: || vec!["id", "origin", "active", "created_at"],
    cell: reply::plain,
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
    Activate(OriginArgs),
    /// Switch an origin off: its pages can no longer call
    Deactivate(OriginArgs),
    /// Remove an origin for good
    Remove(OriginArgs),
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

/// An origin.
#[derive(Args, Debug)]
pub(crate) struct OriginArgs {
    /// Its address or its id
    #[arg(value_name = "URL|ID", value_parser = address)]
    origin: String,
}

pub(crate) async fn run(flags: &Flags, out: &Output, site: &Site, command: OriginsCommand) -> Done {
    let client = &site.client;
    let rows = ORIGINS.at(flags, out, client);
    match command {
        OriginsCommand::List(chosen) => rows.list(&chosen).await,
        OriginsCommand::Add { origin, inactive } => {
            let mut new = NewOrigin::new(origin);
            new.active = !inactive;
            reply::record::<Create>(out, client, &NoQuery {}, &new).await
        }
        OriginsCommand::Activate(OriginArgs { origin }) => {
            rows.switch::<Update>(vec![origin], true).await
        }
        OriginsCommand::Deactivate(OriginArgs { origin }) => {
            rows.switch::<Update>(vec![origin], false).await
        }
        OriginsCommand::Remove(OriginArgs { origin }) => {
            rows.delete::<Delete>(vec![origin], "? Its pages can no longer call.").await
        }
        OriginsCommand::Check { origin } => check(out, client, &origin).await,
    }
}

/// An id, or an address in its one spelling.
fn address(text: &str) -> Result<String, String> {
    let id = text.parse::<i64>().ok().map(|id| id.to_string());
    id.or_else(|| normalise(text)).ok_or_else(|| {
        "an id, or scheme and host such as https://shop.example.org, is expected".to_owned()
    })
}

/// Prints whether the pages of a website may call, and why; fails when they may not.
async fn check(out: &Output, client: &Client, text: &str) -> Done {
    let (reason, words) = match normalise(text) {
        None => ("not_an_origin", format!("{text} is not scheme://host[:port]")),
        Some(origin) => {
            let same = |known: &Origin| known.origin == origin;
            match reply::first::<Read>(client, reply::list_query, same).await? {
                Some(known) if known.active => ("allowed", format!("registered as {}", known.id)),
                Some(Origin { id, .. }) => {
                    let next = format!("cms origins activate {origin}");
                    ("inactive", format!("registered as {id}, not active ({next})"))
                }
                None => ("not_registered", format!("not registered (cms origins add {origin})")),
            }
        }
    };
    let allowed = reason == "allowed";
    if out.json {
        out.data(&json!({"allowed": allowed, "reason": reason}))?;
    } else {
        out.line(&format!("{}: {words}", if allowed { "allowed" } else { "not allowed" }))?;
    }
    if allowed { Ok(()) } else { Err(Failure::silent(Exit::Failed)) }
}
