//! `cms cache`: the cache of replies to anonymous visitors, through `/api/backend/cache`

use clap::Subcommand;
use cms_core::traffic::cache::CachePatch;
use cms_http::{
    client::Client,
    wire::{
        NoBody,
        cache::{Clear, Read, Update, WhichReplies},
        parameters::NoQuery,
    },
};
use serde::Serialize;
use serde_json::json;

use crate::{
    flags::Flags,
    input,
    output::{
        Done, Output,
        record::{Record, readable},
        table,
    },
    reply,
    site::Site,
};

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
        /// How long, such as 30s, 10m or 2h; a number alone is seconds
        #[arg(value_name = "TIME", value_parser = input::seconds)]
        seconds: i64,
    },
    /// Paths that are never kept
    #[command(subcommand)]
    Exclude(ExcludeCommand),
    /// Drop kept replies in every process
    #[command(after_help = "Examples:
  cms cache clear
  cms cache clear --path /api/pages")]
    Clear {
        /// Only replies for paths that begin with this
        #[arg(long, value_name = "PREFIX", conflicts_with = "all")]
        path: Option<String>,
        /// All replies, as without --path
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

pub(crate) async fn run(_: &Flags, out: &Output, site: &Site, command: CacheCommand) -> Done {
    let client = &site.client;
    let mut patch = CachePatch::default();
    match command {
        CacheCommand::Status | CacheCommand::Exclude(ExcludeCommand::List) => {
            let (answer, state) = reply::call::<Read>(client, &NoQuery {}, &NoBody).await?;
            return print(out, &answer.body, &state.data);
        }
        CacheCommand::On => patch.enabled = Some(true),
        CacheCommand::Off => patch.enabled = Some(false),
        CacheCommand::Ttl { seconds } => patch.ttl_s = Some(seconds),
        CacheCommand::Exclude(ExcludeCommand::Add { prefix }) => {
            patch.exclude_add = vec![prefix];
        }
        CacheCommand::Exclude(ExcludeCommand::Remove { prefix }) => {
            patch.exclude_remove = vec![prefix];
        }
        CacheCommand::Clear { path, .. } => {
            let which = WhichReplies { path };
            client.call::<Clear>(&which, &NoBody).await?;
            return out.done(
                &json!({"cleared": which.path.unwrap_or_default()}),
                "The kept replies are dropped; running services follow within a second.",
            );
        }
        CacheCommand::Inspect { path } => return inspect(out, client, &path).await,
    }
    let (answer, settings) = reply::call::<Update>(client, &NoQuery {}, &patch).await?;
    print(out, &answer.body, &settings.data)
}

/// Prints a setting or counter on each line.
fn print(out: &Output, body: &str, state: &impl Serialize) -> Done {
    if out.json {
        return Ok(out.line(body)?);
    }
    let record = Record::of(state)?;
    let row = |(name, raw): (&str, &str)| vec![name.to_owned(), readable(raw).into_owned()];
    Ok(table::rows(out, &["setting", "value"], &record.iter().map(row).collect::<Vec<_>>())?)
}

/// Applies the rules without requesting the path. A request would not help: replies to this caller
/// never come from the cache.
async fn inspect(out: &Output, client: &Client, path: &str) -> Done {
    let settings = reply::data::<Read>(client, &NoQuery {}, &NoBody).await?.settings;
    let bare = path.split('?').next().unwrap_or(path);
    let reason = if !settings.enabled {
        "the cache is off"
    } else if !["/api/pages", "/api/menu", "/api/settings"].contains(&bare) {
        "only replies to public reads are kept"
    } else if settings.exclude.iter().any(|prefix| path.starts_with(prefix)) {
        "the path is excluded"
    } else {
        "kept for anonymous visitors"
    };
    let may_keep = reason.starts_with("kept");
    if out.json {
        return Ok(out.data(&json!({"path": path, "cached": may_keep, "reason": reason}))?);
    }
    Ok(out.line(reason)?)
}
