//! Removing rows whose time is over, a batch at a time, so that no transaction is long.

use crate::{
    Actor, Millis, Result,
    base::Base,
    db::{Statement, args},
};

/// Rows that a statement with `limit 1000` removes at most.
const BATCH: u64 = 1000;
/// One call ends after so many batches of each statement; the next call goes on.
const MAX_BATCHES: usize = 1000;

/// A statement that removes at most 1,000 rows from before `$1`, and that moment.
type Expiring = (Statement, Millis);

/// Runs each statement until it finds no full batch. Returns the number of rows removed.
///
/// # Errors
/// As every write; batches that were committed stay removed.
pub(crate) async fn expire(base: &Base, due: &[Expiring]) -> Result<u64> {
    let mut removed = 0;
    for (statement, horizon) in due {
        for _ in 0..MAX_BATCHES {
            let mut change = base.change(Actor::System).await?;
            let batch = change.run(*statement, args![*horizon]).await?;
            change.commit().await?;
            removed += batch;
            if batch < BATCH {
                break;
            }
        }
    }
    Ok(removed)
}

/// The moment so many days before `now`; the earliest moment when there is none.
pub(crate) fn days_before(now: Millis, days: u64) -> Millis {
    seconds_before(now, days.saturating_mul(24 * 3600))
}

/// The moment so many seconds before `now`; the earliest moment when there is none.
pub(crate) fn seconds_before(now: Millis, seconds: u64) -> Millis {
    let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
    now.saturating_sub(seconds.saturating_mul(1000))
}
