//! `cms origins`: websites whose pages may call, through `/api/backend/origins`

use clap::Subcommand;
use cms_core::traffic::origins::normalise;
use cms_http::client::{Ask, Client};
use serde::Deserialize;
use serde_json::json;

use crate::{
    args::Global,
    exit::Exit,
    failure::{Done, Failure},
    output::Output,
    paging::{self, LARGEST_PAGE, Paging, unexpected},
    prompt,
    record::{Meta, One, Record},
    site::Site,
    table,
};

const ORIGINS: &str = "/api/backend/origins";

#[derive(Debug, Subcommand)]
pub(crate) enum OriginsCommand {
    /// All origins
    List(Paging),
    /// Register a website; its pages may call from the next request on
    #[command(after_help = "Example: cms origins add https://shop.example.org")]
    Add {
        /// Scheme, host, and the port if it is not the usual one
        #[arg(value_name = "URL")]
        origin: String,
        /// Refused until it is activated
        #[arg(long)]
        inactive: bool,
    },
    /// Let the pages of an origin call
    Activate { id: i64 },
    /// Refuse the pages of an origin
    Deactivate { id: i64 },
    /// Remove an origin for good
    Remove { id: i64 },
    /// Whether pages of a website may call, by what is registered; exit code 0 or 1
    #[command(after_help = "The site's own host is always allowed.")]
    Check {
        /// Scheme, host, and the port if it is not the usual one
        #[arg(value_name = "URL")]
        origin: String,
    },
}

pub(crate) async fn run(
    global: &Global,
    out: &Output,
    site: &Site,
    command: OriginsCommand,
) -> Done {
    let client = &site.client;
    let patch = |id: i64, active: bool| {
        Ask::patch(ORIGINS).query("id", id).json(&json!({"active": active}))
    };
    match command {
        OriginsCommand::List(paging) => {
            paging::print(
                out,
                client,
                Ask::get(ORIGINS),
                &paging,
                &["id", "origin", "active", "created_at"],
            )
            .await
        }
        OriginsCommand::Add { origin, inactive } => {
            record(
                out,
                client,
                Ask::post(ORIGINS).json(&json!({"origin": origin, "active": !inactive})),
            )
            .await
        }
        OriginsCommand::Activate { id } => record(out, client, patch(id, true)).await,
        OriginsCommand::Deactivate { id } => record(out, client, patch(id, false)).await,
        OriginsCommand::Remove { id } => {
            prompt::confirm(
                global,
                &format!("Remove the origin {id}? Its pages can no longer call."),
            )?;
            client.send(Ask::delete(ORIGINS).query("id", id)).await?;
            if out.json {
                return Ok(out.data(&json!({"deleted": [id]}))?);
            }
            out.note(&format!("The origin {id} is removed."));
            Ok(())
        }
        OriginsCommand::Check { origin } => {
            let (allowed, reason, words) = judge(client, &origin).await?;
            if out.json {
                out.data(&json!({"allowed": allowed, "reason": reason}))?;
            } else {
                out.line(&words)?;
            }
            if allowed { Ok(()) } else { Err(Failure::silent(Exit::Failed)) }
        }
    }
}

/// Sends, and prints the record that comes back.
async fn record(out: &Output, client: &Client, ask: Ask) -> Done {
    let body = client.send(ask).await?.body;
    if out.json {
        return Ok(out.line(&body)?);
    }
    let one: One = serde_json::from_str(&body).map_err(unexpected)?;
    Ok(table::record(out, &one.data, Record::shown)?)
}

#[derive(Deserialize)]
struct Registered {
    data: Vec<Origin>,
    meta: Meta,
}

#[derive(Deserialize)]
struct Origin {
    id: i64,
    origin: String,
    active: bool,
}

/// Whether an origin is let in, why as a code, and in words.
async fn judge(client: &Client, text: &str) -> Done<(bool, &'static str, String)> {
    let Some(origin) = normalise(text) else {
        return Ok((
            false,
            "not_an_origin",
            format!("not allowed: {text} is not scheme://host[:port]"),
        ));
    };
    let mut cursor = None;
    loop {
        let ask = Ask::get(ORIGINS).query("limit", LARGEST_PAGE).maybe("cursor", cursor.as_deref());
        let page: Registered =
            serde_json::from_str(&client.send(ask).await?.body).map_err(unexpected)?;
        match page.data.into_iter().find(|known| known.origin == origin) {
            Some(Origin { id, active: true, .. }) => {
                return Ok((true, "allowed", format!("allowed: registered as {id}")));
            }
            Some(Origin { id, .. }) => {
                return Ok((
                    false,
                    "inactive",
                    format!(
                        "not allowed: registered as {id}, not active (cms origins activate {id})"
                    ),
                ));
            }
            None => cursor = page.meta.next,
        }
        if cursor.is_none() {
            return Ok((
                false,
                "not_registered",
                format!("not allowed: not registered (cms origins add {origin})"),
            ));
        }
    }
}
