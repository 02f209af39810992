//! `cms inbox export`: submissions as the service writes them, part by part

use std::{io::Write, path::PathBuf};

use clap::{Args, ValueEnum};
use cms_http::{
    client::{Ask, Client},
    wire::{
        NoBody,
        inbox::{Export, InboxExported},
    },
};
use futures_util::StreamExt as _;
use serde_json::json;

use super::choose::Choose;
use crate::output::{Done, Failure, Output, Visible, WholeFile};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cms inbox export leads --where status=completed --out leads.csv
  cms inbox export --format jsonl --search ada")]
pub(crate) struct ExportArgs {
    /// Id or slug of a funnel: the table then has a column for each answer
    funnel: Option<String>,
    /// As a table, or as lines of JSON
    #[arg(long, default_value = "csv")]
    format: Format,
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
    let is_table = args.format == Format::Csv;
    let asked = InboxExported {
        format: Some(if is_table { "csv" } else { "jsonl" }.to_owned()),
        funnel_id: args.funnel.clone(),
        bom: (is_table && args.no_bom).then(|| "false".to_owned()),
        sort: chosen.sort,
        search: chosen.search,
        filters: chosen.filters,
    };
    if out.json && args.out.is_none() {
        return Err(Failure::usage("the submissions are no one JSON: name a file with --out"));
    }
    let ask = Ask::of::<Export>(&asked, &NoBody)?;
    let Some(path) = &args.out else {
        return copy(client, &ask, &mut Visible::stdout(out)).await;
    };
    let mut file = WholeFile::create(path)?;
    copy(client, &ask, &mut file).await?;
    file.done()?;
    let note = format!("The submissions are in {}.", path.display());
    out.done(&json!({"file": path}), &note)
}

async fn copy(client: &Client, ask: &Ask, to: &mut impl Write) -> Done {
    let mut parts = client.stream(ask).await?;
    while let Some(part) = parts.next().await {
        to.write_all(&part?)?;
    }
    Ok(to.flush()?)
}
