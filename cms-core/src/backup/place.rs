//! The places of a restored site's parts beside the site, and what exists there already.

use std::{
    fmt, fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use super::{
    conflict,
    journal::{Journal, Move, State},
    schemas::Schemas,
};
use crate::{
    Clock, Result,
    media::Files,
    settings::{Database, Settings},
};

/// The nearest existing folder.
pub(super) fn present(path: &Path) -> PathBuf {
    let there = path.ancestors().find(|folder| folder.is_dir());
    there.filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned()
}

/// A part of a site that exists already.
pub(super) enum Existing {
    Database(String),
    Folder(PathBuf),
}

impl fmt::Display for Existing {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Database(what) => write!(out, "{what}"),
            Self::Folder(folder) => write!(out, "the folder {}", folder.display()),
        }
    }
}

/// The first part of a site that exists already, if any.
pub(super) async fn find_existing(
    settings: &Settings,
    database: &Database,
) -> Result<Option<Existing>> {
    match database {
        Database::Sqlite { path, .. } => {
            if fs::metadata(path).is_ok_and(|about| about.len() > 0) {
                let what = format!("the SQLite database {}", path.display());
                return Ok(Some(Existing::Database(what)));
            }
        }
        #[cfg(feature = "postgres")]
        Database::Postgres { url, .. } => {
            use crate::db::save::postgres;
            let mut connection = postgres::session(url.expose()).await?;
            let tables = postgres::tables(&mut connection).await;
            postgres::close(connection).await;
            if let Some(table) = tables?.first() {
                let (table, at) = (&table.name, crate::db::place(url));
                let what = format!("the table {table} in PostgreSQL at {at}");
                return Ok(Some(Existing::Database(what)));
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
            return Ok(Some(Existing::Folder(folder.clone())));
        }
    }
    Ok(None)
}

/// Fails while another process has the database open, as far as this can be detected.
pub(super) async fn expect_unused(database: &Database) -> Result<()> {
    let used = |what: String| {
        conflict(format!("{what}: end `cms serve` and other commands. Nothing was changed."))
    };
    match database {
        #[cfg(feature = "sqlite")]
        Database::Sqlite { path, .. } => {
            let is_there = fs::metadata(path).is_ok_and(|about| about.len() > 0);
            if is_there {
                // A damaged database is replaced even if it is in use.
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
            // PostgreSQL still lists closed connections for a moment.
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
        _ => Err(super::missing_engine()),
    }
}

/// The places of a site's parts beside it, and the places for the parts that they replace.
pub(super) struct Place {
    /// The file of the database.
    pub(super) file: Option<PathBuf>,
    /// `None`: media are added to those of the site.
    pub(super) media: Option<PathBuf>,
    pub(super) plugins: PathBuf,
    pub(super) schemas: Option<Schemas>,
    pub(super) moves: Vec<Move>,
}

pub(super) fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

impl Place {
    pub(super) async fn of(settings: &Settings, database: &Database) -> Result<Self> {
        let now = crate::rfc3339(Clock::system().now() / 1000 * 1000);
        let stamp: String = now.chars().filter(char::is_ascii_alphanumeric).collect();
        let data = &settings.dirs.data;
        let device = |path: &Path| fs::metadata(present(path)).map(|about| about.dev()).ok();
        let above = |path: &Path| path.parent().map_or(PathBuf::from("."), Path::to_owned);
        // In the data folder, unless it is on another disk.
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
                // Its log first: the log is empty and must not be combined with another database.
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
                // One database may contain several sites, each in its own schema.
                let site = &crate::ground::crypto::sha256_hex(name.as_bytes())[..8];
                place.schemas = Some(Schemas {
                    staged: format!("cms_restoring_{stamp}_{site}"),
                    kept: format!("replaced_{stamp}_{site}"),
                    place: name,
                    bound: Vec::new(),
                });
            }
            #[cfg(not(feature = "postgres"))]
            Database::Postgres { .. } => return Err(super::missing_engine()),
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

    pub(super) fn journal(&self, archive: &Path) -> Journal {
        Journal {
            format: 1,
            archive: archive.display().to_string(),
            state: State::Staging,
            moves: self.moves.clone(),
            schemas: self.schemas.clone(),
        }
    }
}
