//! Tables as CSV (RFC 4180), row by row, safe to open in a spreadsheet.

use bytes::Bytes;
use cms_core::{Error, Result};
use futures_util::{Stream, StreamExt as _, stream};

use crate::body::Parts;

/// Rows that are sent at once when they are there.
const STEP: usize = 64;

/// A line for the names of the columns, then one for each row.
pub(crate) fn rows(
    names: Vec<String>,
    rows: impl Stream<Item = Result<Vec<String>>> + Send + 'static,
) -> Parts {
    let head = stream::once(async move { Ok(names) });
    head.chain(rows).ready_chunks(STEP).map(lines).boxed()
}

fn lines(rows: Vec<Result<Vec<String>>>) -> Result<Bytes> {
    let mut writer =
        csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(Vec::new());
    for row in rows {
        writer.write_record(row?.iter().map(|cell| safe(cell))).map_err(Error::internal)?;
    }
    writer.into_inner().map(Bytes::from).map_err(|error| Error::internal(error.into_error()))
}

/// A cell that no spreadsheet takes for a formula: what could be one begins with an apostrophe.
fn safe(cell: &str) -> String {
    let is_formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']);
    if is_formula { format!("'{cell}") } else { cell.to_owned() }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    proptest! {
        #[test]
        fn a_reader_finds_the_same_cells_and_no_formula(
            rows in vec(vec("[=+@\t\r\n',\";a-c \u{e9}-]{0,6}", 2..4), 1..6)
        ) {
            let width = rows[0].len();
            let rows: Vec<Vec<String>> =
                rows.into_iter().map(|mut row| { row.resize(width, String::new()); row }).collect();
            let text = lines(rows.iter().cloned().map(Ok).collect()).expect("lines");
            let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(&text[..]);
            let read: Vec<_> = reader.records().map(|row| row.expect("a row")).collect();
            prop_assert_eq!(read.len(), rows.len());
            for (read, row) in read.iter().zip(&rows) {
                prop_assert_eq!(read.len(), row.len());
                for (read, cell) in read.iter().zip(row) {
                    prop_assert!(!read.starts_with(['=', '+', '-', '@', '\t', '\r']));
                    prop_assert!(read == cell || read.strip_prefix('\'') == Some(cell));
                }
            }
        }
    }

    #[test]
    fn lines_are_those_of_the_standard() {
        let row = |cells: &[&str]| Ok(cells.iter().map(|cell| (*cell).to_owned()).collect());
        let text = lines(vec![
            row(&["name", "note"]),
            row(&["Ana, \"A\"", "=1+1"]),
            row(&["a\r\nb", "-2"]),
            row(&["", ""]),
        ]);
        let expected = "name,note\r\n\"Ana, \"\"A\"\"\",'=1+1\r\n\"a\r\nb\",'-2\r\n,\r\n";
        assert_eq!(text.expect("lines"), expected);
    }
}
