//! CSV that tells null from an empty text, as PostgreSQL's COPY does: `,,` is null, `,"",` is an
//! empty text.
//!
//! The csv crate cannot tell them apart, so [`MarkEmpty`] marks quoted empty cells before it reads
//! them.

use std::{
    borrow::Cow,
    collections::VecDeque,
    io::{self, Read},
};

/// Stands for a quoted empty cell: a noncharacter (Unicode, section 23.7). Where a cell holds it,
/// [`MarkEmpty`] doubles it, and [`unmarked`] takes that back.
pub(crate) const EMPTY_TEXT: &str = "\u{FDD0}";

/// Left out where a file begins with it.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The text of a cell that is not [`EMPTY_TEXT`].
pub(crate) fn unmarked(cell: &str) -> Cow<'_, str> {
    if cell.contains(EMPTY_TEXT) {
        Cow::Owned(cell.replace(&EMPTY_TEXT.repeat(2), EMPTY_TEXT))
    } else {
        Cow::Borrowed(cell)
    }
}

/// Appends a cell; None is null.
pub(crate) fn push_cell(line: &mut String, cell: Option<&str>) {
    let Some(text) = cell else { return };
    let plain = !text.is_empty() && !text.contains(['"', ',', '\n', '\r']) && text.trim() == text;
    if plain {
        line.push_str(text);
    } else {
        line.push('"');
        line.push_str(&text.replace('"', "\"\""));
        line.push('"');
    }
}

#[derive(Clone, Copy)]
enum State {
    CellStart,
    /// After the opening quote.
    Opened,
    /// After the opening quote and a second one.
    OpenedTwice,
    Quoted,
    /// After a quote inside a quoted cell: the end of the cell, or the first of two quotes.
    QuoteInside,
    Plain,
}

/// Replaces quoted empty cells by [`EMPTY_TEXT`], and notes where rows begin.
pub(crate) struct MarkEmpty<R> {
    inner: R,
    state: State,
    /// The line that is read, counted from 1.
    line: u64,
    /// The line of the last opening quote.
    opened: u64,
    /// Whether nothing was read yet.
    at_start: bool,
    /// Whether the next byte begins a row or a blank line.
    at_row: bool,
    /// The lines of the rows that were read ahead.
    rows: VecDeque<u64>,
    /// How many bytes of [`EMPTY_TEXT`] were read.
    like_mark: usize,
    ready: Vec<u8>,
    given: usize,
    ended: bool,
}

impl<R: Read> MarkEmpty<R> {
    pub(crate) fn new(inner: R) -> Self {
        Self {
            inner,
            state: State::CellStart,
            line: 1,
            opened: 1,
            at_start: true,
            at_row: true,
            rows: VecDeque::new(),
            like_mark: 0,
            ready: Vec::new(),
            given: 0,
            ended: false,
        }
    }

    /// The line of the next row's first cell; to be asked once for each row.
    pub(crate) fn next_row(&mut self) -> Option<u64> {
        self.rows.pop_front()
    }

    fn take(&mut self, byte: u8) {
        let ends_line = matches!(byte, b'\n' | b'\r');
        if self.at_row && !ends_line {
            self.rows.push_back(self.line);
        }
        let ends = ends_line || byte == b',';
        let outside = if ends { State::CellStart } else { State::Plain };
        self.state = match (self.state, byte) {
            (State::CellStart, b'"') => {
                self.opened = self.line;
                State::Opened
            }
            (State::Opened, b'"') => State::OpenedTwice,
            (State::OpenedTwice, b'"') => {
                self.ready.extend(b"\"\"\"");
                State::Quoted
            }
            (State::OpenedTwice, _) if ends => {
                self.ready.extend(EMPTY_TEXT.as_bytes());
                self.ready.push(byte);
                State::CellStart
            }
            (State::OpenedTwice, _) => {
                self.ready.extend(b"\"\"");
                self.ready.push(byte);
                State::Plain
            }
            (State::Opened, _) => {
                self.ready.extend([b'"', byte]);
                State::Quoted
            }
            (state, _) => {
                self.ready.push(byte);
                match (state, byte) {
                    (State::Quoted, b'"') => State::QuoteInside,
                    (State::Quoted, _) | (State::QuoteInside, b'"') => State::Quoted,
                    _ => outside,
                }
            }
        };
        self.at_row = ends_line && matches!(self.state, State::CellStart);
        self.line += u64::from(byte == b'\n');
        let mark = EMPTY_TEXT.as_bytes();
        let next = byte == mark[self.like_mark];
        self.like_mark = if next { self.like_mark + 1 } else { usize::from(byte == mark[0]) };
        if self.like_mark == mark.len() {
            self.ready.extend(mark);
            self.like_mark = 0;
        }
    }

    fn end(&mut self) -> io::Result<()> {
        match self.state {
            // The csv crate would take the rest of the file for one cell.
            State::Opened | State::Quoted => {
                let why = format!(
                    "the quote that opens on line {} is never closed: close it, or write \"\" for \
                     a quote within a quoted cell",
                    self.opened
                );
                return Err(io::Error::new(io::ErrorKind::InvalidData, why));
            }
            State::OpenedTwice => self.ready.extend(EMPTY_TEXT.as_bytes()),
            _ => {}
        }
        self.ended = true;
        Ok(())
    }
}

impl<R: Read> Read for MarkEmpty<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut chunk = [0; 16 << 10];
        while self.given == self.ready.len() && !self.ended {
            self.ready.clear();
            self.given = 0;
            match self.inner.read(&mut chunk)? {
                0 => self.end()?,
                read => {
                    let mut read = &chunk[..read];
                    if std::mem::take(&mut self.at_start) {
                        read = read.strip_prefix(BYTE_ORDER_MARK).unwrap_or(read);
                    }
                    read.iter().for_each(|byte| self.take(*byte));
                }
            }
        }
        let count = buffer.len().min(self.ready.len() - self.given);
        buffer[..count].copy_from_slice(&self.ready[self.given..self.given + count]);
        self.given += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(text: &str) -> String {
        let mut read = String::new();
        MarkEmpty::new(text.as_bytes()).read_to_string(&mut read).expect("text");
        read.replace(EMPTY_TEXT, "@")
    }

    #[test]
    fn quoted_empty_cells_are_marked_and_nothing_else() {
        let table = [
            ("a,\"\",b\n", "a,@,b\n"),
            ("\"\"", "@"),
            ("\"\"\r\n\"\"\n", "@\r\n@\n"),
            (",,\n", ",,\n"),
            ("\"\"\"x\"\"\",1", "\"\"\"x\"\"\",1"),
            ("\"a,\"\",b\",\"\"", "\"a,\"\",b\",@"),
            ("\"a\n\"\"\n\",2", "\"a\n\"\"\n\",2"),
            ("x\"\",1", "x\"\",1"),
            ("\u{FDD0},\"a\u{FDD0}\u{FDD0}\"", "@@,\"a@@@@\""),
        ];
        for (text, expected) in table {
            assert_eq!(marked(text), expected, "{text:?}");
        }
    }

    #[test]
    fn rows_begin_on_the_line_of_their_first_cell() {
        for (text, expected) in [
            ("a\nb\n", vec![1, 2]),
            ("a\r\n\r\nb\r\nc", vec![1, 3, 4]),
            ("\n\na\n\"b\r\n\r\nb\",\"\"\n,\n", vec![3, 4, 7]),
            ("\"a\nb\"x\n\"\"\r\n", vec![1, 3]),
            ("\u{feff}\n\na\nb", vec![3, 4]),
            ("\u{feff}\"a\nb\"\nc", vec![1, 3]),
        ] {
            let mut reader = MarkEmpty::new(text.as_bytes());
            reader.read_to_string(&mut String::new()).expect("text");
            let rows: Vec<_> = std::iter::from_fn(|| reader.next_row()).collect();
            assert_eq!(rows, expected, "{text:?}");
            let mut builder = csv::ReaderBuilder::new();
            let reader = builder.has_headers(false).flexible(true).from_reader(text.as_bytes());
            assert_eq!(reader.into_records().count(), rows.len(), "{text:?}");
        }
    }

    #[test]
    fn a_quote_that_stays_open_is_named_by_its_line() {
        for (text, line) in [("a\n\"", 2), ("\"a\nb\"\r\nc,\"d\ne,f\n", 3), ("\"a\"\"\n", 1)] {
            let mut read = String::new();
            let error = MarkEmpty::new(text.as_bytes()).read_to_string(&mut read);
            let why = error.expect_err("no end").to_string();
            assert!(why.contains(&format!("on line {line} is")), "{text:?}: {why}");
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let cells = [
            None,
            Some(""),
            Some("a"),
            Some("a,b"),
            Some("\""),
            Some("\"\""),
            Some("a\r\nb"),
            Some(" a "),
            Some("\"x"),
            Some(EMPTY_TEXT),
            Some("a\u{FDD0}\u{FDD0}"),
        ];
        let mut line = String::new();
        for (number, cell) in cells.iter().enumerate() {
            if number > 0 {
                line.push(',');
            }
            push_cell(&mut line, *cell);
        }
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .from_reader(MarkEmpty::new(line.as_bytes()));
        let record = reader.records().next().expect("one record").expect("record");
        let read: Vec<_> = record
            .iter()
            .map(|cell| {
                let text = if cell == EMPTY_TEXT { "".into() } else { unmarked(cell) };
                (!cell.is_empty()).then_some(text)
            })
            .collect();
        assert_eq!(read.iter().map(Option::as_deref).collect::<Vec<_>>(), cells);
    }
}
