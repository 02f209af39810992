//! API keys: rights and expiry. The value is shown once; only its hash is stored.

mod expiry;
mod identify;
pub(crate) mod row;
pub(crate) mod sql;
mod usage;
mod value;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use identify::KeyHolder;
pub use row::{ApiKey, ApiKeyPatch, EDITED, NewApiKey};
use usage::Usage;
pub use value::PlainKey;

use crate::{
    Change, Code, Error, Page, Result,
    access::{self, Endpoints, KeyCall, Right, holds},
    base::Base,
    db::{Lock, RecordCache, args},
    ground::clock,
    items::Query,
    jobs,
};

/// Shared by changes on behalf of a key; exclusive for a change to the key itself.
const IN_USE: Lock = Lock::new(3);
/// Serializes the changes to keys that are made on behalf of a key.
const CHANGES: Lock = Lock::new(7);

/// Longest grace of a rotation: seven days, in seconds.
pub const MAX_GRACE_S: i64 = 7 * 24 * 3600;

/// Refuses a grace that is negative or beyond [`MAX_GRACE_S`].
pub(crate) fn check_grace(grace_s: i64) -> Result<()> {
    if (0..=MAX_GRACE_S).contains(&grace_s) {
        return Ok(());
    }
    let message = format!("seconds from 0 to {MAX_GRACE_S} (7 days)");
    Err(Error::invalid_field("grace_s", "range", message))
}

/// A call that was refused for lack of a right.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct DeniedCall {
    /// When: RFC 3339 in UTC.
    pub at: String,
    /// The row of rights that would have allowed it: method, endpoint, table and action.
    pub right: Right,
}

/// The keys of a site: `cms.keys()`.
#[derive(Clone)]
pub struct Keys(Arc<Inner>);

struct Inner {
    base: Base,
    endpoints: Endpoints,
    /// Keys by the hash of their value.
    known: RecordCache<Arc<sql::KeyRow>>,
    usage: Usage,
}

impl Keys {
    pub(crate) fn new(base: &Base, endpoints: &Endpoints) -> Self {
        let (base, endpoints) = (base.clone(), endpoints.clone());
        let (known, usage) = (RecordCache::default(), Usage::default());
        Self(Arc::new(Inner { base, endpoints, known, usage }))
    }

    /// Writes the counted use of keys. Counts that cannot be written are kept for the next flush.
    pub(crate) async fn flush(&self) -> Result<()> {
        self.0.usage.flush(&self.0.base).await
    }

    /// Removes the values whose grace has ended.
    pub(crate) async fn expire(&self) -> Result<u64> {
        let base = &self.0.base;
        jobs::expire(base, &[(sql::EXPIRE_VALUES, base.clock().now())]).await
    }

    /// Counts a request made with the key.
    pub fn note_use(&self, id: i64, denied: bool) {
        self.0.usage.note(id, denied, self.0.base.clock().now());
    }

    /// Keys, one page at a time. Conditions and orders name any member but `rights`; they see the
    /// counts as last written, up to a minute ago.
    pub async fn list(&self, query: &Query) -> Result<Page<ApiKey>> {
        let page = row::LIST.page(&self.0.base, query, Vec::new(), |key: &ApiKey| key.id).await?;
        Ok(page.map(|key| self.with_recent_use(key)))
    }

    /// One key.
    pub async fn get(&self, id: i64) -> Result<ApiKey> {
        row::get(self.0.base.db(), id)
            .await?
            .map(|key| self.with_recent_use(key))
            .ok_or_else(|| not_found(id))
    }

    fn with_recent_use(&self, mut key: ApiKey) -> ApiKey {
        let recent = self.0.usage.of(key.id);
        key.requests += recent.requests;
        key.denied += recent.denied;
        if recent.last > 0 {
            key.last_used_at = Some(clock::rfc3339(recent.last));
        }
        key
    }

    /// The oldest key with this name.
    pub(crate) async fn named(&self, change: &mut Change, name: &str) -> Result<Option<i64>> {
        let found: Option<(i64,)> = change.optional(sql::NAMED, args![name]).await?;
        Ok(found.map(|(id,)| id))
    }

    /// Creates a key for a caller with the rights `held`. The value is returned only here.
    ///
    /// # Errors
    /// `validation_failed` with the fields; `permission_denied` for rights beyond `held`.
    pub async fn create(
        &self,
        change: &mut Change,
        held: &[Right],
        new: NewApiKey,
    ) -> Result<(ApiKey, PlainKey)> {
        let value = PlainKey::new(&self.0.base.settings().key_prefix, self.0.base.random())?;
        let mut key = ApiKey::of(new, value.prefix(), change.now());
        key.check(true, &[], &self.0.endpoints)?;
        check_held(held, &key.rights)?;
        key.id = row::insert(change, &key).await?;
        sql::add_value(change, key.id, value.hash()).await?;
        change.audit_row("create", "api_keys", key.id, row::COLUMNS).await?;
        Ok((key, value))
    }

    /// Changes a key. A key that is switched off is refused from the next request on.
    pub async fn update(
        &self,
        change: &mut Change,
        held: &[Right],
        id: i64,
        patch: ApiKeyPatch,
    ) -> Result<ApiKey> {
        let unknown = access::unknown_methods("revoke", &patch.revoke);
        if !unknown.is_empty() {
            return Err(Error::invalid(unknown));
        }
        let mut key = self.changeable(change, held, id).await?;
        let columns = key.apply(patch, &self.0.endpoints)?;
        check_held(held, &key.rights)?;
        row::update(change, &key).await?;
        change.audit_row("update", "api_keys", id, &columns).await?;
        Ok(key)
    }

    /// Gives the key a new value. The old value stops after `grace_s` seconds; 0 stops it at once.
    ///
    /// # Errors
    /// `not_found`, `permission_denied`, `validation_failed` for a grace beyond [`MAX_GRACE_S`].
    pub async fn rotate(
        &self,
        change: &mut Change,
        held: &[Right],
        id: i64,
        grace_s: i64,
    ) -> Result<(ApiKey, PlainKey)> {
        check_grace(grace_s)?;
        let mut key = self.changeable(change, held, id).await?;
        let value = PlainKey::new(&self.0.base.settings().key_prefix, self.0.base.random())?;
        key.prefix = value.prefix();
        sql::replace_value(change, id, change.now() + grace_s * 1000, value.hash(), &key.prefix)
            .await?;
        change.audit_row("rotate", "api_keys", id, &[]).await?;
        Ok((key, value))
    }

    /// Waits until no other change to keys on behalf of a key runs. Call this before the caller is
    /// judged: judging shares the lock on the caller's key, and two changes that both share it and
    /// then both change that key would deadlock.
    pub async fn take_turn(&self, change: &mut Change) -> Result<()> {
        change.lock(CHANGES).await
    }

    /// Deletes the key.
    pub async fn delete(&self, change: &mut Change, held: &[Right], id: i64) -> Result<()> {
        self.changeable(change, held, id).await?;
        change.run_one(sql::DELETE, args![id]).await?;
        change.audit_row("delete", "api_keys", id, &[]).await
    }

    /// The code with which this call would be refused now; None when the key allows the call.
    #[must_use]
    pub fn check(&self, key: &ApiKey, call: &KeyCall<'_>) -> Option<Code> {
        let expired = key.expires_on.as_deref().is_some_and(|day| {
            expiry::has_begun(day, self.0.base.zone(), self.0.base.clock().now())
        });
        match () {
            () if !key.active => Some(Code::ApiKeyDisabled),
            () if expired => Some(Code::ApiKeyExpired),
            () if !key.rights.iter().any(|right| right.allows(call)) => Some(Code::ApiKeyForbidden),
            () => None,
        }
    }

    /// Locks and reads a key. The caller must hold all of its rights: otherwise the caller could
    /// gain rights through the key.
    async fn changeable(&self, change: &mut Change, held: &[Right], id: i64) -> Result<ApiKey> {
        change.lock(IN_USE.of_row(id)).await?;
        let key = row::lock(change, id).await?.ok_or_else(|| not_found(id))?;
        check_held(held, &key.rights)?;
        Ok(key)
    }
}

fn not_found(id: i64) -> Error {
    Error::new(Code::NotFound, format!("There is no API key with id {id}."))
}

fn check_held(held: &[Right], asked: &[Right]) -> Result<()> {
    if holds(held, asked) {
        return Ok(());
    }
    Err(Error::new(Code::PermissionDenied, "You can only grant or change rights you hold."))
}
