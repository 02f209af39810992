//! Applying the schema: all pending steps in one transaction, under a lock, so that processes may start together.
//!
//! Ours instead of sqlx's migrator, which takes no lock on SQLite and would need the text twice.

use sqlx::{AssertSqlSafe, SqlSafeStr};

use super::{Actor, Change, Db};
use crate::{Clock, Code, Error, Random, Result, args, crypto};

pub(super) mod sql {
    crate::db::statements! {
        APPLIED = "select version, name, checksum from cms_migrations order by version";
        COUNT = "select count(*) from cms_migrations";
        RECORD = "insert into cms_migrations (version, name, checksum, applied_at) values ($1, $2, $3, $4)";
    }
    pub(super) const TABLE: &str = "create table if not exists cms_migrations (version bigint primary key, name text not null, \
                                    checksum text not null, applied_at bigint not null)";
}

/// One step of the schema and whether this database has it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Migration {
    /// Counts from 1 without gaps.
    pub version: i64,
    /// What it brings.
    pub name: String,
    /// Applied to this database.
    pub applied: bool,
}

/// Line ends do not count, so a checkout on any system has the same sums.
fn checksum(sql: &str) -> String {
    crypto::sha256_hex(sql.replace("\r\n", "\n").as_bytes())
}

impl Db {
    pub(crate) async fn migrations_applied(&self) -> Result<i64> {
        Ok(self.one::<(i64,)>(sql::COUNT, Vec::new()).await?.0)
    }

    /// Applies what is pending (`apply`) or only looks. Returns every step, those just applied with `applied: false`.
    pub(crate) async fn migrate(&self, clock: &Clock, random: &Random, apply: bool) -> Result<Vec<Migration>> {
        let mut change = Change::begin(self, clock, random, Actor::System).await?;
        if let Some(lock) = self.dialect().migration_lock() {
            change.script(lock.into_sql_str()).await?;
        }
        change.script(sql::TABLE.into_sql_str()).await?;
        let applied: Vec<(i64, String, String)> = change.all(sql::APPLIED, Vec::new()).await?;
        let mut steps = Vec::new();
        for step in cms_migrations::ALL {
            let sum = checksum(step.sql);
            let known = applied.iter().find(|(version, ..)| *version == step.version);
            match known {
                Some((.., known)) if *known != sum => return Err(edited(step.version, step.name)),
                Some(_) => {}
                None if apply => {
                    change.script(AssertSqlSafe(self.dialect().fill(step.sql)).into_sql_str()).await?;
                    change.run(sql::RECORD, args![step.version, step.name, sum, clock.now()]).await?;
                }
                None => {}
            }
            steps.push(Migration { version: step.version, name: step.name.to_owned(), applied: known.is_some() });
        }
        if let Some((version, name, _)) = applied.iter().find(|(version, ..)| !steps.iter().any(|s| s.version == *version)) {
            return Err(Error::new(
                Code::Unavailable,
                format!("The database has step {version} ({name}), which this version does not know: run a newer cms."),
            ));
        }
        change.commit().await?;
        Ok(steps)
    }
}

fn edited(version: i64, name: &str) -> Error {
    Error::new(
        Code::Unavailable,
        format!("Step {version} ({name}) was applied with another text than this version carries: the files were edited."),
    )
}
