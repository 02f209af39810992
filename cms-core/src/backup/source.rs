//! The database of a backup, frozen at one moment while others write. SQLite's copy lies beside
//! the site and is removed with its handle.

use std::collections::BTreeMap;
#[cfg(feature = "sqlite")]
use std::fs::File;
#[cfg(any(feature = "sqlite", feature = "s3"))]
use std::{fs, path::Path};

use super::{archive::Archive, invalid, manifest::Engine};
use crate::{
    Code, Error, Result,
    db::{args, migrate, save::Reader},
    ground::error::MIGRATE,
    media,
    settings::{Database, Settings},
};

/// The database at one moment.
pub(super) struct Source {
    pub(super) reader: Reader,
    /// SQLite's copy, which is removed together with this value.
    #[cfg(feature = "sqlite")]
    copy: Option<tempfile::TempPath>,
    pub(super) schema: i64,
    has_media: bool,
}

impl Source {
    pub(super) async fn open(settings: &Settings) -> Result<Self> {
        let mut source = match settings.database().map_err(invalid)? {
            #[cfg(feature = "sqlite")]
            Database::Sqlite { path, .. } => {
                let copy = beside(&path)?;
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
                        "The schema holds what this backup cannot carry: {}. Remove it, or use \
                         pg_dump.",
                        foreign.join("; ")
                    );
                    return Err(super::conflict(what));
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
            _ => return Err(super::missing_engine()),
        };
        let known = async {
            if !source.reader.has_table("cms_migrations").await? {
                let what = format!("The database holds no site. To make it, {MIGRATE}.");
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

    pub(super) fn engine(&self) -> Engine {
        match self.reader {
            #[cfg(feature = "sqlite")]
            Reader::Sqlite(_) => Engine::Sqlite,
            #[cfg(feature = "postgres")]
            Reader::Postgres(_) => Engine::Postgres,
        }
    }

    /// The estimated number of bytes.
    pub(super) async fn bytes(&mut self) -> Result<u64> {
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

    /// Writes the database. Returns the number of rows of each table.
    pub(super) async fn save(&mut self, archive: &mut Archive) -> Result<BTreeMap<String, i64>> {
        match &mut self.reader {
            #[cfg(feature = "sqlite")]
            Reader::Sqlite(connection) => {
                let counts = crate::db::save::sqlite::counts(connection).await?;
                let copy = self.copy.as_ref().ok_or_else(|| Error::internal("no copy"))?;
                let file = File::open(copy).map_err(Error::internal)?;
                let size = file.metadata().map_err(Error::internal)?.len();
                archive.file("database/cms.db", size, file).await?;
                Ok(counts.into_iter().collect())
            }
            #[cfg(feature = "postgres")]
            Reader::Postgres(connection) => super::load::save(connection, archive).await,
        }
    }

    pub(super) async fn close(self) {
        self.reader.close().await;
    }
}

/// Creates an empty file beside the database.
#[cfg(feature = "sqlite")]
pub(super) fn beside(database: &Path) -> Result<tempfile::TempPath> {
    let folder = database.parent().filter(|folder| !folder.as_os_str().is_empty());
    Ok(within(folder.unwrap_or(Path::new(".")))?.into_temp_path())
}

/// Creates an empty file in a folder, for its owner alone. The file is removed when it is dropped.
/// First removes such files of killed processes.
#[cfg(any(feature = "sqlite", feature = "s3"))]
pub(super) fn within(folder: &Path) -> Result<tempfile::NamedTempFile> {
    const STALE: std::time::Duration = std::time::Duration::from_secs(24 * 3600);
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_ours = name.to_string_lossy().starts_with(".backup-");
        let age = entry.metadata().and_then(|about| about.modified()).ok();
        if is_ours && age.and_then(|at| at.elapsed().ok()).is_some_and(|age| age > STALE) {
            let _ = fs::remove_file(entry.path());
        }
    }
    let made = tempfile::Builder::new().prefix(".backup-").suffix(".db").tempfile_in(folder);
    made.map_err(|error| {
        let what = format!("{} cannot be written.", folder.display());
        Error::new(Code::Unavailable, what).caused_by(error)
    })
}
