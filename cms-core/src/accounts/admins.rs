//! There is always somebody who can administer the site.

use super::{
    Accounts,
    sql::groups::{admins, count_admins},
};
use crate::{Change, Code, Error, Result};

impl Accounts {
    /// How many users can administer the site: active members of a group with all rights.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be reached.
    pub async fn admins(&self) -> Result<i64> {
        admins(self.0.base.db()).await
    }
}

/// Guards a change after which the last administrator might be gone. Taken before it: changes of
/// this kind wait for each other.
pub(super) struct AdminGuard {
    before: i64,
}

impl AdminGuard {
    pub(super) async fn new(change: &mut Change) -> Result<Self> {
        change.lock(super::LOCK).await?;
        Ok(Self { before: count_admins(change).await? })
    }

    /// Refuses when the change took the last one.
    pub(super) async fn check(self, change: &mut Change) -> Result<()> {
        if self.before > 0 && count_admins(change).await? == 0 {
            return Err(Error::new(
                Code::Conflict,
                "This is the last administrator who can log in: make another one first. Nothing was changed.",
            ));
        }
        Ok(())
    }
}
