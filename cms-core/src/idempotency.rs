//! Replies kept for requests that are sent again with the same `Idempotency-Key`
//! (draft-ietf-httpapi-idempotency-key-header-07). Written by [`crate::Change::remember`].

use crate::{Cms, Result, args};

pub(crate) mod sql {
    crate::db::statements! {
        FIND = "select fingerprint, status, body, etag from cms_idempotency where caller = $1 and idempotency_key = $2 and created_at > $3";
    }
}

/// The reply to an earlier request.
#[derive(Clone, Debug)]
pub struct Remembered {
    /// Hash of the request it answered.
    pub fingerprint: String,
    /// Its status.
    pub status: u16,
    /// Its body; None when it carried a secret.
    pub body: Option<String>,
    /// Its entity tag.
    pub etag: Option<String>,
}

impl Cms {
    /// The reply that this caller got for this key, within the time that `retention.idempotency_h` says.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be reached.
    pub async fn remembered(&self, caller: &str, key: &str) -> Result<Option<Remembered>> {
        let found: Option<(String, i64, Option<String>, Option<String>)> =
            self.db().optional(sql::FIND, args![caller, key, self.idempotency_horizon()]).await?;
        Ok(found.map(|(fingerprint, status, body, etag)| Remembered {
            fingerprint,
            status: u16::try_from(status).unwrap_or(200),
            body,
            etag,
        }))
    }

    pub(crate) fn idempotency_horizon(&self) -> i64 {
        self.clock().now() - self.settings().retention.idempotency_h as i64 * 3_600_000
    }
}
