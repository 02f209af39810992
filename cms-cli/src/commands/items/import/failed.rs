//! Messages of a failed import: the line of the file, and the rows written before

use cms_http::client::ClientError;

use super::batch::Batch;
use crate::output::{Exit, Failure, counted};

/// Adds to a failure how many rows were written before it, and how to go on.
pub(super) fn after(mut failure: Failure, written: u64, next_line: u64, table: &str) -> Failure {
    let rows = counted(written, "row");
    if written > 0 {
        // Nobody knows what became of a batch that was not answered.
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

pub(super) fn at_line(file: &str, line: u64, why: &str) -> Failure {
    Failure::new(Exit::Failed, format!("{file}:{line}: {why}")).fact("line", line)
}

/// Replaces "Entry 3: ..." of the API by the line of the file.
pub(super) fn refused(file: &str, batch: &Batch, error: ClientError) -> Failure {
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
