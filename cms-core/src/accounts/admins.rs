//! Keeps at least one administrator on the site.

use super::Accounts;
use crate::{Change, Code, Error, Result, db::args};

pub(crate) mod sql {
    crate::db::statements! {
        COUNT = "select count(distinct m.user_id) from cms_user_group_members m \
                 join cms_user_groups g on g.id = m.user_group_id \
                 join cms_users u on u.id = m.user_id where u.active and g.rights = '\"0\"'";
    }
}

impl Accounts {
    /// Number of users who can administer the site: active members of a group with all rights.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be reached.
    pub async fn admins(&self) -> Result<i64> {
        let (count,) = self.0.base.db().one(sql::COUNT, args![]).await?;
        Ok(count)
    }
}

/// Guards a change that could remove the last administrator. Take it before the change: guarded
/// changes run one at a time.
pub(super) struct AdminGuard {
    before: i64,
}

impl AdminGuard {
    pub(super) async fn new(change: &mut Change) -> Result<Self> {
        change.lock(super::LOCK).await?;
        Ok(Self { before: count(change).await? })
    }

    /// Refuses a change that removed the last administrator.
    pub(super) async fn check(self, change: &mut Change) -> Result<()> {
        if self.before > 0 && count(change).await? == 0 {
            return Err(Error::new(
                Code::Conflict,
                "This is the last administrator who can log in: make another one first. Nothing \
                 was changed.",
            ));
        }
        Ok(())
    }
}

async fn count(change: &mut Change) -> Result<i64> {
    let (count,) = change.one(sql::COUNT, args![]).await?;
    Ok(count)
}
