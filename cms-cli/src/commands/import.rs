//! `cms items import`: rows of a file, batch by batch, each batch all or nothing

mod batch;
mod rows;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use cms_http::client::{Ask, ClientError};
use serde_json::json;
use tokio::sync::mpsc;

use crate::{
    commands::items::ITEM,
    exit::Exit,
    failure::{Done, Failure},
    output::Output,
    progress::Progress,
    site::Site,
};
use batch::{Batch, Broken};

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A line of column names, then a line for each row; an empty cell is null, "" an empty text
    Csv,
    /// A JSON object on each line
    Jsonl,
}

impl Format {
    /// By the name of the file.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "csv" => Some(Self::Csv),
            "jsonl" | "ndjson" => Some(Self::Jsonl),
            _ => None,
        }
    }
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cms items import blog posts.jsonl
  zcat authors.csv.gz | cms items import authors - --format csv

A batch is written as a whole or not at all. Exit code 8: earlier batches were written.")]
pub(crate) struct ImportArgs {
    /// Content table
    table: String,
    /// File, or - for standard input
    file: PathBuf,
    /// What the file holds, when its name does not say
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Rows written together
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=5000))]
    batch: u32,
    /// CSV: the cells of this column are JSON (known without it when the site is a folder); may be
    /// repeated
    #[arg(long = "json-column", value_name = "COLUMN")]
    json_columns: Vec<String>,
}

/// Which CSV cells are JSON.
#[derive(Clone, Debug)]
pub(crate) enum JsonColumns {
    /// These.
    Known(Vec<String>),
    /// Those that hold an object or an array, and these.
    Guessed(Vec<String>),
}

impl JsonColumns {
    /// The site knows its columns when it is open here; over the network nothing tells them.
    pub(crate) fn of(site: &Site, table: &str, given: &[String]) -> Self {
        let known = site.cms.as_ref().and_then(|cms| cms.tables().find(table)).map(|table| {
            let json =
                table.columns.iter().filter(|column| column.kind == cms_core::db::Kind::Json);
            json.map(|column| column.name.clone()).chain(given.iter().cloned()).collect()
        });
        known.map_or_else(|| Self::Guessed(given.to_vec()), Self::Known)
    }

    pub(crate) fn named(&self, column: &str) -> bool {
        let (Self::Known(names) | Self::Guessed(names)) = self;
        names.iter().any(|name| name == column)
    }
}

pub(crate) async fn run(out: &Output, site: &Site, args: ImportArgs) -> Done {
    let stdin = args.file.as_os_str() == "-";
    let format = args.format.or_else(|| Format::of(&args.file)).ok_or_else(|| {
        Failure::usage(format!(
            "{} does not tell whether it is CSV or JSON Lines",
            args.file.display()
        ))
        .hint("--format csv, or --format jsonl")
    })?;
    let json = JsonColumns::of(site, &args.table, &args.json_columns);
    let rows = rows::open(&args.file, stdin, format, json)?;
    let shown = if stdin { "standard input".to_owned() } else { args.file.display().to_string() };
    let mut progress = Progress::new(out, "import", rows.size);
    // Two batches wait at most: the file is read while the site writes, in constant memory.
    let (sender, mut batches) = mpsc::channel(2);
    let most = args.batch as usize;
    std::thread::spawn(move || batch::cut(rows, most, |batch| sender.blocking_send(batch).is_ok()));
    let mut written = 0;
    let outcome = loop {
        let next = tokio::select! {
            biased;
            _ = tokio::signal::ctrl_c() => break Err(Failure::new(Exit::Interrupted, "interrupted")),
            next = batches.recv() => next,
        };
        let batch = match next {
            None => break Ok(()),
            Some(Err(Broken { line, why })) => break Err(at_line(&shown, line, &why)),
            Some(Ok(batch)) => batch,
        };
        let rows = batch.lines.len() as u64;
        let send =
            site.client.send(Ask::post(ITEM).query("table", &args.table).text(batch.json.clone()));
        tokio::pin!(send);
        // Ctrl-C waits for the batch: otherwise nobody would know whether it was written.
        let (answer, interrupted) = tokio::select! {
            answer = &mut send => (answer, false),
            _ = tokio::signal::ctrl_c() => (send.await, true),
        };
        if let Err(error) = answer {
            break Err(refused(&shown, &batch, error));
        }
        written += rows;
        progress.at(written, batch.position);
        if interrupted {
            break Err(Failure::new(Exit::Interrupted, "interrupted"));
        }
    };
    match outcome {
        Ok(()) => {
            progress.end(&format!("written to {}", args.table));
            if out.json {
                Ok(out.data(&json!({"table": args.table, "rows": written}))?)
            } else {
                Ok(())
            }
        }
        Err(failure) => {
            progress.clear();
            Err(after(failure, written, &args.table))
        }
    }
}

/// What a failure means when rows were written before it.
fn after(mut failure: Failure, written: u64, table: &str) -> Failure {
    if written > 0 {
        failure.exit = Exit::Partly;
        failure.hint =
            Some(format!("import the rest: the first {written} rows are in {table} already"));
    }
    failure.what = format!("{}\n  {written} rows were written to {table}", failure.what);
    failure.fact("written", written)
}

fn at_line(file: &str, line: u64, why: &str) -> Failure {
    Failure::new(Exit::Failed, format!("{file}:{line}: {why}")).fact("line", line)
}

/// Translates "Entry 3: ..." of the API into the line of the file.
fn refused(file: &str, batch: &Batch, error: ClientError) -> Failure {
    let entry = match &error {
        ClientError::Problem { detail, .. } => {
            detail.strip_prefix("Entry ").and_then(|rest| rest.split_once([':', ' ']))
        }
        _ => None,
    };
    let line =
        entry.and_then(|(number, _)| batch.lines.get(number.parse::<usize>().ok()?)).copied();
    let mut failure = Failure::from(error);
    match (line, batch.lines.first(), batch.lines.last()) {
        (Some(line), ..) => {
            let why = failure
                .what
                .split_once(": ")
                .map_or(failure.what.as_str(), |(_, why)| why)
                .to_owned();
            failure.what = format!("{file}:{line}: {why}");
            failure.fact("line", line)
        }
        (None, Some(first), Some(last)) => {
            failure.what = format!("{file}, lines {first} to {last}: {}", failure.what);
            failure
        }
        _ => failure,
    }
}
