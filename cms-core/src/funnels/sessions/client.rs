//! One text for the calls of a visitor within a day. The address cannot be found from it: the salt
//! is random, and overwritten on the next day.

use std::sync::PoisonError;

use data_encoding::HEXLOWER;

use super::sql;
use crate::{Actor, Millis, Result, crypto::hmac_sha256, funnels::Funnels};

const DAY_MS: Millis = 86_400_000;
/// Bytes of a hash that are kept.
const KEPT: usize = 16;

/// Who calls, as far as the request says.
#[derive(Clone, Default)]
pub struct Visitor {
    /// The address, as text.
    pub address: Option<String>,
    /// The browser's name for itself.
    pub agent: Option<String>,
    /// The host that was called, if the site knows it: links in mails lead there.
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
    /// The visitor's text; None for one whose address is not known.
    pub(super) fn hash(&self, visitor: &Visitor) -> Option<String> {
        let address = visitor.address.as_deref()?;
        let agent = visitor.agent.as_deref().unwrap_or_default();
        let told = format!("{address} {agent}");
        let hash = hmac_sha256(self.text.as_bytes(), told.as_bytes());
        Some(HEXLOWER.encode(&hash[..KEPT]))
    }
}

impl Funnels {
    /// The salt of this day. The first process that asks on a day makes it.
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
            let mut change = base.change(Actor::System).await?;
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
