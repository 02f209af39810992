//! Records in memory that count only while nobody has committed since they were read. A key that
//! another process revokes is refused at once.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::timeout;

use super::{Db, Mark};
use crate::Result;

/// Records in memory at most; more are rarely in use between two commits.
const MOST: usize = 10_000;
/// How long a reader waits for another one.
const LOAD_TIMEOUT: Duration = Duration::from_millis(100);

/// How changes of a table are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source<'a> {
    /// By the table's epoch: only the service writes the table.
    Counted(&'a str),
    /// By the mark of the file, because other programs write the table too: any commit may be a
    /// change.
    File,
}

/// A record as it was found, and the state of the file in which it was found.
#[derive(Clone)]
pub(crate) struct Seen<T> {
    pub(crate) record: T,
    mark: Option<Mark>,
}

/// Records of callers hold hashes of secrets.
impl<T> std::fmt::Debug for Seen<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Seen(..)")
    }
}

impl<T> Seen<T> {
    /// A record that a change has read.
    pub(crate) fn in_change(record: T) -> Self {
        Self { record, mark: None }
    }

    /// Whether it was found in this state.
    pub(crate) fn is_of(&self, mark: Mark) -> bool {
        self.mark == Some(mark)
    }
}

/// Records of one kind by name.
pub(crate) struct Known<T> {
    records: Mutex<Records<T>>,
    /// Held while a record is read. After a commit everybody misses at once: who waits here finds
    /// what the first has read.
    reading: [tokio::sync::Mutex<()>; 8],
}

struct Records<T> {
    mark: Option<Mark>,
    by_name: HashMap<String, T>,
}

impl<T> Default for Known<T> {
    fn default() -> Self {
        let records = Mutex::new(Records { mark: None, by_name: HashMap::new() });
        Self { records, reading: Default::default() }
    }
}

impl<T: Clone> Known<T> {
    /// The record, if it was read at this `mark`.
    pub(crate) fn get(&self, mark: Mark, name: &str) -> Option<T> {
        let records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        records.by_name.get(name).filter(|_| records.mark == Some(mark)).cloned()
    }

    /// Keeps a record. `mark` was read before the record, so a commit in between makes the next
    /// request read again.
    pub(crate) fn keep(&self, mark: Mark, name: &str, record: T) {
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        if records.mark > Some(mark) {
            return;
        }
        if records.mark != Some(mark) || records.by_name.len() >= MOST {
            *records = Records { mark: Some(mark), by_name: HashMap::new() };
        }
        records.by_name.insert(name.to_owned(), record);
    }

    /// What is known at this mark of a record and of the change count of `source`.
    fn present(
        &self,
        db: &Db,
        mark: Option<Mark>,
        name: &str,
        source: Option<Source<'_>>,
        is_fresh: impl Fn(&T) -> bool,
    ) -> Option<(Seen<T>, Option<i64>)> {
        let mark = mark?;
        let record = self.get(mark, name).filter(is_fresh)?;
        match source.map(|source| db.known_count(mark, source)) {
            Some(None) => None,
            known => Some((Seen { record, mark: Some(mark) }, known.flatten())),
        }
    }

    /// The record of a caller, and the change count of `source`, which the caller is about to read.
    /// Costs no query while the file rests and the record `is_fresh`, otherwise one. `read` takes
    /// the name of a table (empty: none) and returns the table's epoch with the record.
    pub(crate) async fn find(
        &self,
        db: &Db,
        name: &str,
        source: Option<Source<'_>>,
        is_fresh: impl Fn(&T) -> bool,
        read: impl AsyncFnOnce(&str) -> Result<Option<(i64, T)>>,
    ) -> Result<Option<(Seen<T>, Option<i64>)>> {
        // The mark comes first: rows read later are at least as new.
        let mark = db.mark();
        if let Some(found) = self.present(db, mark, name, source, &is_fresh) {
            return Ok(Some(found));
        }
        let _reading = match mark {
            // Where reading is slow, everybody reads: waits must not add up.
            Some(_) => timeout(LOAD_TIMEOUT, self.reading[slot(name)].lock()).await.ok(),
            None => None,
        };
        let mark = db.mark();
        if let Some(found) = self.present(db, mark, name, source, &is_fresh) {
            return Ok(Some(found));
        }
        let table = if let Some(Source::Counted(table)) = source { table } else { "" };
        let Some((sum, record)) = read(table).await? else { return Ok(None) };
        let epoch = db.epochs.number(sum);
        if let Some(mark) = mark {
            self.keep(mark, name, record.clone());
        }
        let count = match source {
            Some(Source::Counted(_)) => Some(epoch),
            Some(Source::File) => mark,
            None => None,
        };
        if let (Some(mark), Some(Source::Counted(_))) = (mark, source) {
            db.counted.keep(mark, table, epoch);
        }
        Ok(Some((Seen { record, mark }, count)))
    }
}

/// Which readers wait for each other: those of one name, and one in eight of the others.
fn slot(name: &str) -> usize {
    name.bytes().fold(0_usize, |sum, byte| sum.wrapping_add(usize::from(byte))) % 8
}

impl Db {
    fn known_count(&self, mark: Mark, source: Source<'_>) -> Option<i64> {
        match source {
            Source::Counted(table) => self.counted.get(mark, table),
            Source::File => Some(mark),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_good_for_one_state_of_the_file() {
        let known = Known::default();
        known.keep(1, "a", 'x');
        assert_eq!(
            (known.get(1, "a"), known.get(1, "b"), known.get(2, "a")),
            (Some('x'), None, None)
        );
        known.keep(2, "b", 'y');
        assert_eq!(
            (known.get(2, "b"), known.get(2, "a"), known.get(1, "a")),
            (Some('y'), None, None)
        );
    }

    #[test]
    fn memory_is_bounded() {
        let known = Known::default();
        for n in 0..=MOST {
            known.keep(1, &n.to_string(), ());
        }
        assert_eq!(known.records.lock().expect("no panic").by_name.len(), 1);
    }
}
