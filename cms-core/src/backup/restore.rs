//! Puts an archive in place of a site. The archive is read twice: checked as a whole, then
//! unpacked beside the site. What it replaces is kept.

use std::path::{Path, PathBuf};

use super::{
    OnProgress, Progress,
    cipher::Identities,
    conflict, invalid,
    journal::{self, Journal, State, unmoved},
    judge::{JudgedArchive, judge, room},
    manifest::{Engine, key_of, refused},
    place::{Existing, Place, expect_unused, find_existing},
    stage::{Media, Stage, Target, sync},
    walk::Walk,
};
use crate::{
    Clock, Error, Random, Result,
    ground::private,
    media::Files,
    settings::{Database, Settings},
};

const END_SESSIONS: &str = "delete from cms_sessions";
const END_LOGINS: &str = "delete from cms_pending_logins";
/// Clears the cache: `$1` is added to the highest number so far, `$2` is the time.
const CLEAR_CACHE: &str = "insert into cms_cache_clears (id, prefix, created_at) \
                           select coalesce(max(id), 0) + cast($1 as bigint), '', \
                           cast($2 as bigint) from cms_cache_clears";
/// Lets later clears of the cache get higher numbers. SQLite does so by itself.
#[cfg(feature = "postgres")]
const COUNT_ON: &str = "select setval(pg_get_serial_sequence('cms_cache_clears', 'id'), max(id)) \
                        from cms_cache_clears";

/// A site that was restored.
#[derive(Clone, Debug, serde::Serialize)]
#[non_exhaustive]
pub struct Restored {
    /// The moment at which its state was taken.
    pub made_at: String,
    /// Rows of all tables.
    pub rows: i64,
    /// Files of media.
    pub media: u64,
    /// The places of what was replaced.
    pub kept: Vec<String>,
    /// What somebody should check, one sentence each.
    pub warnings: Vec<String>,
}

/// Why an archive cannot be put in a place as it is.
pub enum Obstacle {
    /// The settings name the other engine.
    OtherEngine(Error),
    /// The database that the settings name contains tables.
    Database(Error),
    /// A folder that the settings name contains files.
    Folder(Error),
}

fn not_empty(what: &Existing) -> Error {
    conflict(format!("The site is not empty: there is {what}. Nothing was changed."))
}

impl JudgedArchive {
    /// The reason why [`restore`](Self::restore) would refuse without `replace`. Creates and
    /// changes nothing.
    ///
    /// # Errors
    /// `conflict` after a restore was interrupted there, `unavailable` when the database cannot
    /// be reached.
    pub async fn obstacle(&self, settings: &Settings) -> Result<Option<Obstacle>> {
        let database = settings.database().map_err(invalid)?;
        if let Err(error) = self.expect_engine(&database) {
            return Ok(Some(Obstacle::OtherEngine(error)));
        }
        journal::expect_none(settings)?;
        Ok(find_existing(settings, &database).await?.map(|what| match what {
            Existing::Database(_) => Obstacle::Database(not_empty(&what)),
            Existing::Folder(_) => Obstacle::Folder(not_empty(&what)),
        }))
    }

    /// Puts the archive in place of the site. `replace`: even if there is a site already.
    ///
    /// # Errors
    /// `conflict` when the site is not empty, is in use, or has another engine;
    /// `validation_failed` when the archive was changed meanwhile, or the disk is full. The site
    /// is unchanged after an error.
    pub async fn restore(
        &self,
        settings: &Settings,
        replace: bool,
        told: OnProgress,
    ) -> Result<Restored> {
        let database = settings.database().map_err(invalid)?;
        self.expect_engine(&database)?;
        let _turn = journal::turn(settings)?;
        journal::expect_none(settings)?;
        if !replace && let Some(what) = find_existing(settings, &database).await? {
            return Err(not_empty(&what));
        }
        expect_unused(&database).await?;
        let place = Place::of(settings, &database).await?;
        let mut journal = place.journal(&self.path);
        journal.write(settings)?;
        told(Progress::at("planned"));
        let staged = self.stage(&place, &database, settings, told.clone()).await;
        let staged = match staged {
            Ok(staged) => staged,
            Err(error) => return Err(undone(journal, settings, error).await),
        };
        if let Some(schemas) = &mut journal.schemas {
            schemas.bound = staged.bound;
        }
        told(Progress::at("staged"));
        if let Err(error) = expect_unused(&database).await {
            return Err(undone(journal, settings, error).await);
        }
        journal.state = State::Swapping;
        journal.write(settings)?;
        told(Progress::at("decided"));
        let kept = journal.swap(settings, &told).await?;
        told(Progress::at("done"));
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
        warnings.push(format!(
            "nobody is logged in, and keys, passwords, rights, links to drafts and recovery codes \
             are those of {}: revoke again what was revoked since",
            self.manifest.made_at
        ));
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
        told: OnProgress,
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
        self.outdate(place, database).await?;
        let synced: Vec<_> = [place.media.clone(), Some(place.plugins.clone()), place.file.clone()]
            .into_iter()
            .flatten()
            .collect();
        let sync_all = move || synced.iter().try_for_each(|path| sync(path));
        tokio::task::spawn_blocking(sync_all).await.map_err(Error::internal)??;
        Ok(laid)
    }

    /// Unpacks its files, and checks the database.
    #[expect(clippy::too_many_arguments, reason = "a restore and a trial of it differ in them")]
    async fn lay(
        &self,
        media: Media,
        plugins: Option<PathBuf>,
        place: &Place,
        database: &Database,
        step: &'static str,
        settings: &Settings,
        told: OnProgress,
    ) -> Result<Staged> {
        let (file, manifest) = (self.file.clone(), self.manifest.clone());
        let (room, identities) = (room(settings), self.identities.clone());
        let data = settings.dirs.data.clone();
        let read = move |target: Target| {
            let mut stage = Stage::new(media, plugins, target).under_way(data);
            let known = Some(&*manifest);
            let walk = Walk { step, told: &told, room, known, identities: &identities };
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
                let is_trial = step == "verify";
                let loaded =
                    super::load::load(&mut connection, &schemas.staged, waiting, is_trial).await;
                let counted = match &loaded {
                    Ok(_) => super::load::counts(&mut connection, &schemas.staged).await,
                    Err(_) => Ok(Default::default()),
                };
                postgres::close(connection).await;
                let read = read.await.map_err(Error::internal)?;
                // The side that stopped first knows the reason.
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
            _ => Err(super::missing_engine()),
        }
    }

    /// Removes from the staged database what must not come back. Sessions and logins under way may
    /// have been ended since the backup. Redis may keep replies of the replaced site, and the
    /// counts of tables repeat: a clear of the cache outdates these replies. Its number is far
    /// above those of the replaced site, so no process has seen it.
    async fn outdate(&self, place: &Place, database: &Database) -> Result<()> {
        // A database that was never migrated has none of these tables.
        if !self.manifest.rows.contains_key("cms_sessions") {
            return Ok(());
        }
        let random = u32::from_be_bytes(Random::system().bytes()?);
        let (step, now) = ((1_i64 << 32) + i64::from(random), Clock::system().now());
        let statements: [(&'static str, &[i64]); 3] =
            [(END_SESSIONS, &[]), (END_LOGINS, &[]), (CLEAR_CACHE, &[step, now])];
        match database {
            #[cfg(feature = "sqlite")]
            Database::Sqlite { .. } => {
                let file = place.file.as_ref().ok_or_else(|| Error::internal("no place"))?;
                crate::db::save::sqlite::run(file, &statements).await
            }
            #[cfg(feature = "postgres")]
            Database::Postgres { url, .. } => {
                use crate::db::{dialect::quote, save::postgres};
                let schemas = place.schemas.as_ref().ok_or_else(|| Error::internal("no place"))?;
                let begin = format!("begin; set local search_path to {}", quote(&schemas.staged));
                let mut connection = postgres::session(url.expose()).await?;
                let done = async {
                    postgres::run(&mut connection, begin).await?;
                    for (text, values) in statements {
                        postgres::run_with(&mut connection, text, values).await?;
                    }
                    postgres::run_with(&mut connection, COUNT_ON, &[]).await?;
                    postgres::run(&mut connection, "commit").await
                };
                let done = done.await;
                postgres::close(connection).await;
                done
            }
            #[cfg(not(all(feature = "sqlite", feature = "postgres")))]
            _ => Err(super::missing_engine()),
        }
    }

    fn expect_rows(&self, found: &std::collections::BTreeMap<String, i64>) -> Result<()> {
        match *found == self.manifest.rows {
            true => Ok(()),
            false => Err(refused("its database has other rows than its manifest says")),
        }
    }
}

/// The results of staging.
#[derive(Default)]
struct Staged {
    bound: Vec<String>,
    warnings: Vec<String>,
}

/// Undoes the preparations. If that fails too, the journal stays, and the next command reports it.
async fn undone(journal: Journal, settings: &Settings, why: Error) -> Error {
    if let Err(error) = journal.undo(settings).await {
        tracing::warn!(?error, "what was prepared for the restore cannot be removed");
    }
    why
}

/// Restores an archive beside the site as a test, then removes the result.
pub(super) async fn verify(
    settings: &Settings,
    path: &Path,
    identities: &Identities,
    told: OnProgress,
) -> Result<()> {
    let judged = judge(path, settings, identities, told.clone()).await?;
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
            let copy = super::source::beside(path)?;
            std::fs::remove_file(&copy).map_err(|error| unmoved(&copy, error))?;
            place.file = Some(copy.to_path_buf());
            judged
                .lay(Media::Nowhere, None, &place, &database, "verify", settings, told)
                .await
                .map(drop)
        }
        #[cfg(feature = "postgres")]
        Database::Postgres { .. } => {
            let name = super::schemas::of_trial(settings).await?;
            place.schemas = Some(super::schemas::Schemas {
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
        _ => Err(super::missing_engine()),
    }
}
