//! Records in memory, valid only while nobody has committed since they were read. So a key that
//! another process revokes is refused at once.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::timeout;

use super::{Db, SnapshotVersion};
use crate::Result;

/// Most records in memory; more are rarely in use between two commits.
const MOST: usize = 10_000;
/// How long a reader waits for another reader.
const LOAD_TIMEOUT: Duration = Duration::from_millis(100);

/// How changes of a table are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source<'a> {
    /// By the table's epoch: only the service writes the table.
    Counted(&'a str),
    /// By the snapshot version of the file, because other programs write the table too: any commit
    /// may be a change.
    File,
}

/// A record as it was found, and the state of the file in which it was found.
#[derive(Clone)]
pub(crate) struct Cached<T> {
    pub(crate) record: T,
    version: Option<SnapshotVersion>,
}

/// Hides the record: records of callers hold hashes of secrets.
impl<T> std::fmt::Debug for Cached<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Cached(..)")
    }
}

impl<T> Cached<T> {
    /// A record that a change has read.
    pub(crate) fn in_change(record: T) -> Self {
        Self { record, version: None }
    }

    /// Whether it was found in this state.
    pub(crate) fn is_of(&self, version: SnapshotVersion) -> bool {
        self.version == Some(version)
    }
}

/// Records of one kind by name.
pub(crate) struct RecordCache<T> {
    records: Mutex<Records<T>>,
    /// Held while a record is read. After a commit all callers miss at once; those that wait here
    /// find what the first one has read.
    reading: [tokio::sync::Mutex<()>; 8],
}

struct Records<T> {
    version: Option<SnapshotVersion>,
    by_name: HashMap<String, T>,
}

impl<T> Default for RecordCache<T> {
    fn default() -> Self {
        let records = Mutex::new(Records { version: None, by_name: HashMap::new() });
        Self { records, reading: Default::default() }
    }
}

impl<T: Clone> RecordCache<T> {
    /// The record, if it was read at this `version`.
    pub(crate) fn get(&self, version: SnapshotVersion, name: &str) -> Option<T> {
        let records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        records.by_name.get(name).filter(|_| records.version == Some(version)).cloned()
    }

    /// Keeps a record. `version` was read before the record, so a commit in between makes the next
    /// request read again.
    pub(crate) fn keep(&self, version: SnapshotVersion, name: &str, record: T) {
        let mut records = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        if records.version > Some(version) {
            return;
        }
        if records.version != Some(version) || records.by_name.len() >= MOST {
            *records = Records { version: Some(version), by_name: HashMap::new() };
        }
        records.by_name.insert(name.to_owned(), record);
    }

    /// The record and the change count of `source`, as known at this snapshot version.
    fn present(
        &self,
        db: &Db,
        version: Option<SnapshotVersion>,
        name: &str,
        source: Option<Source<'_>>,
        is_fresh: impl Fn(&T) -> bool,
    ) -> Option<(Cached<T>, Option<i64>)> {
        let version = version?;
        let record = self.get(version, name).filter(is_fresh)?;
        match source.map(|source| db.known_count(version, source)) {
            Some(None) => None,
            known => Some((Cached { record, version: Some(version) }, known.flatten())),
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
    ) -> Result<Option<(Cached<T>, Option<i64>)>> {
        // The snapshot version comes first: rows read later are at least as new.
        let version = db.snapshot_version();
        if let Some(found) = self.present(db, version, name, source, &is_fresh) {
            return Ok(Some(found));
        }
        let _reading = match version {
            // When reading is slow, every caller reads for itself: waits must not add up.
            Some(_) => timeout(LOAD_TIMEOUT, self.reading[slot(name)].lock()).await.ok(),
            None => None,
        };
        let version = db.snapshot_version();
        if let Some(found) = self.present(db, version, name, source, &is_fresh) {
            return Ok(Some(found));
        }
        let table = if let Some(Source::Counted(table)) = source { table } else { "" };
        let Some((sum, record)) = read(table).await? else { return Ok(None) };
        let epoch = db.epochs.number(sum);
        if let Some(version) = version {
            self.keep(version, name, record.clone());
        }
        let count = match source {
            Some(Source::Counted(_)) => Some(epoch),
            Some(Source::File) => version,
            None => None,
        };
        if let (Some(version), Some(Source::Counted(_))) = (version, source) {
            db.counted.keep(version, table, epoch);
        }
        Ok(Some((Cached { record, version }, count)))
    }
}

/// Which readers wait for each other: those of one name, and one in eight of all other names.
fn slot(name: &str) -> usize {
    name.bytes().fold(0_usize, |sum, byte| sum.wrapping_add(usize::from(byte))) % 8
}

impl Db {
    fn known_count(&self, version: SnapshotVersion, source: Source<'_>) -> Option<i64> {
        match source {
            Source::Counted(table) => self.counted.get(version, table),
            Source::File => Some(version),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_good_for_one_state_of_the_file() {
        let known = RecordCache::default();
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
        let known = RecordCache::default();
        for n in 0..=MOST {
            known.keep(1, &n.to_string(), ());
        }
        assert_eq!(known.records.lock().expect("no panic").by_name.len(), 1);
    }
}
