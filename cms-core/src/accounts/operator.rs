//! What the operator can do for users, only on the site's own machine: help after a lost
//! authenticator, and open a session as a user. No endpoint calls this.

use super::{
    Accounts, HeldPermissions, LOCK, RecoveryCode, Token, login::sql as logins,
    sessions::sql as sessions,
};
use crate::{Change, Result};

/// Address and user agent of the operator's session, as lists of sessions show them.
const ADDRESS: &str = "operator";
const AGENT: &str = "cms, on the site's own machine";

impl Accounts {
    /// Removes the second factor and the recovery codes, and ends all sessions of the user. The
    /// next login sets up new ones.
    pub async fn reset_second_factor(&self, change: &mut Change, user: i64) -> Result<()> {
        change.lock(LOCK).await?;
        self.changeable(change, &HeldPermissions::Admin, user).await?;
        logins::set_totp(change, user, None, 0).await?;
        logins::set_recovery(change, user, &[]).await?;
        logins::drop_pending_of(change, user).await?;
        sessions::end_all(change, user).await?;
        change.audit_row("reset_2fa", "users", user, &[]).await
    }

    /// Replaces the user's recovery codes by a new set.
    pub async fn new_recovery_codes(
        &self,
        change: &mut Change,
        user: i64,
    ) -> Result<Vec<RecoveryCode>> {
        self.changeable(change, &HeldPermissions::Admin, user).await?;
        let codes = self.store_recovery_codes(change, user).await?;
        change.audit_row("new_recovery_codes", "users", user, &[]).await?;
        Ok(codes)
    }

    /// Opens a session as this user. The session is listed and ended like any other, and does not
    /// work while the user is switched off. The audit log records the session; no event is
    /// raised, because the user has not logged in.
    pub async fn act_as(&self, change: &mut Change, user: i64) -> Result<Token> {
        self.changeable(change, &HeldPermissions::Admin, user).await?;
        let token = Token::new(&self.0.base.settings().key_prefix, 's', self.0.base.random())?;
        sessions::insert(change, token.hash(), user, ADDRESS.to_owned(), Some(AGENT)).await?;
        change.audit_row("act_as", "users", user, &[]).await?;
        Ok(token)
    }
}
