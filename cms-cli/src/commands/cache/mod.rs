//! `cms cache`: the cache of replies to anonymous visitors, through `/api/backend/cache`

mod rules;

use clap::Subcommand;
use cms_http::client::{Ask, Client};
use serde_json::{Value as Json, json};

use crate::{
    flags::Flags,
    output::{Done, Exit, Failure, Output, record::text, table},
    site,
};

const CACHE: &str = "/api/backend/cache";

#[derive(Debug, Subcommand)]
pub(crate) enum CacheCommand {
    /// Settings, and the counters of the process that answers
    Status,
    /// Switch the cache on
    On,
    /// Switch the cache off
    Off,
    /// Set how long a reply is kept
    Ttl {
        /// Seconds
        seconds: i64,
    },
    /// Paths that are never kept
    #[command(subcommand)]
    Exclude(ExcludeCommand),
    /// Drop kept replies in every process
    #[command(after_help = "Examples:
  cms cache clear --path /api/pages
  cms cache clear --all")]
    Clear {
        /// Only replies for paths that begin with this
        #[arg(
            long,
            value_name = "PREFIX",
            required_unless_present = "all",
            conflicts_with = "all"
        )]
        path: Option<String>,
        /// All replies
        #[arg(long)]
        all: bool,
    },
    /// Tell whether replies for a path are kept, and why
    Inspect {
        /// A path such as /api/pages
        path: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ExcludeCommand {
    /// List the beginnings of these paths
    List,
    /// Add the beginning of a path
    Add {
        /// The beginning of a path
        prefix: String,
    },
    /// Remove the beginning of a path
    Remove {
        /// The beginning of a path
        prefix: String,
    },
}

pub(crate) async fn run(flags: &Flags, out: &Output, command: CacheCommand) -> Done {
    site::with(flags, out, async |site| at(out, &site.client, command).await).await
}

async fn at(out: &Output, client: &Client, command: CacheCommand) -> Done {
    let change = |body: Json| Ask::patch(CACHE).json(&body);
    let ask = match command {
        CacheCommand::Status => Ask::get(CACHE),
        CacheCommand::On => change(json!({"enabled": true})),
        CacheCommand::Off => change(json!({"enabled": false})),
        CacheCommand::Ttl { seconds } => change(json!({"ttl_s": seconds})),
        CacheCommand::Exclude(command) => match rules::excluded(client, command).await? {
            Some(prefixes) => change(json!({"exclude": prefixes})),
            None => Ask::get(CACHE),
        },
        CacheCommand::Clear { path, .. } => {
            client.send(Ask::delete(CACHE).maybe("path", path.as_deref())).await?;
            return out.done(
                &json!({"cleared": path.unwrap_or_default()}),
                "The kept replies are dropped; running services follow within a second.",
            );
        }
        CacheCommand::Inspect { path } => return rules::inspect(out, client, &path).await,
    };
    let answer = client.send(ask).await?;
    if out.json {
        return Ok(out.line(&answer.body)?);
    }
    let body = answer.json()?;
    let members = body["data"].as_object().ok_or_else(|| {
        Failure::new(Exit::Failed, "the reply does not come from a CMS: its data is not an object")
    })?;
    let rows: Vec<Vec<String>> =
        members.iter().map(|(name, value)| vec![name.clone(), text(value)]).collect();
    Ok(table::rows(out, &["setting", "value"], &rows)?)
}
