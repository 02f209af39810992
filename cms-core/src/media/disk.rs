//! Files on the disk of this machine: put in their place, listed, on a thread that may wait.

use std::{fs, io, path::Path};

use tempfile::TempPath;
use tokio::task::spawn_blocking;

use super::name::Name;
use crate::{Code, Error, Result, ground::private};

/// Puts a file in its place: after a crash it is there whole, or not at all.
pub(super) fn place(from: TempPath, folder: &Path, name: &Name) -> io::Result<()> {
    let to = folder.join(name.place());
    let above = folder.join(name.folder());
    let is_new = !above.is_dir();
    private::create_folder(&above)?;
    from.persist(&to).map_err(|refused| refused.error)?;
    fs::File::open(&above)?.sync_all()?;
    if is_new {
        fs::File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// The plain files in a folder of this machine.
pub(super) fn files(folder: &Path) -> io::Result<Vec<(String, u64)>> {
    let mut found = Vec::new();
    for file in entries(folder)? {
        match file.metadata() {
            Ok(about) if about.is_file() => {
                found.push((file.file_name().to_string_lossy().into_owned(), about.len()));
            }
            Ok(_) => {}
            // Removed meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// What lies in a folder; nothing when there is none.
pub(super) fn entries(folder: &Path) -> io::Result<Vec<fs::DirEntry>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

pub(super) fn kept(error: io::Error) -> Error {
    let detail = "The file cannot be kept: the disk may be full.";
    Error::new(Code::Unavailable, detail).caused_by(error)
}

/// Works with files on a thread that may wait.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T> {
    spawn_blocking(work).await.map_err(Error::internal)?.map_err(kept)
}
