//! Logging in: the password, then a code. There is no way around either.

pub(crate) mod sql;

use self::sql::{Candidate, Credentials};
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

/// Name and password as they were judged outside of a change, because hashing takes long.
pub struct Checked {
    network: String,
    /// The user, and the hash his password was compared with; None: unknown, or wrong.
    right: Option<Credentials>,
}

/// How an attempt ended. A wrong one is counted within the change too, so the change is committed
/// in either case.
#[derive(Debug)]
#[must_use = "an attempt counts only when its change is committed"]
pub struct Outcome<T>(Result<T>);

impl<T> Outcome<T> {
    /// Commits the change, then tells how the attempt ended.
    ///
    /// # Errors
    /// `invalid_credentials` or `invalid_code` for a wrong attempt; `unavailable` when the database
    /// cannot write.
    pub async fn commit(self, change: Change) -> Result<T> {
        change.commit().await?;
        self.0
    }
}

impl Accounts {
    /// Compares name and password, before the change of [`Accounts::login`] begins. An unknown user
    /// takes as long as a wrong password.
    ///
    /// # Errors
    /// `login_locked` after too many wrong logins from this network.
    pub async fn check_password(
        &self,
        visitor: &Visitor,
        username: &str,
        password: &Secret,
    ) -> Result<Checked> {
        let network = attempts::network(visitor.address);
        // Asked here only to save the work of hashing. The answer that counts is that of `login`,
        // where attempts wait for each other.
        attempts::refuse_locked(&self.0.base, &network).await?;
        // A name that nobody can have is looked up like any other.
        let key = if name_problem("username", username).is_none() {
            name_key(username)
        } else {
            String::new()
        };
        let known = sql::credentials(self.0.base.db(), &key).await?;
        let hash = known.as_ref().map(|known| known.password.clone());
        let right = self.0.passwords.verify(password, hash).await?;
        Ok(Checked { network, right: known.filter(|_| right) })
    }

    /// Begins a login when the password was right, and counts the attempt when it was wrong. An
    /// unknown user is told the same as a wrong password.
    ///
    /// # Errors
    /// `login_locked` after too many wrong logins from this network; then the change is dropped.
    pub async fn login(&self, change: &mut Change, checked: Checked) -> Result<Outcome<Pending>> {
        let Checked { network, right } = checked;
        // However many guesses are judged at the same moment, no more than the allowed ones learn
        // their outcome.
        attempts::admit(change, &network).await?;
        let user = match right {
            // While the password was hashed it may have been changed, or the user switched off.
            Some(known) => {
                let now = sql::lock_user(change, known.user).await?;
                now.filter(|now| now.active && now.password == known.password)
                    .map(|now| (known.user, now))
            }
            None => None,
        };
        let Some((id, user)) = user else {
            attempts::note(change, &network).await?;
            return Ok(Outcome(Err(Error::new(
                Code::InvalidCredentials,
                "Name and password do not fit, or the user is switched off.",
            ))));
        };
        let token = Token::new(&self.0.base.settings().key_prefix, 'p', self.0.base.random())?;
        let setup = if user.totp_secret.is_some() {
            None
        } else {
            Some(TotpSecret::new(self.0.base.random())?)
        };
        let sealed = setup.as_ref().map(|secret| self.seal_totp(id, secret)).transpose()?;
        sql::begin(change, token.hash(), id, sealed).await?;
        let setup = setup.map(|secret| Setup { secret, account: user.username });
        Ok(Outcome(Ok(Pending { token, setup })))
    }

    /// Judges the code of a login that was begun. Opens a session with the event `auth.login` when
    /// it is right, and counts the attempt when it is wrong.
    ///
    /// # Errors
    /// `pending_expired` for a login that is over; `login_locked`; then the change is dropped.
    pub async fn verify(
        &self,
        change: &mut Change,
        visitor: &Visitor,
        pending: &str,
        proof: &Proof,
    ) -> Result<Outcome<LoggedIn>> {
        let (network, pending) = (attempts::network(visitor.address), Token::sent(pending).hash());
        attempts::admit(change, &network).await?;
        // Users are locked before what is theirs, here as everywhere.
        let owner = sql::owner(change, &pending).await?.ok_or_else(over)?;
        let candidate =
            sql::lock_user(change, owner).await?.filter(|user| user.active).ok_or_else(over)?;
        let since = change.now() - PENDING_S * 1000;
        let waiting = sql::lock(change, &pending, since).await?.ok_or_else(over)?;
        let account = attempts::account(owner);
        attempts::admit_account(change, &account).await?;
        // Somebody else may have set the second factor up meanwhile: then this login has nothing to
        // prove itself with.
        if waiting.setup_secret.is_some() == candidate.totp_secret.is_some() {
            return Err(over());
        }
        if !self
            .proves(change, waiting.user, &candidate, waiting.setup_secret.as_deref(), proof)
            .await?
        {
            attempts::note(change, &network).await?;
            attempts::sql::insert(change, &account).await?;
            if waiting.wrong_codes + 1 >= WRONG_CODES {
                sql::drop_pending(change, &pending).await?;
            } else {
                sql::note_wrong(change, &pending).await?;
            }
            return Ok(Outcome(Err(Error::new(
                Code::InvalidCode,
                "The code is wrong, was used before, or is of another time: check the clock.",
            ))));
        }
        change.act_as(Actor::User { id: waiting.user, name: candidate.username.clone() });
        sql::drop_pending(change, &pending).await?;
        attempts::sql::clear(change, &network).await?;
        attempts::sql::clear(change, &account).await?;
        sql::note_login(change, waiting.user).await?;
        let recovery_codes = match waiting.setup_secret {
            Some(_) => {
                record(change, "setup_2fa", "users", waiting.user, &[]).await?;
                Some(self.store_recovery_codes(change, waiting.user).await?)
            }
            None => None,
        };
        let token = Token::new(&self.0.base.settings().key_prefix, 's', self.0.base.random())?;
        let address = visitor.address.to_string();
        sessions::insert(
            change,
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
        record(change, action, "users", waiting.user, &[]).await?;
        let expires_at = change.now() + self.session_length();
        Ok(Outcome(Ok(LoggedIn {
            token,
            expires_at,
            user: waiting.user,
            username: candidate.username,
            recovery_codes,
        })))
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
        "This login is over: it took more than 5 minutes, had too many wrong codes, or is \
         complete. Begin again.",
    )
}
