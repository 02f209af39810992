//! The outcome of an attempt whose change is committed even when the attempt was wrong.

use super::Change;
use crate::Result;

/// Outcome of an attempt. The change holds a trace of a refused attempt too: a wrong password is
/// counted, a refused answer of a funnel is noted. So the change is committed in either case.
#[derive(Debug)]
#[must_use = "an attempt counts only when its change is committed"]
pub struct Outcome<T>(pub(crate) Result<T>);

impl<T> Outcome<T> {
    /// Commits the change, then returns the outcome.
    ///
    /// # Errors
    /// The refusal of a wrong attempt; `unavailable` when the database cannot write.
    pub async fn commit(self, change: Change) -> Result<T> {
        change.commit().await?;
        self.0
    }

    /// After a right attempt, returns its change for further writes. After a wrong one, commits
    /// the change and returns the refusal.
    ///
    /// # Errors
    /// As [`Outcome::commit`].
    pub async fn right(self, change: Change) -> Result<(T, Change)> {
        match self.0 {
            Ok(value) => Ok((value, change)),
            Err(refusal) => {
                change.commit().await?;
                Err(refusal)
            }
        }
    }
}
