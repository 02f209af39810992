//! Tells whether a site is sound. Nothing here changes anything.

use super::Cms;
use crate::{
    Actor, Millis, Result, db::args, items::BrokenAddress, settings::Settings,
    traffic::redis::Redis,
};

pub(crate) mod sql {
    crate::db::statements! {
        TRY = "insert into cms_table_epochs (name, epoch) values ('doctor', 0)";
        NEWEST = "select max(created_at) from cms_audit";
    }
}

/// How many sealed values the encryption keys open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SealedValues {
    /// Values that the present keys open.
    pub opened: usize,
    /// Values that were sealed with another key, or altered.
    pub lost: usize,
}

/// Broken addresses that are listed at most.
const MAX_BROKEN: usize = 100;

impl Cms {
    /// Values that are no addresses, where one belongs: in records, on pages, in forms and funnels.
    /// 100 of each at most. They are read as they are; only who writes them again must mend them.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be read.
    pub async fn broken_addresses(&self) -> Result<Vec<BrokenAddress>> {
        let mut found = self.items().broken_addresses(MAX_BROKEN).await?;
        found.extend(self.pages().broken_addresses(MAX_BROKEN).await?);
        found.extend(self.forms().broken_addresses(MAX_BROKEN).await?);
        found.extend(self.funnels().broken_addresses(MAX_BROKEN).await?);
        Ok(found)
    }

    /// Writes a row and takes it back: whether writing is allowed and nobody keeps the database
    /// locked. A full disk may not show, because SQLite writes rows at the commit.
    ///
    /// # Errors
    /// As every write.
    pub async fn try_write(&self) -> Result<()> {
        let mut change = self.change(Actor::Operator).await?;
        // Dropped without a commit.
        change.run(sql::TRY, args![]).await.map(drop)
    }

    /// Opens the secrets and headers of webhooks, the secrets of authenticators and some values
    /// of each password column.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be reached.
    pub async fn sealed_values(&self) -> Result<SealedValues> {
        let opens = [
            self.webhooks().secrets_open().await?,
            self.accounts().totp_open().await?,
            self.items().passwords_open().await?,
        ];
        let (opened, lost): (Vec<bool>, Vec<bool>) = opens.concat().into_iter().partition(|o| *o);
        Ok(SealedValues { opened: opened.len(), lost: lost.len() })
    }

    /// The clock of the database's machine; None when that is this machine.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be reached.
    pub async fn database_clock(&self) -> Result<Option<Millis>> {
        let Some(clock) = self.db().dialect().clock() else { return Ok(None) };
        let (now,): (i64,) = self.db().one(clock, args![]).await?;
        Ok(Some(now))
    }

    /// When the audit log was written last.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be reached.
    pub async fn last_written(&self) -> Result<Option<Millis>> {
        let (newest,): (Option<i64>,) = self.db().one(sql::NEWEST, args![]).await?;
        Ok(newest)
    }

    /// The statements that make the index of searches in the inbox; None: it is there.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be reached.
    pub async fn missing_search_index(&self) -> Result<Option<&'static str>> {
        self.funnels().missing_search_index().await
    }

    /// Reads the whole file of SQLite. Returns the first damage found.
    ///
    /// # Errors
    /// As every read; [`Error::is_damaged`](crate::Error::is_damaged) for damage that stops the
    /// search.
    pub async fn damage(&self) -> Result<Option<String>> {
        let Some(search) = self.db().dialect().damage() else { return Ok(None) };
        let (found,): (String,) = self.db().one(search, args![]).await?;
        Ok((found != "ok").then_some(found))
    }
}

/// Asks the Redis of the settings for an answer. None: no store is set to `redis`.
///
/// # Errors
/// `unavailable` without an answer, `validation_failed` for a wrong `redis_url`.
pub async fn ping_redis(settings: &Settings) -> Result<Option<()>> {
    match Redis::of(settings)? {
        Some(redis) => redis.ping().await.map(Some),
        None => Ok(None),
    }
}
