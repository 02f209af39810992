//! `cms limits`: the limiter's buckets, through `/api/backend/limits`

use clap::Subcommand;
use cms_core::traffic::limiter::bucket::Owner;
use cms_http::wire::{
    NoBody,
    limits::{Read, Reset, WhichBuckets, Whose},
};
use serde_json::json;

use crate::{
    flags::Flags,
    output::{Done, Output, table},
    reply,
    site::Site,
};

/// Buckets in memory belong to the serving process: ask it with --url. Buckets in Redis can be read
/// from the folder too.
#[derive(Debug, Subcommand)]
pub(crate) enum LimitsCommand {
    /// List the kinds of buckets, and how fast they fill
    List,
    /// Show the buckets of an owner that are not full, or those of all owners
    #[command(after_help = "Examples:
  cms limits show key:7
  cms limits show user:3
  cms limits show ip:203.0.113.7 --url https://cms.example.org --key-file admin.key")]
    Show {
        /// key:ID, user:ID, ip:ADDRESS or app:DIGEST
        #[arg(value_parser = owner)]
        owner: Option<String>,
    },
    /// Fill the buckets of an owner
    Reset {
        /// key:ID, user:ID, ip:ADDRESS or app:DIGEST
        #[arg(value_parser = owner)]
        owner: String,
    },
}

/// An owner as it is typed.
fn owner(text: &str) -> Result<String, &'static str> {
    text.parse::<Owner>().map(|_| text.to_owned())
}

pub(crate) async fn run(_: &Flags, out: &Output, site: &Site, command: LimitsCommand) -> Done {
    match command {
        LimitsCommand::List => read(out, site, None).await,
        LimitsCommand::Show { owner } => read(out, site, Some(WhichBuckets { owner })).await,
        LimitsCommand::Reset { owner } => {
            let whose = Whose { owner };
            site.client.call::<Reset>(&whose, &NoBody).await?;
            out.done(
                &json!({"reset": [whose.owner]}),
                &format!("The buckets of {} are full.", whose.owner),
            )
        }
    }
}

/// Prints the kinds of buckets; with `which`, those that are not full.
async fn read(out: &Output, site: &Site, which: Option<WhichBuckets>) -> Done {
    let shows_used = which.is_some();
    reply::printed::<Read>(out, &site.client, &which.unwrap_or_default(), &NoBody, |limits| {
        let limits = limits.data;
        // A command that opens the folder has its own buckets in memory, which nobody uses.
        let own = site.cms.is_some() && limits.store != "redis" && limits.store != "off";
        let hint = if own {
            "; the running service has its own buckets in memory: ask it with --url"
        } else {
            ""
        };
        out.note(&format!("store: {}{hint}", limits.store));
        if shows_used {
            table::records(out, &["owner", "bucket", "remaining", "limit"], &limits.used)
        } else {
            table::records(out, &["bucket", "limit", "per_second"], &limits.buckets)
        }
    })
    .await
}
