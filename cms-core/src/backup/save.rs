//! Writes a backup: the database as it was at one moment, the media that it names, plugins and
//! settings. Nobody waits for it.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use futures_util::StreamExt as _;
use rustix::fs::OFlags;

use super::{
    Told,
    archive::{Archive, header, unwritten},
    conflict, invalid,
    last::{self, Last},
    manifest::{Engine, FORMAT, Manifest, key_of},
};
use crate::{
    Clock, Code, Error, Result,
    db::{args, migrate, save::Reader},
    media::{self, Content, Files, Name, opened},
    rfc3339,
    settings::{Database, Settings},
};

/// Warnings that are told at most.
const TOLD: usize = 1000;
/// Folders within each other at most.
const DEEPEST: usize = 32;

/// Where an archive is written.
pub enum To {
    /// A file: written beside, then renamed.
    File(PathBuf),
    /// A stream.
    Stream(Box<dyn Write + Send>),
}

/// What goes into a backup.
#[derive(Clone, Copy, Debug, Default)]
pub struct Saving {
    /// Also `cms.local.toml`.
    pub with_secrets: bool,
    /// Restores it to try it, beside the site.
    pub verify: bool,
}

/// A backup that was written.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Saved {
    /// The moment whose state it holds.
    pub made_at: String,
    /// The database that it was made of.
    pub engine: Engine,
    /// Bytes of the archive.
    pub bytes: u64,
    /// Bytes of what is in it.
    pub content_bytes: u64,
    /// Rows of all tables.
    pub rows: i64,
    /// Files of media.
    pub media: u64,
    /// Whether it was restored to try it.
    pub verified: bool,
    /// What is missing, one sentence each.
    pub warnings: Vec<String>,
}

/// Writes a backup of a site that may be in use.
///
/// # Errors
/// `unavailable` when the database cannot be read, `validation_failed` when the archive cannot be
/// written, `conflict` while another backup writes the same file.
pub async fn save(settings: &Settings, to: To, how: Saving, told: Told) -> Result<Saved> {
    let made_at = Clock::system().now();
    let mut source = Source::open(settings).await?;
    let saved = async {
        let total = source.bytes().await?;
        let (out, file) = match to {
            To::File(path) => {
                let part = Part::begin(path)?;
                (Out::File(part.file.try_clone().map_err(unwritten)?), Some(part))
            }
            To::Stream(stream) => (Out::Stream(stream), None),
        };
        let count = Counted::default();
        let out = Counting { out, bytes: count.clone() };
        let mut saver =
            Saver { archive: Archive::begin(out, total, told.clone()), warnings: Vec::new() };
        let rows = source.save(&mut saver).await?;
        saver.media(settings, &mut source.reader).await?;
        saver.plugins(&settings.dirs.plugins).await?;
        saver.settings(settings, how.with_secrets).await?;
        let manifest = Manifest {
            format: FORMAT,
            cms: crate::VERSION.to_owned(),
            engine: source.engine(),
            schema: source.schema,
            made_at: rfc3339(made_at),
            key: key_of(settings),
            with_secrets: how.with_secrets,
            rows,
            warnings: saver.warnings,
            entries: Vec::new(),
        };
        let manifest = saver.archive.end(manifest).await?;
        Ok::<_, Error>((manifest, file, count))
    };
    let saved = saved.await;
    source.close().await;
    let (manifest, part, count) = saved?;
    let file = match part {
        Some(part) => Some(part.end()?),
        None => None,
    };
    if how.verify
        && let Some(file) = &file
    {
        super::restore::verify(settings, file, told).await?;
    }
    let mut warnings = manifest.warnings.clone();
    for entry in manifest.entries.iter().filter(|entry| entry.name.starts_with("media/")) {
        let name = Name::of_path(&format!("/{}", entry.name));
        let is_same = name.is_some_and(|name| name.sha256() == String::from(entry.sha256));
        if !is_same && warnings.len() < TOLD {
            warnings.push(format!("/{}: has another content than its name says", entry.name));
        }
    }
    let bytes = count.get();
    let verified = how.verify && file.is_some();
    let shown = file.map_or_else(|| "-".to_owned(), |file| file.display().to_string());
    let made_at = manifest.made_at.clone();
    last::note(settings, &Last { made_at, file: shown, bytes, verified })?;
    Ok(Saved {
        bytes,
        content_bytes: manifest.bytes(),
        rows: manifest.rows.values().sum(),
        media: manifest.below("media/").0,
        made_at: manifest.made_at,
        engine: manifest.engine,
        verified,
        warnings,
    })
}

/// Where the archive's bytes go.
enum Out {
    File(File),
    Stream(Box<dyn Write + Send>),
}

type Counted = std::sync::Arc<Bytes>;

#[derive(Default)]
struct Bytes(std::sync::atomic::AtomicU64);

impl Bytes {
    fn get(&self) -> u64 {
        self.0.load(std::sync::atomic::Ordering::Relaxed)
    }
}

struct Counting {
    out: Out,
    bytes: Counted,
}

impl Write for Counting {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = match &mut self.out {
            Out::File(file) => file.write(bytes),
            Out::Stream(stream) => stream.write(bytes),
        }?;
        self.bytes.0.fetch_add(written as u64, std::sync::atomic::Ordering::Relaxed);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.out {
            Out::File(file) => file.flush(),
            Out::Stream(stream) => stream.flush(),
        }
    }
}

/// A file that has its name only when it is whole. Dropped before that, nothing is left of it.
struct Part {
    path: PathBuf,
    part: PathBuf,
    file: File,
    is_done: bool,
}

impl Part {
    fn begin(path: PathBuf) -> Result<Self> {
        use std::os::unix::fs::OpenOptionsExt as _;
        // Not a device, which the rename would replace.
        if fs::symlink_metadata(&path).is_ok_and(|about| !about.is_file()) {
            let what = format!("{} is there, and is no plain file.", path.display());
            return Err(Error::new(Code::ValidationFailed, what));
        }
        let mut part = path.clone().into_os_string();
        part.push(".partial");
        let part = PathBuf::from(part);
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
        // What a killed backup has left.
        file.set_len(0).map_err(named)?;
        Ok(Self { path, part, file, is_done: false })
    }

    /// Gives the file its name, once it is on disk.
    fn end(mut self) -> Result<PathBuf> {
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

/// The database, standing still.
struct Source {
    reader: Reader,
    /// SQLite's copy, which goes with it.
    #[cfg(feature = "sqlite")]
    copy: Option<tempfile::TempPath>,
    schema: i64,
    has_media: bool,
}

impl Source {
    async fn open(settings: &Settings) -> Result<Self> {
        let mut source = match settings.database().map_err(invalid)? {
            #[cfg(feature = "sqlite")]
            Database::Sqlite { path, .. } => {
                let copy = super::beside::beside(&path)?;
                crate::db::save::sqlite::copy(&path, &copy).await?;
                let reader = Reader::Sqlite(crate::db::save::sqlite::open(&copy).await?);
                Self { reader, copy: Some(copy), schema: 0, has_media: false }
            }
            #[cfg(feature = "postgres")]
            Database::Postgres { url, .. } => {
                use crate::db::save::postgres;
                let mut connection = postgres::session(url.expose()).await?;
                postgres::begin_snapshot(&mut connection).await?;
                let foreign = postgres::foreign(&mut connection).await?;
                if !foreign.is_empty() {
                    let what = format!(
                        "The schema holds what this backup cannot carry: {}. Move it to another \
                         schema, or use pg_dump.",
                        foreign.join("; ")
                    );
                    return Err(conflict(what));
                }
                Self {
                    reader: Reader::Postgres(connection),
                    #[cfg(feature = "sqlite")]
                    copy: None,
                    schema: 0,
                    has_media: false,
                }
            }
            #[cfg(not(all(feature = "sqlite", feature = "postgres")))]
            _ => return Err(super::beside::missing_engine()),
        };
        let known = async {
            if !source.reader.has_table("cms_migrations").await? {
                let what = "The database holds no site: make it with `cms migrate up`.";
                return Err(Error::new(Code::Unavailable, what));
            }
            let newest: Vec<(i64,)> = source.reader.all(migrate::sql::NEWEST, args![]).await?;
            source.schema = newest.first().map_or(0, |(version,)| *version);
            source.has_media = source.reader.has_table("cms_media").await?;
            Ok(())
        };
        let known = known.await;
        match known {
            Ok(()) => Ok(source),
            Err(error) => {
                source.close().await;
                Err(error)
            }
        }
    }

    fn engine(&self) -> Engine {
        match self.reader {
            #[cfg(feature = "sqlite")]
            Reader::Sqlite(_) => Engine::Sqlite,
            #[cfg(feature = "postgres")]
            Reader::Postgres(_) => Engine::Postgres,
        }
    }

    /// About how many bytes there will be.
    async fn bytes(&mut self) -> Result<u64> {
        let database = match &mut self.reader {
            #[cfg(feature = "sqlite")]
            Reader::Sqlite(_) => {
                self.copy.as_ref().and_then(|copy| fs::metadata(copy).ok()).map_or(0, |of| of.len())
            }
            #[cfg(feature = "postgres")]
            Reader::Postgres(connection) => {
                crate::db::save::postgres::bytes(connection).await?.unsigned_abs()
            }
        };
        if !self.has_media {
            return Ok(database);
        }
        let media: Vec<(i64,)> = self.reader.all(media::sql::ALL_BYTES, args![]).await?;
        Ok(database + media.first().map_or(0, |(bytes,)| bytes.unsigned_abs()))
    }

    /// Writes the database. Returns the rows of each table.
    async fn save(&mut self, saver: &mut Saver) -> Result<std::collections::BTreeMap<String, i64>> {
        match &mut self.reader {
            #[cfg(feature = "sqlite")]
            Reader::Sqlite(connection) => {
                let counts = crate::db::save::sqlite::counts(connection).await?;
                let copy = self.copy.as_ref().ok_or_else(|| Error::internal("no copy"))?;
                let file = File::open(copy).map_err(Error::internal)?;
                let size = file.metadata().map_err(Error::internal)?.len();
                saver.archive.file("database/cms.db", size, file).await?;
                Ok(counts.into_iter().collect())
            }
            #[cfg(feature = "postgres")]
            Reader::Postgres(connection) => super::load::save(connection, &mut saver.archive).await,
        }
    }

    async fn close(self) {
        self.reader.close().await;
    }
}

struct Saver {
    archive: Archive,
    warnings: Vec<String>,
}

impl Saver {
    fn warn(&mut self, what: String) {
        if self.warnings.len() < TOLD {
            self.warnings.push(what);
        }
    }

    /// The files that the database names.
    async fn media(&mut self, settings: &Settings, reader: &mut Reader) -> Result<()> {
        if !reader.has_table("cms_media").await? {
            return Ok(());
        }
        let (files, mut after) = (Files::of(settings)?, String::new());
        loop {
            let rows: Vec<(String, i64)> =
                reader.all(media::sql::AFTER, args![after.as_str()]).await?;
            let Some((last, _)) = rows.last() else { return Ok(()) };
            after = last.clone();
            for (path, size) in rows {
                self.medium(&files, &path, size).await?;
            }
        }
    }

    async fn medium(&mut self, files: &Files, path: &str, size: i64) -> Result<()> {
        let Some(name) = Name::of_path(path) else {
            self.warn(format!("{path}: its row names no file"));
            return Ok(());
        };
        let Some((content, length, _)) = files.open(&name).await? else {
            self.warn(format!("{path}: the file is missing"));
            return Ok(());
        };
        if i64::try_from(length) != Ok(size) {
            self.warn(format!("{path}: the file has {length} bytes, its row says {size}"));
        }
        let entry = &path[1..];
        match content {
            Content::File(file) => self.archive.file(entry, length, file).await,
            Content::Remote(read) => {
                self.archive.open(entry, length).await?;
                let mut parts = read(0, length);
                while let Some(part) = parts.next().await {
                    self.archive.bytes(part?).await?;
                }
                Ok(())
            }
        }
    }

    /// The folder of plugins, without links.
    async fn plugins(&mut self, folder: &Path) -> Result<()> {
        let found = {
            let folder = folder.to_owned();
            let listed = move || listed(&folder, Path::new(""), 0);
            tokio::task::spawn_blocking(listed).await.map_err(Error::internal)?
        };
        for place in found.map_err(Error::internal)? {
            let shown = place.display().to_string();
            let entry = match place.to_str() {
                Some(path) => format!("plugins/{path}"),
                None => {
                    self.warn(format!("plugins/{shown}: left out, its name is not Unicode"));
                    continue;
                }
            };
            self.plain(&folder.join(&place), &entry).await?;
        }
        Ok(())
    }

    async fn settings(&mut self, settings: &Settings, with_secrets: bool) -> Result<()> {
        let Some(folder) = &settings.folder else { return Ok(()) };
        for (file, is_wanted) in [("cms.toml", true), ("cms.local.toml", with_secrets)] {
            if is_wanted && folder.join(file).exists() {
                self.plain(&folder.join(file), &format!("settings/{file}")).await?;
            }
        }
        Ok(())
    }

    /// A plain file, unless it is gone.
    async fn plain(&mut self, path: &Path, entry: &str) -> Result<()> {
        if header(entry, 0).is_err() || !super::manifest::is_allowed(entry) {
            self.warn(format!("{entry}: left out, its name does not fit into an archive"));
            return Ok(());
        }
        match opened(path) {
            Ok(Some((Content::File(file), size, _))) => self.archive.file(entry, size, file).await,
            Ok(_) => {
                self.warn(format!("{entry}: left out, it is no plain file"));
                Ok(())
            }
            Err(error) => {
                self.warn(format!("{entry}: left out, it cannot be read ({error})"));
                Ok(())
            }
        }
    }
}

/// Files below a folder, each by its place there, in order.
fn listed(root: &Path, place: &Path, depth: usize) -> io::Result<Vec<PathBuf>> {
    let mut entries = match fs::read_dir(root.join(place)) {
        Ok(entries) => entries.collect::<io::Result<Vec<_>>>()?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    entries.sort_by_key(fs::DirEntry::file_name);
    let mut found = Vec::new();
    for entry in entries {
        let below = place.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true if depth >= DEEPEST => return Err(io::Error::other("folders are too deep")),
            true => found.extend(listed(root, &below, depth + 1)?),
            false => found.push(below),
        }
    }
    Ok(found)
}
