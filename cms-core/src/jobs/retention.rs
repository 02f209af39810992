//! Removes old rows in batches, so that transactions stay short.

use crate::{
    Actor, Millis, Result,
    base::Base,
    db::{Statement, Value, args},
};

/// Maximum number of rows that one statement removes: its `limit 1000`.
pub(crate) const BATCH: u64 = 1000;
/// Maximum number of batches of a statement in one call; the next call continues.
const MAX_BATCHES: usize = 1000;

/// A statement that removes at most 1,000 rows from before `$1`, and the value of `$1`.
type Expiring = (Statement, Millis);

/// Runs each statement until a batch is not full. Returns the number of removed rows.
///
/// # Errors
/// As every write. Committed batches stay removed.
pub(crate) async fn expire(base: &Base, due: &[Expiring]) -> Result<u64> {
    let mut removed = 0;
    for (statement, horizon) in due {
        removed += remove(base, *statement, args![*horizon]).await?;
    }
    Ok(removed)
}

/// Runs a statement that removes at most 1,000 rows until a batch is not full. Returns the number
/// of removed rows.
pub(crate) async fn remove(base: &Base, statement: Statement, args: Vec<Value>) -> Result<u64> {
    let mut removed = 0;
    for _ in 0..MAX_BATCHES {
        let batch = remove_batch(base, statement, args.clone()).await?;
        removed += batch;
        if batch < BATCH {
            break;
        }
    }
    Ok(removed)
}

async fn remove_batch(base: &Base, statement: Statement, args: Vec<Value>) -> Result<u64> {
    let mut change = base.change(Actor::System).await?;
    let removed = change.run(statement, args).await?;
    change.commit().await?;
    Ok(removed)
}

/// The moment `days` before `now`, or the earliest moment there is.
pub(crate) fn days_before(now: Millis, days: u64) -> Millis {
    seconds_before(now, days.saturating_mul(24 * 3600))
}

/// The moment `seconds` before `now`, or the earliest moment there is.
pub(crate) fn seconds_before(now: Millis, seconds: u64) -> Millis {
    let seconds = i64::try_from(seconds).unwrap_or(i64::MAX);
    now.saturating_sub(seconds.saturating_mul(1000))
}
