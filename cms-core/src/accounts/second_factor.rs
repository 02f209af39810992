//! Recovery for users who lost their authenticator. Works only on the site's own machine.

use super::{
    Accounts, HeldPermissions, RecoveryCode, TotpSecret, login::sql as logins, record,
    sessions::sql as sessions,
};
use crate::{Change, Result};

impl Accounts {
    /// Removes the second factor and the recovery codes, and ends all sessions of the user. The
    /// next login sets up new ones.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn reset_second_factor(&self, change: &mut Change, user: i64) -> Result<()> {
        change.lock(super::LOCK).await?;
        self.changeable(change, &HeldPermissions::Admin, user).await?;
        logins::set_totp(change, user, None, 0).await?;
        logins::set_recovery(change, user, &[]).await?;
        logins::drop_pending_of(change, user).await?;
        sessions::end_all(change, user).await?;
        record(change, "reset_2fa", "users", user, &[]).await
    }

    /// Replaces the user's recovery codes by a new set.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn new_recovery_codes(
        &self,
        change: &mut Change,
        user: i64,
    ) -> Result<Vec<RecoveryCode>> {
        self.changeable(change, &HeldPermissions::Admin, user).await?;
        let codes = self.store_recovery_codes(change, user).await?;
        record(change, "new_recovery_codes", "users", user, &[]).await?;
        Ok(codes)
    }

    pub(super) async fn store_recovery_codes(
        &self,
        change: &mut Change,
        user: i64,
    ) -> Result<Vec<RecoveryCode>> {
        let (codes, salt) = (RecoveryCode::set(self.0.base.random())?, self.0.passwords.salt()?);
        let hashes: Vec<_> = codes.iter().map(|code| code.hash(salt, user)).collect();
        logins::set_recovery(change, user, &hashes).await?;
        Ok(codes)
    }

    pub(super) fn seal_totp(&self, user: i64, secret: &TotpSecret) -> Result<String> {
        self.0.base.vault().seal(&context(user), secret.bytes())
    }

    pub(super) fn open_totp(&self, user: i64, sealed: &str) -> Result<TotpSecret> {
        self.0.base.vault().open(&context(user), sealed).map(TotpSecret::from_bytes)
    }
}

impl Accounts {
    /// Whether the secrets of the first authenticators open.
    pub(crate) async fn totp_open(&self) -> Result<Vec<bool>> {
        let sealed = logins::all_totp(self.0.base.db()).await?;
        Ok(sealed.iter().map(|(user, sealed)| self.open_totp(*user, sealed).is_ok()).collect())
    }
}

/// The vault's context of a secret: the secret of one user cannot be opened as that of another.
fn context(user: i64) -> String {
    format!("users.totp_secret:{user}")
}
