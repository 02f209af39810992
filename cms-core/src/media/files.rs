//! A file as it is served; and files on the disk of this machine: placed, listed, removed, and
//! opened by their name alone, never through a link.

use std::{
    fmt,
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
    time::UNIX_EPOCH,
};

use bytes::Bytes;
use futures_util::stream::BoxStream;
use rustix::fs::OFlags;
use tempfile::TempPath;
use tokio::task::spawn_blocking;

use super::{
    Media,
    name::{Name, VARIANTS},
};
use crate::{Code, Error, Millis, Result, ground::private};

/// Reads bytes: the first number is the offset, the second the length. If the store goes away
/// meanwhile, the stream ends with an error.
pub type Remote = Box<dyn FnOnce(u64, u64) -> BoxStream<'static, Result<Bytes>> + Send>;

/// The content of a file.
pub enum Content {
    /// An open file, from its start.
    File(File),
    /// An object of a bucket, whose content is read on demand.
    Remote(Remote),
}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File(_) => "File",
            Self::Remote(_) => "Remote",
        })
    }
}

/// An open file.
#[derive(Debug)]
#[non_exhaustive]
pub struct Served {
    /// Its content.
    pub content: Content,
    /// Bytes.
    pub length: u64,
    /// Its type.
    pub media_type: &'static str,
    /// Without quotes. Identifies exactly this content.
    pub etag: String,
    /// When it was stored.
    pub modified: Millis,
    /// The name to save it under, for types that browsers must not show.
    pub save_as: Option<String>,
}

impl Media {
    /// Opens a file, or its variant of a width.
    pub(super) async fn served(&self, name: &Name, width: Option<u32>) -> Result<Served> {
        let place = width.map_or_else(|| name.place(), |width| name.variant(width));
        let found = self.opened(&place).await?;
        Served::new(name, width, found.ok_or_else(missing)?)
    }
}

impl Served {
    pub(super) fn new(name: &Name, width: Option<u32>, opened: Opened) -> Result<Self> {
        let (content, length, modified) = opened;
        let kind = name.kind().ok_or_else(missing)?;
        let of_width = width.map(|width| format!("-{width}")).unwrap_or_default();
        Ok(Self {
            content,
            length,
            media_type: kind.media_type,
            etag: format!("{}{of_width}", name.sha256()),
            modified,
            save_as: (!kind.is_shown).then(|| name.file()),
        })
    }
}

pub(super) fn missing() -> Error {
    Error::new(Code::NotFound, "There is no such file.")
}

/// A file with its length and time.
pub(crate) type Opened = (Content, u64, Millis);

/// Opens a plain file. `None`: there is no file, or it is a link.
pub(crate) fn opened(path: &Path) -> io::Result<Option<Opened>> {
    let no_link = i32::try_from((OFlags::NOFOLLOW | OFlags::NONBLOCK).bits()).unwrap_or_default();
    let file = match OpenOptions::new().read(true).custom_flags(no_link).open(path) {
        Ok(file) => file,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let found = file.metadata()?;
    let since = found.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    let modified = Millis::try_from(since.as_millis()).unwrap_or_default();
    Ok(found.is_file().then(|| (Content::File(file), found.len(), modified)))
}

fn is_absent(error: &io::Error) -> bool {
    let is_link = error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error());
    is_link || matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Removes a file and its variants. Returns whether the file was there.
pub(super) fn remove(media: &Path, name: &Name) -> io::Result<bool> {
    let was_there = gone(&media.join(name.place()))?;
    let variants = media.join(VARIANTS).join(name.folder());
    let start = name.file().replace('.', "-");
    let start = start.rsplit_once('-').map_or("", |(start, _)| start).to_owned() + "-";
    match fs::read_dir(&variants) {
        Ok(files) => {
            for file in files {
                let file = file?;
                if file.file_name().to_string_lossy().starts_with(&start) {
                    gone(&file.path())?;
                }
            }
        }
        Err(error) if is_absent(&error) => {}
        Err(error) => return Err(error),
    }
    Ok(was_there)
}

/// Removes a file. Returns whether there was one.
pub(super) fn gone(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if is_absent(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Moves a file to its place. After a crash the whole file is there, or none.
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
pub(super) fn plain_files(folder: &Path) -> io::Result<Vec<(String, u64)>> {
    let mut found = Vec::new();
    for file in entries(folder)? {
        match file.metadata() {
            Ok(about) if about.is_file() => {
                found.push((file.file_name().to_string_lossy().into_owned(), about.len()));
            }
            Ok(_) => {}
            // The file was removed meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}

/// The entries of a folder; none when the folder does not exist.
pub(super) fn entries(folder: &Path) -> io::Result<Vec<fs::DirEntry>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

pub(super) fn cannot_keep(error: io::Error) -> Error {
    let detail = "The file cannot be kept: the disk may be full.";
    Error::new(Code::Unavailable, detail).caused_by(error)
}

/// Runs file operations on a blocking thread.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T> {
    spawn_blocking(work).await.map_err(Error::internal)?.map_err(cannot_keep)
}
