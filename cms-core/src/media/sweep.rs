//! Compares files and rows: files left by a crash are removed, lost files are reported. Also
//! removes files that may have no row, later.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    path::{Path, PathBuf},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, SystemTime},
};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Media,
    files::{blocking, entries, gone},
    name::{INCOMING, Name, VARIANTS},
    sql,
    store::Fate,
};
use crate::{Error, Millis, Result};

/// An upload without a write for this long is abandoned.
const ABANDONED: Millis = 3_600_000;
/// After this many failures of single files, the store itself counts as failing.
const FAILURES: u32 = 10;
/// Maximum number of reported rows without a file.
const MAX_REPORTED: usize = 100;

/// What a comparison has found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
#[schemars(rename = "Checked")]
pub struct CheckedFiles {
    /// Files with their rows.
    pub files: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Files without a row, abandoned uploads and variants without their file. Includes those
    /// that cannot be read or removed; the log names them.
    pub orphans: u64,
    /// Of the orphans, those that were removed.
    pub removed: u64,
    /// Rows whose file is missing or has another length.
    pub lost: u64,
    /// The paths of these, 100 at most. Upload the same files again to mend them.
    pub missing: Vec<String>,
}

impl CheckedFiles {
    /// Adds what was found in a further folder.
    fn add(&mut self, other: Self) {
        self.files += other.files;
        self.bytes += other.bytes;
        self.orphans += other.orphans;
        self.removed += other.removed;
        self.lost += other.lost;
        let room = MAX_REPORTED.saturating_sub(self.missing.len());
        self.missing.extend(other.missing.into_iter().take(room));
    }
}

impl Media {
    /// Compares the store in use with the rows, and removes orphans when `remove` says so.
    ///
    /// # Errors
    /// `unavailable` when the folder, the bucket or the database cannot be read, or ten files fail.
    pub async fn check(&self, remove: bool) -> Result<CheckedFiles> {
        self.0.store.reach().await?;
        let (mut found, failed) = (CheckedFiles::default(), AtomicU32::new(0));
        let mut folders = stream::iter(0..=255)
            .map(|folder| self.check_folder(folder, remove, &failed))
            .buffered(self.0.store.at_once());
        while let Some(of_folder) = folders.try_next().await? {
            found.add(of_folder);
        }
        drop(folders);
        let (media, now) = (self.folder().to_owned(), self.now());
        let (orphans, removed) = blocking(move || leftovers(&media, now, remove)).await?;
        found.orphans += orphans;
        found.removed += removed;
        self.check_parts(remove, &mut found).await;
        Ok(found)
    }

    async fn check_folder(
        &self,
        folder: u8,
        remove: bool,
        failed: &AtomicU32,
    ) -> Result<CheckedFiles> {
        let mut found = CheckedFiles::default();
        let rows = sql::within(self.0.base.db(), folder).await?;
        let of = format!("{folder:02x}");
        let listed = self.listed(PathBuf::from(&of)).await?;
        let named = |(file, length): &(String, u64)| Some((Name::read(&of, file)?, *length));
        // Ignores everything that is not a stored file.
        let mut files: BTreeMap<Name, u64> = listed.iter().filter_map(named).collect();
        let present: BTreeSet<Name> = files.keys().cloned().collect();
        for (path, size) in rows {
            let length = Name::of_path(&path).and_then(|name| files.remove(&name));
            match length {
                Some(length) if i64::try_from(length) == Ok(size) => {
                    found.files += 1;
                    found.bytes += length;
                }
                // A row deleted meanwhile has lost nothing.
                _ if !self.is_known(&path).await? => {}
                _ => {
                    found.lost += 1;
                    if found.missing.len() < MAX_REPORTED {
                        found.missing.push(path);
                    }
                }
            }
        }
        for name in files.into_keys() {
            // A file that came after the rows were read has its row by now, or is still
            // being stored.
            let (is_orphan, is_gone) = match remove {
                true => match self.remove_unless_known(&name).await {
                    Ok(fate) => (!matches!(fate, Fate::Known | Fate::Absent), fate == Fate::Gone),
                    Err(error) => pass_over(error, failed).map(|()| (true, false))?,
                },
                false => (!sql::is_known(self.0.base.db(), name.sha256()).await?, false),
            };
            found.orphans += u64::from(is_orphan);
            found.removed += u64::from(is_gone);
        }
        let folder = PathBuf::from(VARIANTS).join(&of);
        for (file, _) in self.listed(folder.clone()).await? {
            let Some(name) = Name::of_variant(&of, &file) else { continue };
            if present.contains(&name) {
                continue;
            }
            let is_gone = match self.remove_stray(&name, folder.join(file), remove).await {
                Ok(None) => continue,
                Ok(Some(is_gone)) => is_gone,
                Err(error) => pass_over(error, failed).map(|()| false)?,
            };
            found.orphans += 1;
            found.removed += u64::from(is_gone);
        }
        Ok(found)
    }

    /// Removes a variant whose file is gone. `None`: the file exists, because it came after the
    /// files were listed.
    async fn remove_stray(&self, of: &Name, place: PathBuf, remove: bool) -> Result<Option<bool>> {
        if self.opened(&of.place()).await?.is_some() {
            return Ok(None);
        }
        Ok(Some(remove && self.remove_at(place).await?))
    }

    async fn is_known(&self, path: &str) -> Result<bool> {
        let name = Name::of_path(path).ok_or_else(|| Error::internal("a path of no file"))?;
        sql::is_known(self.0.base.db(), name.sha256()).await
    }

    /// Uploads in parts that a killed process has left in a bucket.
    async fn check_parts(&self, remove: bool, found: &mut CheckedFiles) {
        let (left, removed) = match self.left_parts(remove).await {
            Ok(counts) => counts,
            // Not every access key may list these uploads, and not every store can.
            Err(error) => return tracing::warn!(?error, "uploads in parts cannot be listed"),
        };
        found.orphans += left;
        found.removed += removed;
    }
}

/// Tolerates single failures, so that one file does not stop the others. Many failures mean that
/// the store is away.
fn pass_over(error: Error, failed: &AtomicU32) -> Result<()> {
    if failed.fetch_add(1, Ordering::Relaxed) + 1 >= FAILURES {
        return Err(error);
    }
    tracing::warn!(?error, "a file was passed over");
    Ok(())
}

/// Counts abandoned uploads and removes them when `remove` says so.
fn leftovers(media: &Path, now: Millis, remove: bool) -> io::Result<(u64, u64)> {
    let (mut orphans, mut removed) = (0, 0);
    let mut orphan = |path: &Path| {
        orphans += 1;
        match remove.then(|| gone(path)) {
            Some(Ok(is_gone)) => removed += u64::from(is_gone),
            Some(Err(error)) => tracing::warn!(%error, "an upload that broke off stays"),
            None => {}
        }
    };
    let now = SystemTime::UNIX_EPOCH + Duration::from_millis(now.unsigned_abs());
    for file in entries(&media.join(INCOMING))? {
        let age = file.metadata().and_then(|about| about.modified());
        let age = age.map(|at| now.duration_since(at).unwrap_or_default()).unwrap_or_default();
        if age >= Duration::from_millis(ABANDONED.unsigned_abs()) {
            orphan(&file.path());
        }
    }
    Ok((orphans, removed))
}

/// Files that may have no row, because their change failed or has not ended. `Media::tidy` tries
/// them in turn, so that a file that cannot be removed does not hold up the others.
#[derive(Default)]
pub(super) struct Doubtful(Mutex<Doubts>);

#[derive(Default)]
struct Doubts {
    names: BTreeSet<Name>,
    /// The file that was tried last.
    tried: Option<Name>,
}

impl Doubtful {
    pub(super) fn add(&self, name: &Name) {
        self.state().names.insert(name.clone());
    }

    /// Removes a file from the list: nothing is left to do for it.
    pub(super) fn settle(&self, name: &Name) {
        self.state().names.remove(name);
    }

    /// Notes that this file is tried now.
    pub(super) fn tries(&self, name: &Name) {
        self.state().tried = Some(name.clone());
    }

    /// All files, beginning after the one that was tried last.
    pub(super) fn in_turn(&self) -> Vec<Name> {
        let state = self.state();
        let mut names: Vec<_> = state.names.iter().cloned().collect();
        let first = names.partition_point(|name| Some(name) <= state.tried.as_ref());
        names.rotate_left(first);
        names
    }

    fn state(&self) -> MutexGuard<'_, Doubts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_its_turn() {
        let [a, b, c] = ["a", "b", "c"]
            .map(|digit| Name::read("ab", &format!("{}.png", digit.repeat(62))).expect("a name"));
        let doubtful = Doubtful::default();
        assert!(doubtful.in_turn().is_empty());
        for name in [&c, &a, &b] {
            doubtful.add(name);
        }
        assert_eq!(doubtful.in_turn(), [a.clone(), b.clone(), c.clone()]);
        doubtful.tries(&a);
        assert_eq!(doubtful.in_turn(), [b.clone(), c.clone(), a.clone()]);
        doubtful.tries(&b);
        doubtful.settle(&b);
        assert_eq!(doubtful.in_turn(), [c.clone(), a.clone()]);
        doubtful.tries(&c);
        assert_eq!(doubtful.in_turn(), [a, c]);
    }
}
