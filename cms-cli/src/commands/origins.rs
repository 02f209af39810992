//! `cms origins`: websites whose pages may call, through `/api/backend/origins`

use std::{fmt, str::FromStr};

use clap::{Args, Subcommand};
use cms_core::traffic::origins::{NewOrigin, Origin, OriginPatch, normalise};
use cms_http::{
    client::Client,
    wire::{
        NoBody,
        origins::{Create, Delete, Read, Update},
        parameters::NoQuery,
    },
};
use serde_json::json;

use crate::{
    flags::Flags,
    output::{Done, Exit, Failure, Output},
    prompt,
    reply::{self, Chosen},
    site::Site,
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
    #[arg(value_name = "URL|ID")]
    origin: OriginSelector,
}

pub(crate) async fn run(flags: &Flags, out: &Output, site: &Site, command: OriginsCommand) -> Done {
    let client = &site.client;
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
        OriginsCommand::Activate(OriginArgs { origin }) => switch(out, client, &origin, true).await,
        OriginsCommand::Deactivate(OriginArgs { origin }) => {
            switch(out, client, &origin, false).await
        }
        OriginsCommand::Remove(OriginArgs { origin }) => {
            let id = origin.id(client).await?;
            prompt::confirm(
                flags,
                &format!("Remove the origin {origin}? Its pages can no longer call."),
            )?;
            client.call::<Delete>(&reply::by_id(id), &NoBody).await?;
            out.done(&json!({"deleted": [id]}), &format!("The origin {origin} is removed."))
        }
        OriginsCommand::Check { origin } => check(out, client, &origin).await,
    }
}

async fn switch(out: &Output, client: &Client, origin: &OriginSelector, active: bool) -> Done {
    let mut patch = OriginPatch::default();
    patch.active = Some(active);
    let id = origin.id(client).await?;
    reply::record::<Update>(out, client, &reply::by_id(id), &patch).await
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OriginSelector {
    Id(i64),
    /// In its one spelling.
    Address(String),
}

impl FromStr for OriginSelector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let address = || normalise(text).map(Self::Address);
        text.parse().map(Self::Id).ok().or_else(address).ok_or_else(|| {
            "an id, or scheme and host such as https://shop.example.org, is expected".to_owned()
        })
    }
}

impl fmt::Display for OriginSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => id.fmt(f),
            Self::Address(address) => address.fmt(f),
        }
    }
}

impl OriginSelector {
    /// Its id, looked up when the address is given.
    async fn id(&self, client: &Client) -> Done<i64> {
        let address = match self {
            Self::Id(id) => return Ok(*id),
            Self::Address(address) => address,
        };
        let same = |known: &Origin| known.origin == *address;
        let found = reply::first::<Read>(client, reply::list_query, same).await?;
        found.map(|origin| origin.id).ok_or_else(|| {
            Failure::new(Exit::NotFound, format!("{address} is not registered"))
                .hint(format!("cms origins add {address}"))
        })
    }
}

/// Prints the answer; fails when the pages may not call.
async fn check(out: &Output, client: &Client, text: &str) -> Done {
    let (allowed, reason, words) = judge(client, text).await?;
    if out.json {
        out.data(&json!({"allowed": allowed, "reason": reason}))?;
    } else {
        out.line(&words)?;
    }
    if allowed { Ok(()) } else { Err(Failure::silent(Exit::Failed)) }
}

/// Whether an origin may call, and why: as a code and in words.
async fn judge(client: &Client, text: &str) -> Done<(bool, &'static str, String)> {
    let Some(origin) = normalise(text) else {
        let words = format!("not allowed: {text} is not scheme://host[:port]");
        return Ok((false, "not_an_origin", words));
    };
    let same = |known: &Origin| known.origin == origin;
    Ok(match reply::first::<Read>(client, reply::list_query, same).await? {
        Some(Origin { id, active: true, .. }) => {
            (true, "allowed", format!("allowed: registered as {id}"))
        }
        Some(Origin { id, .. }) => {
            let next = format!("cms origins activate {origin}");
            (false, "inactive", format!("not allowed: registered as {id}, not active ({next})"))
        }
        None => {
            let next = format!("cms origins add {origin}");
            (false, "not_registered", format!("not allowed: not registered ({next})"))
        }
    })
}
