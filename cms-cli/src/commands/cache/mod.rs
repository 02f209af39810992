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
    /// Settings and counters; counters are those of the process asked
    Status,
    /// Keep replies
    On,
    /// Keep no replies
    Off,
    /// How long a reply is kept
    Ttl {
        /// Seconds
        seconds: i64,
    },
    /// Paths that are never kept
    #[command(subcommand)]
    Exclude(ExcludeCommand),
    /// Forget replies, in every process
    #[command(after_help = "Examples:
  cms cache clear --path /api/pages
  cms cache clear --all")]
    Clear {
        /// Only replies whose path begins so
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
    /// Whether replies for a path may be kept, and why not
    Inspect {
        /// A path such as /api/pages
        path: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ExcludeCommand {
    /// The beginnings of paths
    List,
    /// Add one
    Add {
        /// The beginning of a path
        prefix: String,
    },
    /// Take one away
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
                "Forgotten; running services follow within a second.",
            );
        }
        CacheCommand::Inspect { path } => return rules::inspect(out, client, &path).await,
    };
    let answer = client.send(ask).await?;
    if out.json {
        return Ok(out.line(&answer.body)?);
    }
    let body = answer.json()?;
    let members = body["data"]
        .as_object()
        .ok_or_else(|| Failure::new(Exit::Failed, "the reply is no object"))?;
    let rows: Vec<Vec<String>> =
        members.iter().map(|(name, value)| vec![name.clone(), text(value)]).collect();
    Ok(table::rows(out, &["setting", "value"], &rows)?)
}
