//! How a change ends: committed even though the attempt was wrong, or refused at the commit.

use sqlx::error::ErrorKind;

use super::Change;
use crate::{Code, Error, Result, db};

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

/// Adopted tables may have deferred rules and triggers, which the engine checks at the commit.
pub(super) fn deferred(error: Error) -> Error {
    const TRIGGER: &str = "A trigger refuses the change";
    let Some(sqlx::Error::Database(cause)) = error.database() else { return error };
    let (code, what) = match cause.kind() {
        ErrorKind::ForeignKeyViolation => {
            (Code::Conflict, "A row refers to a record that does not exist")
        }
        ErrorKind::UniqueViolation => (Code::Conflict, "Another row already has this value"),
        ErrorKind::ExclusionViolation => (Code::Conflict, "Another row excludes this one"),
        // Only triggers check a rule so late.
        ErrorKind::CheckViolation => (Code::DatabaseError, TRIGGER),
        ErrorKind::Other if cause.code().is_some_and(|code| code.starts_with("P0")) => {
            (Code::DatabaseError, TRIGGER)
        }
        _ => return error,
    };
    let columns = match db::violated_columns(cause.as_ref()) {
        "" => String::new(),
        names => format!(" ({names})"),
    };
    Error::new(code, format!("{what}{columns}. Nothing was changed.")).caused_by(error)
}
