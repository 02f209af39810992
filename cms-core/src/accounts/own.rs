//! What users change of their own account. A new password or new recovery codes need the password
//! or a code again, because somebody else may sit at the screen. Wrong ones count as at a login.
//! Also what the operator does to an account, only on the site's own machine: helps after a lost
//! authenticator, and opens a session as a user. No endpoint calls these.

use super::{
    Accounts, CheckedLogin, HeldPermissions, LOCK, LoginClient, Proof, RecoveryCode, SessionUser,
    Token, attempts, login, sessions,
    users::{HashedPassword, sql as users},
};
use crate::{Change, Code, Error, Outcome, Result, ground::Secret};

/// Proof that the caller is the user of the session.
#[non_exhaustive]
pub enum OwnProof {
    /// The password, as [`Accounts::check_own_password`] found it.
    Password(CheckedLogin),
    /// Six digits from the authenticator.
    Code(Secret),
}

impl Accounts {
    /// Checks the caller's password, before the change begins.
    pub async fn check_own_password(
        &self,
        visitor: &LoginClient,
        user: &SessionUser,
        password: &Secret,
    ) -> Result<CheckedLogin> {
        let checked = self.check_password(visitor, &user.username, password).await?;
        // If the user was renamed meanwhile, the name may belong to another user.
        let right = checked.right.filter(|known| known.user == user.id);
        Ok(CheckedLogin { right, ..checked })
    }

    /// Checks and hashes the caller's new password on a blocking thread.
    ///
    /// # Errors
    /// As [`Accounts::hash_password`]; the field is `new`.
    pub async fn hash_own_password(
        &self,
        user: &SessionUser,
        new: &Secret,
    ) -> Result<HashedPassword> {
        self.hashed("new", &user.username, new).await
    }

    /// Admits an attempt of a network. Call it before the caller is judged under the change: a
    /// login of the same user takes both in this order.
    ///
    /// # Errors
    /// `login_locked` after too many wrong logins from this network.
    pub async fn admit_attempt(&self, change: &mut Change, network: &str) -> Result<()> {
        attempts::admit(change, network).await
    }

    /// Gives the caller a new password. The session stays, all others of the user end.
    ///
    /// # Errors
    /// The outcome is `invalid_credentials`, or `login_locked` as in [`Accounts::login`].
    pub async fn change_own_password(
        &self,
        change: &mut Change,
        user: &SessionUser,
        current: CheckedLogin,
        new: HashedPassword,
    ) -> Result<Outcome<()>> {
        if let Some(refusal) = self.own_password(change, current).await? {
            return Ok(Outcome(Err(refusal)));
        }
        users::set_password(change, user.id, &new.hash, &new.salt_id).await?;
        login::forget_logins(change, user.id).await?;
        sessions::end_others(change, user.id, user.session).await?;
        change.audit_row("update", "users", user.id, &["password"]).await?;
        Ok(Outcome(Ok(())))
    }

    /// Replaces the caller's recovery codes by a new set.
    ///
    /// # Errors
    /// The outcome is `invalid_credentials`, `invalid_code`, or `login_locked` as in
    /// [`Accounts::login`] and [`Accounts::verify`].
    pub async fn own_recovery_codes(
        &self,
        change: &mut Change,
        visitor: &LoginClient,
        user: &SessionUser,
        proof: OwnProof,
    ) -> Result<Outcome<Vec<RecoveryCode>>> {
        let refusal = match proof {
            OwnProof::Password(checked) => self.own_password(change, checked).await?,
            OwnProof::Code(code) => self.own_code(change, visitor, user, code).await?,
        };
        if let Some(refusal) = refusal {
            return Ok(Outcome(Err(refusal)));
        }
        let codes = self.store_recovery_codes(change, user.id).await?;
        change.audit_row("new_recovery_codes", "users", user.id, &[]).await?;
        Ok(Outcome(Ok(codes)))
    }

    /// Ends one session of the caller, or all others.
    pub async fn end_own_sessions(
        &self,
        change: &mut Change,
        user: &SessionUser,
        session: Option<i64>,
    ) -> Result<()> {
        match session {
            None => sessions::end_others(change, user.id, user.session).await?,
            Some(session) if sessions::end(change, user.id, session).await? => {}
            Some(session) => {
                let detail = format!("You have no session with id {session}.");
                return Err(Error::new(Code::NotFound, detail));
            }
        }
        change.audit_row("revoke", "sessions", user.id, &[]).await
    }

    /// Counts a wrong password and returns its refusal.
    async fn own_password(
        &self,
        change: &mut Change,
        checked: CheckedLogin,
    ) -> Result<Option<Error>> {
        let wrong = "This is not your present password. Nothing was changed.";
        Ok(self.judge_password(change, checked, wrong).await?.err())
    }

    /// Counts a wrong code and returns its refusal.
    async fn own_code(
        &self,
        change: &mut Change,
        visitor: &LoginClient,
        user: &SessionUser,
        code: Secret,
    ) -> Result<Option<Error>> {
        let account = attempts::account(user.id);
        attempts::admit_account(change, &account).await?;
        let proof = Proof::Code(code);
        if let Some(known) = login::lock_user(change, user.id).await?
            && self.proves(change, user.id, &known, None, &proof).await?
        {
            return Ok(None);
        }
        attempts::note(change, &visitor.network()).await?;
        attempts::insert(change, &account).await?;
        let detail = "The code is wrong, expired or already used. Nothing was changed.";
        Ok(Some(Error::new(Code::InvalidCode, detail)))
    }
}

/// Address and user agent of the operator's session, as lists of sessions show them.
const ADDRESS: &str = "operator";
const AGENT: &str = "cms, on the site's own machine";

impl Accounts {
    /// Removes the second factor and the recovery codes, ends all sessions of the user and forgets
    /// the user's wrong codes. The next login sets up a new authenticator and new recovery codes.
    pub async fn reset_second_factor(&self, change: &mut Change, user: i64) -> Result<()> {
        change.lock(LOCK).await?;
        self.changeable(change, &HeldPermissions::Admin, user).await?;
        login::set_totp(change, user, None, 0).await?;
        login::set_recovery(change, user, &[]).await?;
        login::forget_logins(change, user).await?;
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
