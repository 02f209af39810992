//! The destination of an archive: a file that gets its name only when it is complete, an
//! object of a bucket, or a stream; encrypted if recipients are given. Also fetches an archive
//! from a bucket.

use std::{
    fmt,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use rustix::fs::OFlags;

use super::{
    OnProgress,
    archive::{Sink, unwritten},
    cipher::{self, Recipients},
    conflict,
    place::with_end,
};
#[cfg(feature = "s3")]
use super::{Progress, judge::room};
use crate::{
    Code, Error, Result,
    settings::{Database, Settings, is_bucket, is_key_path},
};
#[cfg(feature = "s3")]
use crate::{
    ground::private,
    media::{ObjectWriter, Objects},
};

/// The suffix of a file until it is complete.
pub(super) const PARTIAL: &str = ".partial";

/// The destination of an archive.
#[non_exhaustive]
pub enum To {
    /// A file: written under another name, then renamed.
    File(PathBuf),
    /// An object of a bucket: it appears only when it is complete.
    Object(Object),
    /// A stream.
    Stream(Box<dyn Write + Send>),
}

impl To {
    /// Fails for a file of the site itself, and for a file in a folder that is saved. Such a
    /// backup would replace what it saves, or contain itself.
    ///
    /// # Errors
    /// `validation_failed` for such a file.
    pub fn expect_outside(&self, settings: &Settings) -> Result<()> {
        let Self::File(path) = self else { return Ok(()) };
        let place = in_true_folder(path);
        let refused = |what: String| Err(Error::new(Code::ValidationFailed, what));
        let mut own = Vec::new();
        if let Ok(Database::Sqlite { path, .. }) = settings.database() {
            // SQLite's log lies beside the file itself, not beside a link to it.
            for file in [fs::canonicalize(&path).unwrap_or_else(|_| path.clone()), path] {
                own.extend(["-wal", "-shm", "-journal"].map(|end| with_end(&file, end)));
                own.push(file);
            }
        }
        if let Some(folder) = &settings.folder {
            own.extend(["cms.toml", "cms.local.toml"].map(|name| folder.join(name)));
        }
        if own.iter().any(|file| in_true_folder(file) == place) {
            let path = path.display();
            return refused(format!("{path} is a file of the site itself: name another file."));
        }
        for folder in [&settings.dirs.plugins, &settings.dirs.media] {
            if fs::canonicalize(folder).is_ok_and(|folder| place.starts_with(folder)) {
                let (path, folder) = (path.display(), folder.display());
                return refused(format!(
                    "{path} is in {folder}, which is part of the backup: name a file outside it."
                ));
            }
        }
        Ok(())
    }
}

/// The path with a folder without links and dots. A path whose folder does not exist is unchanged.
fn in_true_folder(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = fs::canonicalize(folder.unwrap_or(Path::new(".")));
    match (folder, path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

/// The opened destination of an archive, before anything is written.
pub(super) struct Out {
    pub(super) sink: Box<dyn Sink>,
    pub(super) part: Option<Part>,
    bytes: Arc<AtomicU64>,
}

impl Out {
    /// Opens the destination. `total`: the estimated number of bytes.
    ///
    /// # Errors
    /// `validation_failed` for a place that cannot be written to or is part of the site,
    /// `conflict` while another backup writes there.
    pub(super) fn begin(
        to: To,
        settings: &Settings,
        total: u64,
        recipients: &Recipients,
    ) -> Result<Self> {
        to.expect_outside(settings)?;
        let (end, part) = match to {
            To::File(path) => {
                let part = Part::begin(path)?;
                (End::File(part.file.try_clone().map_err(unwritten)?), Some(part))
            }
            To::Stream(stream) => (End::Stream(stream), None),
            #[cfg(feature = "s3")]
            To::Object(Object { bucket, name }) => {
                (End::Object(Objects::of(settings, &bucket)?.write(&name, total)), None)
            }
            #[cfg(not(feature = "s3"))]
            To::Object(_) => {
                let _ = (settings, total);
                return Err(without_s3());
            }
        };
        let bytes = Arc::default();
        let counted = Counted { end, bytes: Arc::clone(&bytes) };
        Ok(Self { sink: cipher::encrypted(counted, recipients)?, part, bytes })
    }

    /// The number of bytes that reached the destination.
    pub(super) fn bytes(&self) -> Arc<AtomicU64> {
        self.bytes.clone()
    }
}

/// Where the bytes of an archive are written.
enum End {
    File(File),
    Stream(Box<dyn Write + Send>),
    #[cfg(feature = "s3")]
    Object(ObjectWriter),
}

struct Counted {
    end: End,
    bytes: Arc<AtomicU64>,
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match &mut self.end {
            End::File(file) => file.write(bytes),
            End::Stream(stream) => stream.write(bytes),
            #[cfg(feature = "s3")]
            End::Object(object) => object.write(bytes),
        }?;
        self.bytes.fetch_add(written as u64, Ordering::Relaxed);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.end {
            End::File(file) => file.flush(),
            End::Stream(stream) => stream.flush(),
            #[cfg(feature = "s3")]
            End::Object(_) => Ok(()),
        }
    }
}

impl Sink for Counted {
    fn finish(mut self: Box<Self>) -> io::Result<()> {
        self.flush()?;
        match self.end {
            #[cfg(feature = "s3")]
            End::Object(object) => object.finish(),
            _ => Ok(()),
        }
    }
}

/// A file that gets its name only when it is complete. If dropped before, the file is removed.
pub(super) struct Part {
    path: PathBuf,
    part: PathBuf,
    file: File,
    is_done: bool,
}

impl Part {
    fn begin(path: PathBuf) -> Result<Self> {
        use std::os::unix::fs::OpenOptionsExt as _;
        // Refuses a device, which the rename would replace.
        if fs::symlink_metadata(&path).is_ok_and(|about| !about.is_file()) {
            let what = format!("{} exists and is not a plain file.", path.display());
            return Err(Error::new(Code::ValidationFailed, what));
        }
        let part = with_end(&path, PARTIAL);
        let no_link = i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or_default();
        let mut options = File::options();
        options.write(true).create(true).truncate(false).mode(0o600).custom_flags(no_link);
        let named = |error: io::Error| {
            let what = format!("{} cannot be written.", part.display());
            Error::new(Code::ValidationFailed, what).caused_by(error)
        };
        let file = options.open(&part).map_err(named)?;
        if let Err(fs::TryLockError::WouldBlock) = file.try_lock() {
            let what = format!("Another backup writes {}: wait for it.", path.display());
            return Err(conflict(what));
        }
        // Removes the content that a killed backup may have left.
        file.set_len(0).map_err(named)?;
        Ok(Self { path, part, file, is_done: false })
    }

    /// Its path until it gets its name.
    pub(super) fn place(&self) -> &Path {
        &self.part
    }

    /// Gives the file its name, once its data is on disk.
    pub(super) fn end(mut self) -> Result<PathBuf> {
        self.file.sync_all().map_err(unwritten)?;
        fs::rename(&self.part, &self.path).map_err(unwritten)?;
        self.is_done = true;
        super::journal::sync_folder_of(&self.path).map_err(unwritten)?;
        Ok(self.path.clone())
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.is_done {
            let _ = fs::remove_file(&self.part);
        }
    }
}

/// The prefix of an object's address.
const SCHEME: &str = "s3://";

/// An object in the store of `media.endpoint`, with the access keys of the media settings:
/// `s3://BUCKET/NAME`. The bucket may be another than that of the media.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    pub(super) bucket: String,
    pub(super) name: String,
}

impl Object {
    /// Parses an address. `None`: it does not name an object.
    ///
    /// # Errors
    /// `validation_failed` for an address that begins like an object's but is invalid.
    pub fn parse(address: &str) -> Result<Option<Self>> {
        let Some(rest) = address.strip_prefix(SCHEME) else { return Ok(None) };
        match rest.split_once('/') {
            Some((bucket, name)) if is_bucket(bucket) && is_key_path(name) => {
                Ok(Some(Self { bucket: bucket.to_owned(), name: name.to_owned() }))
            }
            _ => {
                let what = format!(
                    "{address} names no object: write s3://BUCKET/NAME, with letters, digits, -, \
                     _, dots and / in the name."
                );
                Err(Error::new(Code::ValidationFailed, what))
            }
        }
    }

    /// Whether the object exists.
    ///
    /// # Errors
    /// `unavailable` when the store does not answer that.
    pub async fn exists(&self, settings: &Settings) -> Result<bool> {
        #[cfg(feature = "s3")]
        return Objects::of(settings, &self.bucket)?.has(&self.name).await;
        #[cfg(not(feature = "s3"))]
        {
            let _ = settings;
            Err(without_s3())
        }
    }

    /// Removes the object, if it exists.
    pub(super) async fn remove(&self, settings: &Settings) -> Result<()> {
        #[cfg(feature = "s3")]
        return Objects::of(settings, &self.bucket)?.remove(&self.name).await;
        #[cfg(not(feature = "s3"))]
        {
            let _ = settings;
            Err(without_s3())
        }
    }

    /// Fetches the object into the data folder of this machine, because an archive is read twice.
    ///
    /// # Errors
    /// `not_found` when it does not exist, `unavailable` when the store does not answer,
    /// `validation_failed` when there is no space for it.
    pub async fn fetch(
        &self,
        settings: &Settings,
        told: &OnProgress,
    ) -> Result<tempfile::TempPath> {
        #[cfg(feature = "s3")]
        {
            let folder = settings.dirs.data.clone();
            let made = move || {
                private::create_folder(&folder).map_err(Error::internal)?;
                super::source::within(&folder)
            };
            let made = tokio::task::spawn_blocking(made).await.map_err(Error::internal)??;
            let (file, path) = made.into_parts();
            let (objects, room) = (Objects::of(settings, &self.bucket)?, room(settings));
            let on_read = |done, total| told(Progress { step: "fetch", done, total });
            match objects.read(&self.name, file, room, &on_read).await? {
                true => Ok(path),
                false => Err(Error::new(Code::NotFound, format!("There is no object {self}."))),
            }
        }
        #[cfg(not(feature = "s3"))]
        {
            let _ = (settings, told);
            Err(without_s3())
        }
    }
}

impl fmt::Display for Object {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{SCHEME}{}/{}", self.bucket, self.name)
    }
}

#[cfg(not(feature = "s3"))]
pub(super) fn without_s3() -> Error {
    let what = "A backup in a bucket needs a program that was built with the feature s3.";
    Error::new(Code::ValidationFailed, what)
}
