//! Wrong logins: passwords and codes share one counter for each network.

pub(crate) mod sql;

use std::net::{IpAddr, Ipv6Addr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::sql::Counted;
use super::Accounts;
use crate::{
    AuditEntry, Change, Code, Error, Millis, Page, Paging, Result,
    base::Base,
    ground::{self, ListName},
};

/// Wrong logins from one network within [`WINDOW_S`]; the next is refused, right or wrong.
pub const ATTEMPTS: i64 = 15;
/// Wrong codes for one user within [`WINDOW_S`], wherever they come from.
pub const ACCOUNT_ATTEMPTS: i64 = 50;
/// Seconds of the sliding window.
pub const WINDOW_S: i64 = 3600;

/// The wrong logins of a network within the last hour. Times are RFC 3339 in UTC.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Attempts {
    /// Counts up with networks.
    pub id: i64,
    /// An IPv4 address, or the first address of an IPv6 /64.
    pub network: String,
    /// How many.
    pub attempts: i64,
    /// Whether the next one is refused.
    pub locked: bool,
    /// When the last one was.
    pub last_attempt_at: String,
}

impl Accounts {
    /// Networks with wrong logins within the last hour, a page at a time.
    ///
    /// # Errors
    /// `bad_query` for a cursor that is not from here.
    pub async fn attempts(&self, paging: &Paging) -> Result<Page<Attempts>> {
        let since = self.0.base.clock().now() - WINDOW_S * 1000;
        Page::by_id(
            ListName::LoginAttempts,
            paging,
            async |after, limit| sql::list(self.0.base.db(), after, limit, since).await,
            |row| row.id,
        )
        .await
    }

    /// Forgets the wrong logins of the network that an address is in.
    ///
    /// # Errors
    /// As every write.
    pub async fn clear_attempts(&self, change: &mut Change, address: IpAddr) -> Result<()> {
        let network = network(address);
        sql::clear(change, &network).await?;
        change
            .audit(AuditEntry {
                action: "clear",
                table: "loginattempts",
                id: &network,
                columns: &[],
            })
            .await
    }
}

/// What is counted as one client, as text.
pub(in crate::accounts) fn network(address: IpAddr) -> String {
    IpAddr::V6(Ipv6Addr::from(ground::network(address))).to_canonical().to_string()
}

/// Lets an attempt in, unless there were too many. Attempts of one network wait here for each
/// other, until their change ends.
pub(in crate::accounts) async fn admit(change: &mut Change, network: &str) -> Result<()> {
    sql::lock(change, network).await?;
    let counted = sql::count(change, network, change.now() - WINDOW_S * 1000).await?;
    judge(&counted, change.now(), ATTEMPTS)
}

/// What wrong codes of one user are counted under, beside the network: who knows the password must
/// not try codes from everywhere.
pub(in crate::accounts) fn account(user: i64) -> String {
    format!("user:{user}")
}

/// Lets a code be tried, unless there were too many wrong ones for this user. Only who has the
/// password can get here.
pub(in crate::accounts) async fn admit_account(change: &mut Change, account: &str) -> Result<()> {
    let now = change.now();
    let counted = sql::count(change, account, now - WINDOW_S * 1000).await?;
    judge(&counted, now, ACCOUNT_ATTEMPTS)
}

/// As [`admit`], at a glance.
pub(in crate::accounts) async fn refuse_locked(base: &Base, network: &str) -> Result<()> {
    let now = base.clock().now();
    judge(&sql::glance(base.db(), network, now - WINDOW_S * 1000).await?, now, ATTEMPTS)
}

fn judge(counted: &Counted, now: Millis, allowed: i64) -> Result<()> {
    if counted.count < allowed {
        return Ok(());
    }
    let wait = (counted.oldest.unwrap_or(now) + WINDOW_S * 1000 - now + 999) / 1000;
    let detail = format!("Too many wrong logins: wait {} min, then try again.", (wait + 59) / 60);
    Err(Error::new(Code::LoginLocked, detail).retry_after(u64::try_from(wait).unwrap_or(1).max(1)))
}

/// Counts a wrong login. The last one that is allowed is told to the log, once.
pub(in crate::accounts) async fn note(change: &mut Change, network: &str) -> Result<()> {
    sql::insert(change, network).await?;
    let counted = sql::count(change, network, change.now() - WINDOW_S * 1000).await?;
    if counted.count == ATTEMPTS {
        change
            .audit(AuditEntry { action: "lock", table: "loginattempts", id: network, columns: &[] })
            .await?;
    }
    Ok(())
}
