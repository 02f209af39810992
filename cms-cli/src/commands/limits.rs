//! `cms limits`: the limiter's buckets, through `/api/backend/limits`

use clap::Subcommand;
use cms_http::client::Ask;
use serde_json::json;

use crate::{
    flags::Flags,
    output::{Done, Exit, Failure, Output, record::text, table},
    site::{self, Site},
};

const LIMITS: &str = "/api/backend/limits";

/// Buckets in memory belong to the serving process: ask it with --url. Buckets in Redis can be read
/// from the folder too.
#[derive(Debug, Subcommand)]
pub(crate) enum LimitsCommand {
    /// List the kinds of buckets, and how fast they fill
    List,
    /// Show the buckets of an owner that are not full, or those of all owners
    #[command(after_help = "Examples:
  cms limits show key:7
  cms limits show ip:203.0.113.7 --url https://cms.example.org --key-file admin.key")]
    Show {
        /// key:ID or ip:ADDRESS
        owner: Option<String>,
    },
    /// Fill the buckets of an owner
    Reset {
        /// key:ID or ip:ADDRESS
        owner: String,
    },
}

pub(crate) async fn run(flags: &Flags, out: &Output, command: LimitsCommand) -> Done {
    site::with(flags, out, async |site| at(out, site, command).await).await
}

async fn at(out: &Output, site: &Site, command: LimitsCommand) -> Done {
    let (ask, part, columns): (_, _, &[&str]) = match command {
        LimitsCommand::List => (Ask::get(LIMITS), "buckets", &["bucket", "limit", "per_second"]),
        LimitsCommand::Show { owner } => (
            Ask::get(LIMITS).maybe("owner", owner),
            "used",
            &["owner", "bucket", "remaining", "limit"],
        ),
        LimitsCommand::Reset { owner } => {
            site.client.send(Ask::delete(LIMITS).query("owner", &owner)).await?;
            return out
                .done(&json!({"reset": [owner]}), &format!("The buckets of {owner} are full."));
        }
    };
    let answer = site.client.send(ask).await?;
    if out.json {
        return Ok(out.line(&answer.body)?);
    }
    let body = answer.json()?;
    let found = body["data"][part].as_array().ok_or_else(|| {
        Failure::new(Exit::Failed, "the reply does not come from a CMS: it holds no buckets")
    })?;
    let rows: Vec<Vec<String>> = found
        .iter()
        .map(|row| columns.iter().map(|column| text(&row[*column])).collect())
        .collect();
    let store = text(&body["data"]["store"]);
    // A command that opens the folder has buckets of its own, which nobody uses.
    let own = site.cms.is_some() && store != "redis" && store != "off";
    let hint = if own {
        "; the running service has its own buckets in memory: ask it with --url"
    } else {
        ""
    };
    out.note(&format!("store: {store}{hint}"));
    Ok(table::rows(out, columns, &rows)?)
}
