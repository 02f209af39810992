//! Kept replies of requests that are repeated with the same `Idempotency-Key`
//! (draft-ietf-httpapi-idempotency-key-header-07). [`Idempotency::remember`] writes them.

use crate::{
    Change, Code, Error, Millis, Result,
    base::Base,
    crypto,
    db::{Lock, args},
    jobs,
};

/// Requests with the same caller and `Idempotency-Key` pass one at a time.
const TURN: Lock = Lock::new(4);
/// How long a repetition waits for its turn, in milliseconds.
const PATIENCE: Millis = 5_000;

pub(crate) mod sql {
    crate::db::statements! {
        EXPIRE = "delete from cms_idempotency where (caller, idempotency_key) in \
                  (select caller, idempotency_key from cms_idempotency \
                  where created_at <= $1 order by created_at limit 1000)";
        REMEMBER = "insert into cms_idempotency (caller, idempotency_key, fingerprint, status, \
                    body, etag, created_at) \
                    values ($1, $2, $3, $4, $5, $6, $7) on conflict (caller, idempotency_key) do \
                    update set fingerprint = excluded.fingerprint, \
                    status = excluded.status, body = excluded.body, etag = excluded.etag, \
                    created_at = excluded.created_at \
                    where cms_idempotency.created_at <= $8";
        FIND = "select fingerprint, status, body, etag from cms_idempotency where caller = $1 and \
                idempotency_key = $2 and created_at > $3";
    }
}

/// A reply to keep for a repeated request with the same `Idempotency-Key`.
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
}

/// The kept reply to an earlier request.
#[derive(Clone, Debug)]
pub struct Remembered {
    /// Hash of the request.
    pub fingerprint: String,
    /// Its status.
    pub status: u16,
    /// Its body; None when it carried a secret.
    pub body: Option<String>,
    /// Its entity tag.
    pub etag: Option<String>,
}

/// Fingerprint, status, body, entity tag.
type Kept = (String, i64, Option<String>, Option<String>);

/// The refusal of a request that another one with its `Idempotency-Key` came before.
#[doc(hidden)]
#[must_use]
pub fn in_progress() -> Error {
    let detail = "Another request with this Idempotency-Key is being worked on, or has just ended: \
                  repeat yours to get its reply.";
    Error::new(Code::InProgress, detail)
}

/// The kept replies of a site: `cms.idempotency()`.
#[derive(Clone)]
pub struct Idempotency(Base);

impl Idempotency {
    pub(crate) fn new(base: &Base) -> Self {
        Self(base.clone())
    }

    /// Removes expired replies.
    pub(crate) async fn expire(&self) -> Result<u64> {
        jobs::expire(&self.0, &[(sql::EXPIRE, self.horizon())]).await
    }

    /// A digest that tells requests apart. It is keyed, because a body may hold a password that
    /// readers of the database must not be able to guess.
    #[must_use]
    pub fn fingerprint(&self, request: &[u8]) -> String {
        let key = self.0.settings().encryption_key.as_ref().map_or("", |key| key.expose());
        data_encoding::HEXLOWER.encode(&crypto::hmac_sha256(key.as_bytes(), request))
    }

    /// The reply that this caller got for this key within the last `retention.idempotency_h` hours.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be reached.
    // For cms-http: what is kept is a reply over HTTP.
    #[doc(hidden)]
    pub async fn remembered(&self, caller: &str, key: &str) -> Result<Option<Remembered>> {
        let found: Option<Kept> =
            self.0.db().optional(sql::FIND, args![caller, key, self.horizon()]).await?;
        Ok(found.map(|(fingerprint, status, body, etag)| Remembered {
            fingerprint,
            status: u16::try_from(status).unwrap_or(200),
            body,
            etag,
        }))
    }

    /// Waits until no other change of this caller works under this key, 5 s at most: meanwhile it
    /// holds one of PostgreSQL's connections. Comes first in a change.
    ///
    /// # Errors
    /// `in_progress` when it takes longer.
    // For cms-http, as above.
    #[doc(hidden)]
    pub async fn take_turn(&self, change: &mut Change, caller: &str, key: &str) -> Result<()> {
        let name = crypto::sha256_hex(format!("{caller} {key}").as_bytes());
        let number = i64::from_str_radix(&name[..8], 16).map_err(Error::internal)?;
        let waited = change.lock_within(TURN.of_row(number), PATIENCE).await;
        waited.map_err(|error| match error.database() {
            Some(sqlx::Error::Database(e)) if e.code().is_some_and(|code| code == "55P03") => {
                in_progress().caused_by(error)
            }
            _ => error,
        })
    }

    /// Whether a reply is kept already, as this change sees it.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be reached.
    // For cms-http, as above.
    #[doc(hidden)]
    pub async fn is_kept(&self, change: &mut Change, caller: &str, key: &str) -> Result<bool> {
        Ok(change.optional::<Kept>(sql::FIND, args![caller, key, self.horizon()]).await?.is_some())
    }

    /// Keeps the reply of a change for repetitions of its request.
    ///
    /// # Errors
    /// `in_progress` when the same request has been answered meanwhile.
    // For cms-http, as above.
    #[doc(hidden)]
    pub async fn remember(&self, change: &mut Change, reply: Remember) -> Result<()> {
        let Remember { caller, key, fingerprint, status, body, etag } = reply;
        let args = args![
            caller,
            key,
            fingerprint,
            i64::from(status),
            body,
            etag,
            change.now(),
            self.horizon()
        ];
        match change.run(sql::REMEMBER, args).await? {
            0 => Err(in_progress()),
            _ => Ok(()),
        }
    }

    fn horizon(&self) -> i64 {
        self.0.clock().now() - self.0.settings().retention.idempotency_h as i64 * 3_600_000
    }
}
