//! Client hashes: one text for all calls of a visitor within a day. The address cannot be
//! recovered from the text, because the salt is random and is overwritten on the next day.

use std::{net::IpAddr, sync::PoisonError};

use data_encoding::HEXLOWER;

use super::sql;
use crate::{Millis, Result, crypto::hmac_sha256, funnels::Funnels, ground::network};

pub(super) const DAY_MS: Millis = 86_400_000;
/// Bytes that are kept of the hash of an address, and of the hash of address and browser.
const KEPT: usize = 8;
/// Characters at the beginning of a client hash that all browsers of an address share.
pub(super) const OF_ADDRESS: i64 = 2 * KEPT as i64;

/// The caller, as far as the request tells.
#[derive(Clone, Default)]
pub struct Visitor {
    /// The address, if it is known.
    pub address: Option<IpAddr>,
    /// The browser's name for itself.
    pub agent: Option<String>,
    /// The host that was called, if the site answers for it: links in mails lead there.
    pub host: Option<String>,
}

/// The salt of a day.
#[derive(Clone, Default)]
pub(in crate::funnels) struct Salt {
    day: i64,
    text: String,
}

impl std::fmt::Debug for Salt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Salt").field("day", &self.day).finish_non_exhaustive()
    }
}

impl Salt {
    /// The client hash of a visitor; None if the address is not known. Hashes from one network
    /// begin alike, whatever the browser: limits for a network count by this beginning.
    pub(super) fn hash(&self, visitor: &Visitor) -> Option<String> {
        let network = network(visitor.address?);
        let agent = visitor.agent.as_deref().unwrap_or_default();
        let part = |told: String| {
            let hash = hmac_sha256(self.text.as_bytes(), told.as_bytes());
            HEXLOWER.encode(&hash[..KEPT])
        };
        Some(part(format!("{network:x}")) + &part(format!("{network:x} {agent}")))
    }
}

impl Funnels {
    /// The salt of this day. The first process that needs it makes it.
    pub(super) async fn salt(&self) -> Result<Salt> {
        let base = &self.0.base;
        let day = base.clock().now().div_euclid(DAY_MS);
        let known = || self.0.salt.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = known().clone();
        if kept.day == day && !kept.text.is_empty() {
            return Ok(kept);
        }
        let (mut stored, mut text) = sql::salt(base.db()).await?;
        if stored < day {
            let new = HEXLOWER.encode(&base.random().bytes::<32>()?);
            let mut change = base.change_in_time().await?;
            sql::renew_salt(&mut change, day, &new).await?;
            change.commit().await?;
            // Another process may have been quicker.
            (stored, text) = sql::salt(base.db()).await?;
        }
        // A clock that was set back keeps the salt of the later day.
        let salt = Salt { day: stored.min(day), text };
        *known() = salt.clone();
        Ok(salt)
    }
}
