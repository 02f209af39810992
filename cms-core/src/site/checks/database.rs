//! Checks of the database: it answers, is intact and can be written.

use super::{
    CheckInput, Opening,
    finding::{Findings, RESTORE},
};
use crate::{
    Clock, Cms, Error, Millis, Result,
    db::{Fault, args, migrate::is_unfinished_copy},
    settings::Database,
};

pub(crate) mod sql {
    crate::db::statements! {
        TRY = "insert into cms_table_epochs (name, backend, epoch) values ('doctor', 0, 0)";
        NEWEST = "select max(created_at) from cms_audit";
    }
}

/// Codes of authenticators are accepted 30 seconds early and late.
const CLOCKS_APART_MS: i64 = 15_000;

pub(super) async fn answers(asked: &CheckInput, found: &mut Findings) -> Result<()> {
    let place = match asked.settings.database() {
        Ok(Database::Sqlite { path, .. }) => format!("SQLite in {}", path.display()),
        Ok(Database::Postgres { url, .. }) => format!("PostgreSQL at {}", crate::db::place(&url)),
        Err(error) => {
            found.error(error.to_string(), "correct the setting");
            return Ok(());
        }
    };
    let error = match &asked.opening {
        Opening::Untried => return Ok(()),
        Opening::Behind(_) => {
            found.ok(place);
            return Ok(());
        }
        Opening::Open(cms) => match cms.db().one::<(Option<Millis>,)>(sql::NEWEST, args![]).await {
            Ok(_) => {
                found.ok(place);
                return Ok(());
            }
            Err(error) => {
                away(asked, found, &place, &error);
                return Ok(());
            }
        },
        Opening::Away(error) => {
            away(asked, found, &place, error);
            return Ok(());
        }
        // The database has answered; the checks `media` and `redis` report these settings.
        Opening::Refused(error) if is_of_a_store(error) => {
            found.ok(place);
            return Ok(());
        }
        Opening::Refused(error) => error,
    };
    let remedy = match error.is_damaged() {
        true => RESTORE,
        false => "correct what the error names, then `cms doctor`",
    };
    found.error(format!("{place}: {}", error.with_cause()), remedy);
    Ok(())
}

/// Whether the site cannot be opened because of the settings of Redis or of the bucket.
fn is_of_a_store(error: &Error) -> bool {
    let of_a_store = |field: &str| {
        ["limiter.store", "cache.store", "redis_url"].contains(&field)
            || field.starts_with("media.")
    };
    !error.fields().is_empty() && error.fields().iter().all(|wrong| of_a_store(&wrong.field))
}

fn away(asked: &CheckInput, found: &mut Findings, place: &str, error: &Error) {
    if is_unfinished_copy(error) {
        let what = format!("{place}: a copy into this database is not complete");
        let remedy = "go on with `cms db copy --resume` in the folder of the site that is copied, \
                      to this address; until then let database_url name the old database";
        found.error(what, remedy);
        return;
    }
    let remedy = if error.is_damaged() {
        RESTORE.to_owned()
    } else if error.is_outdated() {
        "run the version of cms that made this schema, or a newer one".to_owned()
    } else {
        crate::db::remedy(&asked.settings, error)
    };
    found.error(format!("{place}: {}", error.with_cause()), remedy);
}

pub(super) async fn migrations(asked: &CheckInput, found: &mut Findings) -> Result<()> {
    let open = match &asked.opening {
        Opening::Behind(open) => *open,
        Opening::Open(cms) => match cms.db().expect_migrated().await {
            Ok(()) => 0,
            Err(error) if error.is_outdated() => {
                found.error(error.with_cause(), "`cms migrate up`");
                return Ok(());
            }
            // The previous check reports this.
            Err(_) => return Ok(()),
        },
        Opening::Untried | Opening::Away(_) | Opening::Refused(_) => return Ok(()),
    };
    match open {
        0 => found.ok(format!("all {} applied", cms_migrations::ALL.len())),
        open => found.error(format!("{open} pending"), "`cms migrate up`"),
    }
    Ok(())
}

pub(super) async fn damage(asked: &CheckInput, found: &mut Findings) -> Result<()> {
    let Some(cms) = asked.cms() else { return Ok(()) };
    match cms.damage().await? {
        None => found.ok("yes"),
        Some(what) => found.error(what, RESTORE),
    }
    Ok(())
}

pub(super) async fn writable(asked: &CheckInput, found: &mut Findings) -> Result<()> {
    let Some(cms) = asked.cms() else { return Ok(()) };
    let error = match cms.try_write().await {
        Ok(()) => {
            found.ok("yes");
            return Ok(());
        }
        Err(error) if error.is_damaged() => {
            found.error(error.with_cause(), RESTORE);
            return Ok(());
        }
        Err(error) => error,
    };
    let (what, remedy) = match error.fault() {
        _ if cms.db().expect_file().is_err() => (
            "the database file is gone from its place, or another one lies there".to_owned(),
            "stop the service, put the right file there, then start the service".to_owned(),
        ),
        Some(Fault::ReadOnly) if is_standby(cms).await => (
            "the server is a standby, which only reads".to_owned(),
            "let database_url or db_host name the primary, or promote this server: `select \
             pg_promote()` in psql, as a superuser"
                .to_owned(),
        ),
        Some(Fault::ReadOnly) => (error.with_cause(), crate::db::writing(&asked.settings)),
        Some(Fault::Locked) => {
            (error.with_cause(), "end the program that keeps it locked, then ask again".to_owned())
        }
        Some(Fault::Full) => (error.with_cause(), "make room on the database's disk".to_owned()),
        _ => (error.with_cause(), crate::db::remedy(&asked.settings, &error)),
    };
    found.error(what, remedy);
    Ok(())
}

/// Whether the server is a read-only standby.
async fn is_standby(cms: &Cms) -> bool {
    let Some(ask) = cms.db().dialect().standby() else { return false };
    cms.db().one::<(bool,)>(ask, args![]).await.is_ok_and(|(standby,)| standby)
}

/// Connections beside the pool: one hears of other processes; for a moment two ask whether the
/// server answers, one makes an index, one writes a backup.
const BESIDE_POOL: u64 = 5;

/// What helps when the server allows too few connections.
const RAISE: &str = "raise the limit: max_connections of PostgreSQL, `alter role USER connection \
                     limit N`; or let database.max_connections be smaller";

/// Whether PostgreSQL gave no connection. [`server`] reports this; other checks are skipped.
pub(super) fn is_without_connection(asked: &CheckInput, error: &Error) -> bool {
    matches!(asked.settings.database(), Ok(Database::Postgres { .. }))
        && error.fault().is_some_and(Fault::is_of_connection)
}

/// Whether the server suits: how it encodes texts, and how many connections it allows.
pub(super) async fn server(asked: &CheckInput, found: &mut Findings) -> Result<()> {
    let Some(cms) = asked.cms() else { return Ok(()) };
    let Some(ask) = cms.db().dialect().server() else {
        found.ok("SQLite has no server");
        return Ok(());
    };
    let (encoding, allowed) = match cms.db().one::<(String, i64)>(ask, args![]).await {
        Ok(answer) => answer,
        // The pool tries to open one more connection until its time is over.
        Err(error) if matches!(error.fault(), Some(Fault::Silent | Fault::Crowded)) => {
            found.error("no connection within 10 s", RAISE);
            return Ok(());
        }
        Err(error) if is_without_connection(asked, &error) => {
            found.error(error.with_cause(), crate::db::remedy(&asked.settings, &error));
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let wanted = asked.settings.database.max_connections + BESIDE_POOL;
    let allowed = u64::try_from(allowed).unwrap_or_default();
    if encoding != "UTF8" {
        found.error(
            format!("the database encodes texts as {encoding}, which does not hold every sign"),
            "make a backup, then a database by `createdb -E UTF8 -T template0 NAME`, and restore \
             the backup there",
        );
    }
    if allowed < wanted {
        found.warning(
            format!("this user gets {allowed} connections, and the site may open {wanted}"),
            RAISE,
        );
    }
    if found.findings.is_empty() {
        found.ok(format!("UTF-8, {allowed} connections"));
    }
    Ok(())
}

/// Whether the inbox is searched by an index.
pub(super) async fn search(asked: &CheckInput, found: &mut Findings) -> Result<()> {
    let Some(cms) = asked.cms() else { return Ok(()) };
    match cms.funnels().missing_search_index().await? {
        None => found.ok("the inbox has an index"),
        Some(statements) => found.warning(
            "the search index is missing, which needs the extension pg_trgm: the inbox is searched \
             among its newest 50,000 submissions only",
            format!("run as a superuser: {statements}"),
        ),
    }
    Ok(())
}

/// Compares the clock of the database, and the times of rows written by it, with this clock.
pub(super) async fn clocks(asked: &CheckInput, found: &mut Findings) -> Result<()> {
    let Some(cms) = asked.cms() else { return Ok(()) };
    let remedy = "set the clocks of both machines: codes, sessions and deliveries depend on them";
    let machine = Clock::system().now();
    if let Some(what) = cms.database_clock().await?.and_then(|there| apart(there - machine)) {
        found.error(what, remedy);
        return Ok(());
    }
    let now = cms.clock().now();
    match cms.last_written().await? {
        Some(newest) if newest - now > CLOCKS_APART_MS => {
            let ahead = (newest - now) / 1000;
            let what = format!("the newest row lies {ahead} s in the future by this clock");
            found.error(what, remedy);
        }
        _ => found.ok("agrees with this one"),
    }
    Ok(())
}

/// A message if the database's clock is too far ahead of this one, or behind it.
fn apart(ahead_ms: Millis) -> Option<String> {
    let which = if ahead_ms > 0 { "ahead of" } else { "behind" };
    let seconds = ahead_ms.abs() / 1000;
    (ahead_ms.abs() > CLOCKS_APART_MS)
        .then(|| format!("the database's clock is {seconds} s {which} this one"))
}

impl Cms {
    /// Writes a row and rolls it back, to test that writing is allowed and the database is not
    /// locked. A full disk may go unnoticed, because SQLite writes rows at the commit.
    pub async fn try_write(&self) -> Result<()> {
        let mut change = self.change_in_time().await?;
        // Dropped without a commit.
        change.run(sql::TRY, args![]).await.map(drop)
    }

    /// The clock of the database's machine; `None`: that is this machine.
    async fn database_clock(&self) -> Result<Option<Millis>> {
        let Some(clock) = self.db().dialect().clock() else { return Ok(None) };
        let (now,): (i64,) = self.db().one(clock, args![]).await?;
        Ok(Some(now))
    }

    /// When the audit log was last written.
    async fn last_written(&self) -> Result<Option<Millis>> {
        let (newest,): (Option<i64>,) = self.db().one(sql::NEWEST, args![]).await?;
        Ok(newest)
    }

    /// Reads the whole SQLite file. Returns the first damage found.
    ///
    /// # Errors
    /// As every read; [`Error::is_damaged`] for damage that stops the search.
    async fn damage(&self) -> Result<Option<String>> {
        let Some(search) = self.db().dialect().damage() else { return Ok(None) };
        let (found,): (String,) = self.db().one(search, args![]).await?;
        Ok((found != "ok").then_some(found))
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_clock_is_ahead_or_behind() {
        for (ahead_ms, found) in [
            (15_000, None),
            (-15_000, None),
            (60_000, Some("the database's clock is 60 s ahead of this one")),
            (-60_000, Some("the database's clock is 60 s behind this one")),
        ] {
            assert_eq!(super::apart(ahead_ms).as_deref(), found);
        }
    }
}
