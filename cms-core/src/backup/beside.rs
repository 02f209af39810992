//! Copies of SQLite's database beside it, which are gone with their handle.

#[cfg(feature = "sqlite")]
use std::{fs, path::Path};

#[cfg(feature = "sqlite")]
use crate::Result;
use crate::{Code, Error};

/// An empty file beside the database, for its owner alone; it goes when it is dropped. Those of
/// killed processes go first.
#[cfg(feature = "sqlite")]
pub(super) fn beside(database: &Path) -> Result<tempfile::TempPath> {
    const STALE: std::time::Duration = std::time::Duration::from_secs(24 * 3600);
    let folder = database.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_ours = name.to_string_lossy().starts_with(".backup-");
        let age = entry.metadata().and_then(|about| about.modified()).ok();
        if is_ours && age.and_then(|at| at.elapsed().ok()).is_some_and(|age| age > STALE) {
            let _ = fs::remove_file(entry.path());
        }
    }
    let made = tempfile::Builder::new().prefix(".backup-").suffix(".db").tempfile_in(folder);
    made.map(tempfile::NamedTempFile::into_temp_path).map_err(|error| {
        let what = format!("{} cannot be written.", folder.display());
        Error::new(Code::Unavailable, what).caused_by(error)
    })
}

#[cfg(not(all(feature = "sqlite", feature = "postgres")))]
pub(super) fn missing_engine() -> Error {
    let what = "This build does not include that database: enable the feature `sqlite` or \
                `postgres`.";
    Error::new(Code::Unavailable, what)
}
