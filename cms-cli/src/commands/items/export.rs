//! `cms items export`: all matching rows, page by page, in constant memory

use std::{
    collections::BTreeSet,
    io::{self, Write},
    path::PathBuf,
};

use clap::Args;
use cms_core::plain::shown;
use cms_http::wire::Page;
use serde_json::json;

use super::{Format, JsonColumns, rows::Filters};
use crate::{
    output::{
        Done, Failure, Output, Progress, Visible, WholeFile, csv_text,
        record::{Record, readable},
    },
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
        // Counted with the first request only, for the progress bar.
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

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Csv,
    Jsonl,
    Body,
}

/// Writes what comes before the first row. Over the network, a column holds JSON if the first
/// page has an object or an array in it.
fn head(
    form: Form,
    page: &[Record],
    json: &mut JsonColumns,
    to: &mut impl Write,
) -> io::Result<()> {
    if let JsonColumns::Guessed(names) = json {
        let structured =
            page.iter().flat_map(Record::iter).filter(|(_, raw)| raw.starts_with(['{', '[']));
        names.extend(structured.map(|(name, _)| name.to_owned()).collect::<BTreeSet<_>>());
    }
    match (form, page.first()) {
        (Form::Body, _) => write!(to, "{{\"data\":["),
        (Form::Csv, Some(first)) => line(first.names().map(Some), to),
        _ => Ok(()),
    }
}

fn write(
    form: Form,
    record: &Record,
    json: &JsonColumns,
    number: u64,
    to: &mut impl Write,
) -> io::Result<()> {
    match form {
        Form::Csv => {
            let cells: Vec<_> = record
                .iter()
                .map(|(name, raw)| match raw {
                    "null" => None,
                    _ if json.named(name) => Some(raw.into()),
                    _ => Some(readable(raw)),
                })
                .collect();
            line(cells.iter().map(Option::as_deref), to)
        }
        Form::Jsonl => writeln!(to, "{}", object(record)),
        Form::Body => write!(to, "{}{}", if number == 0 { "" } else { "," }, object(record)),
    }
}

fn line<'a>(cells: impl Iterator<Item = Option<&'a str>>, to: &mut impl Write) -> io::Result<()> {
    let mut text = String::new();
    for (number, cell) in cells.enumerate() {
        if number > 0 {
            text.push(',');
        }
        csv_text::push_cell(&mut text, cell);
    }
    writeln!(to, "{text}")
}

fn object(record: &Record) -> String {
    let fields =
        record.iter().map(|(name, raw)| format!("{}:{raw}", serde_json::Value::from(name)));
    shown(&format!("{{{}}}", fields.collect::<Vec<_>>().join(","))).into_owned()
}
