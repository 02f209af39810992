//! Where stored files and smaller pictures lie: in the media folder, or in a bucket of an
//! S3-compatible store. Both use the same places. Uploads under way always lie in the folder.

use std::{
    fs::File,
    io,
    path::{Path, PathBuf},
};

use tempfile::{NamedTempFile, TempPath};

use super::{
    Media,
    files::{self, Opened, blocking, place, plain_files},
    name::{Name, VARIANTS},
};
#[cfg(feature = "s3")]
use super::{bucket::Bucket, files::cannot_keep, variants};
use crate::{Millis, Result, ground::private, settings::Settings};

/// The place of stored files.
pub(super) enum Store {
    /// The media folder.
    Folder,
    /// A bucket.
    #[cfg(feature = "s3")]
    Bucket(Box<Bucket>),
}

impl Store {
    /// The store that the settings name. Sends no request yet.
    pub(super) fn of(settings: &Settings) -> Result<Self> {
        if settings.media.bucket.is_none() {
            return Ok(Self::Folder);
        }
        #[cfg(feature = "s3")]
        return Bucket::new(&settings.media).map(|bucket| Self::Bucket(Box::new(bucket)));
        #[cfg(not(feature = "s3"))]
        Err(crate::Error::invalid_field(
            "media.bucket",
            "unknown",
            "needs a program that was built with the feature s3: see docs/media.md",
        ))
    }

    /// Whether stored files lie on the disk of this machine.
    pub(super) fn is_folder(&self) -> bool {
        matches!(self, Self::Folder)
    }

    /// Whether removals failed recently.
    pub(super) fn is_away(&self, now: Millis) -> bool {
        match self {
            Self::Folder => {
                let _ = now;
                false
            }
            #[cfg(feature = "s3")]
            Self::Bucket(bucket) => bucket.removals.is_away(now),
        }
    }

    /// Notes that a removal failed.
    pub(super) fn fail(&self, now: Millis) {
        match self {
            Self::Folder => {
                let _ = now;
            }
            #[cfg(feature = "s3")]
            Self::Bucket(bucket) => bucket.removals.fail(now),
        }
    }

    /// Number of folders listed at the same time.
    pub(super) fn at_once(&self) -> usize {
        if self.is_folder() { 1 } else { 8 }
    }

    /// Opens the file at a place; `None`: there is none.
    async fn opened(&self, folder: &Path, place: &Path) -> Result<Option<Opened>> {
        match self {
            Self::Folder => {
                let path = folder.join(place);
                blocking(move || files::opened(&path)).await
            }
            #[cfg(feature = "s3")]
            Self::Bucket(bucket) => {
                let _ = folder;
                bucket.open(place).await
            }
        }
    }

    /// Whether the store answers. A folder always does.
    pub(super) async fn reach(&self) -> Result<()> {
        match self {
            Self::Folder => Ok(()),
            #[cfg(feature = "s3")]
            Self::Bucket(bucket) => bucket.reach().await,
        }
    }
}

/// The stored files without the rest of a site, which a backup reads and restores.
pub(crate) struct Files {
    store: Store,
    folder: PathBuf,
}

impl Files {
    /// The files of the store that the settings name.
    pub(crate) fn of(settings: &Settings) -> Result<Self> {
        Ok(Self { store: Store::of(settings)?, folder: settings.dirs.media.clone() })
    }

    /// Whether the files lie on the disk of this machine.
    pub(crate) fn is_folder(&self) -> bool {
        self.store.is_folder()
    }

    /// Opens a file; `None`: there is none.
    pub(crate) async fn open(&self, name: &Name) -> Result<Option<Opened>> {
        self.store.opened(&self.folder, &name.place()).await
    }

    /// Adds a complete file, unless it is already there.
    pub(crate) async fn add(&self, from: TempPath, name: &Name) -> Result<()> {
        match &self.store {
            Store::Folder => place_unless_there(from, &self.folder, name).await,
            #[cfg(feature = "s3")]
            Store::Bucket(bucket) => match bucket.has(name).await? {
                true => Ok(()),
                false => bucket.put(File::open(&from).map_err(cannot_keep)?, name).await,
            },
        }
    }
}

/// Puts a file in its place in a folder, unless one is there.
async fn place_unless_there(from: TempPath, folder: &Path, name: &Name) -> Result<()> {
    let (folder, name) = (folder.to_owned(), name.clone());
    blocking(move || match folder.join(name.place()).exists() {
        true => Ok(()),
        false => place(from, &folder, &name),
    })
    .await
}

/// The outcome of removing a file that may have no row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// The file has a row and was kept.
    Known,
    /// The file did not exist.
    Absent,
    /// The file was removed.
    Gone,
    /// The store forbids the removal.
    #[cfg(feature = "s3")]
    Forbidden,
}

/// Checks that the bucket of the settings answers. `None`: files lie in a folder.
///
/// # Errors
/// `unavailable` with what is wrong, `validation_failed` for a bucket that this program cannot use.
pub async fn reach_bucket(settings: &Settings) -> Result<Option<()>> {
    match Store::of(settings)? {
        Store::Folder => Ok(None),
        #[cfg(feature = "s3")]
        Store::Bucket(bucket) => bucket.reach().await.map(Some),
    }
}

/// A file sent to a bucket before the change that stores it. When dropped, it marks the file for
/// [`Media::tidy`], which removes the file if no change has stored it.
pub(super) struct Staged(Option<(Media, Name)>);

impl Drop for Staged {
    fn drop(&mut self) {
        if let Some((media, name)) = &self.0 {
            media.doubt(name);
        }
    }
}

impl Media {
    /// Sends a complete file to a bucket, outside of any change, so that no change waits for the
    /// upload. The file stays invisible until a change stores it.
    pub(super) async fn stage(&self, file: File, name: &Name) -> Result<Staged> {
        match &self.0.store {
            Store::Folder => {
                let _ = (file, name);
                Ok(Staged(None))
            }
            #[cfg(feature = "s3")]
            Store::Bucket(_) => {
                let staged = Staged(Some((self.clone(), name.clone())));
                // Runs in a task of its own: a caller that stops waiting does not leave parts of
                // an upload behind.
                let sent = tokio::spawn(async move {
                    if let Some((media, name)) = &staged.0
                        && let Store::Bucket(bucket) = &media.0.store
                    {
                        bucket.put(file, name).await?;
                    }
                    Ok(staged)
                });
                sent.await.map_err(crate::Error::internal)?
            }
        }
    }

    /// Puts a file in its place, within the change that stores it.
    pub(super) async fn place(&self, from: TempPath, name: &Name) -> Result<()> {
        match &self.0.store {
            Store::Folder => {
                let (media, name) = (self.folder().to_owned(), name.clone());
                blocking(move || place(from, &media, &name)).await
            }
            #[cfg(feature = "s3")]
            Store::Bucket(bucket) => {
                let again = |seconds| {
                    let detail = "The same file was removed at this moment: send it again.";
                    crate::Error::new(crate::Code::Unavailable, detail).retry_after(seconds)
                };
                // The store may still carry out a removal that it did not answer.
                if let Some(left) = bucket.removals.undecided(name, self.now()) {
                    return Err(again(left.unsigned_abs().div_ceil(1000)));
                }
                match bucket.has(name).await? {
                    true => Ok(()),
                    // Equal content was removed since this file was staged.
                    false => Err(again(1)),
                }
            }
        }
    }

    /// As [`Media::place`], unless the file is there.
    pub(super) async fn place_unless_there(&self, from: TempPath, name: &Name) -> Result<()> {
        if !self.0.store.is_folder() {
            return self.place(from, name).await;
        }
        place_unless_there(from, self.folder(), name).await
    }

    /// Stores a variant that was made.
    pub(super) async fn keep_variant(
        &self,
        made: NamedTempFile,
        name: &Name,
        width: u32,
    ) -> Result<()> {
        let place = name.variant(width);
        match &self.0.store {
            Store::Folder => {
                let (media, folder) = (self.folder().to_owned(), name.folder().to_owned());
                let kept = move || -> io::Result<()> {
                    private::create_folder(&media.join(VARIANTS).join(folder))?;
                    // After a crash the name must not exist without the data.
                    made.as_file().sync_all()?;
                    made.persist(media.join(place)).map(drop).map_err(|refused| refused.error)
                };
                blocking(kept).await
            }
            #[cfg(feature = "s3")]
            Store::Bucket(bucket) => {
                let file = made.reopen().map_err(cannot_keep)?;
                bucket.send(file, &place, None).await
            }
        }
    }

    /// Opens the file at a place; `None`: there is none.
    pub(super) async fn opened(&self, place: &Path) -> Result<Option<Opened>> {
        self.0.store.opened(self.folder(), place).await
    }

    /// Checks that the store answers. Called before a change that removes a file.
    pub(super) async fn answers(&self, name: &Name) -> Result<()> {
        match &self.0.store {
            Store::Folder => {
                let _ = name;
                Ok(())
            }
            #[cfg(feature = "s3")]
            Store::Bucket(bucket) => bucket.answers(name).await,
        }
    }

    /// Removes a stored file and its smaller pictures, under the lock. In a bucket, a missing file
    /// counts as removed, because a check would cost a call.
    pub(super) async fn remove(&self, name: &Name) -> Result<Fate> {
        match &self.0.store {
            Store::Folder => {
                let (media, name) = (self.folder().to_owned(), name.clone());
                let was_there = blocking(move || files::remove(&media, &name)).await?;
                Ok(if was_there { Fate::Gone } else { Fate::Absent })
            }
            #[cfg(feature = "s3")]
            Store::Bucket(bucket) => {
                let mut places = vec![name.place()];
                if variants::format(name).is_some() {
                    places.extend(variants::WIDTHS.map(|width| name.variant(width)));
                }
                let removed = bucket.remove(&places).await;
                if removed.is_err() {
                    bucket.removals.doubt(name, self.now());
                }
                Ok(if removed? { Fate::Gone } else { Fate::Forbidden })
            }
        }
    }

    /// Removes the file at a place.
    pub(super) async fn remove_at(&self, place: PathBuf) -> Result<bool> {
        match &self.0.store {
            Store::Folder => {
                let path = self.folder().join(place);
                blocking(move || files::gone(&path)).await
            }
            #[cfg(feature = "s3")]
            Store::Bucket(bucket) => bucket.remove(&[place]).await,
        }
    }

    /// Returns the number of abandoned uploads in parts, and how many of them were aborted.
    pub(super) async fn left_parts(&self, remove: bool) -> Result<(u64, u64)> {
        match &self.0.store {
            Store::Folder => {
                let _ = remove;
                Ok((0, 0))
            }
            #[cfg(feature = "s3")]
            Store::Bucket(bucket) => bucket.left(self.now(), remove).await,
        }
    }

    /// The names in a folder of the store, with their lengths.
    pub(super) async fn listed(&self, folder: PathBuf) -> Result<Vec<(String, u64)>> {
        match &self.0.store {
            Store::Folder => {
                let folder = self.folder().join(folder);
                blocking(move || plain_files(&folder)).await
            }
            #[cfg(feature = "s3")]
            Store::Bucket(bucket) => bucket.list(&folder).await,
        }
    }
}
