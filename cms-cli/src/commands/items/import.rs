//! `cms items import`: writes the rows of a file in batches; each batch is written
//! whole or not at all

mod rows;

use std::path::PathBuf;

use clap::Args;
use cms_http::client::{Ask, ClientError};
use serde_json::{Value as Json, json, value::RawValue};
use tokio::sync::mpsc;

use self::rows::{Broken, Rows};
use super::{Format, JsonColumns};
use crate::{
    output::{Done, Exit, Failure, Output, Progress, counted},
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
    /// Rows in a batch: 1 to 1000
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = batch_size())]
    batch: u32,
    /// Skip the rows before this line, because they are written already
    #[arg(long, value_name = "N", default_value_t = 1)]
    from_line: u64,
    /// CSV column that holds JSON; may be repeated. Only needed over the network, with a key or
    /// user without the right to see the columns of the table
    #[arg(long = "json-column", value_name = "COLUMN")]
    json_columns: Vec<String>,
    /// Raise no events, so that no webhook hears of the rows; only for the operator and
    /// administrators
    #[arg(long)]
    no_events: bool,
}

fn batch_size() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=1000)
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
    let json = match format {
        Format::Csv => JsonColumns::of(out, site, &args.table, &args.json_columns).await?,
        Format::Jsonl => JsonColumns::Known(Vec::new()),
    };
    let rows = rows::open(&args.file, stdin, format, json)?;
    let shown = if stdin { "standard input".to_owned() } else { args.file.display().to_string() };
    let mut progress = Progress::new(out, "import", rows.size);
    // Reads the file while the site writes. At most two batches wait, so memory use is constant.
    let (sender, mut batches) = mpsc::channel(2);
    let most = args.batch as usize;
    let from = args.from_line;
    std::thread::spawn(move || {
        cut(rows, most, from, |batch| sender.blocking_send(batch).is_ok());
    });
    let mut written = 0;
    // The first line that is still to be written.
    let mut next_line = from;
    let outcome = loop {
        let next = tokio::select! {
            biased;
            _ = tokio::signal::ctrl_c() => break Err(interrupted()),
            next = batches.recv() => next,
        };
        let batch = match next {
            None => break Ok(()),
            Some(Err((Broken { line, why, .. }, unwritten))) => {
                next_line = unwritten;
                break Err(at_line(&shown, line, &why));
            }
            Some(Ok(batch)) => batch,
        };
        let rows = batch.lines.len() as u64;
        let ask = Ask::post("/api/backend/item").query("table", &args.table);
        let ask = ask.maybe("no_events", args.no_events.then_some(true));
        let send = site.client.send(ask.text(batch.json.clone()));
        tokio::pin!(send);
        // Ctrl-C waits for the batch under way: otherwise its outcome would be unknown.
        let (answer, stop) = tokio::select! {
            answer = &mut send => (answer, false),
            _ = tokio::signal::ctrl_c() => (send.await, true),
        };
        if let Err(error) = answer {
            next_line = batch.lines.first().copied().unwrap_or(next_line);
            break Err(refused(&shown, &batch, error));
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
            Err(after(failure, written, next_line, &args.table))
        }
    }
}

/// The largest batch in bytes; the service accepts 1 MiB.
const MAX_BYTES: usize = 900_000;

/// Rows that are written in one request.
#[derive(Debug)]
struct Batch {
    /// A JSON array.
    json: String,
    /// The line where each row begins.
    lines: Vec<u64>,
    /// Bytes of the file read so far.
    position: u64,
}

impl Batch {
    fn new() -> Self {
        Self { json: "[".to_owned(), lines: Vec::new(), position: 0 }
    }

    fn ended(mut self, position: u64) -> Self {
        self.json.push(']');
        self.position = position;
        self
    }

    /// The line of the row that a refusal without an entry is about, and what is wrong there if the
    /// refusal tells only where in the batch.
    fn unparsed_row(&self, document: &Json) -> Option<(u64, Option<String>)> {
        let fault = &document["errors"][0];
        let index = fault["field"].as_str().and_then(|field| field.strip_prefix('['));
        if let Some((index, _)) = index.and_then(|rest| rest.split_once(']')) {
            return Some((*self.lines.get(index.parse::<usize>().ok()?)?, None));
        }
        // A number that has too many digits.
        let number = fault["message"].as_str().and_then(|message| message.split(' ').next());
        let number = number.filter(|word| word.parse::<f64>().is_ok());
        let rows: Vec<&RawValue> = serde_json::from_str(&self.json).ok()?;
        let mut rows = self.lines.iter().zip(rows);
        rows.find_map(|(line, row)| match (serde_json::from_str::<Json>(row.get()), number) {
            (Err(why), _) => Some((*line, Some(format!("not JSON: {why}")))),
            (Ok(_), Some(number)) if holds(row.get(), number) => Some((*line, None)),
            _ => None,
        })
    }
}

/// Whether this number is in the JSON text, and not only within a text or a longer number.
fn holds(json: &str, number: &str) -> bool {
    json.match_indices(number).any(|(at, _)| {
        let (before, after) = (json[..at].trim_end(), json[at + number.len()..].trim_start());
        before.ends_with([':', ',', '[']) && after.starts_with([',', ']', '}'])
    })
}

/// Cuts rows into batches of at most `most`, and hands each to `give` until it returns false.
/// Skips rows that begin before the line `from`. A broken row ends the import; rows that were
/// gathered for the same batch are dropped.
fn cut(
    mut rows: Rows,
    most: usize,
    from: u64,
    mut give: impl FnMut(Result<Batch, (Broken, u64)>) -> bool,
) {
    let mut batch = Batch::new();
    let (mut row, mut skipped) = (String::new(), 0);
    loop {
        row.clear();
        let line = match rows.next(&mut row) {
            // A broken row before `from` is skipped, unless reading is stuck at the same line.
            Err(broken) if !broken.is_last && broken.line < from && broken.line > skipped => {
                skipped = broken.line;
                continue;
            }
            Err(broken) => {
                let unwritten = batch.lines.first().copied().unwrap_or(broken.line);
                give(Err((broken, unwritten)));
                return;
            }
            Ok(Some(line)) if line < from => continue,
            Ok(line) => line,
        };
        let full = batch.lines.len() == most || batch.json.len() + row.len() > MAX_BYTES;
        if !batch.lines.is_empty() && (full || line.is_none()) {
            let ended = std::mem::replace(&mut batch, Batch::new()).ended(rows.position());
            if !give(Ok(ended)) {
                return;
            }
        }
        let Some(line) = line else { return };
        if !batch.lines.is_empty() {
            batch.json.push(',');
        }
        batch.json.push_str(&row);
        batch.lines.push(line);
    }
}

/// Adds to a failure how many rows were written before it, and how to go on.
fn after(mut failure: Failure, written: u64, next_line: u64, table: &str) -> Failure {
    let rows = counted(written, "row");
    if written > 0 {
        // An unanswered batch may have been written or not.
        let unknown = match failure.exit {
            Exit::Unreachable => " First check whether the row of this line was written.",
            _ => "",
        };
        failure.hint = Some(format!("the same command with --from-line {next_line}.{unknown}"));
        failure.exit = Exit::Partly;
        failure = failure.fact("from_line", next_line);
    }
    let were = if written == 1 { "was" } else { "were" };
    failure.what = format!("{}\n  {rows} {were} written to {table}", failure.what);
    failure.fact("written", written)
}

fn at_line(file: &str, line: u64, why: &str) -> Failure {
    Failure::new(Exit::Failed, format!("{file}:{line}: {why}")).fact("line", line)
}

/// Replaces "Entry 3: ..." of the API by the line of the file.
fn refused(file: &str, batch: &Batch, error: ClientError) -> Failure {
    let entry = match &error {
        ClientError::Problem { detail, .. } => {
            detail.strip_prefix("Entry ").and_then(|rest| rest.split_once([':', ' ']))
        }
        _ => None,
    };
    let line =
        entry.and_then(|(number, _)| batch.lines.get(number.parse::<usize>().ok()?)).copied();
    let unparsed = match &error {
        ClientError::Problem { code, document, .. }
            if line.is_none() && matches!(code.as_str(), "bad_json" | "validation_failed") =>
        {
            batch.unparsed_row(document)
        }
        _ => None,
    };
    let mut failure = Failure::from(error);
    if let Some((line, why)) = unparsed {
        let why = why.unwrap_or_else(|| std::mem::take(&mut failure.what));
        failure.what = format!("{file}:{line}: {why}");
        return failure.fact("line", line);
    }
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
