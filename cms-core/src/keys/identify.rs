//! Identifies the caller behind a key: when a request arrives, and again in each of the
//! caller's changes.

use std::sync::Arc;

use super::{IN_USE, Keys, PlainKey, Right, expiry, sql};
use crate::{
    Actor, Change, Code, Error, Millis, Result,
    db::{Cached, Source, args},
};

/// A caller with a valid key.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct KeyHolder {
    /// Id of the key.
    pub id: i64,
    /// Its label.
    pub name: String,
    /// Calls that the key allows.
    pub rights: Vec<Right>,
    seen: Cached<Arc<sql::KeyRow>>,
}

impl KeyHolder {
    /// The actor of the caller's changes.
    #[must_use]
    pub fn actor(&self) -> Actor {
        Actor::Key { id: self.id, name: self.name.clone() }
    }
}

impl Keys {
    /// Finds the key with this value. Costs at most one query: none for a mistyped key and, on
    /// SQLite, none for a cached key while nothing is committed.
    ///
    /// # Errors
    /// `api_key_invalid`, `api_key_disabled`, `api_key_expired`, checked in this order.
    pub async fn identify(&self, sent: &str) -> Result<KeyHolder> {
        Ok(self.identify_reader(sent, None).await?.0)
    }

    /// As [`Keys::identify`], and also returns the epoch of `source`, the table that the caller
    /// is about to read. Equal epochs mean equal rows. The epoch is None when `source` is None or
    /// has no epoch.
    pub async fn identify_reader(
        &self,
        sent: &str,
        source: Option<Source<'_>>,
    ) -> Result<(KeyHolder, Option<i64>)> {
        let hash = PlainKey::parse(sent).ok_or_else(invalid)?.hash();
        self.find(&hash, source).await
    }

    /// Judges the caller again, by the key as it is now. For acts without a change:
    /// [`Keys::change`] judges the caller itself.
    pub async fn identify_again(&self, holder: &KeyHolder) -> Result<KeyHolder> {
        Ok(self.find(&holder.seen.record.hash, None).await?.0)
    }

    /// Begins a change on behalf of a caller and judges the caller again within the
    /// change. Also returns the caller with the key's present rights, which stay the same
    /// until the change ends.
    pub async fn change(&self, holder: &KeyHolder) -> Result<(Change, KeyHolder)> {
        self.judge(self.0.base.change(holder.actor()).await?, holder).await
    }

    /// As [`Keys::change`], for a change of the caller that has begun.
    pub async fn judge(
        &self,
        mut change: Change,
        holder: &KeyHolder,
    ) -> Result<(Change, KeyHolder)> {
        let found = match change.cached_if_current(&holder.seen) {
            Some(found) => found,
            None => {
                let (hash, in_use) = (&holder.seen.record.hash, IN_USE.of_row(holder.id));
                let found = sql::find_again(&mut change, hash, in_use).await?;
                found.map(Arc::new).ok_or_else(invalid)?
            }
        };
        let holder = self.admit(Cached::in_change(found), change.now())?;
        change.judged();
        Ok((change, holder))
    }

    async fn find(
        &self,
        hash: &str,
        source: Option<Source<'_>>,
    ) -> Result<(KeyHolder, Option<i64>)> {
        let db = self.0.base.db();
        let read = async |table: &str| {
            let found: Option<sql::KeyRow> = db.optional(sql::FIND, args![hash, table]).await?;
            Ok(found.map(|found| (found.epoch, Arc::new(found))))
        };
        let found = self.0.known.find(db, hash, source, |_| true, read).await?;
        let (seen, count) = found.ok_or_else(invalid)?;
        let now = self.0.base.clock().now();
        if seen.record.valid_until.is_some_and(|until| until <= now) {
            self.end_grace(hash).await;
        }
        Ok((self.admit(seen, now)?, count))
    }

    /// Removes a value that is sent after its grace, so that the value stays invalid when the
    /// clock is set back.
    async fn end_grace(&self, hash: &str) {
        let removed = async {
            let mut change = self.0.base.change_in_time().await?;
            change.run(sql::DROP_VALUE, args![hash, change.now()]).await?;
            change.commit().await
        };
        if let Err(error) = removed.await {
            tracing::warn!(?error, "an expired value of an API key was not removed");
        }
    }

    /// The holder of a key, if the key is valid at `now`.
    fn admit(&self, seen: Cached<Arc<sql::KeyRow>>, now: Millis) -> Result<KeyHolder> {
        let found = &seen.record;
        if found.valid_until.is_some_and(|until| until <= now) {
            return Err(invalid());
        }
        if !found.active {
            return Err(Error::new(
                Code::ApiKeyDisabled,
                "This API key is switched off: an administrator can switch it on.",
            ));
        }
        if found
            .expires_on
            .as_deref()
            .is_some_and(|day| expiry::has_begun(day, self.0.base.zone(), now))
        {
            return Err(Error::new(
                Code::ApiKeyExpired,
                "This API key has expired: ask for a new one or a later day of expiry.",
            ));
        }
        let (name, rights) = (found.name.clone(), found.rights.clone());
        Ok(KeyHolder { id: found.id, name, rights, seen })
    }
}

fn invalid() -> Error {
    Error::new(Code::ApiKeyInvalid, "Unknown API key: it was mistyped, deleted or rotated.")
}
