//! Puts an archive in place of a site. It is read twice: judged as a whole, then laid beside the
//! site. What it replaces is kept.

use std::{
    fs::{self, File},
    io::Write as _,
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    Headway, Told, conflict, invalid,
    journal::{self, Journal, Move, State, sync_folder_of, unmoved},
    manifest::{Engine, Manifest, key_of, refused},
    schemas::Schemas,
    stage::{Media, Stage, Target, sync},
    walk::{Taker, Walk},
};
use crate::{
    Clock, Error, Result,
    ground::private,
    media::Files,
    settings::{Database, Settings},
};

/// Bytes of a settings file at most.
const LARGEST: u64 = 1 << 20;

/// An archive that was read to its end, and is whole.
pub struct Judged {
    file: Arc<File>,
    path: PathBuf,
    manifest: Arc<Manifest>,
    /// Its files of settings: name and content.
    settings: Vec<(String, Vec<u8>)>,
}

/// A site that was restored.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Restored {
    /// The moment whose state it has.
    pub made_at: String,
    /// Rows of all tables.
    pub rows: i64,
    /// Files of media.
    pub media: u64,
    /// Where that lies which was replaced.
    pub kept: Vec<String>,
    /// What somebody should look at, one sentence each.
    pub warnings: Vec<String>,
}

/// Keeps the files of settings.
#[derive(Default)]
struct Texts {
    found: Vec<(String, Vec<u8>)>,
    is_open: bool,
}

impl Taker for Texts {
    fn begin(&mut self, name: &str, size: u64) -> Result<()> {
        let file = name.strip_prefix("settings/");
        self.is_open = file.is_some();
        if let Some(file) = file {
            if size > LARGEST {
                return Err(refused(format!("{name} is too large")));
            }
            self.found.push((file.to_owned(), Vec::new()));
        }
        Ok(())
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        if let Some((_, text)) = self.found.last_mut().filter(|_| self.is_open) {
            text.extend_from_slice(bytes);
        }
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        Ok(())
    }
}

/// The nearest folder that is there.
fn present(path: &Path) -> PathBuf {
    let there = path.ancestors().find(|folder| folder.is_dir());
    there.filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned()
}

/// Free bytes where the site lies.
fn room(settings: &Settings) -> u64 {
    let dirs = [&settings.dirs.data, &settings.dirs.media, &settings.dirs.plugins];
    let free = |folder: &PathBuf| {
        let about = rustix::fs::statvfs(present(folder)).ok()?;
        Some(about.f_bavail.saturating_mul(about.f_frsize))
    };
    dirs.into_iter().filter_map(free).min().unwrap_or(u64::MAX)
}

/// Reads an archive to its end, and changes nothing.
///
/// # Errors
/// `not_found` without a file, `validation_failed` for whatever is wrong with it.
pub async fn judge(path: &Path, settings: &Settings, told: Told) -> Result<Judged> {
    let (path, room) = (path.to_owned(), room(settings));
    let judged = move || {
        let file = File::open(&path).map_err(|error| {
            let code = match error.kind() {
                std::io::ErrorKind::NotFound => crate::Code::NotFound,
                _ => crate::Code::ValidationFailed,
            };
            let what = format!("{} cannot be read.", path.display());
            Error::new(code, what).caused_by(error)
        })?;
        let mut texts = Texts::default();
        let walk = Walk { step: "judge", told: &told, room, known: None };
        let manifest = walk.read(&file, &mut texts)?;
        let settings = texts.found;
        Ok(Judged { file: Arc::new(file), path, manifest: Arc::new(manifest), settings })
    };
    tokio::task::spawn_blocking(judged).await.map_err(Error::internal)?
}

impl Judged {
    /// The moment whose state it holds.
    #[must_use]
    pub fn made_at(&self) -> &str {
        &self.manifest.made_at
    }

    /// The database that it was made of.
    #[must_use]
    pub fn engine(&self) -> Engine {
        self.manifest.engine
    }

    /// Writes its files of settings into a folder that lacks them. One that is there stays; an
    /// other text is laid beside it. Returns the names of what was written.
    ///
    /// # Errors
    /// `validation_failed` when they cannot be written.
    pub fn place_settings(&self, dir: &Path) -> Result<Vec<String>> {
        let mut written = Vec::new();
        for (name, text) in &self.settings {
            let mut name = name.clone();
            match fs::read(dir.join(&name)) {
                Ok(there) if there == *text => continue,
                Ok(_) => name.push_str(".restored"),
                Err(_) => {}
            }
            let path = dir.join(&name);
            let mode = if name.contains("local") { 0o600 } else { 0o644 };
            let place = || {
                private::create_folder(dir)?;
                let _ = fs::remove_file(&path);
                let mut options = File::options();
                let mut file = options.write(true).create_new(true).mode(mode).open(&path)?;
                file.write_all(text).and_then(|()| file.sync_all())?;
                sync_folder_of(&path)
            };
            place().map_err(|error| unmoved(&path, error))?;
            written.push(name);
        }
        Ok(written)
    }

    /// Puts it in place of the site. `replace`: also when there is one.
    ///
    /// # Errors
    /// `conflict` when the site is not empty, is in use, or has another engine;
    /// `validation_failed` when the archive was changed meanwhile, or the disk is full. The site is
    /// then as it was.
    pub async fn restore(
        &self,
        settings: &Settings,
        replace: bool,
        told: Told,
    ) -> Result<Restored> {
        let database = settings.database().map_err(invalid)?;
        self.expect_engine(&database)?;
        let _turn = journal::turn(settings)?;
        journal::expect_none(settings)?;
        if !replace && let Some(what) = taken(settings, &database).await? {
            let detail = format!("The site is not empty: there is {what}. Nothing was changed.");
            return Err(conflict(detail));
        }
        expect_unused(&database).await?;
        let place = Place::of(settings, &database).await?;
        let mut journal = place.journal(&self.path);
        journal.write(settings)?;
        told(Headway::at("planned"));
        let staged = self.stage(&place, &database, settings, told.clone()).await;
        let staged = match staged {
            Ok(staged) => staged,
            Err(error) => return Err(undone(journal, settings, error).await),
        };
        if let Some(schemas) = &mut journal.schemas {
            schemas.bound = staged.bound;
        }
        told(Headway::at("staged"));
        if let Err(error) = expect_unused(&database).await {
            return Err(undone(journal, settings, error).await);
        }
        journal.state = State::Swapping;
        journal.write(settings)?;
        told(Headway::at("decided"));
        let kept = journal.swap(settings, &told).await?;
        told(Headway::at("done"));
        let mut warnings = staged.warnings;
        let lacks = self.manifest.warnings.iter();
        warnings.extend(lacks.map(|what| format!("the archive lacks: {what}")));
        if self.manifest.key != key_of(settings) {
            warnings.push(
                "encryption_key is not that of the saved site: what it has sealed stays sealed \
                 until cms.local.toml has the old one"
                    .to_owned(),
            );
        }
        Ok(Restored {
            made_at: self.manifest.made_at.clone(),
            rows: self.manifest.rows.values().sum(),
            media: self.manifest.below("media/").0,
            kept,
            warnings,
        })
    }

    fn expect_engine(&self, database: &Database) -> Result<()> {
        let engine = match database {
            Database::Sqlite { .. } => Engine::Sqlite,
            Database::Postgres { .. } => Engine::Postgres,
        };
        match engine == self.manifest.engine {
            true => Ok(()),
            false => Err(conflict(format!(
                "The archive was made of {}, and the settings name {}: restore it into {0}, then \
                 `cms db copy`. Nothing was changed.",
                self.manifest.engine.name(),
                engine.name()
            ))),
        }
    }

    async fn stage(
        &self,
        place: &Place,
        database: &Database,
        settings: &Settings,
        told: Told,
    ) -> Result<Staged> {
        let media = match &place.media {
            Some(media) => Media::Folder(media.clone()),
            None => Media::Added(Files::of(settings)?),
        };
        let plugins = Some(place.plugins.clone());
        if let Media::Folder(folder) = &media {
            private::create_folder(folder).map_err(|error| unmoved(folder, error))?;
        }
        private::create_folder(&place.plugins).map_err(|e| unmoved(&place.plugins, e))?;
        let laid = self.lay(media, plugins, place, database, "restore", settings, told).await?;
        let synced: Vec<_> = [place.media.clone(), Some(place.plugins.clone()), place.file.clone()]
            .into_iter()
            .flatten()
            .collect();
        let sync_all = move || synced.iter().try_for_each(|path| sync(path));
        tokio::task::spawn_blocking(sync_all).await.map_err(Error::internal)??;
        Ok(laid)
    }

    /// Lays its files, and judges the database.
    #[expect(clippy::too_many_arguments, reason = "a restore and a trial of it differ in them")]
    async fn lay(
        &self,
        media: Media,
        plugins: Option<PathBuf>,
        place: &Place,
        database: &Database,
        step: &'static str,
        settings: &Settings,
        told: Told,
    ) -> Result<Staged> {
        let (file, manifest) = (self.file.clone(), self.manifest.clone());
        let room = room(settings);
        let data = settings.dirs.data.clone();
        let read = move |target: Target| {
            let mut stage = Stage::new(media, plugins, target).under_way(data);
            let walk = Walk { step, told: &told, room, known: Some(&manifest) };
            walk.read(&file, &mut stage).map(drop)
        };
        match database {
            #[cfg(feature = "sqlite")]
            Database::Sqlite { .. } => {
                use crate::db::save::sqlite;
                let to = place.file.clone().ok_or_else(|| Error::internal("no place"))?;
                let target = Target::File(to.clone());
                let read = tokio::task::spawn_blocking(move || read(target));
                read.await.map_err(Error::internal)??;
                let mut connection = sqlite::open(&to).await?;
                let judged = async {
                    let problems = sqlite::problems(&mut connection, step == "verify").await?;
                    let counts = sqlite::counts(&mut connection).await?;
                    Ok::<_, Error>((problems, counts))
                };
                let judged = judged.await;
                let _ = sqlx::Connection::close(connection).await;
                let (problems, counts) = judged?;
                if let Some(first) = problems.first() {
                    return Err(refused(format!("its database is damaged ({first})")));
                }
                self.expect_rows(&counts.into_iter().collect())?;
                sqlite::keep_log(&to).await?;
                Ok(Staged::default())
            }
            #[cfg(feature = "postgres")]
            Database::Postgres { url, .. } => {
                use crate::db::save::postgres;
                let schemas = place.schemas.as_ref().ok_or_else(|| Error::internal("no place"))?;
                let (pieces, waiting) = tokio::sync::mpsc::channel(8);
                let target = Target::Schema(pieces);
                let read = tokio::task::spawn_blocking(move || read(target));
                let mut connection = postgres::session(url.expose()).await?;
                let loaded = super::load::load(&mut connection, &schemas.staged, waiting).await;
                let counted = match &loaded {
                    Ok(_) => super::load::counts(&mut connection, &schemas.staged).await,
                    Err(_) => Ok(Default::default()),
                };
                postgres::close(connection).await;
                let read = read.await.map_err(Error::internal)?;
                // Who stopped first says why.
                match (read, loaded) {
                    (Err(error), _) if error.code() != crate::Code::Internal => Err(error),
                    (_, Err(error)) | (Err(error), _) => Err(error),
                    (Ok(()), Ok(loaded)) => {
                        self.expect_rows(&counted?)?;
                        Ok(Staged { bound: loaded.bound, warnings: loaded.warnings })
                    }
                }
            }
            #[cfg(not(all(feature = "sqlite", feature = "postgres")))]
            _ => Err(super::beside::missing_engine()),
        }
    }

    fn expect_rows(&self, found: &std::collections::BTreeMap<String, i64>) -> Result<()> {
        match *found == self.manifest.rows {
            true => Ok(()),
            false => Err(refused("its database has other rows than its manifest says")),
        }
    }
}

/// What staging found.
#[derive(Default)]
struct Staged {
    bound: Vec<String>,
    warnings: Vec<String>,
}

/// Undoes what was prepared. If that fails too, the journal stays, and says so to the next command.
async fn undone(journal: Journal, settings: &Settings, why: Error) -> Error {
    if let Err(error) = journal.undo(settings).await {
        tracing::warn!(%error, "what was prepared for the restore cannot be removed");
    }
    why
}

/// What there is of a site, if anything.
async fn taken(settings: &Settings, database: &Database) -> Result<Option<String>> {
    match database {
        Database::Sqlite { path, .. } => {
            if fs::metadata(path).is_ok_and(|about| about.len() > 0) {
                return Ok(Some(format!("the database {}", path.display())));
            }
        }
        #[cfg(feature = "postgres")]
        Database::Postgres { url, .. } => {
            use crate::db::save::postgres;
            let mut connection = postgres::session(url.expose()).await?;
            let tables = postgres::tables(&mut connection).await;
            postgres::close(connection).await;
            if let Some(table) = tables?.first() {
                return Ok(Some(format!("the table {} in the database", table.name)));
            }
        }
        #[cfg(not(feature = "postgres"))]
        Database::Postgres { .. } => {}
    }
    for folder in [&settings.dirs.media, &settings.dirs.plugins] {
        let holds = fs::read_dir(folder).is_ok_and(|mut entries| {
            entries.any(|entry| {
                entry.is_ok_and(|entry| !entry.file_name().to_string_lossy().starts_with('.'))
            })
        });
        if holds {
            return Ok(Some(format!("the folder {}", folder.display())));
        }
    }
    Ok(None)
}

/// Fails while another process has the database open, as far as that can be known.
async fn expect_unused(database: &Database) -> Result<()> {
    let used = |what: String| {
        conflict(format!("{what}: end `cms serve` and other commands. Nothing was changed."))
    };
    match database {
        #[cfg(feature = "sqlite")]
        Database::Sqlite { path, .. } => {
            let is_there = fs::metadata(path).is_ok_and(|about| about.len() > 0);
            if is_there {
                // A damaged one is replaced whoever may use it.
                match crate::db::save::sqlite::is_alone(path).await {
                    Ok(false) => {
                        return Err(used(format!("{} is open elsewhere", path.display())));
                    }
                    Err(error) if !error.is_damaged() => return Err(error),
                    _ => {}
                }
            }
            Ok(())
        }
        #[cfg(feature = "postgres")]
        Database::Postgres { url, .. } => {
            use crate::db::save::postgres;
            let mut connection = postgres::session(url.expose()).await?;
            let mut others = postgres::others(&mut connection).await;
            // One that was closed is told for a moment longer.
            for _ in 0..20 {
                if !matches!(others, Ok(1..)) {
                    break;
                }
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
                others = postgres::others(&mut connection).await;
            }
            postgres::close(connection).await;
            match others? {
                0 => Ok(()),
                n => Err(used(format!(
                    "{n} other connections with the same name and user are open to the database"
                ))),
            }
        }
        #[cfg(not(all(feature = "sqlite", feature = "postgres")))]
        _ => Err(super::beside::missing_engine()),
    }
}

/// Where the parts of a site lie beside it, and where that goes which they replace.
struct Place {
    /// The database's file.
    file: Option<PathBuf>,
    /// None: media are added to those of the site.
    media: Option<PathBuf>,
    plugins: PathBuf,
    schemas: Option<Schemas>,
    moves: Vec<Move>,
}

fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

impl Place {
    async fn of(settings: &Settings, database: &Database) -> Result<Self> {
        let now = crate::rfc3339(Clock::system().now() / 1000 * 1000);
        let stamp: String = now.chars().filter(char::is_ascii_alphanumeric).collect();
        let data = &settings.dirs.data;
        let device = |path: &Path| fs::metadata(present(path)).map(|about| about.dev()).ok();
        let above = |path: &Path| path.parent().map_or(PathBuf::from("."), Path::to_owned);
        // In the data folder, unless that lies on another disk.
        let kept = |path: &Path, name: &str| match device(&above(path)) == device(data) {
            true => data.join(format!("replaced-{stamp}")).join(name),
            false => with_end(path, &format!(".replaced-{stamp}")),
        };
        let moved = |path: &Path, name: &str| Move {
            staged: Some(with_end(path, ".restoring")),
            place: path.to_owned(),
            kept: kept(path, name),
        };
        let mut place = Self {
            file: None,
            media: None,
            plugins: with_end(&settings.dirs.plugins, ".restoring"),
            schemas: None,
            moves: Vec::new(),
        };
        match database {
            Database::Sqlite { path, .. } => {
                // Beside the file itself, not beside a link to it.
                let path = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
                // Its log first: it is empty, and must not meet another database.
                for end in ["-wal", "-shm"] {
                    let log = with_end(&path, end);
                    let name = format!("cms.db{end}");
                    place.moves.push(Move { staged: None, kept: kept(&log, &name), place: log });
                }
                let one = moved(&path, "cms.db");
                place.file.clone_from(&one.staged);
                place.moves.push(one);
            }
            #[cfg(feature = "postgres")]
            Database::Postgres { url, .. } => {
                use crate::db::save::postgres;
                let mut connection = postgres::session(url.expose()).await?;
                let name = postgres::schema_name(&mut connection).await;
                postgres::close(connection).await;
                let (name, stamp) = (name?, stamp.to_lowercase());
                // Several sites may lie in one database, each in a schema of its own.
                let site = &crate::ground::crypto::sha256_hex(name.as_bytes())[..8];
                place.schemas = Some(Schemas {
                    staged: format!("cms_restoring_{stamp}_{site}"),
                    kept: format!("replaced_{stamp}_{site}"),
                    place: name,
                    bound: Vec::new(),
                });
            }
            #[cfg(not(feature = "postgres"))]
            Database::Postgres { .. } => return Err(super::beside::missing_engine()),
        }
        let media = &settings.dirs.media;
        let is_mount = media.exists() && device(media) != device(&above(media));
        if Files::of(settings)?.is_folder() && !is_mount {
            let one = moved(media, "media");
            place.media.clone_from(&one.staged);
            place.moves.push(one);
        }
        place.moves.push(moved(&settings.dirs.plugins, "plugins"));
        for staged in place.moves.iter().filter_map(|one| one.staged.as_ref()) {
            if fs::symlink_metadata(staged).is_ok() {
                let what = format!("{} is in the way: remove it.", staged.display());
                return Err(conflict(what));
            }
        }
        Ok(place)
    }

    fn journal(&self, archive: &Path) -> Journal {
        Journal {
            format: 1,
            archive: archive.display().to_string(),
            state: State::Staging,
            moves: self.moves.clone(),
            schemas: self.schemas.clone(),
        }
    }
}

/// Restores an archive beside the site, to try it, and removes it again.
pub(super) async fn verify(settings: &Settings, path: &Path, told: Told) -> Result<()> {
    let judged = judge(path, settings, told.clone()).await?;
    let database = settings.database().map_err(invalid)?;
    let mut place = Place {
        file: None,
        media: None,
        plugins: PathBuf::new(),
        schemas: None,
        moves: Vec::new(),
    };
    match &database {
        #[cfg(feature = "sqlite")]
        Database::Sqlite { path, .. } => {
            let copy = super::beside::beside(path)?;
            fs::remove_file(&copy).map_err(|error| unmoved(&copy, error))?;
            place.file = Some(copy.to_path_buf());
            judged
                .lay(Media::Nowhere, None, &place, &database, "verify", settings, told)
                .await
                .map(drop)
        }
        #[cfg(feature = "postgres")]
        Database::Postgres { .. } => {
            let name = format!("cms_verifying_{}_{}", std::process::id(), Clock::system().now());
            place.schemas = Some(Schemas {
                staged: name.clone(),
                place: String::new(),
                kept: String::new(),
                bound: Vec::new(),
            });
            let laid = judged
                .lay(Media::Nowhere, None, &place, &database, "verify", settings, told)
                .await
                .map(drop);
            super::schemas::drop_schema(settings, &name).await?;
            laid
        }
        #[cfg(not(all(feature = "sqlite", feature = "postgres")))]
        _ => Err(super::beside::missing_engine()),
    }
}
