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

    fn ended(mut self, position: u64) -> Self {
        self.json.push(']');
        self.position = position;
        self
    }
}

/// Cuts rows into batches of at most `most`, and hands them to `give` until it returns false. Skips
/// rows that begin before the line `from`. A broken row ends the work, and the rows gathered before
/// it are dropped.
pub(super) fn cut(
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
            // One that does not come from the same line again.
            Err(broken) if broken.line < from && broken.line > skipped => {
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
