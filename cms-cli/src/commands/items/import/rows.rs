//! A file as JSON objects, one at a time.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Read},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use serde_json::value::RawValue;

use crate::{
    commands::items::{Format, JsonColumns},
    output::{
        Done, Failure, counted,
        csv_text::{EMPTY_TEXT, MarkEmpty, unmarked},
    },
};

/// A row that cannot be sent.
#[derive(Debug)]
pub(super) struct Broken {
    pub(super) line: u64,
    pub(super) why: String,
    /// Whether nothing behind it can be read.
    pub(super) is_last: bool,
}

type Source = Counted<Box<dyn Read + Send>>;

/// The rows of a file.
pub(super) struct Rows {
    kind: Kind,
    read: Arc<AtomicU64>,
    /// Size in bytes, if the source is a file.
    pub(super) size: Option<u64>,
}

enum Kind {
    Jsonl {
        reader: BufReader<Source>,
        text: String,
        line: u64,
    },
    Csv {
        reader: Box<csv::Reader<MarkEmpty<Source>>>,
        record: csv::StringRecord,
        columns: Vec<(String, bool)>,
        guess: bool,
    },
}

/// Opens the file; a CSV file must begin with the names of its columns.
pub(super) fn open(file: &Path, stdin: bool, format: Format, json: JsonColumns) -> Done<Rows> {
    let (source, size): (Box<dyn Read + Send>, _) = if stdin {
        (Box::new(io::stdin()), None)
    } else {
        let opened = File::open(file).map_err(|e| Failure::file(file, &e))?;
        let size = opened.metadata().ok().filter(std::fs::Metadata::is_file).map(|meta| meta.len());
        (Box::new(opened), size)
    };
    let read = Arc::new(AtomicU64::new(0));
    let source = Counted { inner: source, read: read.clone() };
    let kind = match format {
        Format::Jsonl => Kind::Jsonl {
            reader: BufReader::with_capacity(64 << 10, source),
            text: String::new(),
            line: 0,
        },
        Format::Csv => {
            let mut reader =
                csv::ReaderBuilder::new().flexible(true).from_reader(MarkEmpty::new(source));
            let refused = |why: String| {
                Failure::new(crate::output::Exit::Failed, format!("{}:1: {why}", file.display()))
            };
            let names = reader.headers().map_err(|e| refused(reason(&e)))?;
            if names.is_empty()
                || names.iter().any(|name| name.trim().is_empty() || name == EMPTY_TEXT)
            {
                return Err(refused("the first line must name the columns".to_owned()));
            }
            let names: Vec<_> = names.iter().map(str::trim).collect();
            let twice = names.iter().enumerate().find(|(at, name)| names[..*at].contains(name));
            if let Some((_, name)) = twice {
                return Err(refused(format!("the first line names {name:?} twice")));
            }
            let columns = names.iter().map(|name| ((*name).to_owned(), json.named(name))).collect();
            reader.get_mut().next_row();
            let guess = matches!(json, JsonColumns::Guessed(_));
            Kind::Csv { reader: Box::new(reader), record: csv::StringRecord::new(), columns, guess }
        }
    };
    Ok(Rows { kind, read, size })
}

impl Rows {
    /// Appends the next row to `row` and returns its line; None at the end.
    pub(super) fn next(&mut self, row: &mut String) -> Result<Option<u64>, Broken> {
        match &mut self.kind {
            Kind::Jsonl { reader, text, line } => loop {
                text.clear();
                *line += 1;
                let broken = |why: String| Broken { line: *line, why, is_last: false };
                if reader.read_line(text).map_err(|e| broken(e.to_string()))? == 0 {
                    return Ok(None);
                }
                let trimmed = text.trim_start_matches('\u{FEFF}').trim();
                if trimmed.is_empty() {
                    continue;
                }
                let json: &RawValue =
                    serde_json::from_str(trimmed).map_err(|e| broken(format!("not JSON: {e}")))?;
                if !trimmed.starts_with('{') {
                    return Err(broken("each line must hold a JSON object".to_owned()));
                }
                row.push_str(json.get());
                return Ok(Some(*line));
            },
            Kind::Csv { reader, record, columns, guess } => {
                let read = reader.read_record(record);
                // The csv crate takes its position before blank lines and the `\n` of a CRLF.
                let line = reader.get_mut().next_row();
                let line = line.or(record.position().map(csv::Position::line)).unwrap_or(1);
                let broken = |why: String| Broken { line, why, is_last: false };
                match read {
                    Ok(true) => {}
                    Ok(false) => return Ok(None),
                    Err(e) => {
                        return Err(Broken { is_last: e.is_io_error(), ..broken(reason(&e)) });
                    }
                }
                // In a file of one column a blank line is no row, so null is a line with a comma.
                let is_null = columns.len() == 1 && record.len() == 2;
                if record.len() != columns.len() && !(is_null && record.iter().all(str::is_empty)) {
                    let cells = counted(record.len() as u64, "cell");
                    let columns = counted(columns.len() as u64, "column");
                    return Err(broken(format!("{cells}, but the first line names {columns}")));
                }
                object(row, columns, record, *guess).map_err(broken)?;
                Ok(Some(line))
            }
        }
    }

    /// Bytes read so far.
    pub(super) fn position(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }
}

/// Turns a CSV record into a JSON object, or says which cell is no JSON. The service reads numbers
/// and booleans from text.
fn object(
    row: &mut String,
    columns: &[(String, bool)],
    record: &csv::StringRecord,
    guess: bool,
) -> Result<(), String> {
    for (number, ((name, json), cell)) in columns.iter().zip(record).enumerate() {
        row.push(if number == 0 { '{' } else { ',' });
        row.push_str(&text(name));
        row.push(':');
        let structured = *json || (guess && cell.starts_with(['{', '[']));
        match cell {
            "" => row.push_str("null"),
            EMPTY_TEXT => row.push_str("\"\""),
            _ => {
                let cell = unmarked(cell);
                let parsed = structured.then(|| serde_json::from_str::<&RawValue>(&cell));
                match parsed {
                    Some(Err(why)) if *json && cell.trim_start().starts_with(['{', '[', '"']) => {
                        return Err(format!("{name}: not JSON: {why}"));
                    }
                    Some(Ok(_)) => row.push_str(&cell),
                    _ => row.push_str(&text(&cell)),
                }
            }
        }
    }
    row.push('}');
    Ok(())
}

fn text(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// What is wrong with a CSV file. The caller adds the position.
fn reason(error: &csv::Error) -> String {
    match error.kind() {
        csv::ErrorKind::Utf8 { .. } => "not UTF-8".to_owned(),
        _ => error.to_string(),
    }
}

/// Counts the bytes read.
struct Counted<R> {
    inner: R,
    read: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_become_json() {
        let columns = [("a".to_owned(), false), ("j".to_owned(), true)];
        let table = [
            (["1", "2"], false, r#"{"a":"1","j":2}"#),
            (["", ""], false, r#"{"a":null,"j":null}"#),
            ([EMPTY_TEXT, "\"x\""], false, r#"{"a":"","j":"x"}"#),
            (["[1]", "plain"], false, r#"{"a":"[1]","j":"plain"}"#),
            (["[1]", "{\"b\":1}"], true, r#"{"a":[1],"j":{"b":1}}"#),
            (["{x", "true"], true, r#"{"a":"{x","j":true}"#),
        ];
        for (cells, guess, expected) in table {
            let mut row = String::new();
            let record = csv::StringRecord::from(cells.to_vec());
            object(&mut row, &columns, &record, guess).expect("a row");
            assert_eq!(row, expected);
        }
        for cell in ["{x", "[1", "\"x", " {\"a\":1"] {
            let record = csv::StringRecord::from(vec!["1", cell]);
            let why = object(&mut String::new(), &columns, &record, false);
            assert!(why.expect_err(cell).starts_with("j: not JSON: "), "{cell}");
        }
    }
}
