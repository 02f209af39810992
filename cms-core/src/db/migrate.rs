//! Applies the schema: all pending steps in one transaction, under a lock, so that several
//! processes may start at once.
//!
//! A runner of our own, because sqlx's takes no lock on SQLite and would need each text twice.

use std::collections::BTreeSet;

use sqlx::AssertSqlSafe;

use super::{Db, Fault, Lock, fault::NO_SCHEMA};
use crate::{Clock, Code, Error, Result, db::args, ground::crypto};

pub(crate) mod sql {
    use crate::db::PerEngine;

    crate::db::statements! {
        APPLIED = "select version, name, checksum from cms_migrations order by version";
        /// When the site was made.
        FIRST = "select min(applied_at) from cms_migrations";
        NEWEST = "select coalesce(max(version), 0) from cms_migrations";
        RECORD = "insert into cms_migrations (version, name, checksum, applied_at) values ($1, \
                  $2, $3, $4)";
    }
    /// The schema in which new tables are made, and the one in which `cms_migrations` is found;
    /// null: none.
    pub(super) const PLACE: PerEngine<&str> = PerEngine {
        sqlite: "select 'main', (select 'main' from sqlite_schema where type = 'table' and name = \
                 'cms_migrations')",
        postgres: "select cast(current_schema() as text), (select cast(n.nspname as text) from \
                   pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = \
                   to_regclass('cms_migrations'))",
    };
    pub(in crate::db) const TABLE: &str = "create table if not exists cms_migrations (version \
                                           bigint primary key, name text not null, checksum \
                                           text not null, applied_at bigint not null)";
}

/// The number of a step that stands in the target of a copy until the copy is complete.
pub(crate) const COPYING: i64 = 1_000_000_000;

const UNFINISHED_COPY: &str =
    "a copy into it is not complete: go on with `cms db copy --resume`, or empty it";

/// Whether a database is refused because a copy into it is not complete.
pub(crate) fn is_unfinished_copy(error: &Error) -> bool {
    let cause = std::error::Error::source(error);
    error.is_outdated() && cause.is_some_and(|cause| cause.to_string() == UNFINISHED_COPY)
}

/// A step of the schema, and whether this database has it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[non_exhaustive]
pub struct Migration {
    /// Counts from 1 without gaps.
    pub version: i64,
    /// The name of the step.
    pub name: String,
    /// Whether the database has the step.
    pub applied: bool,
}

/// Ignores line ends, so that a checkout on any system has the same sums.
fn checksum(sql: &str) -> String {
    crypto::sha256_hex(sql.replace("\r\n", "\n").as_bytes())
}

impl Db {
    /// Fails unless every step is applied.
    pub(crate) async fn expect_migrated(&self) -> Result<()> {
        let steps = compared(&self.steps_applied().await?)?;
        match steps.iter().filter(|step| !step.applied).count() {
            0 => Ok(()),
            1 => Err(Error::outdated("1 step of the schema is missing")),
            more => Err(Error::outdated(format!("{more} steps of the schema are missing"))),
        }
    }

    /// Applies pending steps (`apply`), or only lists them. Returns every step; steps applied just
    /// now have `applied: false`.
    pub(crate) async fn migrate(&self, clock: &Clock, apply: bool) -> Result<Vec<Migration>> {
        let steps = compared(&self.steps_applied().await?)?;
        if !apply || steps.iter().all(|step| step.applied) {
            return Ok(steps);
        }
        if steps.iter().all(|step| !step.applied) {
            self.expect_unicode().await?;
        }
        self.apply(clock, compared).await.map_err(may_make)
    }

    /// Applies pending steps in the target of a copy, which sites do not open until the copy is
    /// complete.
    #[cfg(all(feature = "sqlite", feature = "postgres"))]
    pub(crate) async fn migrate_target(&self, clock: &Clock) -> Result<()> {
        self.apply(clock, known).await.map(drop).map_err(may_make)
    }

    /// Applies the steps that `compare` finds missing.
    async fn apply(&self, clock: &Clock, compare: Compare) -> Result<Vec<Migration>> {
        let mut tx = self.begin(true).await?;
        // A step that alters a table waits until nobody reads it.
        tx.lock_within(Lock::SCHEMA, 0).await?;
        tx.script(sql::TABLE).await?;
        let steps = compare(&tx.all(sql::APPLIED, Vec::new()).await?)?;
        for (step, _) in cms_migrations::ALL.iter().zip(&steps).filter(|(_, known)| !known.applied)
        {
            tx.script(AssertSqlSafe(self.dialect().fill(step.sql))).await?;
            tx.run(sql::RECORD, args![step.version, step.name, checksum(step.sql), clock.now()])
                .await?;
        }
        tx.commit(BTreeSet::new()).await?;
        Ok(steps)
    }

    /// Reads the applied steps. Needs neither a lock nor the right to create tables.
    async fn steps_applied(&self) -> Result<Vec<Applied>> {
        type Place = (Option<String>, Option<String>);
        let place = self.one::<Place>(self.dialect().of(&sql::PLACE), args![]).await?;
        match place {
            (Some(here), Some(found)) if here == found => self.all(sql::APPLIED, args![]).await,
            (Some(here), Some(found)) => Err(Error::new(
                Code::Unavailable,
                format!(
                    "The schema {found} holds a site, and new tables would be made in {here}: \
                     take {found} out of search_path to have a site of its own in {here}, or \
                     {here} to use the one in {found}."
                ),
            )),
            (Some(_), None) => Ok(Vec::new()),
            (None, _) => Err(Error::new(Code::Unavailable, NO_SCHEMA)),
        }
    }

    /// Refuses to make a site in a database that cannot hold every text.
    pub(crate) async fn expect_unicode(&self) -> Result<()> {
        let Some(ask) = self.dialect().server() else { return Ok(()) };
        let (encoding, _): (String, i64) = self.one(ask, args![]).await?;
        if encoding == "UTF8" {
            return Ok(());
        }
        let what = format!(
            "The database encodes texts as {encoding}, and cms needs UTF-8: `createdb -E UTF8 -T \
             template0 NAME` makes one; then correct database_url or db_db."
        );
        Err(Error::new(Code::Unavailable, what))
    }
}

/// Version, name and checksum of a step that the database has.
type Applied = (i64, String, String);

/// The steps of this version, each with whether a database has it.
type Compare = fn(&[Applied]) -> Result<Vec<Migration>>;

/// As [`known`], and refuses the target of an unfinished copy.
fn compared(applied: &[Applied]) -> Result<Vec<Migration>> {
    match applied.iter().any(|(version, ..)| *version == COPYING) {
        true => Err(Error::other_schema(UNFINISHED_COPY)),
        false => known(applied),
    }
}

/// The steps of this version, each with whether `applied` has it.
fn known(applied: &[Applied]) -> Result<Vec<Migration>> {
    let is_known = |version: i64| {
        version == COPYING || cms_migrations::ALL.iter().any(|step| step.version == version)
    };
    if let Some((version, name, _)) = applied.iter().find(|(version, ..)| !is_known(*version)) {
        return Err(Error::other_schema(format!(
            "it has step {version}, {name}, which this version does not know: run a newer cms"
        )));
    }
    let steps = cms_migrations::ALL.iter().map(|step| {
        let found = applied.iter().find(|(version, ..)| *version == step.version);
        if found.is_some_and(|(.., sum)| *sum != checksum(step.sql)) {
            return Err(edited(step.version, step.name));
        }
        Ok(Migration {
            version: step.version,
            name: step.name.to_owned(),
            applied: found.is_some(),
        })
    });
    steps.collect()
}

/// Says what to do when PostgreSQL's user may not make or change tables.
fn may_make(error: Error) -> Error {
    if error.fault() != Some(Fault::Forbidden) {
        return error;
    }
    let cause = error.database().map(ToString::to_string).unwrap_or_default();
    Error::new(
        Code::Unavailable,
        "This user may not make or change tables in the database. As a superuser: `alter database \
         NAME owner to USER`, or in that database `grant create on schema public to USER`; tables \
         that are there must belong to USER.",
    )
    .caused_by(cause)
}

fn edited(version: i64, name: &str) -> Error {
    Error::other_schema(format!(
        "step {version}, {name}, differs from the text that was applied: a migration file was \
         edited"
    ))
}
