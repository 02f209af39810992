//! Rows gathered into bodies for the service.

use super::rows::{Broken, Rows};

/// The service accepts 1 MiB; this leaves room.
const MAX_BYTES: usize = 900_000;

/// Rows that are written together.
#[derive(Debug)]
pub(super) struct Batch {
    /// A JSON array.
    pub(super) json: String,
    /// The line on which each row begins.
    pub(super) lines: Vec<u64>,
    /// Bytes of the file read so far.
    pub(super) position: u64,
}

impl Batch {
    fn new() -> Self {
        Self { json: "[".to_owned(), lines: Vec::new(), position: 0 }
    }
}

/// Cuts rows into batches of at most `most`, and hands them to `give` until it returns false. A
/// broken row ends the work, and the rows gathered before it are dropped.
pub(super) fn cut(
    mut rows: Rows,
    most: usize,
    mut give: impl FnMut(Result<Batch, Broken>) -> bool,
) {
    let mut batch = Batch::new();
    let mut row = String::new();
    loop {
        row.clear();
        let line = match rows.next(&mut row) {
            Err(broken) => {
                give(Err(broken));
                return;
            }
            Ok(line) => line,
        };
        let full = batch.lines.len() == most || batch.json.len() + row.len() > MAX_BYTES;
        if !batch.lines.is_empty() && (full || line.is_none()) {
            batch.json.push(']');
            batch.position = rows.position();
            if !give(Ok(std::mem::replace(&mut batch, Batch::new()))) {
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
