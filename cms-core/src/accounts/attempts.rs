//! Wrong logins. Each network has one counter of wrong passwords and wrong codes, which locks the
//! network. Wrong passwords also count by account, from all networks together: `pause` then slows
//! further tries.

use std::net::{IpAddr, Ipv6Addr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Accounts;
use crate::{
    AuditEntry, Change, Code, Error, Millis, Page, Paging, Result,
    base::Base,
    change::Reader,
    db::{args, read, record, statements},
    ground::{self, ListName, crypto},
};

/// Wrong logins allowed from one network within an hour. The next attempt is refused, right or
/// wrong.
pub const ATTEMPTS: i64 = 15;
/// Wrong codes allowed for one user within [`WINDOW_S`], from all networks together.
const ACCOUNT_ATTEMPTS: i64 = 50;
/// Length of the sliding window, in seconds.
pub(super) const WINDOW_S: i64 = 3600;
/// Wrong passwords for one account within [`WINDOW_S`] before tries are slowed.
const FREE: i64 = 20;
/// The pause doubles with every further `STEP` wrong passwords.
const STEP: i64 = 5;
/// Longest pause, in seconds. Clients wait that long by themselves.
const LONGEST_S: i64 = 60;

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
    pub async fn attempts(&self, paging: &Paging) -> Result<Page<Attempts>> {
        let base = &self.0.base;
        let since = base.clock().now() - WINDOW_S * 1000;
        let read = async |after, limit| base.db().all(LIST, args![after, limit, since]).await;
        let list = base.list(ListName::LoginAttempts);
        let page = Page::by_id(list, paging, read, |row: &Attempts| row.id).await?;
        page.counted(paging, async || {
            base.db().count_rows(LIST, args![i64::MIN, i64::MAX, since]).await
        })
        .await
    }

    /// Forgets the wrong logins of the network that contains `address`.
    pub async fn clear_attempts(&self, change: &mut Change, address: IpAddr) -> Result<()> {
        let network = network(address);
        clear(change, &network).await?;
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
pub(super) fn network(address: IpAddr) -> String {
    IpAddr::V6(Ipv6Addr::from(ground::network(address))).to_canonical().to_string()
}

/// Admits an attempt unless its network had too many wrong logins. Attempts of one network run
/// one at a time: each holds a lock until its change ends.
pub(super) async fn admit(change: &mut Change, network: &str) -> Result<()> {
    change.run(LOCK, args![network, change.now()]).await?;
    let since = change.now() - WINDOW_S * 1000;
    let counted = count(&mut *change, network, since).await?;
    judge(&counted, change.now(), ATTEMPTS)
}

/// The counter name of a user's wrong codes. Codes count by user as well as by network, so that a
/// stolen password does not allow guessing codes from many networks.
pub(super) fn account(user: i64) -> String {
    format!("user:{user}")
}

/// Admits a code unless this user had too many wrong ones. Only a caller with the right password
/// gets here.
pub(super) async fn admit_account(change: &mut Change, account: &str) -> Result<()> {
    let now = change.now();
    let counted = count(change, account, now - WINDOW_S * 1000).await?;
    judge(&counted, now, ACCOUNT_ATTEMPTS)
}

/// As [`admit`], but takes no lock.
pub(super) async fn refuse_locked(base: &Base, network: &str) -> Result<()> {
    let now = base.clock().now();
    judge(&count(base.db(), network, now - WINDOW_S * 1000).await?, now, ATTEMPTS)
}

fn judge(counted: &Counted, now: Millis, allowed: i64) -> Result<()> {
    if counted.count < allowed {
        return Ok(());
    }
    let wait = (counted.oldest.unwrap_or(now) + WINDOW_S * 1000 - now + 999) / 1000;
    let detail = format!("Too many wrong logins: wait {} min, then try again.", (wait + 59) / 60);
    Err(Error::new(Code::LoginLocked, detail).retry_after(u64::try_from(wait).unwrap_or(1).max(1)))
}

/// Counts a wrong login. The last allowed one is audited as the lock of the network.
pub(super) async fn note(change: &mut Change, network: &str) -> Result<()> {
    insert(change, network).await?;
    let since = change.now() - WINDOW_S * 1000;
    let counted = count(&mut *change, network, since).await?;
    if counted.count == ATTEMPTS {
        change
            .audit(AuditEntry { action: "lock", table: "loginattempts", id: network, columns: &[] })
            .await?;
    }
    Ok(())
}

/// The counter name of an account's wrong passwords, whether or not there is such a user. Hashed,
/// because people type passwords where names belong.
pub(super) fn account_of_name(name_key: &str) -> String {
    format!("name:{}", crypto::sha256_hex(name_key.as_bytes()))
}

/// The pause between two tries of one network, after this many wrong passwords.
fn length_s(wrong: i64) -> i64 {
    match wrong - FREE {
        ..0 => 0,
        more => 1_i64.checked_shl(u32::try_from(more / STEP).unwrap_or(u32::MAX)).map_or(
            LONGEST_S,
            |doubled| {
                if (1..LONGEST_S).contains(&doubled) { doubled } else { LONGEST_S }
            },
        ),
    }
}

// Each network has its own pause: a user who waits is judged afterwards, whatever others try. So
// strangers cannot lock an account; each of their networks gets one try per pause.

/// Refuses a try until the pause of its network is over; None: the try may be judged. The first
/// try of a network is refused and begins its pause, and each admitted try begins the next. The
/// change records both, so it is committed even when the try is refused. Tries of one network run
/// one at a time.
pub(super) async fn pause(
    change: &mut Change,
    account: &str,
    network: &str,
) -> Result<Option<Error>> {
    let (now, since) = (change.now(), change.now() - WINDOW_S * 1000);
    let length = length_s(count(&mut *change, account, since).await?.count) * 1000;
    if length == 0 {
        return Ok(None);
    }
    let tries = format!("{account} {network}");
    let (last,): (Option<i64>,) = change.one(LATEST, args![&tries, since]).await?;
    let left = last.map_or(length, |last| (last + length - now).min(length));
    if last.is_none() || left <= 0 {
        insert(change, &tries).await?;
    }
    Ok((left > 0).then(|| refusal(left)))
}

/// As [`pause`], before the password is hashed: this check only saves work, [`pause`] decides.
pub(super) async fn refuse_paused(base: &Base, account: &str, network: &str) -> Result<()> {
    let (db, now) = (base.db(), base.clock().now());
    let since = now - WINDOW_S * 1000;
    let length = length_s(count(db, account, since).await?.count) * 1000;
    if length == 0 {
        return Ok(());
    }
    let tries = format!("{account} {network}");
    let (last,): (Option<i64>,) = db.one(LATEST, args![tries, since]).await?;
    let left = last.map_or(0, |last| (last + length - now).min(length));
    if left > 0 { Err(refusal(left)) } else { Ok(()) }
}

fn refusal(left: Millis) -> Error {
    let wait = u64::try_from((left + 999) / 1000).unwrap_or(1);
    let detail =
        format!("Many wrong passwords were tried for this name: wait {wait} s, then try again.");
    Error::new(Code::LoginLocked, detail).retry_after(wait)
}

record! {
    /// Number of wrong logins, and the time of the oldest.
    struct Counted: counted_columns {
        count: i64 = "count(*)",
        oldest: Option<i64> = "min(created_at)",
    }
}

record! { Attempts: network_columns {
    id: "n.id",
    network: "n.network",
    attempts: "count(*)",
    last_attempt_at: "max(a.created_at)" => read::time;
    locked: attempts >= ATTEMPTS,
} }

statements! {
    EXPIRE = "delete from cms_login_attempts where id in \
              (select id from cms_login_attempts where created_at <= $1 limit 1000)";
    EXPIRE_NETWORKS = "delete from cms_login_networks where id in \
                       (select id from cms_login_networks where last_attempt_at <= $1 limit 1000) \
                       and last_attempt_at <= $1";
    LOCK = "insert into cms_login_networks (network, last_attempt_at) values ($1, $2) \
            on conflict (network) do update set last_attempt_at = excluded.last_attempt_at";
    COUNT = concat!(
        "select ", counted_columns!(), " from cms_login_attempts \
         where network = $1 and created_at > $2"
    );
    LATEST = "select max(created_at) from cms_login_attempts \
              where network = $1 and created_at > $2";
    INSERT = "insert into cms_login_attempts (network, created_at) values ($1, $2)";
    CLEAR = "delete from cms_login_attempts where network = $1";
    LIST = concat!(
        "select ", network_columns!(), " from cms_login_networks n \
         join cms_login_attempts a on a.network = n.network and a.created_at > $3 \
         where n.id > $1 group by n.id, n.network order by n.id limit $2"
    );
}

async fn count(from: impl Into<Reader<'_>>, network: &str, since: i64) -> Result<Counted> {
    from.into().one(COUNT, args![network, since]).await
}

pub(super) async fn insert(change: &mut Change, network: &str) -> Result<()> {
    change.run(INSERT, args![network, change.now()]).await.map(drop)
}

pub(super) async fn clear(change: &mut Change, network: &str) -> Result<()> {
    change.run(CLEAR, args![network]).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::length_s;

    #[test]
    fn pauses_double_up_to_a_minute() {
        for (wrong, seconds) in [
            (0, 0),
            (19, 0),
            (20, 1),
            (24, 1),
            (25, 2),
            (30, 4),
            (45, 32),
            (50, 60),
            (55, 60),
            (500, 60),
            (i64::MAX, 60),
        ] {
            assert_eq!(length_s(wrong), seconds, "{wrong}");
        }
    }
}
