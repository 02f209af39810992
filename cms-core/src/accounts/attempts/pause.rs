//! Pauses between tries at an account that many wrong passwords were tried at.
//!
//! Each network has pauses of its own: whoever waits is judged afterwards, however many others try.
//! So strangers cannot lock an account, but each of their networks gets one try in a pause.

use super::{WINDOW_S, sql};
use crate::{Change, Code, Error, Millis, Result, base::Base, ground::crypto};

/// Wrong passwords for one account within [`WINDOW_S`] before tries are slowed.
const FREE: i64 = 20;
/// The pause doubles with as many further wrong passwords.
const STEP: i64 = 5;
/// Longest pause, in seconds. Clients wait that long by themselves.
const LONGEST_S: i64 = 60;

/// The counter name of an account's wrong passwords, whether or not there is such a user. Hashed,
/// because people type passwords where names belong.
pub(in crate::accounts) fn account_of_name(name_key: &str) -> String {
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

/// The refusal of a try that comes before the pause of its network is over; None: it may be judged.
/// The first try of a network begins a pause. Either is noted in the change, so that the change is
/// committed. Tries of one network pass one at a time.
pub(in crate::accounts) async fn pause(
    change: &mut Change,
    account: &str,
    network: &str,
) -> Result<Option<Error>> {
    let (now, since) = (change.now(), change.now() - WINDOW_S * 1000);
    let length = length_s(sql::count(change, account, since).await?.count) * 1000;
    if length == 0 {
        return Ok(None);
    }
    let tries = format!("{account} {network}");
    let last = sql::latest(change, &tries, since).await?;
    let left = last.map_or(length, |last| (last + length - now).min(length));
    if last.is_none() || left <= 0 {
        sql::insert(change, &tries).await?;
    }
    Ok((left > 0).then(|| refusal(left)))
}

/// Refuses a try within a pause before its password is hashed. [`pause`] decides.
pub(in crate::accounts) async fn refuse_paused(
    base: &Base,
    account: &str,
    network: &str,
) -> Result<()> {
    let (db, now) = (base.db(), base.clock().now());
    let since = now - WINDOW_S * 1000;
    let length = length_s(sql::glance(db, account, since).await?.count) * 1000;
    if length == 0 {
        return Ok(());
    }
    let last = sql::glance_latest(db, &format!("{account} {network}"), since).await?;
    let left = last.map_or(0, |last| (last + length - now).min(length));
    if left > 0 { Err(refusal(left)) } else { Ok(()) }
}

fn refusal(left: Millis) -> Error {
    let wait = u64::try_from((left + 999) / 1000).unwrap_or(1);
    let detail =
        format!("Many wrong passwords were tried for this name: wait {wait} s, then try again.");
    Error::new(Code::LoginLocked, detail).retry_after(wait)
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
