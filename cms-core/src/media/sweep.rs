//! Files and rows compared: what a crash has left is removed, what was lost is told.

use std::{
    collections::BTreeMap,
    fs, io,
    path::Path,
    time::{Duration, SystemTime},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Media,
    incoming::blocking,
    name::{INCOMING, Name, VARIANTS},
    serve::gone,
    sql,
};
use crate::{Error, Millis, Result};

/// An upload that nothing was written to for so long has broken off.
const ABANDONED: Millis = 3_600_000;
/// Rows without a file that are told at most.
const TOLD: usize = 100;

/// What a comparison has found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Checked {
    /// Files with their rows.
    pub files: u64,
    /// Bytes of these.
    pub bytes: u64,
    /// Files without a row, uploads that broke off, and variants without their file.
    pub orphans: u64,
    /// Of the orphans, those that were removed.
    pub removed: u64,
    /// Rows whose file is missing or has another length.
    pub lost: u64,
    /// The paths of these, 100 at most. Upload the same files again to mend them.
    pub missing: Vec<String>,
}

impl Media {
    /// Compares the folder with the rows, and removes orphans when `remove` says so.
    ///
    /// # Errors
    /// `unavailable` when the folder or the database cannot be read.
    pub async fn check(&self, remove: bool) -> Result<Checked> {
        let mut found = Checked::default();
        for folder in 0..=255 {
            self.check_folder(folder, remove, &mut found).await?;
        }
        let (media, now) = (self.folder().to_owned(), self.0.base.clock().now());
        let (orphans, removed) = blocking(move || leftovers(&media, now, remove)).await?;
        found.orphans += orphans;
        found.removed += removed;
        Ok(found)
    }

    async fn check_folder(&self, folder: u8, remove: bool, found: &mut Checked) -> Result<()> {
        let rows = sql::within(self.0.base.db(), folder).await?;
        let media = self.folder().join(format!("{folder:02x}"));
        let mut files = blocking(move || listed(&media)).await?;
        for (path, size) in rows {
            let length = Name::of_path(&path).and_then(|name| files.remove(&name));
            match length {
                Some(length) if i64::try_from(length) == Ok(size) => {
                    found.files += 1;
                    found.bytes += length;
                }
                // A row that is gone by now lost nothing.
                _ if !self.is_known(&path).await? => {}
                _ => {
                    found.lost += 1;
                    if found.missing.len() < TOLD {
                        found.missing.push(path);
                    }
                }
            }
        }
        for name in files.into_keys() {
            // One that has come since the rows were read has its row by now, or is under way.
            let is_orphan = match remove {
                true => self.remove_unless_known(&name).await?,
                false => !sql::is_known(self.0.base.db(), name.sha256()).await?,
            };
            found.orphans += u64::from(is_orphan);
            found.removed += u64::from(is_orphan && remove);
        }
        Ok(())
    }

    async fn is_known(&self, path: &str) -> Result<bool> {
        let name = Name::of_path(path).ok_or_else(|| Error::internal("a path of no file"))?;
        sql::is_known(self.0.base.db(), name.sha256()).await
    }
}

/// The stored files of a folder with their lengths. What is no stored file is let be.
fn listed(folder: &Path) -> io::Result<BTreeMap<Name, u64>> {
    let of = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut files = BTreeMap::new();
    for file in entries(folder)? {
        let name = Name::read(&of, &file.file_name().to_string_lossy());
        let about = file.metadata()?;
        if let Some(name) = name.filter(|_| about.is_file()) {
            files.insert(name, about.len());
        }
    }
    Ok(files)
}

/// Uploads that broke off, and variants whose file is gone.
fn leftovers(media: &Path, now: Millis, remove: bool) -> io::Result<(u64, u64)> {
    let (mut orphans, mut removed) = (0, 0);
    let mut orphan = |path: &Path| -> io::Result<()> {
        orphans += 1;
        removed += u64::from(remove && gone(path)?);
        Ok(())
    };
    let now = SystemTime::UNIX_EPOCH + Duration::from_millis(now.unsigned_abs());
    for file in entries(&media.join(INCOMING))? {
        let age = file.metadata().and_then(|about| about.modified());
        let age = age.map(|at| now.duration_since(at).unwrap_or_default()).unwrap_or_default();
        if age >= Duration::from_millis(ABANDONED.unsigned_abs()) {
            orphan(&file.path())?;
        }
    }
    for folder in entries(&media.join(VARIANTS))? {
        let of = folder.file_name().to_string_lossy().into_owned();
        for file in entries(&folder.path())? {
            let given = file.file_name().to_string_lossy().into_owned();
            let original = given.split_once('-').and_then(|(rest, of_width)| {
                let (_, extension) = of_width.split_once('.')?;
                Name::read(&of, &format!("{rest}.{extension}"))
            });
            let is_there = original.is_none_or(|name| media.join(name.place()).exists());
            if !is_there {
                orphan(&file.path())?;
            }
        }
    }
    Ok((orphans, removed))
}

/// What lies in a folder; nothing when there is none.
fn entries(folder: &Path) -> io::Result<Vec<fs::DirEntry>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}
