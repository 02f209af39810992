//! Wrong logins. Wrong passwords and wrong codes share one counter for each network, which locks
//! it. Wrong passwords also count by account, wherever they come from: `pause` slows further tries.

mod pause;
pub(crate) mod sql;

use std::net::{IpAddr, Ipv6Addr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub(in crate::accounts) use self::pause::{account_of_name, pause, refuse_paused};
use self::sql::Counted;
use super::Accounts;
use crate::{
    AuditEntry, Change, Code, Error, Millis, Page, Paging, Result,
    base::Base,
    ground::{self, ListName},
};

/// Wrong logins allowed from one network within an hour. The next attempt is refused, right or
/// wrong.
pub const ATTEMPTS: i64 = 15;
/// Wrong codes allowed for one user within [`WINDOW_S`], from all networks together.
const ACCOUNT_ATTEMPTS: i64 = 50;
/// Length of the sliding window, in seconds.
pub(super) const WINDOW_S: i64 = 3600;

/// The wrong logins of a network within the last hour. Times are RFC 3339 in UTC.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Attempts {
    /// Ids grow as networks are added.
    pub id: i64,
    /// An IPv4 address, or the first address of an IPv6 /64 network.
    pub network: String,
    /// Number of wrong logins.
    pub attempts: i64,
    /// Whether the next attempt is refused.
    pub locked: bool,
    /// When the last wrong login happened.
    pub last_attempt_at: String,
}

impl Accounts {
    /// Networks with wrong logins within the last hour, one page at a time.
    ///
    /// # Errors
    /// `bad_query` for a foreign cursor.
    pub async fn attempts(&self, paging: &Paging) -> Result<Page<Attempts>> {
        let since = self.0.base.clock().now() - WINDOW_S * 1000;
        Page::by_id(
            self.0.base.list(ListName::LoginAttempts),
            paging,
            async |after, limit| sql::list(self.0.base.db(), after, limit, since).await,
            |row| row.id,
        )
        .await
    }

    /// Forgets the wrong logins of the network that contains `address`.
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

/// The network that counts as one client, as text.
pub(in crate::accounts) fn network(address: IpAddr) -> String {
    IpAddr::V6(Ipv6Addr::from(ground::network(address))).to_canonical().to_string()
}

/// Admits an attempt unless its network had too many wrong logins. Attempts of one network pass one
/// at a time until their change ends.
pub(in crate::accounts) async fn admit(change: &mut Change, network: &str) -> Result<()> {
    sql::lock(change, network).await?;
    let counted = sql::count(change, network, change.now() - WINDOW_S * 1000).await?;
    judge(&counted, change.now(), ATTEMPTS)
}

/// The counter name of a user's wrong codes. Codes count by user as well as by network, so that a
/// stolen password does not allow guessing codes from many networks.
pub(in crate::accounts) fn account(user: i64) -> String {
    format!("user:{user}")
}

/// Admits a code unless this user had too many wrong ones. Only a caller with the right password
/// gets here.
pub(in crate::accounts) async fn admit_account(change: &mut Change, account: &str) -> Result<()> {
    let now = change.now();
    let counted = sql::count(change, account, now - WINDOW_S * 1000).await?;
    judge(&counted, now, ACCOUNT_ATTEMPTS)
}

/// Like [`admit`], but takes no lock.
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

/// Counts a wrong login. Logs and audits the last allowed one.
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
