//! Logging in takes a password and then a code. There is no other way to a session.

use super::{
    Accounts, LoginClient, RecoveryCode, Token, TotpSecret, attempts, name_key, name_keys,
    name_problem, sessions,
};
use crate::{
    Actor, Change, Code, Error, Outcome, Result,
    db::{args, record, statements},
    events::{AUTH_LOGIN, LoginData},
    ground::Secret,
};

/// Seconds within which a login must be completed.
pub const PENDING_S: i64 = 300;
/// Wrong codes that end a login.
const WRONG_CODES: i64 = 5;

/// A login whose password was right and whose code is due.
#[derive(Debug)]
#[non_exhaustive]
pub struct Pending {
    /// Token to send with the code.
    pub token: Token,
    /// The secret to enter into the authenticator first; None when the second factor is set up.
    pub setup: Option<Setup>,
}

/// A second factor that is being set up.
#[derive(Debug)]
#[non_exhaustive]
pub struct Setup {
    /// The secret as text, for typing.
    pub secret: TotpSecret,
    /// The account name that the authenticator shows.
    pub account: String,
}

/// Proof that completes a login.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Proof {
    /// Six digits from the authenticator.
    Code(Secret),
    /// One of the recovery codes.
    Recovery(Secret),
}

/// A completed login.
#[derive(Debug)]
#[non_exhaustive]
pub struct LoggedIn {
    /// Session token, to send with every request.
    pub token: Token,
    /// When the session ends at the latest, in milliseconds.
    pub expires_at: i64,
    /// The user.
    pub user: i64,
    /// The user's name.
    pub username: String,
    /// New recovery codes, after the first login only.
    pub recovery_codes: Option<Vec<RecoveryCode>>,
}

/// The result of checking name and password, outside of a change, because hashing takes long.
pub struct CheckedLogin {
    pub(super) network: String,
    /// The counter of wrong passwords for this name.
    pub(super) account: String,
    /// The user and the hash that the password matched; None when the name is unknown or the
    /// password wrong.
    pub(super) right: Option<Credentials>,
}

impl Accounts {
    /// Checks name and password, before the change of [`Accounts::login`] begins. An unknown user
    /// takes as long as a wrong password.
    ///
    /// # Errors
    /// `login_locked` after too many wrong logins from this network, and while it has to wait
    /// because of many wrong passwords for this name.
    pub async fn check_password(
        &self,
        visitor: &LoginClient,
        username: &str,
        password: &Secret,
    ) -> Result<CheckedLogin> {
        let network = attempts::network(visitor.address);
        // This early check only saves the work of hashing. `login` decides, where attempts pass one
        // at a time.
        attempts::refuse_locked(&self.0.base, &network).await?;
        // An impossible name takes the same lookup as any other.
        let keys = if name_problem("username", username).is_none() {
            name_keys(username)
        } else {
            Default::default()
        };
        let account = attempts::account_of_name(&keys[1]);
        attempts::refuse_paused(&self.0.base, &account, &network).await?;
        let [sent, composed, decomposed] = keys;
        let names = args![sent, composed, decomposed];
        let known: Option<Credentials> = self.0.base.db().optional(CREDENTIALS, names).await?;
        let hash = known.as_ref().map(|known| known.password.clone());
        let right = self.0.passwords.verify(password, hash).await?;
        Ok(CheckedLogin { network, account, right: known.filter(|_| right) })
    }

    /// Begins a login when the password was right, and counts the attempt when it was wrong. An
    /// unknown user and a wrong password get the same reply.
    ///
    /// # Errors
    /// `login_locked` after too many wrong logins from this network; the change is dropped. The
    /// outcome is `login_locked` when the network has to wait because of many wrong passwords for
    /// this name.
    pub async fn login(
        &self,
        change: &mut Change,
        checked: CheckedLogin,
    ) -> Result<Outcome<Pending>> {
        // However many guesses run at once, only the allowed number get a verdict.
        attempts::admit(change, &checked.network).await?;
        let wrong = "The name and password do not match, or the user is switched off.";
        let (id, user) = match self.judge_password(change, checked, wrong).await? {
            Ok(found) => found,
            Err(refusal) => return Ok(Outcome(Err(refusal))),
        };
        let token = Token::new(&self.0.base.settings().key_prefix, 'p', self.0.base.random())?;
        let setup = if user.totp_secret.is_some() {
            None
        } else {
            Some(TotpSecret::new(self.0.base.random())?)
        };
        let sealed = setup.as_ref().map(|secret| self.seal_totp(id, secret)).transpose()?;
        change.run(BEGIN, args![token.hash(), id, sealed, change.now()]).await?;
        let setup = setup.map(|secret| Setup { secret, account: user.username });
        Ok(Outcome(Ok(Pending { token, setup })))
    }

    /// The user whose password was right, locked. A wrong password is counted, and a try that
    /// comes too early is refused; the change is committed in either case. The caller has
    /// admitted the network.
    pub(super) async fn judge_password(
        &self,
        change: &mut Change,
        checked: CheckedLogin,
        wrong: &'static str,
    ) -> Result<Result<(i64, Candidate)>> {
        let CheckedLogin { network, account, right } = checked;
        if let Some(refusal) = attempts::pause(change, &account, &network).await? {
            return Ok(Err(refusal));
        }
        if let Some(known) = right
            // The password may have changed or the user may have been switched off during hashing.
            && let Some(now) = lock_user(change, known.user).await?
            && now.active
            && now.password == known.password
        {
            return Ok(Ok((known.user, now)));
        }
        attempts::note(change, &network).await?;
        attempts::insert(change, &account).await?;
        Ok(Err(Error::new(Code::InvalidCredentials, wrong)))
    }

    /// Checks the code of a login. A right code opens a session with the event `auth.login`; a
    /// wrong code is counted.
    ///
    /// # Errors
    /// `pending_expired` for a login that is over; `login_locked`. In both cases the change is
    /// dropped.
    pub async fn verify(
        &self,
        change: &mut Change,
        visitor: &LoginClient,
        pending: &str,
        proof: &Proof,
    ) -> Result<Outcome<LoggedIn>> {
        let (network, pending) =
            (attempts::network(visitor.address), Token::from_text(pending).hash());
        attempts::admit(change, &network).await?;
        // Lock order everywhere: the user first, then the user's rows.
        let owner: Option<(i64,)> = change.optional(OWNER, args![&pending]).await?;
        let (owner,) = owner.ok_or_else(pending_expired)?;
        let candidate = lock_user(change, owner)
            .await?
            .filter(|user| user.active)
            .ok_or_else(pending_expired)?;
        let since = change.now() - PENDING_S * 1000;
        let waiting: Option<Waiting> = change.optional(LOCK, args![&pending, since]).await?;
        let waiting = waiting.ok_or_else(pending_expired)?;
        let account = attempts::account(owner);
        attempts::admit_account(change, &account).await?;
        // Another login may have set up the second factor meanwhile. Then this login's own secret
        // proves nothing.
        if waiting.setup_secret.is_some() == candidate.totp_secret.is_some() {
            return Err(pending_expired());
        }
        if !self
            .proves(change, waiting.user, &candidate, waiting.setup_secret.as_deref(), proof)
            .await?
        {
            attempts::note(change, &network).await?;
            attempts::insert(change, &account).await?;
            if waiting.wrong_codes + 1 >= WRONG_CODES {
                change.run_one(DROP_PENDING, args![&pending]).await?;
            } else {
                change.run_one(WRONG, args![&pending]).await?;
            }
            return Ok(Outcome(Err(Error::new(
                Code::InvalidCode,
                "The code is wrong, expired or already used: check the clock of your device.",
            ))));
        }
        change.act_as(Actor::User { id: waiting.user, name: candidate.username.clone() });
        change.run_one(DROP_PENDING, args![&pending]).await?;
        attempts::clear(change, &network).await?;
        attempts::clear(change, &account).await?;
        let name = attempts::account_of_name(&name_key(&candidate.username));
        attempts::clear(change, &name).await?;
        change.run_one(NOTE_LOGIN, args![waiting.user, change.now()]).await?;
        let recovery_codes = match waiting.setup_secret {
            Some(_) => {
                change.audit_row("setup_2fa", "users", waiting.user, &[]).await?;
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
        change.raise_own(AUTH_LOGIN, &LoginData::of(waiting.user, &candidate.username)).await?;
        let action =
            if matches!(proof, Proof::Recovery(_)) { "login_with_recovery_code" } else { "login" };
        change.audit_row(action, "users", waiting.user, &[]).await?;
        let expires_at = change.now() + self.session_length();
        Ok(Outcome(Ok(LoggedIn {
            token,
            expires_at,
            user: waiting.user,
            username: candidate.username,
            recovery_codes,
        })))
    }

    /// Whether the proof is right. A right proof cannot be used again.
    pub(super) async fn proves(
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
                    set_totp(change, user, Some(sealed.to_owned()), step).await?;
                    return Ok(true);
                }
                Ok(change.run(USE_STEP, args![user, step]).await? > 0)
            }
            Proof::Recovery(_) if setup.is_some() => Ok(false),
            Proof::Recovery(code) => {
                let hash =
                    RecoveryCode::from_text(code.expose()).hash(self.0.passwords.salt()?, user);
                Ok(change.run(USE_RECOVERY, args![user, hash, change.now()]).await? > 0)
            }
        }
    }

    pub(super) async fn store_recovery_codes(
        &self,
        change: &mut Change,
        user: i64,
    ) -> Result<Vec<RecoveryCode>> {
        let (codes, salt) = (RecoveryCode::set(self.0.base.random())?, self.0.passwords.salt()?);
        let hashes: Vec<_> = codes.iter().map(|code| code.hash(salt, user)).collect();
        set_recovery(change, user, &hashes).await?;
        Ok(codes)
    }

    fn seal_totp(&self, user: i64, secret: &TotpSecret) -> Result<String> {
        self.0.base.vault().seal(&totp_context(user), secret.bytes())
    }

    fn open_totp(&self, user: i64, sealed: &str) -> Result<TotpSecret> {
        self.0.base.vault().open(&totp_context(user), sealed).map(TotpSecret::from_bytes)
    }

    /// Whether the secrets of the first authenticators open.
    pub(crate) async fn totp_open(&self) -> Result<Vec<bool>> {
        let sealed: Vec<(i64, String)> = self.0.base.db().all(ALL_TOTP, args![]).await?;
        Ok(sealed.iter().map(|(user, sealed)| self.open_totp(*user, sealed).is_ok()).collect())
    }
}

fn pending_expired() -> Error {
    Error::new(
        Code::PendingExpired,
        "This login is over: it took more than 5 minutes, had too many wrong codes, or is \
         complete. Log in again.",
    )
}

/// The vault's context of a secret: one user's secret cannot be opened as another's.
fn totp_context(user: i64) -> String {
    format!("users.totp_secret:{user}")
}

record! {
    /// The columns that a password is checked against.
    pub(super) struct Credentials: credential_columns {
        pub(super) user: i64 = "id",
        pub(super) password: String = "password",
    }
}

record! {
    /// A login that waits for its code.
    struct Waiting: waiting_columns {
        user: i64 = "user_id",
        setup_secret: Option<String> = "setup_secret",
        wrong_codes: i64 = "wrong_codes",
    }
}

record! {
    /// The user of a login that waits for its code.
    pub(super) struct Candidate: candidate_columns {
        pub(super) username: String = "username",
        pub(super) active: bool = "active",
        pub(super) totp_secret: Option<String> = "totp_secret",
        pub(super) password: String = "password",
    }
}

statements! {
    EXPIRE = "delete from cms_pending_logins where hash in \
              (select hash from cms_pending_logins where created_at <= $1 limit 1000)";
    CREDENTIALS = concat!(
        "select ", credential_columns!(), " from cms_users where name_key in ($1, $2, $3) \
         order by name_key = $1 desc, name_key = $2 desc limit 1"
    );
    BEGIN = "insert into cms_pending_logins \
             (hash, user_id, setup_secret, wrong_codes, created_at) values ($1, $2, $3, 0, $4)";
    LOCK = concat!(
        "update cms_pending_logins set wrong_codes = wrong_codes \
         where hash = $1 and created_at > $2 returning ", waiting_columns!()
    );
    OWNER = "select user_id from cms_pending_logins where hash = $1";
    LOCK_USER = concat!(
        "update cms_users set active = active where id = $1 returning ", candidate_columns!()
    );
    WRONG = "update cms_pending_logins set wrong_codes = wrong_codes + 1 where hash = $1";
    DROP_PENDING = "delete from cms_pending_logins where hash = $1";
    DROP_PENDING_OF = "delete from cms_pending_logins where user_id = $1";
    /// Changes nothing when this step or a later one was used already.
    USE_STEP = "update cms_users set totp_step = $2 where id = $1 and totp_step < $2";
    SET_TOTP = "update cms_users set totp_secret = $2, totp_step = $3 where id = $1";
    ALL_TOTP = "select id, totp_secret from cms_users where totp_secret is not null order by id \
                limit 500";
    NOTE_LOGIN = "update cms_users set last_login_at = $2 where id = $1";
    /// Changes nothing when there is no such code, or it was used already.
    USE_RECOVERY = "update cms_recovery_codes set used_at = $3 \
                    where user_id = $1 and hash = $2 and used_at is null";
    DROP_RECOVERY = "delete from cms_recovery_codes where user_id = $1";
    ADD_RECOVERY = "insert into cms_recovery_codes (user_id, hash) values ($1, $2)";
}

pub(super) async fn lock_user(change: &mut Change, user: i64) -> Result<Option<Candidate>> {
    change.optional(LOCK_USER, args![user]).await
}

/// Ends the logins of the user that wait for their code.
pub(super) async fn drop_pending_of(change: &mut Change, user: i64) -> Result<()> {
    change.run(DROP_PENDING_OF, args![user]).await.map(drop)
}

/// As [`drop_pending_of`], and forgets the user's wrong codes: the password or the second factor is
/// new.
pub(super) async fn forget_logins(change: &mut Change, user: i64) -> Result<()> {
    drop_pending_of(change, user).await?;
    attempts::clear(change, &attempts::account(user)).await
}

pub(super) async fn set_totp(
    change: &mut Change,
    user: i64,
    sealed: Option<String>,
    step: i64,
) -> Result<()> {
    change.run_one(SET_TOTP, args![user, sealed, step]).await
}

/// Replaces the user's recovery codes.
pub(super) async fn set_recovery(change: &mut Change, user: i64, hashes: &[String]) -> Result<()> {
    change.run(DROP_RECOVERY, args![user]).await?;
    for hash in hashes {
        change.run(ADD_RECOVERY, args![user, hash]).await?;
    }
    Ok(())
}
