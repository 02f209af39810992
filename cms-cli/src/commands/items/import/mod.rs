//! `cms items import`: rows of a file, batch by batch, each batch all or nothing

mod batch;
mod broken;
mod failed;
mod rows;

use std::path::PathBuf;

use clap::Args;
use cms_http::client::Ask;
use serde_json::json;
use tokio::sync::mpsc;

use self::broken::Broken;
use super::format::{Format, JsonColumns};
use crate::{
    output::{Done, Exit, Failure, Output, Progress},
    site::Site,
};

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
            Some(Err(Broken { line, why })) => break Err(failed::at_line(&shown, line, &why)),
            Some(Ok(batch)) => batch,
        };
        let rows = batch.lines.len() as u64;
        let send = site.client.send(
            Ask::post("/api/backend/item").query("table", &args.table).text(batch.json.clone()),
        );
        tokio::pin!(send);
        // Ctrl-C waits for the batch: otherwise nobody would know whether it was written.
        let (answer, interrupted) = tokio::select! {
            answer = &mut send => (answer, false),
            _ = tokio::signal::ctrl_c() => (send.await, true),
        };
        if let Err(error) = answer {
            break Err(failed::refused(&shown, &batch, error));
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
            Err(failed::after(failure, written, &args.table))
        }
    }
}
