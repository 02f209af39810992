//! Where stored files and smaller pictures lie: in the media folder, or in a bucket of an
//! S3-compatible store. Both name a place alike. Uploads under way lie in the folder in either
//! case.

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
use super::{bucket::Bucket, files::kept, variants};
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
    /// The store that the settings name. Nothing is asked of it yet.
    ///
    /// # Errors
    /// `validation_failed` for a bucket that this program cannot use.
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

    /// Whether removals have failed a short time ago.
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

    /// A removal has failed.
    pub(super) fn fail(&self, now: Millis) {
        match self {
            Self::Folder => {
                let _ = now;
            }
            #[cfg(feature = "s3")]
            Self::Bucket(bucket) => bucket.removals.fail(now),
        }
    }

    /// Folders that are listed at the same time.
    pub(super) fn at_once(&self) -> usize {
        if self.is_folder() { 1 } else { 8 }
    }

    /// Opens what lies at a place; None: nothing.
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

/// Stored files without the rest of a site: what a backup reads and brings back.
pub(crate) struct Files {
    store: Store,
    folder: PathBuf,
}

impl Files {
    /// Those that the settings name.
    ///
    /// # Errors
    /// `validation_failed` for a bucket that this program cannot use.
    pub(crate) fn of(settings: &Settings) -> Result<Self> {
        Ok(Self { store: Store::of(settings)?, folder: settings.dirs.media.clone() })
    }

    /// Whether they lie on the disk of this machine.
    pub(crate) fn is_folder(&self) -> bool {
        self.store.is_folder()
    }

    /// Opens a file; None: there is none.
    pub(crate) async fn open(&self, name: &Name) -> Result<Option<Opened>> {
        self.store.opened(&self.folder, &name.place()).await
    }

    /// Adds a file that is whole, unless it is there.
    pub(crate) async fn add(&self, from: TempPath, name: &Name) -> Result<()> {
        match &self.store {
            Store::Folder => {
                let (folder, name) = (self.folder.clone(), name.clone());
                blocking(move || match folder.join(name.place()).exists() {
                    true => Ok(()),
                    false => place(from, &folder, &name),
                })
                .await
            }
            #[cfg(feature = "s3")]
            Store::Bucket(bucket) => match bucket.has(name).await? {
                true => Ok(()),
                false => bucket.put(File::open(&from).map_err(kept)?, name).await,
            },
        }
    }
}

/// What has become of a file that may have no row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// There is a row for it.
    Known,
    /// It was not there.
    Absent,
    /// It was removed.
    Gone,
    /// The store does not let it be removed.
    #[cfg(feature = "s3")]
    Forbidden,
}

/// Asks the bucket of the settings for an answer. None: files lie in a folder.
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

/// A file that was sent to a bucket, ahead of the change that stores it. If it is dropped,
/// [`Media::tidy`] removes the file that no change has stored.
pub(super) struct Staged(Option<(Media, Name)>);

impl Drop for Staged {
    fn drop(&mut self) {
        if let Some((media, name)) = &self.0 {
            media.doubt(name);
        }
    }
}

impl Media {
    /// Brings a file that is whole to a bucket, because no change should wait for that. Until a
    /// change stores it, nobody sees it.
    pub(super) async fn stage(&self, file: File, name: &Name) -> Result<Staged> {
        match &self.0.store {
            Store::Folder => {
                let _ = (file, name);
                Ok(Staged(None))
            }
            #[cfg(feature = "s3")]
            Store::Bucket(_) => {
                let staged = Staged(Some((self.clone(), name.clone())));
                // A task of its own: a caller that stops waiting does not leave parts of an
                // upload behind.
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

    /// Puts a file in its place, inside of the change that stores it.
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
                // A removal that was not answered may still be carried out.
                if let Some(left) = bucket.removals.undecided(name, self.now()) {
                    return Err(again(left.unsigned_abs().div_ceil(1000)));
                }
                match bucket.has(name).await? {
                    true => Ok(()),
                    // Whoever removed equal content since it was staged.
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
        let (media, to) = (self.folder().to_owned(), name.clone());
        blocking(move || match media.join(to.place()).exists() {
            true => Ok(()),
            false => place(from, &media, &to),
        })
        .await
    }

    /// Keeps a variant that was made.
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
                    // After a crash the name must not stand there without the data.
                    made.as_file().sync_all()?;
                    made.persist(media.join(place)).map(drop).map_err(|refused| refused.error)
                };
                blocking(kept).await
            }
            #[cfg(feature = "s3")]
            Store::Bucket(bucket) => {
                let file = made.reopen().map_err(kept)?;
                bucket.send(file, &place, None).await
            }
        }
    }

    /// Opens what lies at a place; None: nothing.
    pub(super) async fn opened(&self, place: &Path) -> Result<Option<Opened>> {
        self.0.store.opened(self.folder(), place).await
    }

    /// Whether the store answers, ahead of a change that removes a file.
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

    /// Removes a stored file and its smaller pictures, under the lock. What is absent from a
    /// bucket is told as gone, because the difference would cost a call.
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

    /// Removes what lies at a place.
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

    /// Uploads in parts that have broken off, and how many of them were given up.
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
