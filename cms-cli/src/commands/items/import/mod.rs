//! `cms items import`: writes the rows of a file in batches, each of them whole or not at all

mod batch;
mod failed;
mod rows;

use std::path::PathBuf;

use clap::Args;
use cms_http::client::Ask;
use serde_json::json;
use tokio::sync::mpsc;

use self::rows::Broken;
use super::format::{Format, JsonColumns};
use crate::{
    output::{Done, Exit, Failure, Output, Progress},
    site::Site,
};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cms items import blog posts.jsonl
  zcat authors.csv.gz | cms items import authors - --format csv

  cms items import blog posts.jsonl --from-line 1201

Each batch is written whole or not at all. Exit code 8: earlier batches were written; the message
tells the line to go on from.")]
pub(crate) struct ImportArgs {
    /// Content table
    table: String,
    /// File with the rows; - for standard input
    file: PathBuf,
    /// Format, if the name of the file does not tell it
    #[arg(long, value_enum)]
    format: Option<Format>,
    /// Rows in a batch
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = batch_size())]
    batch: u32,
    /// Skip the rows before this line, because they are written already
    #[arg(long, value_name = "N", default_value_t = 1)]
    from_line: u64,
    /// CSV column that holds JSON; may be repeated. Only needed with an address: a folder knows its
    /// columns
    #[arg(long = "json-column", value_name = "COLUMN")]
    json_columns: Vec<String>,
    /// Raise no events, so that no webhook hears of the rows; only for the operator and
    /// administrators
    #[arg(long)]
    no_events: bool,
}

fn batch_size() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=5000)
}

fn interrupted() -> Failure {
    Failure::new(Exit::Interrupted, "interrupted")
}

pub(crate) async fn run(out: &Output, site: &Site, args: ImportArgs) -> Done {
    let stdin = args.file.as_os_str() == "-";
    let format = args.format.or_else(|| Format::of(&args.file)).ok_or_else(|| {
        Failure::usage(format!(
            "the name {} does not tell whether the file is CSV or JSON Lines",
            args.file.display()
        ))
        .hint("add --format csv or --format jsonl")
    })?;
    let json = JsonColumns::of(site, &args.table, &args.json_columns);
    let rows = rows::open(&args.file, stdin, format, json)?;
    let shown = if stdin { "standard input".to_owned() } else { args.file.display().to_string() };
    let mut progress = Progress::new(out, "import", rows.size);
    // Reads the file while the site writes. At most two batches wait, so memory is constant.
    let (sender, mut batches) = mpsc::channel(2);
    let most = args.batch as usize;
    let from = args.from_line;
    std::thread::spawn(move || {
        batch::cut(rows, most, from, |batch| sender.blocking_send(batch).is_ok());
    });
    let mut written = 0;
    // The first line that is not written yet.
    let mut next_line = from;
    let outcome = loop {
        let next = tokio::select! {
            biased;
            _ = tokio::signal::ctrl_c() => break Err(interrupted()),
            next = batches.recv() => next,
        };
        let batch = match next {
            None => break Ok(()),
            Some(Err((Broken { line, why }, unwritten))) => {
                next_line = unwritten;
                break Err(failed::at_line(&shown, line, &why));
            }
            Some(Ok(batch)) => batch,
        };
        let rows = batch.lines.len() as u64;
        let ask = Ask::post("/api/backend/item").query("table", &args.table);
        let ask = ask.maybe("no_events", args.no_events.then_some(true));
        let send = site.client.send(ask.text(batch.json.clone()));
        tokio::pin!(send);
        // Ctrl-C waits for the batch; otherwise its outcome would be unknown.
        let (answer, stop) = tokio::select! {
            answer = &mut send => (answer, false),
            _ = tokio::signal::ctrl_c() => (send.await, true),
        };
        if let Err(error) = answer {
            next_line = batch.lines.first().copied().unwrap_or(next_line);
            break Err(failed::refused(&shown, &batch, error));
        }
        written += rows;
        next_line = batch.lines.last().map_or(next_line, |line| line + 1);
        progress.at(written, batch.position);
        if stop {
            break Err(interrupted());
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
            Err(failed::after(failure, written, next_line, &args.table))
        }
    }
}
