//! An upload: written and hashed part by part, judged when it is complete.

use data_encoding::HEXLOWER;
use futures_util::TryStreamExt as _;
use sha2::{Digest as _, Sha256};
use tempfile::TempPath;
use tokio::{fs::File, io::AsyncWriteExt as _};

use super::{
    Media,
    files::{Content, blocking, cannot_keep, missing},
    kinds::{self, Kind},
    name::{INCOMING, Name},
    shape::{self, Fault, Size},
    store::Staged,
};
use crate::{
    Code, Error, Result,
    ground::{plain, private},
};

/// Maximum length of a file's name, in characters.
const NAME: usize = 200;

/// A file that is still arriving. Dropping it removes the parts that came.
pub struct Incoming {
    file: File,
    place: TempPath,
    hash: Sha256,
    size: u64,
    most: u64,
    head: Vec<u8>,
}

/// A complete file that is safe on the disk and may be stored. Dropping it removes it.
pub struct Ready {
    pub(super) place: TempPath,
    pub(super) staged: Staged,
    pub(super) name: Name,
    pub(super) kind: &'static Kind,
    /// The name that its sender gave.
    pub(super) given: String,
    pub(super) size: u64,
    pub(super) pixels: Option<Size>,
}

impl std::fmt::Debug for Incoming {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Incoming").field("size", &self.size).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Ready {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ready").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Media {
    /// Begins a file.
    ///
    /// # Errors
    /// `unavailable` when the media folder cannot be written.
    pub async fn incoming(&self) -> Result<Incoming> {
        let folder = self.folder().join(INCOMING);
        let (file, place) = blocking(move || {
            private::create_folder(&folder)?;
            Ok(tempfile::NamedTempFile::new_in(&folder)?.into_parts())
        })
        .await?;
        let most = self.0.base.settings().media.max_bytes;
        let (hash, head) = (Sha256::new(), Vec::with_capacity(kinds::HEAD));
        Ok(Incoming { file: File::from_std(file), place, hash, size: 0, most, head })
    }

    /// Judges a complete file. `given` is the name that its sender gave; the name says nothing
    /// about the type.
    ///
    /// # Errors
    /// `validation_failed` for an empty file, a type that is not accepted, a broken picture or
    /// one with too many pixels; `unavailable` when the disk is full, or the store of files does
    /// not answer.
    pub async fn judge(&self, incoming: Incoming, given: &str) -> Result<Ready> {
        let Incoming { mut file, place, hash, size, head, .. } = incoming;
        let refused = |code, message: String| Error::invalid_field("file", code, message);
        if size == 0 {
            return Err(refused("empty", "a file with content is expected".to_owned()));
        }
        let (media_type, settings) = (kinds::media_type(&head), &self.0.base.settings().media);
        let kind = kinds::of_type(media_type);
        let Some(kind) = kind.filter(|kind| kinds::is_taken(kind, &settings.types)) else {
            let message = format!("is {media_type} by its bytes, which media.types does not take");
            return Err(refused("media_type", message));
        };
        file.flush().await.map_err(cannot_keep)?;
        let mut file = file.into_std().await;
        let judged = blocking(move || {
            let judged = shape::size(media_type, &mut file, size)?;
            file.sync_all()?;
            Ok((judged, file))
        });
        let (judged, file) = judged.await?;
        let pixels = judged.map_err(|fault| {
            let message = match fault {
                Fault::Broken => "is cut off or damaged: send the whole file",
                Fault::Longer => "goes on after the end of the picture: save it as a picture again",
            };
            refused("broken", format!("{media_type} {message}"))
        })?;
        let count = pixels.map_or(0, |(width, height)| u64::from(width) * u64::from(height));
        if count > settings.max_pixels {
            let message = format!(
                "has {count} pixels, more than the {} of media.max_pixels: send a smaller picture",
                settings.max_pixels
            );
            return Err(refused("pixels", message));
        }
        let name = Name::new(HEXLOWER.encode(&hash.finalize()), kind);
        let staged = self.stage(file, &name).await?;
        Ok(Ready { place, staged, name, kind, given: cleaned(given), size, pixels })
    }

    /// Fetches a stored file from a bucket. Compares the content with the file's name, as
    /// on upload.
    ///
    /// # Errors
    /// `not_found`; `unavailable` when the store does not answer, or the disk is full;
    /// `internal_error` when the content does not match the name.
    pub(super) async fn fetch(&self, name: &Name) -> Result<TempPath> {
        let (content, length, _) = self.opened(&name.place()).await?.ok_or_else(missing)?;
        let Content::Remote(read) = content else { return Err(missing()) };
        let mut incoming = Incoming { most: length, ..self.incoming().await? };
        let mut parts = read(0, length);
        while let Some(part) = parts.try_next().await? {
            incoming.write(&part).await?;
        }
        let Incoming { mut file, place, hash, .. } = incoming;
        file.flush().await.map_err(cannot_keep)?;
        match HEXLOWER.encode(&hash.finalize()) == name.sha256() {
            true => Ok(place),
            false => Err(Error::internal("a file in the bucket is not what its name says")),
        }
    }
}

impl Incoming {
    /// Adds a part.
    ///
    /// # Errors
    /// `payload_too_large` beyond `media.max_bytes`; `unavailable` when the disk is full.
    pub async fn write(&mut self, part: &[u8]) -> Result<()> {
        self.size += part.len() as u64;
        if self.size > self.most {
            let detail = format!("A file has at most {} bytes (media.max_bytes).", self.most);
            return Err(Error::new(Code::PayloadTooLarge, detail));
        }
        let room = kinds::HEAD.saturating_sub(self.head.len()).min(part.len());
        self.head.extend_from_slice(&part[..room]);
        self.hash.update(part);
        self.file.write_all(part).await.map_err(cannot_keep)
    }
}

/// A name that can be shown, without the folders that some senders put before it.
fn cleaned(given: &str) -> String {
    let last = given.rsplit(['/', '\\']).next().unwrap_or_default();
    let shown: String = last.chars().filter(|c| !plain::is_hidden(*c)).take(NAME).collect();
    let shown = shown.trim();
    if shown.is_empty() { "file".to_owned() } else { shown.to_owned() }
}

#[cfg(test)]
mod tests {
    #[test]
    fn names_lose_what_no_name_has() {
        for (given, expected) in [
            ("a.png", "a.png"),
            ("C:\\photos\\a b.png", "a b.png"),
            ("../../etc/passwd", "passwd"),
            ("a\u{202e}gnp.exe", "agnp.exe"),
            ("a\0\r\nb", "ab"),
            ("/", "file"),
            ("", "file"),
            ("ü.jpg", "ü.jpg"),
        ] {
            assert_eq!(super::cleaned(given), expected, "{given:?}");
        }
        assert_eq!(super::cleaned(&"x".repeat(999)).len(), 200);
    }
}
