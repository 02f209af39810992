//! The schemas of PostgreSQL that a restore exchanges.

use serde::{Deserialize, Serialize};

#[cfg(feature = "postgres")]
use crate::{
    Error, Result,
    db::save::postgres,
    settings::{Database, Settings},
};

/// The PostgreSQL schemas of one exchange.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Schemas {
    pub(super) staged: String,
    pub(super) place: String,
    pub(super) kept: String,
    /// Functions that are bound to the schema in which they were made.
    pub(super) bound: Vec<String>,
}

#[cfg(feature = "postgres")]
async fn session(settings: &Settings) -> Result<Option<sqlx::PgConnection>> {
    match settings.database().map_err(super::invalid)? {
        Database::Postgres { url, .. } => postgres::session(url.expose()).await.map(Some),
        Database::Sqlite { .. } => Ok(None),
    }
}

/// The prefix of the schema of a trial; the process id and the moment follow.
#[cfg(feature = "postgres")]
const TRIAL: &str = "cms_verifying_";

/// A name for the schema of a trial. First removes trial schemas that are older than a day: killed
/// processes have left them.
#[cfg(feature = "postgres")]
pub(super) async fn of_trial(settings: &Settings) -> Result<String> {
    const STALE_MS: i64 = 24 * 3600 * 1000;
    let now = crate::Clock::system().now();
    let names = match session(settings).await? {
        Some(mut connection) => {
            let names = postgres::schemas(&mut connection, TRIAL).await;
            postgres::close(connection).await;
            names?
        }
        None => Vec::new(),
    };
    for name in names {
        let began = name.rsplit('_').next().and_then(|ms| ms.parse::<i64>().ok());
        if began.is_some_and(|began| now - began > STALE_MS) {
            drop_schema(settings, &name).await?;
        }
    }
    Ok(format!("{TRIAL}{}_{now}", std::process::id()))
}

/// Removes a schema with everything in it.
#[cfg(feature = "postgres")]
pub(super) async fn drop_schema(settings: &Settings, name: &str) -> Result<()> {
    let Some(mut connection) = session(settings).await? else { return Ok(()) };
    let name = crate::db::dialect::quote(name);
    let dropped = postgres::run(&mut connection, format!("drop schema if exists {name} cascade"));
    let dropped = dropped.await;
    postgres::close(connection).await;
    dropped
}

/// Moves the present tables into the schema `kept`, and the staged ones into their place, in one
/// transaction. Tables are moved instead of schemas, so that extensions stay where they are.
/// Returns whether anything was replaced.
#[cfg(feature = "postgres")]
pub(super) async fn exchange(settings: &Settings, schemas: &Schemas) -> Result<bool> {
    let Some(mut connection) = session(settings).await? else {
        return Err(Error::internal("the settings name another database"));
    };
    let exchanged = exchange_on(&mut connection, schemas).await;
    postgres::close(connection).await;
    exchanged
}

/// Begins a transaction. First waits for an exchange of this site that this process has given up
/// but the server still runs.
#[cfg(feature = "postgres")]
const BEGIN: &str = concat!(
    "begin; select pg_advisory_xact_lock(",
    crate::db::dialect::lock_of_schema!("7165923410"),
    ")"
);

/// Whether the staged tables are not in their place yet.
#[cfg(feature = "postgres")]
pub(super) async fn is_staged(settings: &Settings, schemas: &Schemas) -> Result<bool> {
    let Some(mut connection) = session(settings).await? else { return Ok(true) };
    let asked = async {
        postgres::run(&mut connection, BEGIN).await?;
        postgres::has_schema(&mut connection, &schemas.staged).await
    };
    let is_staged = asked.await;
    postgres::close(connection).await;
    is_staged
}

#[cfg(feature = "postgres")]
async fn exchange_on(connection: &mut sqlx::PgConnection, schemas: &Schemas) -> Result<bool> {
    use crate::db::dialect::quote;
    let Schemas { staged, place, kept, bound } = schemas;
    postgres::run(connection, BEGIN).await?;
    if !postgres::has_schema(connection, staged).await? {
        // The exchange was already done.
        return postgres::has_schema(connection, kept).await;
    }
    let old = postgres::moves(connection, place, kept).await?;
    if !old.is_empty() {
        postgres::run(connection, format!("create schema {}", quote(kept))).await?;
        postgres::run(connection, old.join("; ")).await?;
    }
    let new = postgres::moves(connection, staged, place).await?;
    postgres::run(connection, new.join("; ")).await?;
    for function in bound {
        let here = format!("alter {function} set search_path from current");
        postgres::run(connection, here).await?;
    }
    postgres::run(connection, format!("drop schema {}; commit", quote(staged))).await?;
    Ok(!old.is_empty())
}
