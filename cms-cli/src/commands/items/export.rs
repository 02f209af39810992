//! `cms items export`: all matching rows, page by page, in constant memory

use std::{io::Write, path::PathBuf};

use clap::Args;
use cms_http::wire::Page;
use serde_json::json;

use super::{
    filters::Filters,
    format::{Format, JsonColumns},
    written::{Form, head, write},
};
use crate::{
    output::{Done, Failure, Output, Progress, Visible, WholeFile, record::Record},
    reply::LARGEST_PAGE,
    site::Site,
};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cms items export blog --out blog.jsonl
  cms items export orders --where status=paid --sort id > paid.csv

Without --format and --out it writes CSV; with --json instead of both, one REST body with all rows.
In CSV an empty cell is null, \"\" is an empty text, and cells of JSON columns hold JSON.")]
pub(crate) struct ExportArgs {
    /// Content table
    table: String,
    /// Format, if the name of --out does not tell it
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Write into this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// CSV column that holds JSON; may be repeated. Only needed with an address: a folder knows its
    /// columns
    #[arg(long = "json-column", value_name = "COLUMN")]
    json_columns: Vec<String>,
    #[command(flatten)]
    filters: Filters,
}

pub(crate) async fn run(out: &Output, site: &Site, args: &ExportArgs) -> Done {
    let form = match args.format.or_else(|| Format::of(args.out.as_deref()?)) {
        Some(Format::Csv) => Form::Csv,
        Some(Format::Jsonl) => Form::Jsonl,
        None if out.json && args.out.is_none() => Form::Body,
        None => Form::Csv,
    };
    let rows = match &args.out {
        None => pages(out, site, args, form, &mut Visible::stdout(out)).await?,
        Some(path) => {
            let mut file = WholeFile::create(path)?;
            let rows = pages(out, site, args, form, &mut file).await?;
            file.done()?;
            rows
        }
    };
    if out.json && args.out.is_some() {
        out.data(&json!({"table": args.table, "rows": rows}))?;
    }
    Ok(())
}

async fn pages(
    out: &Output,
    site: &Site,
    args: &ExportArgs,
    form: Form,
    to: &mut impl Write,
) -> Done<u64> {
    let mut json = JsonColumns::of(site, &args.table, &args.json_columns);
    let first = args.filters.ask(&args.table).query("limit", LARGEST_PAGE);
    let (mut cursor, mut rows, mut progress): (Option<String>, u64, Option<Progress>) =
        (None, 0, None);
    loop {
        // Only the first request counts, for the progress bar.
        let counted = (rows == 0 && out.live).then_some(true);
        let body = site
            .client
            .send(first.clone().maybe("cursor", cursor.as_deref()).maybe("count", counted))
            .await?
            .body;
        let page: Page<Record> = serde_json::from_str(&body).map_err(Failure::unexpected)?;
        let progress = progress.get_or_insert_with(|| {
            let total = page.meta.total.and_then(|total| u64::try_from(total).ok());
            Progress::new(out, "export", total)
        });
        if rows == 0 {
            head(form, &page.data, &mut json, to)?;
        }
        for record in &page.data {
            write(form, record, &json, rows, to)?;
            rows += 1;
        }
        progress.at(rows, rows);
        cursor = page.meta.next;
        if cursor.is_none() {
            if form == Form::Body {
                writeln!(to, "],\"meta\":{{\"limit\":{},\"next\":null}}}}", page.meta.limit)?;
            }
            to.flush()?;
            progress.end("written");
            return Ok(rows);
        }
    }
}
