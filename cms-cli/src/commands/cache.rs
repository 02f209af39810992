//! `cms cache`: the cache of replies to anonymous visitors, through `/api/backend/cache`

use clap::Subcommand;
use cms_http::client::Ask;
use serde_json::{Value as Json, json};

use crate::{
    exit::Exit,
    failure::{Done, Failure},
    output::Output,
    record::text,
    site::Site,
    table,
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

pub(crate) async fn run(out: &Output, site: &Site, command: CacheCommand) -> Done {
    let change = |body: Json| Ask::patch(CACHE).json(&body);
    let ask = match command {
        CacheCommand::Status => Ask::get(CACHE),
        CacheCommand::On => change(json!({"enabled": true})),
        CacheCommand::Off => change(json!({"enabled": false})),
        CacheCommand::Ttl { seconds } => change(json!({"ttl_s": seconds})),
        CacheCommand::Exclude(command) => match excluded(site, command).await? {
            Some(prefixes) => change(json!({"exclude": prefixes})),
            None => Ask::get(CACHE),
        },
        CacheCommand::Clear { path, .. } => {
            site.client.send(Ask::delete(CACHE).maybe("path", path.as_deref())).await?;
            out.note("Forgotten; running services follow within a second.");
            return if out.json {
                Ok(out.data(&json!({"cleared": path.unwrap_or_default()}))?)
            } else {
                Ok(())
            };
        }
        CacheCommand::Inspect { path } => return inspect(out, site, &path).await,
    };
    let answer = site.client.send(ask).await?;
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

/// The list with the change; None to show it only.
async fn excluded(site: &Site, command: ExcludeCommand) -> Done<Option<Vec<String>>> {
    let state = site.client.send(Ask::get(CACHE)).await?.json()?;
    let listed = state["data"]["exclude"].as_array().into_iter().flatten();
    let mut prefixes: Vec<String> = listed.filter_map(Json::as_str).map(str::to_owned).collect();
    match command {
        ExcludeCommand::List => return Ok(None),
        ExcludeCommand::Add { prefix } if prefixes.contains(&prefix) => {}
        ExcludeCommand::Add { prefix } => prefixes.push(prefix),
        ExcludeCommand::Remove { prefix } => prefixes.retain(|known| *known != prefix),
    }
    Ok(Some(prefixes))
}

/// Judged by the rules, without asking for the path: an answer to this caller would not come from
/// the cache anyway.
async fn inspect(out: &Output, site: &Site, path: &str) -> Done {
    let state = site.client.send(Ask::get(CACHE)).await?.json()?;
    let excluded = state["data"]["exclude"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Json::as_str)
        .any(|prefix| path.starts_with(prefix));
    let bare = path.split('?').next().unwrap_or(path);
    let reason = if state["data"]["enabled"] == json!(false) {
        "the cache is off"
    } else if !["/api/pages", "/api/menu", "/api/settings"].contains(&bare) {
        "only replies of public reads are kept"
    } else if excluded {
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
