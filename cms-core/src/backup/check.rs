//! Checks that a site is intact: its database, and the files that it names. Also shrinks
//! the database.

use std::io::Read as _;

use futures_util::StreamExt as _;
use sha2::{Digest as _, Sha256};

use super::{OnProgress, Progress, invalid};
use crate::{
    Error, Result,
    db::{Db, args, save::Reader},
    media::{self, Content, Files, Name},
    settings::{Database, Settings},
};

/// Maximum number of reported problems.
const MAX_REPORTED: usize = 1000;

/// The result of a check.
#[derive(Clone, Debug, Default, serde::Serialize)]
#[non_exhaustive]
pub struct CheckedArchive {
    /// Rows of media whose file was checked.
    pub files: u64,
    /// Bytes of these files.
    pub bytes: u64,
    /// The problems, one sentence each, 1000 at most.
    pub problems: Vec<String>,
}

impl CheckedArchive {
    fn problem(&mut self, what: String) {
        if self.problems.len() < MAX_REPORTED {
            self.problems.push(what);
        }
    }
}

/// Turns damage of the database into a found problem instead of an error. `None`: it is damaged.
fn damaged<T>(looked: Result<T>, found: &mut CheckedArchive) -> Result<Option<T>> {
    match looked {
        Ok(whole) => Ok(Some(whole)),
        Err(error) if error.is_damaged() => {
            found.problem(format!("database: {}", error.with_cause()));
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Checks the database for damage, and that the files named by its rows exist. With `deep`, also
/// reads the files and compares their content. Changes nothing.
///
/// # Errors
/// `unavailable` when the database or the store of files cannot be reached.
pub async fn check(settings: &Settings, deep: bool, told: OnProgress) -> Result<CheckedArchive> {
    let mut found = CheckedArchive::default();
    let database = settings.database().map_err(invalid)?;
    let ready = match Db::existing(&database).await {
        Ok(db) => {
            let ready = db.expect_migrated().await;
            db.close().await;
            ready
        }
        Err(error) => Err(error),
    };
    if damaged(ready, &mut found)?.is_none() {
        return Ok(found);
    }
    let mut reader = match &database {
        #[cfg(feature = "sqlite")]
        Database::Sqlite { path, .. } => {
            use crate::db::save::sqlite;
            let opened = sqlite::open(path).await;
            let Some(mut connection) = damaged(opened, &mut found)? else { return Ok(found) };
            told(Progress::at("database"));
            match sqlite::problems(&mut connection, true).await {
                Ok(problems) => found.problems.extend(problems),
                Err(error) if error.is_damaged() => found.problem(error.with_cause()),
                Err(error) => return Err(error),
            }
            Reader::Sqlite(connection)
        }
        #[cfg(feature = "postgres")]
        Database::Postgres { url, .. } => {
            use crate::db::save::postgres;
            let mut connection = postgres::session(url.expose()).await?;
            told(Progress::at("database"));
            for rule in postgres::unproved(&mut connection).await? {
                found.problem(format!("the rule {rule} was never compared with the rows"));
            }
            for (table, column) in postgres::lagging_sequences(&mut connection).await? {
                found.problem(format!(
                    "{table}.{column}: the next number was given before, so inserts will fail"
                ));
            }
            Reader::Postgres(connection)
        }
        #[cfg(not(all(feature = "sqlite", feature = "postgres")))]
        _ => return Err(super::missing_engine()),
    };
    for problem in &mut found.problems {
        problem.insert_str(0, "database: ");
    }
    let looked = look_at_media(settings, &mut reader, deep, &told, &mut found).await;
    reader.close().await;
    damaged(looked, &mut found)?;
    Ok(found)
}

async fn look_at_media(
    settings: &Settings,
    reader: &mut Reader,
    deep: bool,
    told: &OnProgress,
    found: &mut CheckedArchive,
) -> Result<()> {
    let (files, mut after) = (Files::of(settings)?, String::new());
    let all: Vec<(i64,)> = reader.all(media::sql::ALL_BYTES, args![]).await?;
    let total = all.first().map_or(0, |(bytes,)| bytes.unsigned_abs());
    loop {
        let rows: Vec<(String, i64)> = reader.all(media::sql::AFTER, args![&*after]).await?;
        let Some((last, _)) = rows.last() else { return Ok(()) };
        after = last.clone();
        for (path, size) in rows {
            found.files += 1;
            found.bytes += size.unsigned_abs();
            told(Progress { step: "media", done: found.bytes, total });
            if let Some(problem) = judged(&files, &path, size, deep).await? {
                // A file removed after the rows were read is not lost.
                let rows: Vec<(i64,)> = reader.all(media::sql::SIZE, args![&path]).await?;
                if !rows.is_empty() {
                    found.problem(format!("media: {path} {problem}"));
                }
            }
        }
    }
}

async fn judged(files: &Files, path: &str, size: i64, deep: bool) -> Result<Option<String>> {
    let Some(name) = Name::of_path(path) else {
        return Ok(Some("is the path of no file".to_owned()));
    };
    let Some((content, length, _)) = files.open(&name).await? else {
        return Ok(Some("is missing".to_owned()));
    };
    if i64::try_from(length) != Ok(size) {
        return Ok(Some(format!("has {length} bytes, its row says {size}")));
    }
    if deep && digest(content, length).await? != name.sha256() {
        return Ok(Some("has another content than its name says".to_owned()));
    }
    Ok(None)
}

async fn digest(content: Content, length: u64) -> Result<String> {
    let sha = match content {
        Content::File(mut file) => {
            let read = move || {
                let (mut sha, mut part) = (Sha256::new(), vec![0; super::archive::PART]);
                loop {
                    match file.read(&mut part)? {
                        0 => return Ok::<_, std::io::Error>(sha),
                        n => sha.update(&part[..n]),
                    }
                }
            };
            let sha = tokio::task::spawn_blocking(read).await.map_err(Error::internal)?;
            sha.map_err(Error::internal)?
        }
        Content::Remote(read) => {
            let (mut sha, mut parts) = (Sha256::new(), read(0, length));
            while let Some(part) = parts.next().await {
                sha.update(&part?);
            }
            sha
        }
    };
    Ok(data_encoding::HEXLOWER.encode(&sha.finalize()))
}

/// Returns the space of removed rows to the operating system. Returns the size of the database
/// before and after, in bytes. On SQLite, writers wait meanwhile.
///
/// # Errors
/// `unavailable` when the database cannot be reached, or its disk has no space for a copy.
pub async fn shrink(settings: &Settings) -> Result<(u64, u64)> {
    let database = settings.database().map_err(invalid)?;
    match &database {
        #[cfg(feature = "sqlite")]
        Database::Sqlite { path, .. } => {
            use crate::db::save::sqlite;
            let db = Db::existing(&database).await?;
            let before = sqlite::bytes(path);
            let shrunk = match db.expect_migrated().await {
                Ok(()) => db.scrub(true).await.map(drop),
                Err(error) => Err(error),
            };
            db.close().await;
            shrunk.map(|()| (before, sqlite::bytes(path)))
        }
        #[cfg(feature = "postgres")]
        Database::Postgres { url, .. } => {
            use crate::db::{dialect::quote, save::postgres};
            let db = Db::existing(&database).await?;
            let ready = db.expect_migrated().await;
            db.close().await;
            ready?;
            let mut connection = postgres::session(url.expose()).await?;
            let shrunk = async {
                let before = postgres::bytes(&mut connection).await?;
                for table in postgres::tables(&mut connection).await? {
                    let vacuum = format!("vacuum (analyze) {}", quote(&table.name));
                    postgres::run(&mut connection, vacuum).await?;
                }
                let after = postgres::bytes(&mut connection).await?;
                Ok((before.unsigned_abs(), after.unsigned_abs()))
            };
            let shrunk = shrunk.await;
            postgres::close(connection).await;
            shrunk
        }
        #[cfg(not(all(feature = "sqlite", feature = "postgres")))]
        _ => Err(super::missing_engine()),
    }
}
