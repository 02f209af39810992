//! Tables as CSV (RFC 4180), written row by row and safe to open in a spreadsheet.

use bytes::Bytes;
use cms_core::{Error, Result};
use futures_util::{FutureExt as _, Stream, StreamExt as _, stream};

use crate::body::Parts;

/// The most bytes of a part: larger parts count against the budget of unread replies, and could
/// be refused in the middle of a table.
const PART: usize = 64 << 10;

/// The parts of a table: a line with the names of the columns, then one line for each row.
pub(crate) fn rows(
    names: Vec<String>,
    rows: impl Stream<Item = Result<Vec<String>>> + Send + 'static,
) -> Parts {
    let head = stream::once(async move { Ok(names) });
    let table = Table { rows: head.chain(rows).boxed().fuse(), lines: Vec::new(), fault: None };
    stream::unfold(table, async |mut table| Some((table.part().await?, table))).boxed()
}

/// A table under way. It formats one row at a time, so a slow reader costs the memory of one
/// part and one row.
struct Table {
    rows: stream::Fuse<stream::BoxStream<'static, Result<Vec<String>>>>,
    /// Lines that are still to be sent.
    lines: Vec<u8>,
    /// The error that ends the table after these lines.
    fault: Option<Error>,
}

impl Table {
    /// The next lines: a full part, or fewer while the next row is not ready. An error is
    /// the last part.
    async fn part(&mut self) -> Option<Result<Bytes>> {
        while self.lines.len() <= PART && self.fault.is_none() {
            let next = match self.lines.is_empty() {
                true => self.rows.next().await,
                false => match self.rows.next().now_or_never() {
                    Some(next) => next,
                    None => break,
                },
            };
            let Some(row) = next else { break };
            match row.and_then(|row| line(&row)) {
                Ok(line) => self.lines.extend(line),
                Err(error) => self.fault = Some(error),
            }
        }
        if self.lines.is_empty() {
            // Nothing follows a fault.
            return self.fault.take().map(|error| {
                self.rows = stream::empty().boxed().fuse();
                Err(error)
            });
        }
        let rest = self.lines.split_off(self.lines.len().min(PART));
        Some(Ok(std::mem::replace(&mut self.lines, rest).into()))
    }
}

fn line(row: &[String]) -> Result<Vec<u8>> {
    // Enough room for quotes and commas around the cells; the writer's default is 8 KiB.
    let room = row.iter().map(|cell| cell.len() + 4).sum();
    let mut writer = csv::WriterBuilder::new()
        .terminator(csv::Terminator::CRLF)
        .buffer_capacity(room)
        .from_writer(Vec::new());
    writer.write_record(row.iter().map(|cell| safe(cell))).map_err(Error::internal)?;
    writer.into_inner().map_err(|error| Error::internal(error.into_error()))
}

/// A cell that no spreadsheet reads as a formula. An apostrophe goes in front of any character
/// that could begin one; also within a cell, because some spreadsheets split at `;`, tabs and
/// line ends. Numbers stay as they are.
fn safe(cell: &str) -> String {
    if is_number(cell) {
        return cell.to_owned();
    }
    let (mut safe, mut begins) = (String::with_capacity(cell.len() + 1), true);
    for (at, c) in cell.char_indices() {
        // Some spreadsheets accept the full-width forms too.
        let is_formula = matches!(c, '=' | '+' | '-' | '@' | '＝' | '＋' | '－' | '＠');
        if begins && (is_formula || at == 0 && matches!(c, '\t' | '\r')) {
            safe.push('\'');
        }
        safe.push(c);
        begins = matches!(c, ';' | '\t' | '\r' | '\n') || begins && matches!(c, '"' | ' ');
    }
    safe
}

/// A plain decimal, such as `-2.5`, or a phone number such as `+4930123456`.
fn is_number(cell: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, decimals) = match cell.split_once('.') {
        Some((whole, decimals)) => (whole, Some(decimals)),
        None => (cell, None),
    };
    digits(whole.strip_prefix(['-', '+']).unwrap_or(whole)) && decimals.is_none_or(digits)
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use proptest::{collection::vec, prelude::*};

    use super::*;

    /// The parts of a table whose rows are all there.
    fn parts_of(mut rows: Vec<Result<Vec<String>>>) -> Vec<Result<Bytes>> {
        let names = rows.remove(0).expect("names");
        let parts = super::rows(names, stream::iter(rows)).collect::<Vec<_>>();
        parts.now_or_never().expect("nothing to wait for")
    }

    fn text(rows: Vec<Result<Vec<String>>>) -> Vec<u8> {
        parts_of(rows).into_iter().map(|part| part.expect("lines")).collect::<Vec<_>>().concat()
    }

    proptest! {
        #[test]
        fn a_reader_finds_the_same_cells_and_no_formula(
            rows in vec(vec("[=+@＝\t\r\n,\";a-c \u{e9}-]{0,6}", 2..4), 1..6)
        ) {
            let width = rows[0].len();
            let rows: Vec<Vec<String>> =
                rows.into_iter().map(|mut row| { row.resize(width, String::new()); row }).collect();
            let text = text(rows.iter().cloned().map(Ok).collect());
            let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(&text[..]);
            let read: Vec<_> = reader.records().map(|row| row.expect("a row")).collect();
            prop_assert_eq!(read.len(), rows.len());
            for (read, row) in read.iter().zip(&rows) {
                prop_assert_eq!(read.len(), row.len());
                for (read, cell) in read.iter().zip(row) {
                    prop_assert!(!read.starts_with(['\t', '\r']));
                    for part in read.split([';', '\t', '\r', '\n']) {
                        let part = part.trim_start_matches(['"', ' ']);
                        prop_assert!(!part.starts_with(['=', '+', '-', '@', '＝']), "{}", read);
                    }
                    prop_assert_eq!(read.replace('\'', ""), cell.as_str());
                }
            }
        }
    }

    #[test]
    fn lines_are_those_of_the_standard() {
        let row = |cells: &[&str]| Ok(cells.iter().map(|cell| (*cell).to_owned()).collect());
        let text = text(vec![
            row(&["name", "note"]),
            row(&["Ana, \"A\"", "=1+1"]),
            row(&["a\r\nb", "-2"]),
            row(&["a;=1+1", "b\t@c"]),
            row(&["-2.50", "-2+3"]),
            row(&["+4930123456", "+49 30 123456"]),
            row(&["+1+cmd", "++1"]),
            row(&["-", "x; \"+1"]),
            row(&["", ""]),
        ]);
        let expected = "name,note\r\n\"Ana, \"\"A\"\"\",'=1+1\r\n\"a\r\nb\",-2\r\n\
            a;'=1+1,b\t'@c\r\n-2.50,'-2+3\r\n\
            +4930123456,'+49 30 123456\r\n'+1+cmd,'++1\r\n'-,\"x; \"\"'+1\"\r\n,\r\n";
        assert_eq!(String::from_utf8_lossy(&text), expected);
    }

    #[test]
    fn parts_are_small_and_a_fault_is_the_last() {
        let row = |cell: String| Ok(vec![cell]);
        let cells: Vec<_> = [10, PART, 3 * PART, 10].map(|n| "x".repeat(n)).into();
        let parts = parts_of(cells.iter().cloned().map(row).collect());
        let parts: Vec<_> = parts.into_iter().map(|part| part.expect("lines")).collect();
        assert!(parts.iter().all(|part| part.len() <= PART));
        assert_eq!(parts.concat(), format!("{}\r\n", cells.join("\r\n")).as_bytes());
        let fault = || Err(Error::internal("gone"));
        let parts = parts_of(vec![row("a".to_owned()), fault(), row("b".to_owned())]);
        assert!(matches!(&parts[..], [Ok(lines), Err(_)] if lines == "a\r\n"), "{parts:?}");
    }

    /// However many rows follow, a reader that takes nothing more keeps one part and one
    /// row in memory.
    #[test]
    fn a_slow_reader_holds_one_row() {
        let taken = Arc::new(AtomicUsize::new(0));
        let seen = Arc::clone(&taken);
        let all = stream::repeat_with(move || {
            seen.fetch_add(1, Ordering::Relaxed);
            Ok(vec!["x".repeat(1 << 20)])
        });
        let mut parts = rows(vec!["text".to_owned()], all);
        for read in 1..40 {
            let part = parts.next().now_or_never().flatten().expect("a part").expect("lines");
            assert!(part.len() <= PART);
            let rows = taken.load(Ordering::Relaxed);
            assert!(rows <= 1 + read * PART / (1 << 20) + 1, "{rows} rows for {read} parts");
        }
    }
}
