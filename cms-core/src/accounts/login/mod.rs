//! Logging in: the password, then a code. There is no way around either.

pub(crate) mod sql;

use self::sql::Candidate;
use super::{
    Accounts, RecoveryCode, Token, TotpSecret, Visitor, attempts, name_key, name_problem, record,
    sessions::sql as sessions,
};
use crate::{Actor, Change, Code, Error, Result, ground::Secret};

/// Seconds in which a begun login must be completed.
pub const PENDING_S: i64 = 300;
/// Wrong codes after which a begun login is over.
pub const WRONG_CODES: i64 = 5;

/// A login whose password was right.
#[derive(Debug)]
pub struct Pending {
    /// To be shown with the code.
    pub token: Token,
    /// What the user's authenticator must be given first; None when it has it.
    pub setup: Option<Setup>,
}

/// A second factor to be set up.
#[derive(Debug)]
pub struct Setup {
    /// The secret, for who types it.
    pub secret: TotpSecret,
    /// The user's name, as the authenticator shows it.
    pub account: String,
}

/// What completes a login.
#[derive(Clone, Debug)]
pub enum Proof {
    /// Six digits of the authenticator.
    Code(Secret),
    /// One of the recovery codes.
    Recovery(Secret),
}

/// A login that is complete.
#[derive(Debug)]
pub struct LoggedIn {
    /// To be shown with every request.
    pub token: Token,
    /// When the session ends in any case, in milliseconds.
    pub expires_at: i64,
    /// The user.
    pub user: i64,
    /// His name.
    pub username: String,
    /// The recovery codes, after a first login.
    pub recovery_codes: Option<Vec<RecoveryCode>>,
}

impl Accounts {
    /// Judges name and password. An unknown user takes as long as a wrong password and is told the
    /// same.
    ///
    /// # Errors
    /// `invalid_credentials`; `login_locked` after too many wrong logins from this network.
    pub async fn login(
        &self,
        visitor: &Visitor,
        username: &str,
        password: &Secret,
    ) -> Result<Pending> {
        let network = attempts::network(visitor.address);
        // Asked here only to save the work of hashing; what counts is asked below, where attempts
        // wait for each other.
        attempts::refuse_locked(&self.0.base, &network).await?;
        // A name that nobody can have is looked up like any other.
        let key = if name_problem("username", username).is_none() {
            name_key(username)
        } else {
            String::new()
        };
        let known = sql::credentials(self.0.base.db(), &key).await?;
        let right = self
            .0
            .passwords
            .verify(password, known.as_ref().map(|known| known.password.clone()))
            .await?;

        let mut change = self.0.base.change(Actor::System).await?;
        // However many guesses are judged at the same moment, no more than the allowed ones learn
        // their outcome.
        attempts::admit(&mut change, &network).await?;
        let user = match known.filter(|_| right) {
            // While the password was hashed it may have been changed, or the user switched off.
            Some(known) => {
                let now = sql::lock_user(&mut change, known.user).await?;
                now.filter(|now| now.active && now.password == known.password)
                    .map(|now| (known.user, now))
            }
            None => None,
        };
        let Some((id, user)) = user else {
            attempts::note(&mut change, &network).await?;
            change.commit().await?;
            return Err(Error::new(
                Code::InvalidCredentials,
                "Name and password do not fit, or the user is switched off.",
            ));
        };
        let token = Token::new(&self.0.base.settings().key_prefix, 'p', self.0.base.random())?;
        let setup = if user.totp_secret.is_some() {
            None
        } else {
            Some(TotpSecret::new(self.0.base.random())?)
        };
        let sealed = setup.as_ref().map(|secret| self.seal_totp(id, secret)).transpose()?;
        sql::begin(&mut change, token.hash(), id, sealed).await?;
        change.commit().await?;
        Ok(Pending { token, setup: setup.map(|secret| Setup { secret, account: user.username }) })
    }

    /// Judges the code of a login that was begun, and opens a session, with the event `auth.login`.
    ///
    /// # Errors
    /// `pending_expired` for a login that is over; `invalid_code`; `login_locked`.
    pub async fn verify(
        &self,
        visitor: &Visitor,
        pending: &str,
        proof: &Proof,
    ) -> Result<LoggedIn> {
        let (network, pending) = (attempts::network(visitor.address), Token::sent(pending).hash());
        let mut change = self.0.base.change(Actor::System).await?;
        attempts::admit(&mut change, &network).await?;
        // Users are locked before what is theirs, here as everywhere.
        let owner = sql::owner(&mut change, &pending).await?.ok_or_else(over)?;
        let candidate = sql::lock_user(&mut change, owner)
            .await?
            .filter(|user| user.active)
            .ok_or_else(over)?;
        let since = change.now() - PENDING_S * 1000;
        let waiting = sql::lock(&mut change, &pending, since).await?.ok_or_else(over)?;
        let account = attempts::account(owner);
        attempts::admit_account(&mut change, &account).await?;
        // Somebody else may have set the second factor up meanwhile: then this login has nothing to
        // prove itself with.
        if waiting.setup_secret.is_some() == candidate.totp_secret.is_some() {
            return Err(over());
        }
        if !self
            .proves(&mut change, waiting.user, &candidate, waiting.setup_secret.as_deref(), proof)
            .await?
        {
            attempts::note(&mut change, &network).await?;
            attempts::sql::insert(&mut change, &account).await?;
            if waiting.wrong_codes + 1 >= WRONG_CODES {
                sql::drop_pending(&mut change, &pending).await?;
            } else {
                sql::note_wrong(&mut change, &pending).await?;
            }
            change.commit().await?;
            return Err(Error::new(
                Code::InvalidCode,
                "The code is wrong, was used before, or is of another time: check the clock.",
            ));
        }
        change.act_as(Actor::User { id: waiting.user, name: candidate.username.clone() });
        sql::drop_pending(&mut change, &pending).await?;
        attempts::sql::clear(&mut change, &network).await?;
        attempts::sql::clear(&mut change, &account).await?;
        sql::note_login(&mut change, waiting.user).await?;
        let recovery_codes = match waiting.setup_secret {
            Some(_) => {
                record(&mut change, "setup_2fa", "users", waiting.user, &[]).await?;
                Some(self.store_recovery_codes(&mut change, waiting.user).await?)
            }
            None => None,
        };
        let token = Token::new(&self.0.base.settings().key_prefix, 's', self.0.base.random())?;
        let address = visitor.address.to_string();
        sessions::insert(
            &mut change,
            token.hash(),
            waiting.user,
            address,
            visitor.user_agent.as_deref(),
        )
        .await?;
        let user =
            serde_json::json!({"user": {"id": waiting.user, "username": candidate.username}});
        change.emit("auth.login", user).await?;
        let action =
            if matches!(proof, Proof::Recovery(_)) { "login_with_recovery_code" } else { "login" };
        record(&mut change, action, "users", waiting.user, &[]).await?;
        let expires_at = change.now() + self.session_length();
        change.commit().await?;
        Ok(LoggedIn {
            token,
            expires_at,
            user: waiting.user,
            username: candidate.username,
            recovery_codes,
        })
    }

    /// Whether the proof is right; then it is used up.
    async fn proves(
        &self,
        change: &mut Change,
        user: i64,
        candidate: &Candidate,
        setup: Option<&str>,
        proof: &Proof,
    ) -> Result<bool> {
        match proof {
            Proof::Code(code) => {
                let Some(sealed) = setup.or(candidate.totp_secret.as_deref()) else {
                    return Ok(false);
                };
                let secret = self.open_totp(user, sealed)?;
                let Some(step) = secret.step_of(code.expose(), change.now()) else {
                    return Ok(false);
                };
                if setup.is_some() {
                    sql::set_totp(change, user, Some(sealed.to_owned()), step).await?;
                    return Ok(true);
                }
                sql::use_step(change, user, step).await
            }
            Proof::Recovery(_) if setup.is_some() => Ok(false),
            Proof::Recovery(code) => {
                let hash = RecoveryCode::typed(code.expose()).hash(self.0.passwords.salt()?, user);
                sql::use_recovery(change, user, &hash).await
            }
        }
    }
}

fn over() -> Error {
    Error::new(
        Code::PendingExpired,
        "This login is over: it took more than 5 minutes, had too many wrong codes, or is complete. Begin again.",
    )
}
