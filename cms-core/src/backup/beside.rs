//! Files that lie for a while beside the site, and are gone with their handle.

#[cfg(any(feature = "sqlite", feature = "s3"))]
use std::{fs, path::Path};

#[cfg(any(feature = "sqlite", feature = "s3"))]
use crate::Result;
use crate::{Code, Error};

/// An empty file beside the database.
#[cfg(feature = "sqlite")]
pub(super) fn beside(database: &Path) -> Result<tempfile::TempPath> {
    let folder = database.parent().filter(|folder| !folder.as_os_str().is_empty());
    Ok(within(folder.unwrap_or(Path::new(".")))?.into_temp_path())
}

/// An empty file in a folder, for its owner alone; it goes when it is dropped. Those of killed
/// processes go first.
#[cfg(any(feature = "sqlite", feature = "s3"))]
pub(super) fn within(folder: &Path) -> Result<tempfile::NamedTempFile> {
    const STALE: std::time::Duration = std::time::Duration::from_secs(24 * 3600);
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_ours = name.to_string_lossy().starts_with(".backup-");
        let age = entry.metadata().and_then(|about| about.modified()).ok();
        if is_ours && age.and_then(|at| at.elapsed().ok()).is_some_and(|age| age > STALE) {
            let _ = fs::remove_file(entry.path());
        }
    }
    let made = tempfile::Builder::new().prefix(".backup-").suffix(".db").tempfile_in(folder);
    made.map_err(|error| {
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
