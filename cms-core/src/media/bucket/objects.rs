//! Whole objects under names of their own, apart from the stored files. A backup writes and
//! reads them.

use std::{
    fs::File,
    io::{self, Write},
    sync::{Arc, mpsc as std_mpsc},
};

use bytes::{Bytes, BytesMut};
use futures_util::TryStreamExt as _;
use object_store::{ObjectStoreExt as _, aws::AmazonS3, buffered::BufWriter, path::Path as Key};
use tokio::{io::AsyncWriteExt as _, sync::mpsc};

use super::{
    PAUSE, RESPONSE_TIMEOUT, answered,
    link::{self, failed, unreachable, within},
    parts::{PARTS, slowest},
};
use crate::{Error, Result, settings::Settings};

/// Minimum size of a part in bytes.
const PART: u64 = 8 << 20;
/// Bytes that the writer collects before it hands them over.
const PIECE: usize = 256 << 10;
/// Maximum number of pieces that wait to be sent.
const WAITING: usize = 4;
/// Parts sent at the same time.
const AT_ONCE: usize = 2;

/// A bucket of the store that `media.endpoint` names, with the access keys of the media settings.
pub(crate) struct Objects {
    store: AmazonS3,
    bucket: String,
}

impl Objects {
    /// Sends no request to the store yet.
    pub(crate) fn of(settings: &Settings, bucket: &str) -> Result<Self> {
        let mut media = settings.media.clone();
        if media.access_key.is_none() || media.secret_key.is_none() {
            let what = "must be set, with media.secret_key, for a bucket";
            return Err(Error::invalid_field("media.access_key", "required", what));
        }
        media.bucket = Some(bucket.to_owned());
        let address = link::address(&media)?;
        let store = link::store(&media, &address, link::client()?).map_err(|fault| {
            Error::invalid_field("media.bucket", "format", link::reason(&fault))
        })?;
        Ok(Self { store, bucket: bucket.to_owned() })
    }

    /// Whether there is an object.
    pub(crate) async fn has(&self, name: &str) -> Result<bool> {
        Ok(answered(RESPONSE_TIMEOUT, self.store.head(&Key::from(name))).await?.is_some())
    }

    /// Begins an object of about `total` bytes. The object becomes visible when it is complete.
    pub(crate) fn write(&self, name: &str, total: u64) -> ObjectWriter {
        // `total` is an estimate, so parts are a little larger than necessary.
        let part = PART.max((total + total / 4).div_ceil(PARTS));
        let capacity = usize::try_from(part).unwrap_or(usize::MAX);
        let store = Arc::new(self.store.clone());
        let writer = BufWriter::with_capacity(store, Key::from(name), capacity);
        let (pieces, waiting) = mpsc::channel(WAITING);
        let (tell, ended) = std_mpsc::channel();
        let writer = writer.with_max_concurrency(AT_ONCE);
        let mut sending = Sending { writer, part, is_ending: false };
        tokio::spawn(async move {
            let sent = sending.all(waiting).await;
            if !matches!(sent, Ok(true)) {
                sending.give_up().await;
            }
            let _ = tell.send(sent.map(drop));
        });
        ObjectWriter { piece: BytesMut::new(), pieces: Some(pieces), ended: Some(ended) }
    }

    /// Writes an object into a file that may take `room` bytes. Returns false when there is no
    /// such object.
    pub(crate) async fn read(
        &self,
        name: &str,
        into: File,
        room: u64,
        on_read: &(dyn Fn(u64, u64) + Send + Sync),
    ) -> Result<bool> {
        let Some(got) = answered(RESPONSE_TIMEOUT, self.store.get(&Key::from(name))).await? else {
            return Ok(false);
        };
        let (total, mut done) = (got.meta.size, 0);
        if total > room {
            let full = io::Error::from(io::ErrorKind::StorageFull);
            return Err(crate::media::files::cannot_keep(full));
        }
        let mut parts = got.into_stream();
        let mut into = tokio::fs::File::from_std(into);
        while let Some(part) = within(PAUSE, parts.try_next()).await? {
            into.write_all(&part).await.map_err(crate::media::files::cannot_keep)?;
            done += part.len() as u64;
            on_read(done, total);
        }
        into.flush().await.map_err(crate::media::files::cannot_keep)?;
        match done == total {
            true => Ok(true),
            false => Err(unreachable(format!("an object ended after {done} of {total} bytes"))),
        }
    }

    /// The names in a folder, without subfolders.
    pub(crate) async fn list(&self, folder: &str) -> Result<Vec<String>> {
        let listed = link::list(&self.store, &Key::from(folder)).await?;
        Ok(listed.into_iter().map(|(name, _)| name).collect())
    }

    /// Removes an object, if it exists.
    pub(crate) async fn remove(&self, name: &str) -> Result<()> {
        answered(RESPONSE_TIMEOUT, self.store.delete(&Key::from(name))).await.map(drop)
    }
}

impl std::fmt::Display for Objects {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "s3://{}", self.bucket)
    }
}

enum Piece {
    Bytes(Bytes),
    End,
}

/// Sends the pieces of a writer that runs on a thread of its own.
struct Sending {
    writer: BufWriter,
    part: u64,
    /// The upload is completing: on a failure `writer` itself aborts the parts.
    is_ending: bool,
}

impl Sending {
    /// Returns false when the writer was dropped before `finish`.
    async fn all(&mut self, mut waiting: mpsc::Receiver<Piece>) -> Result<bool> {
        let patience = slowest(self.part) * 2;
        while let Some(piece) = waiting.recv().await {
            match piece {
                Piece::Bytes(bytes) => within(patience, self.writer.put(bytes)).await?,
                Piece::End => {
                    self.is_ending = true;
                    let ended = tokio::time::timeout(patience, self.writer.shutdown()).await;
                    return match ended {
                        Ok(ended) => ended.map(|()| true).map_err(|error| not_completed(&error)),
                        Err(_) => {
                            tracing::warn!("parts of an upload may be left: the store keeps them");
                            Err(unreachable(link::late(patience)))
                        }
                    };
                }
            }
        }
        Ok(false)
    }

    /// Aborts the upload: otherwise the store keeps its parts and counts them.
    async fn give_up(&mut self) {
        if self.is_ending {
            return;
        }
        let given_up = tokio::time::timeout(RESPONSE_TIMEOUT, self.writer.abort()).await;
        if let Ok(Err(fault)) = given_up {
            let error = failed(&fault);
            tracing::warn!(?error, "parts of an upload were not removed: the store keeps them");
        }
    }
}

/// The store's error within one of the writer, in the words for any call.
fn not_completed(error: &io::Error) -> Error {
    match error.get_ref().and_then(|inner| inner.downcast_ref()) {
        Some(fault) => failed(fault),
        None => unreachable(error.to_string()),
    }
}

/// An object that a blocking thread writes. If dropped before [`ObjectWriter::finish`], the object
/// does not appear; the drop waits until its parts are removed.
pub(crate) struct ObjectWriter {
    piece: BytesMut,
    pieces: Option<mpsc::Sender<Piece>>,
    ended: Option<std_mpsc::Receiver<Result<()>>>,
}

impl Drop for ObjectWriter {
    fn drop(&mut self) {
        // Without a sender the upload ends.
        self.pieces = None;
        let _ = self.end();
    }
}

impl ObjectWriter {
    fn pass(&mut self, piece: Piece) -> io::Result<()> {
        match &self.pieces {
            Some(pieces) if pieces.blocking_send(piece).is_ok() => Ok(()),
            _ => self.end(),
        }
    }

    /// Waits for the result of the upload.
    fn end(&mut self) -> io::Result<()> {
        let ended = self.ended.take().and_then(|ended| ended.recv().ok());
        match ended {
            Some(ended) => ended.map_err(io::Error::other),
            None => Err(io::Error::other("the upload has ended")),
        }
    }

    /// Completes the object. Returns when it exists in the store.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        let rest = self.piece.split().freeze();
        self.pass(Piece::Bytes(rest))?;
        self.pass(Piece::End)?;
        self.end()
    }
}

impl Write for ObjectWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(PIECE - self.piece.len());
        self.piece.extend_from_slice(&bytes[..taken]);
        if self.piece.len() >= PIECE {
            let piece = self.piece.split().freeze();
            self.pass(Piece::Bytes(piece))?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upload_that_does_not_complete_tells_nothing_of_the_key() {
        let body = "<Error><Code>AccessDenied</Code><AWSAccessKeyId>AKIA1</AWSAccessKeyId>";
        let fault = object_store::Error::Generic { store: "S3", source: body.into() };
        let error = format!("{:?}", not_completed(&fault.into()));
        assert!(error.contains("it answers AccessDenied") && !error.contains("AKIA1"), "{error}");
    }
}
