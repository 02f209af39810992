//! `cms inbox export`: submissions as CSV or JSON Lines, streamed from the service

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use cms_http::{
    client::{Ask, Client},
    wire::{
        NoBody,
        inbox::{Export, InboxExported},
    },
};
use serde_json::json;

use super::choose::Choose;
use crate::{
    output::{Done, Output, Visible, WholeFile},
    reply::streamed::{Listed, copy},
};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cms inbox export leads --where status=completed --out leads.csv
  cms inbox export --format jsonl --search ada

With --json and neither --format nor --out it prints one body with all submissions.")]
pub(crate) struct ExportArgs {
    /// Id or slug of a funnel: the table then has a column for each answer
    funnel: Option<String>,
    /// As a table, or as lines of JSON [default: csv]
    #[arg(long)]
    format: Option<Format>,
    #[command(flatten)]
    choose: Choose,
    /// A table without the byte order mark that tells spreadsheets of UTF-8
    #[arg(long)]
    no_bom: bool,
    /// Write into this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// How submissions are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Comma-separated values, for spreadsheets
    Csv,
    /// A JSON object a line
    Jsonl,
}

pub(super) async fn run(out: &Output, client: &Client, args: &ExportArgs) -> Done {
    let chosen = args.choose.asked(client).await?;
    let is_body = out.json && args.out.is_none() && args.format.is_none();
    let is_table = !is_body && args.format != Some(Format::Jsonl);
    let asked = InboxExported {
        format: Some(if is_table { "csv" } else { "jsonl" }.to_owned()),
        funnel_id: args.funnel.clone(),
        bom: (is_table && args.no_bom).then(|| "false".to_owned()),
        sort: chosen.sort,
        search: chosen.search,
        filters: chosen.filters,
    };
    let ask = Ask::of::<Export>(&asked, &NoBody)?;
    let Some(path) = &args.out else {
        let mut to = Visible::stdout(out);
        if !is_body {
            return copy(out, client, &ask, !out.table, &mut to).await;
        }
        let mut body = Listed::begin(to)?;
        copy(out, client, &ask, false, &mut body).await?;
        return body.end();
    };
    let mut file = WholeFile::private(path)?;
    copy(out, client, &ask, true, &mut file).await?;
    file.done()?;
    let note = format!("The submissions are in {}.", path.display());
    out.done(&json!({"file": path}), &note)
}
