//! Writes an archive: a tar within one zstd frame, on a thread of its own, with memory that does
//! not grow with the archive.

use std::{
    fs::File,
    io::{self, Read, Write},
};

use bytes::Bytes;
use sha2::{Digest as _, Sha256};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinHandle,
};

use super::{
    OnProgress, Progress,
    manifest::{Digest, END, Entry, FIRST, FORMAT, MANIFEST, MOST, Manifest, SEAL},
};
use crate::{Code, Error, Result, crypto};

/// Pictures and films hardly compress, so a higher level would only cost time.
const LEVEL: i32 = 3;
/// 2 MiB: a reader needs no more memory for the window.
const WINDOW: u32 = 21;
/// Maximum number of parts that wait for the writer, each of at most [`PART`] bytes.
const WAITING: usize = 8;
/// Maximum size of a part in bytes.
pub(super) const PART: usize = 256 << 10;

enum Piece {
    /// An entry whose bytes follow in later pieces.
    Begin {
        name: String,
        size: u64,
    },
    Bytes(Bytes),
    /// An entry whose bytes the writer itself reads from the file.
    File {
        name: String,
        size: u64,
        file: File,
    },
    /// The end of the archive.
    End(Box<Manifest>),
}

/// Has no value, so it is never sent.
pub(super) enum Never {}

/// The sending side of an archive that is being written.
pub(super) struct Archive {
    pieces: mpsc::Sender<Piece>,
    writer: JoinHandle<io::Result<Manifest>>,
}

impl Archive {
    /// Begins an archive. The receiver ends when nothing more is written, even if the archive
    /// is dropped.
    pub(super) fn begin(
        out: Box<dyn Sink>,
        total: u64,
        told: OnProgress,
    ) -> (Self, oneshot::Receiver<Never>) {
        let (pieces, waiting) = mpsc::channel(WAITING);
        let (at_work, ended) = oneshot::channel();
        let work = move || {
            let _at_work = at_work;
            write(out, Waiting { pieces: waiting, rest: Bytes::new() }, total, &told)
        };
        (Self { pieces, writer: tokio::task::spawn_blocking(work) }, ended)
    }

    async fn send(&mut self, piece: Piece) -> Result<()> {
        if self.pieces.send(piece).await.is_ok() {
            return Ok(());
        }
        // The writer has ended and holds the reason.
        match (&mut self.writer).await.map_err(Error::internal)? {
            Ok(_) => Err(Error::internal("the writer ended early")),
            Err(error) => Err(unwritten(error)),
        }
    }

    /// Adds a small file.
    #[cfg(feature = "postgres")]
    pub(super) async fn text(&mut self, name: &str, text: impl Into<Bytes>) -> Result<()> {
        let text = text.into();
        self.open(name, text.len() as u64).await?;
        self.bytes(text).await
    }

    /// Begins an entry; its bytes follow.
    pub(super) async fn open(&mut self, name: &str, size: u64) -> Result<()> {
        self.send(Piece::Begin { name: name.to_owned(), size }).await
    }

    pub(super) async fn bytes(&mut self, mut bytes: Bytes) -> Result<()> {
        while !bytes.is_empty() {
            let part = bytes.split_to(bytes.len().min(PART));
            self.send(Piece::Bytes(part)).await?;
        }
        Ok(())
    }

    /// Adds an open file of this size.
    pub(super) async fn file(&mut self, name: &str, size: u64, file: File) -> Result<()> {
        self.send(Piece::File { name: name.to_owned(), size, file }).await
    }

    /// Writes the manifest and the end marker. The data may still be on its way to the disk.
    pub(super) async fn end(mut self, manifest: Manifest) -> Result<Manifest> {
        self.send(Piece::End(Box::new(manifest))).await?;
        drop(self.pieces);
        self.writer.await.map_err(Error::internal)?.map_err(unwritten)
    }
}

struct Waiting {
    pieces: mpsc::Receiver<Piece>,
    rest: Bytes,
}

/// Reads the bytes of the current entry.
impl Read for Waiting {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.rest.is_empty() {
            match self.pieces.blocking_recv() {
                Some(Piece::Bytes(bytes)) => self.rest = bytes,
                // The entry is shorter than announced; the caller counts the bytes and
                // reports that.
                Some(_) => return Ok(0),
                None => return Err(gone()),
            }
        }
        let read = self.rest.len().min(into.len());
        into[..read].copy_from_slice(&self.rest.split_to(read));
        Ok(read)
    }
}

/// Not `Interrupted`: a copy would retry that forever.
fn gone() -> io::Error {
    io::Error::other("the backup was broken off")
}

/// Passes bytes on while it counts and digests them.
struct Counted<'a, R> {
    inner: R,
    sha: Sha256,
    read: u64,
    so_far: u64,
    total: u64,
    told: &'a OnProgress,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(into)?;
        self.sha.update(&into[..read]);
        self.read += read as u64;
        let done = self.so_far + self.read;
        (self.told)(Progress { step: "backup", done, total: self.total.max(done) });
        Ok(read)
    }
}

/// Digests all bytes written.
struct Sealed<W> {
    out: W,
    sha: Sha256,
}

impl<W: Write> Write for Sealed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.sha.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn write(
    out: Box<dyn Sink>,
    mut waiting: Waiting,
    total: u64,
    told: &OnProgress,
) -> io::Result<Manifest> {
    let out = Sealed { out, sha: Sha256::new() };
    let mut zstd = zstd::Encoder::new(out, LEVEL)?;
    zstd.include_checksum(true)?;
    zstd.window_log(WINDOW)?;
    let mut tar = tar::Builder::new(zstd);
    let (mut entries, mut so_far) = (Vec::new(), 0);
    let first = format!("{FORMAT}\n");
    append(&mut tar, FIRST, first.len() as u64, first.as_bytes())?;
    loop {
        let piece = waiting.pieces.blocking_recv().ok_or_else(gone)?;
        let (name, size, from): (_, _, Box<dyn Read + '_>) = match piece {
            Piece::Begin { name, size } => (name, size, Box::new((&mut waiting).take(size))),
            Piece::File { name, size, file } => (name, size, Box::new(file.take(size))),
            Piece::Bytes(_) => return Err(io::Error::other("bytes without an entry")),
            Piece::End(mut manifest) => {
                manifest.entries = entries;
                let text = serde_json::to_vec(&*manifest)?;
                append(&mut tar, MANIFEST, text.len() as u64, &*text)?;
                let end = format!("{}\n", crypto::sha256_hex(&text));
                append(&mut tar, END, end.len() as u64, end.as_bytes())?;
                let Sealed { mut out, sha } = tar.into_inner()?.finish()?;
                out.write_all(&SEAL)?;
                out.write_all(&sha.finalize())?;
                out.finish()?;
                return Ok(*manifest);
            }
        };
        if entries.len() >= MOST {
            return Err(io::Error::other(format!("an archive holds {MOST} files at most")));
        }
        let mut from = Counted { inner: from, sha: Sha256::new(), read: 0, so_far, total, told };
        append(&mut tar, &name, size, &mut from)?;
        if from.read != size {
            let why = format!("{name} became shorter while it was read: try again");
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, why));
        }
        so_far += size;
        entries.push(Entry { name, size, sha256: Digest(from.sha.finalize().into()) });
    }
}

/// The header of a plain file that only its owner may read; an error for a name that is too long.
pub(super) fn header(name: &str, size: u64) -> io::Result<tar::Header> {
    let mut header = tar::Header::new_ustar();
    header.set_path(name)?;
    header.set_size(size);
    header.set_mode(0o600);
    header.set_entry_type(tar::EntryType::Regular);
    header.set_cksum();
    Ok(header)
}

fn append(
    tar: &mut tar::Builder<impl Write>,
    name: &str,
    size: u64,
    from: impl Read,
) -> io::Result<()> {
    // Reads in larger parts, because the copy within tar has only 8 KiB.
    tar.append(&header(name, size)?, io::BufReader::with_capacity(PART, from))
}

/// Takes the bytes of an archive up to its end.
pub(super) trait Sink: Write + Send {
    /// Ends the archive.
    fn finish(self: Box<Self>) -> io::Result<()>;
}

/// The error for an archive that could not be written.
pub(super) fn unwritten(error: io::Error) -> Error {
    // The error of the object's store says more.
    let error = match error.downcast::<Error>() {
        Ok(error) => return error,
        Err(error) => error,
    };
    let detail = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::FileTooLarge => {
            "The archive cannot be written: the disk is full."
        }
        io::ErrorKind::BrokenPipe => "Nobody reads the archive any more.",
        _ => "The archive cannot be written.",
    };
    Error::new(Code::ValidationFailed, detail).caused_by(error)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    struct Nowhere;

    impl Write for Nowhere {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Sink for Nowhere {
        fn finish(self: Box<Self>) -> io::Result<()> {
            Ok(())
        }
    }

    fn begin() -> (Archive, oneshot::Receiver<Never>) {
        Archive::begin(Box::new(Nowhere), 0, std::sync::Arc::new(|_| {}))
    }

    #[tokio::test]
    async fn the_thread_ends_with_an_archive_that_is_dropped_within_an_entry() {
        let (mut archive, ended) = begin();
        archive.open("media/aa/b.png", 10).await.unwrap();
        archive.bytes(Bytes::from_static(b"half")).await.unwrap();
        drop(archive);
        assert!(tokio::time::timeout(Duration::from_secs(60), ended).await.unwrap().is_err());
    }

    #[tokio::test]
    async fn an_entry_that_ends_early_fails_the_archive() {
        let (mut archive, _ended) = begin();
        archive.open("media/aa/b.png", 10).await.unwrap();
        archive.bytes(Bytes::from_static(b"half")).await.unwrap();
        archive.open("media/aa/c.png", 1).await.unwrap();
        let more = async {
            loop {
                archive.bytes(Bytes::from_static(b"x")).await?;
            }
        };
        let failed: Result<()> = tokio::time::timeout(Duration::from_secs(60), more).await.unwrap();
        let cause = format!("{:?}", failed.unwrap_err());
        assert!(cause.contains("b.png became shorter"), "{cause}");
    }
}
