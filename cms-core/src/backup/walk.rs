//! Reads an archive from beginning to end and trusts nothing in it. Accepts only plain files whose
//! names cannot lead outside, each once and as the manifest says, and requires the end marker.

use std::{
    cell::Cell,
    collections::HashSet,
    fs::File,
    io::{self, BufRead as _, BufReader, Read, Seek as _},
    rc::Rc,
};

use sha2::{Digest as _, Sha256};

use super::{
    OnProgress, Progress,
    archive::PART,
    cipher::{self, Identities},
    manifest::{
        Digest, END, Entry, FIRST, FORMAT, LARGEST, MANIFEST, MOST, Manifest, SEAL, SEALED,
        is_allowed, newer, refused,
    },
};
use crate::{Error, Result, crypto};

/// 8 MiB: larger windows are refused, to limit the memory that a foreign frame can take.
const WINDOW: u32 = 23;
/// Maximum number of zero bytes after the end of a tar.
const TAIL: u64 = 64 << 10;

/// Takes the entries of an archive.
pub(super) trait Taker {
    /// An entry of this size begins.
    fn begin(&mut self, name: &str, size: u64) -> Result<()>;
    /// The next bytes of the entry.
    fn bytes(&mut self, bytes: &[u8]) -> Result<()>;
    /// The entry has ended.
    fn end(&mut self) -> Result<()>;
}

/// The options of reading an archive.
pub(super) struct Walk<'a> {
    /// The name of this step.
    pub(super) step: &'static str,
    pub(super) told: &'a OnProgress,
    /// Limit of bytes, from the free space.
    pub(super) room: u64,
    /// The manifest from an earlier reading; every entry must be the same.
    pub(super) known: Option<&'a Manifest>,
    /// The keys that may open an encrypted archive.
    pub(super) identities: &'a Identities,
}

/// Counts the bytes read from the file.
struct Position<R> {
    inner: R,
    at: Rc<Cell<u64>>,
}

impl<R: Read> Read for Position<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(into)?;
        self.at.set(self.at.get() + read as u64);
        Ok(read)
    }
}

/// Holds back the seal, which comes last, and digests all bytes before it.
struct Unsealed<R> {
    inner: R,
    held: Vec<u8>,
    sha: Sha256,
}

impl<R: Read> Read for Unsealed<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.held.len() <= SEALED {
            let most = (PART + SEALED - self.held.len()) as u64;
            while self.held.len() <= SEALED {
                if (&mut self.inner).take(most).read_to_end(&mut self.held)? == 0 {
                    return Ok(0);
                }
            }
        }
        let read = (self.held.len() - SEALED).min(into.len());
        into[..read].copy_from_slice(&self.held[..read]);
        self.sha.update(&self.held[..read]);
        self.held.drain(..read);
        Ok(read)
    }
}

impl<R> Unsealed<R> {
    /// Checks the seal, after all bytes before it were read.
    fn end(self) -> Result<()> {
        match self.held.strip_prefix(&SEAL) {
            None => Err(cut_off()),
            Some(digest) if *digest == *self.sha.finalize() => Ok(()),
            Some(_) => Err(refused("its bytes are not those that were written")),
        }
    }
}

fn cut_off() -> Error {
    refused("it has no end, as when it was cut off")
}

impl Walk<'_> {
    /// Reads the whole archive.
    ///
    /// # Errors
    /// `validation_failed` for any fault of the archive.
    pub(super) fn read(&self, mut file: &File, taker: &mut impl Taker) -> Result<Manifest> {
        let total = file.metadata().map_err(refused)?.len();
        file.seek(io::SeekFrom::Start(0)).map_err(refused)?;
        let at = Rc::new(Cell::new(0));
        let source = Position { inner: file, at: at.clone() };
        let source = BufReader::with_capacity(PART, source);
        let source = cipher::decrypted(source, self.identities)?;
        let source = Unsealed { inner: source, held: Vec::new(), sha: Sha256::new() };
        let source = BufReader::with_capacity(PART, source);
        let mut zstd = zstd::Decoder::with_buffer(source).map_err(refused)?.single_frame();
        zstd.window_log_max(WINDOW).map_err(refused)?;
        let mut tar = tar::Archive::new(zstd);
        let manifest =
            self.entries(&mut tar, &|| Progress { step: self.step, done: at.get(), total }, taker)?;
        let mut zstd = tar.into_inner();
        nothing_but_zeros(&mut zstd)?;
        let mut source = zstd.finish();
        if !source.fill_buf().map_err(refused)?.is_empty() {
            return Err(refused("something follows its end"));
        }
        source.into_inner().end()?;
        Ok(manifest)
    }

    fn entries(
        &self,
        tar: &mut tar::Archive<impl Read>,
        progress: &dyn Fn() -> Progress,
        taker: &mut impl Taker,
    ) -> Result<Manifest> {
        let (mut found, mut names, mut bytes) = (Vec::<Entry>::new(), HashSet::new(), 0_u64);
        let mut manifest: Option<(Manifest, String)> = None;
        let (mut is_first, mut is_over) = (true, false);
        // Raw, so that extensions of names and lengths appear as entries of other types, which
        // are refused.
        for entry in tar.entries().map_err(refused)?.raw(true) {
            let mut entry = entry.map_err(refused)?;
            let size = entry.header().entry_size().map_err(refused)?;
            let name = plain_name(&entry.header().clone())?;
            if is_over {
                return Err(refused("something follows its end marker"));
            }
            if std::mem::take(&mut is_first) {
                first(&name, size, &mut entry)?;
                continue;
            }
            if let Some((_, digest)) = &manifest {
                let told = small(&mut entry, size, 128)?;
                if name != END || told != format!("{digest}\n").as_bytes() {
                    return Err(refused("its end marker does not fit its manifest"));
                }
                is_over = true;
                continue;
            }
            if name == MANIFEST {
                let text = small(&mut entry, size, LARGEST)?;
                manifest = Some((judged(&text, &found)?, crypto::sha256_hex(&text)));
                continue;
            }
            if !is_allowed(&name) {
                return Err(refused(format!("it has no place for a file {name:?}")));
            }
            if !names.insert(name.clone()) {
                return Err(refused(format!("it holds {name} twice")));
            }
            if found.len() >= MOST {
                return Err(refused(format!("it holds more than {MOST} files")));
            }
            bytes = bytes.saturating_add(size);
            if bytes > self.room {
                return Err(no_room(self.room));
            }
            let at = found.len();
            let known = self.known.map(|known| known.entries.get(at));
            if known.is_some_and(|known| known.is_none_or(|e| e.name != name || e.size != size)) {
                return Err(refused("it was changed meanwhile"));
            }
            let sha256 = self.pass(&mut entry, (&name, size), progress, taker)?;
            if known.flatten().is_some_and(|known| known.sha256 != sha256) {
                return Err(refused("it was changed meanwhile"));
            }
            found.push(Entry { name, size, sha256 });
        }
        match manifest {
            Some((manifest, _)) if is_over => Ok(manifest),
            _ => Err(cut_off()),
        }
    }

    /// Passes on the bytes of an entry. Returns their digest.
    fn pass(
        &self,
        entry: &mut tar::Entry<'_, impl Read>,
        (name, size): (&str, u64),
        progress: &dyn Fn() -> Progress,
        taker: &mut impl Taker,
    ) -> Result<Digest> {
        taker.begin(name, size)?;
        let (mut sha, mut part, mut read) = (Sha256::new(), vec![0; PART], 0_u64);
        loop {
            match entry.read(&mut part).map_err(refused)? {
                0 => break,
                n => {
                    sha.update(&part[..n]);
                    taker.bytes(&part[..n])?;
                    read += n as u64;
                    (self.told)(progress());
                }
            }
        }
        if read != size {
            return Err(refused(format!("{name} is cut off")));
        }
        taker.end()?;
        Ok(Digest(sha.finalize().into()))
    }
}

fn plain_name(header: &tar::Header) -> Result<String> {
    let name = String::from_utf8(header.path_bytes().into_owned())
        .map_err(|_| refused("a name in it is not Unicode"))?;
    match header.entry_type() {
        tar::EntryType::Regular if header.as_ustar().is_some() => Ok(name),
        other => Err(refused(format!("{name:?} is not a plain file ({other:?})"))),
    }
}

fn first(name: &str, size: u64, entry: &mut impl Read) -> Result<()> {
    let text = small(entry, size, 16)?;
    let format = std::str::from_utf8(&text).ok().and_then(|text| text.trim_end().parse().ok());
    match (name, format) {
        (FIRST, Some(1..=FORMAT)) => Ok(()),
        (FIRST, Some(format)) => Err(newer(format!("The archive has the format {format}"))),
        _ => Err(refused("it does not begin as one")),
    }
}

/// All bytes of an entry with a size limit.
fn small(entry: &mut impl Read, size: u64, most: u64) -> Result<Vec<u8>> {
    if size > most {
        return Err(refused("an entry is too large"));
    }
    let mut bytes = Vec::new();
    entry.read_to_end(&mut bytes).map_err(refused)?;
    match bytes.len() as u64 == size {
        true => Ok(bytes),
        false => Err(refused("it is cut off")),
    }
}

fn judged(text: &[u8], found: &[Entry]) -> Result<Manifest> {
    let manifest: Manifest =
        serde_json::from_slice(text).map_err(|error| refused(format!("its manifest: {error}")))?;
    if manifest.entries != found {
        return Err(refused("its files are not those that its manifest names"));
    }
    let known = cms_migrations::ALL.iter().map(|step| step.version).max().unwrap_or_default();
    match manifest.schema > known {
        true => Err(newer(format!(
            "The archive has step {} of the schema, and this cms knows {known}",
            manifest.schema
        ))),
        false => Ok(manifest),
    }
}

fn nothing_but_zeros(rest: &mut impl Read) -> Result<()> {
    let mut bytes = Vec::new();
    rest.take(TAIL + 1).read_to_end(&mut bytes).map_err(refused)?;
    match bytes.len() as u64 <= TAIL && bytes.iter().all(|byte| *byte == 0) {
        true => Ok(()),
        false => Err(refused("something follows its end")),
    }
}

fn no_room(room: u64) -> Error {
    Error::new(
        crate::Code::ValidationFailed,
        format!(
            "There is no room for the content of the archive: {} MiB are free. Nothing was \
             changed.",
            room >> 20
        ),
    )
}
