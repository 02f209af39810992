//! Stored replies for requests that are repeated with the same `Idempotency-Key`
//! (draft-ietf-httpapi-idempotency-key-header-07). [`Idempotency::remember`] writes them.

use std::{
    convert::Infallible,
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::sync::{OwnedRwLockReadGuard, RwLock};

use crate::{
    Actor, Change, Code, Error, Millis, Result,
    base::Base,
    crypto,
    db::{Lock, args, watched},
    jobs,
};

/// Requests with the same caller and `Idempotency-Key` run one at a time.
const TURN: Lock = Lock::new(4);
/// How long a repetition waits for its turn, in milliseconds.
const LOCK_TIMEOUT: Millis = 5_000;
/// A request that has not renewed its claim for this long is abandoned: its process died or hung.
const LEASE_MS: Millis = 60_000;
/// How often a request renews its claim.
const RENEWAL: Duration = Duration::from_secs(15);
/// Pause after a failed write: on SQLite another process may be making an index.
const PAUSE: Duration = Duration::from_secs(1);
/// How long storing the reply of finished work is retried.
const RETRY_TIMEOUT: Duration = Duration::from_secs(300);
/// How long the caller waits for that.
const CALLER_TIMEOUT: Duration = Duration::from_secs(5);
/// How long closing the site waits for that.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) mod sql {
    crate::db::statements! {
        EXPIRE = "delete from cms_idempotency where (caller, idempotency_key) in \
                  (select caller, idempotency_key from cms_idempotency \
                  where created_at <= $1 order by created_at limit 1000)";
        REMEMBER = "insert into cms_idempotency (caller, idempotency_key, fingerprint, status, \
                    body, etag, created_at, rights) \
                    values ($1, $2, $3, $4, $5, $6, $7, $10) on conflict (caller, \
                    idempotency_key) do update set fingerprint = excluded.fingerprint, \
                    status = excluded.status, body = excluded.body, etag = excluded.etag, \
                    created_at = excluded.created_at, claim = null, rights = excluded.rights \
                    where cms_idempotency.created_at <= $8 or (cms_idempotency.status = 0 and \
                    cms_idempotency.created_at <= $9)";
        /// Status 0 means that the request is being worked on; `claim` is the token of its claim.
        CLAIM = "insert into cms_idempotency (caller, idempotency_key, fingerprint, status, \
                 created_at, claim) values ($1, $2, $3, 0, $4, $7) on conflict (caller, \
                 idempotency_key) do update set fingerprint = excluded.fingerprint, status = 0, \
                 body = null, etag = null, created_at = excluded.created_at, \
                 claim = excluded.claim where cms_idempotency.created_at \
                 <= $5 or (cms_idempotency.status = 0 and cms_idempotency.created_at <= $6)";
        RENEW = "update cms_idempotency set created_at = $4 where caller = $1 and \
                 idempotency_key = $2 and claim = $3 and status = 0";
        KEEP = "update cms_idempotency set status = $4, body = $5, etag = $6, created_at = $7, \
                claim = null, rights = $8 where caller = $1 and idempotency_key = $2 and \
                claim = $3 and status = 0";
        RELEASE = "delete from cms_idempotency where caller = $1 and idempotency_key = $2 and \
                   claim = $3 and status = 0";
        FIND = "select fingerprint, status, body, etag, rights from cms_idempotency \
                where caller = $1 and idempotency_key = $2 and created_at > $3";
    }
}

/// A reply to store for repetitions with the same `Idempotency-Key`.
#[derive(Clone, Debug)]
pub struct Remember {
    /// The caller. The same key of two callers means two requests.
    pub caller: String,
    /// Value of the header.
    pub key: String,
    /// Hash of method, path, query and body.
    pub fingerprint: String,
    /// Status of the reply.
    pub status: u16,
    /// Body of the reply; None when it carries a secret and must not be stored.
    pub body: Option<String>,
    /// Entity tag of the reply.
    pub etag: Option<String>,
    /// A digest of the caller's rights, which determined the content of the reply.
    pub rights: String,
}

/// The stored reply to an earlier request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Remembered {
    /// Hash of the request.
    pub fingerprint: String,
    /// Its status.
    pub status: u16,
    /// Its body; None when it carried a secret.
    pub body: Option<String>,
    /// Its entity tag.
    pub etag: Option<String>,
    /// A digest of the rights of its caller; `None`: unknown.
    pub rights: Option<String>,
}

/// Fingerprint, status, body, entity tag, rights.
type StoredReply = (String, i64, Option<String>, Option<String>, Option<String>);

/// The error for a request when another one with its `Idempotency-Key` came first.
#[doc(hidden)]
#[must_use]
pub fn in_progress() -> Error {
    let detail = "Another request with this Idempotency-Key is being worked on, or has just ended: \
                  repeat yours to get its reply.";
    Error::new(Code::InProgress, detail)
}

/// A request that is being worked on, until this is dropped. A process that hung past the lease
/// has lost its claim: another claim may have replaced it, and this one changes nothing.
#[doc(hidden)]
pub struct Claim {
    base: Base,
    of: ClaimKey,
    is_over: bool,
    /// `None` while the site closes, which then does not wait for this claim.
    _under_way: Option<OwnedRwLockReadGuard<()>>,
}

/// Caller, key, and the token of the claim.
type ClaimKey = (String, String, String);

impl Claim {
    /// Ends the claim and stores its reply for repetitions. Retries while the database cannot be
    /// written, because the work is done and must not be done again. The caller waits at most 5 s
    /// for that, closing the site at most 10 s. If the reply is not stored, for example after a
    /// lost claim, this is logged.
    pub async fn keep(mut self, reply: Remember) {
        self.is_over = true;
        // A task of its own, which continues when nobody waits.
        let kept = tokio::spawn(watched(async move {
            if let Err(error) = self.persist(reply).await {
                tracing::warn!(?error, "a reply is not kept: a repetition may do its work again");
            }
        }));
        let _ = tokio::time::timeout(CALLER_TIMEOUT, kept).await;
    }

    async fn persist(&self, reply: Remember) -> Result<()> {
        let began = Instant::now();
        loop {
            match self.try_to_keep(&reply).await {
                Err(error)
                    if error.code() == Code::Unavailable
                        && began.elapsed() < RETRY_TIMEOUT
                        && !self.base.db().is_closed() =>
                {
                    tracing::warn!(?error, "a reply is not kept yet; trying again");
                }
                outcome => return outcome,
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn try_to_keep(&self, reply: &Remember) -> Result<()> {
        let (caller, key, token) = &self.of;
        let mut change = self.base.change(Actor::System).await?;
        let (status, now) = (i64::from(reply.status), change.now());
        let (body, etag) = (reply.body.clone(), reply.etag.clone());
        let args = args![caller, key, token, status, body, etag, now, reply.rights.clone()];
        match change.run(sql::KEEP, args).await? {
            0 => Err(in_progress()),
            _ => change.commit().await,
        }
    }

    /// Renews the claim while `work` runs.
    pub async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        // Concurrently, because the work may hold the only writer.
        tokio::select! {
            biased;
            done = watched(work) => done,
            never = watched(self.renew()) => match never {},
        }
    }

    async fn renew(&self) -> Infallible {
        let (caller, key, token) = &self.of;
        let mut wait = RENEWAL;
        loop {
            tokio::time::sleep(wait).await;
            let renewed = async {
                let mut change = self.base.change(Actor::System).await?;
                let args = args![caller, key, token, change.now()];
                let rows = change.run(sql::RENEW, args).await?;
                change.commit().await.map(|()| rows)
            };
            wait = match renewed.await {
                Ok(0) => {
                    tracing::warn!("a request under way stood still, and has lost its claim");
                    return std::future::pending().await;
                }
                Ok(_) => RENEWAL,
                Err(error) => {
                    tracing::warn!(?error, "a request under way could not say so; trying again");
                    PAUSE
                }
            };
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let (base, (caller, key, token)) = (self.base.clone(), std::mem::take(&mut self.of));
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        runtime.spawn(watched(async move {
            let released = async {
                let mut change = base.change(Actor::System).await?;
                change.run(sql::RELEASE, args![caller, key, token]).await?;
                change.commit().await
            };
            if let Err(error) = released.await {
                tracing::debug!(%error, "a request that ended without a reply is not released");
            }
        }));
    }
}

/// The kept replies of a site: `cms.idempotency()`.
#[derive(Clone)]
pub struct Idempotency {
    base: Base,
    /// Each claim holds a read lock; closing the site takes the write lock.
    claims: Arc<RwLock<()>>,
}

impl Idempotency {
    pub(crate) fn new(base: &Base) -> Self {
        Self { base: base.clone(), claims: Arc::default() }
    }

    /// Waits at most 10 s for replies that are not stored yet. Called before the site closes.
    pub(crate) async fn close(&self) {
        if tokio::time::timeout(SHUTDOWN_TIMEOUT, self.claims.write()).await.is_err() {
            tracing::warn!("replies were not stored at shutdown: the database cannot be written");
        }
    }

    /// Removes expired replies.
    pub(crate) async fn expire(&self) -> Result<u64> {
        jobs::expire(&self.base, &[(sql::EXPIRE, self.horizon())]).await
    }

    /// A digest that distinguishes requests. It is keyed, because a body may contain a password
    /// that readers of the database must not be able to guess.
    #[must_use]
    pub fn fingerprint(&self, request: &[u8]) -> String {
        let key = self.base.settings().encryption_key.as_ref().map_or("", |key| key.expose());
        data_encoding::HEXLOWER.encode(&crypto::hmac_sha256(key.as_bytes(), request))
    }

    /// The reply that this caller got for this key within the last
    /// `retention.idempotency_h` hours.
    // For cms-http: what is kept is a reply over HTTP.
    #[doc(hidden)]
    pub async fn remembered(&self, caller: &str, key: &str) -> Result<Option<Remembered>> {
        let found: Option<StoredReply> =
            self.base.db().optional(sql::FIND, args![caller, key, self.horizon()]).await?;
        Ok(found.map(|(fingerprint, status, body, etag, rights)| Remembered {
            fingerprint,
            status: u16::try_from(status).unwrap_or(200),
            body,
            etag,
            rights,
        }))
    }

    /// Waits until no other change of this caller works under this key, at most 5 s, because the
    /// wait takes one of PostgreSQL's connections. Call this first in a change.
    ///
    /// # Errors
    /// `in_progress` when it takes longer.
    // For cms-http, as above.
    #[doc(hidden)]
    pub async fn take_turn(&self, change: &mut Change, caller: &str, key: &str) -> Result<()> {
        let name = crypto::sha256_hex(format!("{caller} {key}").as_bytes());
        let number = i64::from_str_radix(&name[..8], 16).map_err(Error::internal)?;
        let waited = change.lock_within(TURN.of_row(number), LOCK_TIMEOUT).await;
        waited.map_err(|error| match error.database() {
            Some(sqlx::Error::Database(e)) if e.code().is_some_and(|code| code == "55P03") => {
                in_progress().caused_by(error)
            }
            _ => error,
        })
    }

    /// Whether a reply is already stored, as this change sees it.
    // For cms-http, as above.
    #[doc(hidden)]
    pub async fn is_kept(&self, change: &mut Change, caller: &str, key: &str) -> Result<bool> {
        let found: Option<StoredReply> =
            change.optional(sql::FIND, args![caller, key, self.horizon()]).await?;
        Ok(found.is_some_and(|(_, status, ..)| status != 0))
    }

    /// Claims a request whose work is not part of a change. The commit of the change makes the
    /// claim visible to all processes. `None`: another request has the claim or was answered.
    // For cms-http, as above.
    #[doc(hidden)]
    pub async fn claim(
        &self,
        change: &mut Change,
        (caller, key): (&str, &str),
        fingerprint: &str,
    ) -> Result<Option<Claim>> {
        let now = change.now();
        let token = self.base.random().uuid_v7(self.base.clock())?;
        let args = args![caller, key, fingerprint, now, self.horizon(), now - LEASE_MS, &token];
        let claimed = change.run(sql::CLAIM, args).await? > 0;
        let (base, of) = (self.base.clone(), (caller.to_owned(), key.to_owned(), token));
        let _under_way = self.claims.clone().try_read_owned().ok();
        Ok(claimed.then(|| Claim { base, of, is_over: false, _under_way }))
    }

    /// Stores the reply of a change for repetitions of its request.
    ///
    /// # Errors
    /// `in_progress` when the same request has been answered meanwhile.
    // For cms-http, as above.
    #[doc(hidden)]
    pub async fn remember(&self, change: &mut Change, reply: Remember) -> Result<()> {
        let Remember { caller, key, fingerprint, status, body, etag, rights } = reply;
        let args = args![
            caller,
            key,
            fingerprint,
            i64::from(status),
            body,
            etag,
            change.now(),
            self.horizon(),
            change.now() - LEASE_MS,
            rights
        ];
        match change.run(sql::REMEMBER, args).await? {
            0 => Err(in_progress()),
            _ => Ok(()),
        }
    }

    fn horizon(&self) -> i64 {
        self.base.clock().now() - self.base.settings().retention.idempotency_h as i64 * 3_600_000
    }
}
