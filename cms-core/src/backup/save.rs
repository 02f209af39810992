//! Writes a backup: the database at one moment, the media that it names, plugins and settings. A
//! backup makes nobody wait. A small file in the data folder records the last backup.

use std::{
    fs,
    io::{self, Write as _},
    path::{Path, PathBuf},
    sync::atomic::Ordering,
    time::Duration,
};

use futures_util::StreamExt as _;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use super::{
    OnProgress,
    archive::{Archive, Never, header},
    cipher::{Identities, Recipients},
    manifest::{Engine, FORMAT, Manifest, key_of},
    out::{Out, To},
    source::Source,
};
use crate::{
    Clock, Error, Result,
    db::{args, save::Reader},
    media::{self, Content, Files, Name, opened},
    rfc3339,
    settings::Settings,
};

/// Timeout of removing an unfinished backup.
const UNDO_TIMEOUT: Duration = Duration::from_secs(15);
/// Maximum number of warnings of one kind, so that no kind crowds out another.
const MAX_WARNINGS: usize = 1000;
/// Maximum depth of folders.
const DEEPEST: usize = 32;

/// The contents of a backup.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Saving {
    /// Includes `cms.local.toml`; an encrypted backup always includes it.
    pub with_secrets: bool,
    /// Not encrypted, even if `backup.recipients` is set.
    pub plain: bool,
    /// Restores the backup beside the site as a test.
    pub verify: bool,
}

/// A backup that was written.
#[derive(Clone, Debug, serde::Serialize)]
#[non_exhaustive]
pub struct SavedBackup {
    /// The moment at which its state was taken.
    pub made_at: String,
    /// The kind of database that it was made from.
    pub engine: Engine,
    /// Bytes of the archive.
    pub bytes: u64,
    /// Bytes of its contents.
    pub content_bytes: u64,
    /// Rows of all tables.
    pub rows: i64,
    /// Files of media.
    pub media: u64,
    /// Whether a test restore of it succeeded.
    pub verified: bool,
    /// Whether it is encrypted to `backup.recipients`.
    pub encrypted: bool,
    /// Whether `cms.local.toml` is in it.
    pub with_secrets: bool,
    /// What is missing, one sentence each.
    pub warnings: Vec<String>,
}

/// Writes a backup of a site that may be in use.
///
/// # Errors
/// `unavailable` when the database cannot be read, `validation_failed` when the archive cannot be
/// written, `conflict` while another backup writes the same file.
pub async fn save(
    settings: &Settings,
    to: To,
    how: Saving,
    told: OnProgress,
) -> Result<SavedBackup> {
    save_until(settings, to, how, told, std::future::pending()).await
}

/// As [`save`], unless `stop` ends first: then removes what was written and fails with `conflict`.
/// If the future is dropped instead, the removal continues in the background.
///
/// # Errors
/// As [`save`], and `conflict` when it was stopped.
pub async fn save_until(
    settings: &Settings,
    to: To,
    how: Saving,
    told: OnProgress,
    stop: impl Future<Output = ()>,
) -> Result<SavedBackup> {
    let mut at_work = None;
    let saved = tokio::select! {
        saved = written(settings, to, how, told, &mut at_work) => saved,
        () = stop => Err(super::conflict("The backup was stopped.")),
    };
    if let (Err(_), Some(ended)) = (&saved, at_work) {
        // Waits for the removal: a store keeps the parts that it has until it is told to
        // remove them.
        let _ = tokio::time::timeout(UNDO_TIMEOUT, ended).await;
    }
    saved
}

async fn written(
    settings: &Settings,
    to: To,
    how: Saving,
    told: OnProgress,
    at_work: &mut Option<oneshot::Receiver<Never>>,
) -> Result<SavedBackup> {
    let made_at = Clock::system().now();
    let recipients: &[String] = if how.plain { &[] } else { &settings.backup.recipients };
    let mut recipients = Recipients::of(recipients)?;
    let encrypted = !recipients.is_empty();
    let trial = if how.verify { recipients.with_trial() } else { Identities::default() };
    let object = match &to {
        To::Object(object) => Some(object.clone()),
        To::File(_) | To::Stream(_) => None,
    };
    let mut source = Source::open(settings).await?;
    let saved = async {
        let total = source.bytes().await?;
        let begun = {
            let settings = settings.clone();
            move || Out::begin(to, &settings, total, &recipients)
        };
        let out = tokio::task::spawn_blocking(begun).await.map_err(Error::internal)??;
        let count = out.bytes();
        let (archive, ended) = Archive::begin(out.sink, total, told.clone());
        *at_work = object.is_some().then_some(ended);
        let mut saver = Saver { archive, warnings: Vec::new(), room: 0, has_secrets: false };
        let rows = source.save(&mut saver.archive).await?;
        saver.media(settings, &mut source.reader).await?;
        saver.plugins(&settings.dirs.plugins).await?;
        saver.settings(settings, how.with_secrets || encrypted).await?;
        let manifest = Manifest {
            format: FORMAT,
            cms: crate::VERSION.to_owned(),
            engine: source.engine(),
            schema: source.schema,
            made_at: rfc3339(made_at),
            key: key_of(settings),
            with_secrets: saver.has_secrets,
            rows,
            warnings: saver.warnings,
            entries: Vec::new(),
        };
        let manifest = saver.archive.end(manifest).await?;
        Ok::<_, Error>((manifest, out.part, count))
    };
    let saved = saved.await;
    source.close().await;
    let (manifest, part, count) = saved?;
    // A backup that cannot be restored never gets its name.
    match (&part, &object) {
        (Some(part), _) if how.verify => {
            super::restore::verify(settings, part.place(), &trial, told).await?;
        }
        (None, Some(object)) if how.verify => {
            // Tests the object as the store returns it.
            let tried = async {
                let file = object.fetch(settings, &told).await?;
                super::restore::verify(settings, &file, &trial, told.clone()).await
            };
            if let Err(error) = tried.await {
                object.remove(settings).await?;
                return Err(error);
            }
        }
        _ => {}
    }
    let place = match (part, object) {
        (Some(part), _) => {
            let file = tokio::task::spawn_blocking(|| part.end()).await;
            file.map_err(Error::internal)??.display().to_string()
        }
        (None, Some(object)) => object.to_string(),
        (None, None) => "-".to_owned(),
    };
    let mut warnings = manifest.warnings.clone();
    let media = manifest.entries.iter().filter(|entry| entry.name.starts_with("media/"));
    let others = media.filter(|entry| {
        let name = Name::of_path(&format!("/{}", entry.name));
        name.is_none_or(|name| name.sha256() != String::from(entry.sha256))
    });
    for entry in others.take(MAX_WARNINGS) {
        warnings.push(format!("/{}: has another content than its name says", entry.name));
    }
    let (bytes, verified) = (count.load(Ordering::Relaxed), how.verify && place != "-");
    let made_at = manifest.made_at.clone();
    let lost = warnings.iter().filter(|what| is_lost(what)).cloned().collect();
    note(settings, &Last { made_at, file: place, bytes, verified, warnings: lost })?;
    Ok(SavedBackup {
        bytes,
        content_bytes: manifest.bytes(),
        rows: manifest.rows.values().sum(),
        media: manifest.below("media/").0,
        made_at: manifest.made_at,
        engine: manifest.engine,
        verified,
        encrypted,
        with_secrets: manifest.with_secrets,
        warnings,
    })
}

struct Saver {
    archive: Archive,
    warnings: Vec<String>,
    /// How many more warnings of the present kind are kept.
    room: usize,
    /// Whether the archive contains `cms.local.toml`.
    has_secrets: bool,
}

/// Whether a warning reports something that older backups may still contain. Links among plugins,
/// for example, are in no backup.
pub(super) fn is_lost(warning: &str) -> bool {
    !warning.starts_with("plugins/")
}

impl Saver {
    fn warn(&mut self, what: String) {
        if self.room > 0 {
            self.room -= 1;
            self.warnings.push(what);
        }
    }

    /// The files that the database names.
    async fn media(&mut self, settings: &Settings, reader: &mut Reader) -> Result<()> {
        if !reader.has_table("cms_media").await? {
            return Ok(());
        }
        self.room = MAX_WARNINGS;
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

    /// The folder of plugins, without its links.
    async fn plugins(&mut self, folder: &Path) -> Result<()> {
        self.room = MAX_WARNINGS;
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
        self.room = MAX_WARNINGS;
        let Some(folder) = &settings.folder else { return Ok(()) };
        for (file, is_wanted) in [("cms.toml", true), ("cms.local.toml", with_secrets)] {
            if is_wanted && folder.join(file).exists() {
                let is_saved = self.plain(&folder.join(file), &format!("settings/{file}")).await?;
                self.has_secrets |= is_saved && file == "cms.local.toml";
            }
        }
        Ok(())
    }

    /// Saves a plain file. Returns false if the file is gone.
    async fn plain(&mut self, path: &Path, entry: &str) -> Result<bool> {
        if header(entry, 0).is_err() || !super::manifest::is_allowed(entry) {
            self.warn(format!("{entry}: left out, its name does not fit into an archive"));
            return Ok(false);
        }
        match opened(path) {
            Ok(Some((Content::File(file), size, _))) => {
                self.archive.file(entry, size, file).await?;
                Ok(true)
            }
            Ok(_) => {
                self.warn(format!("{entry}: left out, it is not a plain file"));
                Ok(false)
            }
            Err(error) => {
                self.warn(format!("{entry}: left out, it cannot be read ({error})"));
                Ok(false)
            }
        }
    }
}

/// The files below a folder, as relative paths in order.
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

const LAST: &str = "last-backup.json";

/// A backup that ended well.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Last {
    /// The moment at which its state was taken.
    pub made_at: String,
    /// Where it was written; `-` for standard output.
    pub file: String,
    /// Bytes of the archive.
    pub bytes: u64,
    /// Whether a test restore of it succeeded.
    pub verified: bool,
    /// What is missing, one sentence each.
    #[serde(default)]
    pub warnings: Vec<String>,
}

fn file_of_last(settings: &Settings) -> PathBuf {
    settings.dirs.data.join(LAST)
}

/// The last backup of this machine that ended well; `None`: there is none.
#[must_use]
pub fn last(settings: &Settings) -> Option<Last> {
    let text = fs::read(file_of_last(settings)).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Records the last backup.
fn note(settings: &Settings, last: &Last) -> Result<()> {
    let folder = &settings.dirs.data;
    let text = serde_json::to_vec(last).map_err(Error::internal)?;
    let written = || {
        crate::ground::private::create_folder(folder)?;
        let mut beside = tempfile::NamedTempFile::new_in(folder)?;
        beside.write_all(&text)?;
        beside.persist(file_of_last(settings)).map_err(|refused| refused.error)
    };
    written().map(drop).map_err(Error::internal)
}
