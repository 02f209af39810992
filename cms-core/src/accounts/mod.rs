//! Backend users: groups and their rights, passwords, one-time codes, sessions.
//!
//! ```text
//! users        users, and who may change them
//! groups       groups and their rights
//! login        password, then code: the only way to a session
//! sessions     the user behind a token
//! own          what users change of their own account, and the operator on the site's machine
//! application  users of the embedding application, without rows
//! attempts     wrong logins by network
//! password, codes   the secrets, each with its own type
//! ```

mod application;
pub(crate) mod attempts;
mod codes;
pub(crate) mod groups;
pub(crate) mod login;
mod own;
mod password;
pub(crate) mod sessions;
pub(crate) mod users;

use std::{fmt, sync::Arc};

use data_encoding::BASE64URL_NOPAD;
use password::Passwords;
use zeroize::Zeroizing;

use crate::{
    Change, Code, Error, FieldError, Page, Random, Result,
    access::HeldPermissions,
    base::Base,
    change::is_unique_violation,
    db::{Lock, RecordCache, Statement, args},
    ground::crypto,
    items::Query,
    jobs, plain,
};

pub use application::AppUser;
pub use attempts::{ATTEMPTS, Attempts};
pub use codes::{RecoveryCode, STEP_S, TotpSecret, qr};
pub use groups::{Group, GroupPatch, NewGroup};
pub use login::{CheckedLogin, LoggedIn, PENDING_S, Pending, Proof, Setup};
pub use own::OwnProof;
pub use password::{MAX_PASSWORD_BYTES, MIN_PASSWORD_CHARS, problem as password_problem};
pub use sessions::{Session, SessionUser};
pub use users::{GroupName, Membership, NewUser, User, UserPatch};

/// Every change of users and groups takes this lock, so that an administrator always remains.
const LOCK: Lock = Lock::new(2);

/// The users and groups of a site: `cms.accounts()`.
#[derive(Clone)]
pub struct Accounts(Arc<Inner>);

struct Inner {
    base: Base,
    passwords: Passwords,
    on_deleted_user: &'static [Statement],
    /// Open sessions by the hash of their token.
    session_cache: RecordCache<Arc<sessions::OpenSession>>,
}

impl Accounts {
    /// `on_deleted_user`: what other rooms run after a user was deleted; `$1` is the user's id.
    pub(crate) fn new(base: &Base, on_deleted_user: &'static [Statement]) -> Self {
        let passwords = Passwords::new(base.settings().password_salt.clone());
        Self(Arc::new(Inner {
            base: base.clone(),
            passwords,
            on_deleted_user,
            session_cache: RecordCache::default(),
        }))
    }

    /// Removes expired sessions, pending logins and wrong logins.
    pub(crate) async fn expire(&self) -> Result<u64> {
        let (base, now) = (&self.0.base, self.0.base.clock().now());
        let window = jobs::seconds_before(now, attempts::WINDOW_S.unsigned_abs());
        let due = [
            (attempts::EXPIRE, window),
            (attempts::EXPIRE_NETWORKS, window),
            (login::EXPIRE, jobs::seconds_before(now, PENDING_S.unsigned_abs())),
            (sessions::EXPIRE, self.session_horizons().0),
        ];
        jobs::expire(base, &due).await
    }

    /// Number of users who can administer the site: active members of a group with all rights.
    pub async fn admins(&self) -> Result<i64> {
        let (count,) = self.0.base.db().one(users::sql::ADMINS, args![]).await?;
        Ok(count)
    }
}

/// A user with all rights of the groups.
#[derive(Clone, Debug)]
pub(crate) struct Person {
    pub(crate) active: bool,
    pub(crate) rights: HeldPermissions,
}

/// Active users who hold a permission of a built-in area: ids and names.
pub(crate) async fn holders(
    base: &Base,
    query: &Query,
    permission: &str,
) -> Result<Page<(i64, String)>> {
    let groups = groups::sql::holding(base.db(), permission).await?;
    users::sql::members(base, query, &groups).await
}

/// A user as the change sees it. Nobody can delete the user before the change ends.
pub(crate) async fn person(change: &mut Change, id: i64) -> Result<Option<Person>> {
    users::sql::person(change, id).await
}

/// The client that a login comes from.
#[derive(Clone, Debug)]
pub struct LoginClient {
    /// The client's address.
    pub address: std::net::IpAddr,
    /// The client's user agent.
    pub user_agent: Option<String>,
}

impl LoginClient {
    /// The network that counts as one client, as text.
    #[must_use]
    pub fn network(&self) -> String {
        attempts::network(self.address)
    }
}

fn check_held(held: &HeldPermissions, asked: &HeldPermissions) -> Result<()> {
    if held.covers(asked) {
        return Ok(());
    }
    Err(Error::new(Code::PermissionDenied, "You can only grant or change rights you hold."))
}

/// Lower case, composed: names that differ only by case are the same.
fn name_key(name: &str) -> String {
    plain::composed(&name.to_lowercase()).into_owned()
}

/// The keys to look a name up by: as it was sent, composed and decomposed, in this order. Older
/// names are kept as they were written, and some systems write them decomposed.
fn name_keys(name: &str) -> [String; 3] {
    let sent = name.to_lowercase();
    let decomposed = plain::decomposed(&sent);
    [sent, name_key(name), decomposed]
}

/// Names that [`new_name_problem`] accepts.
const NAME_PATTERN: &str = concat!(
    r"^(?![+-]?[0-9]+$)[^\s:\u200C\u200D",
    plain::hidden!(),
    plain::unseen!(),
    "]([^:",
    plain::hidden!(),
    plain::unseen!(),
    r"]{0,98}[^\s:\u200C\u200D",
    plain::hidden!(),
    plain::unseen!(),
    "])?$",
);

fn new_name_problem(field: &str, name: &str) -> Option<FieldError> {
    name_problem(field, name).or_else(|| plain::name_problem(field, name))
}

/// What no stored name has.
fn name_problem(field: &str, name: &str) -> Option<FieldError> {
    let fine = !name.is_empty()
        && name.chars().count() <= 100
        && name.trim() == name
        && !name.contains(':')
        // A number would be read as an id.
        && name.parse::<i64>().is_err();
    let message =
        "1 to 100 characters, not only digits, no colon, no blank at either end".to_owned();
    let format = || FieldError { field: field.to_owned(), code: "format", message };
    plain::problem(field, name).or_else(|| (!fine).then(format))
}

/// The refusal of a name that another user or group has.
fn name_conflict(what: &str, field: &str, name: &str, error: Error) -> Error {
    if !is_unique_violation(&error) {
        return error;
    }
    let said = format!("is a {what} named {name:?} already; case does not count");
    let message = format!("there {said}");
    let field = FieldError { field: field.to_owned(), code: "refused", message };
    Error::new(Code::Conflict, format!("There {said}.")).with_fields(vec![field]).caused_by(error)
}

/// Guards a change that could remove the last administrator. Create the guard before writing:
/// guarded changes run one at a time.
struct AdminGuard {
    before: i64,
}

impl AdminGuard {
    async fn new(change: &mut Change) -> Result<Self> {
        change.lock(LOCK).await?;
        Ok(Self { before: count_admins(change).await? })
    }

    /// Refuses the change if it removed the last administrator.
    async fn check(self, change: &mut Change) -> Result<()> {
        if self.before > 0 && count_admins(change).await? == 0 {
            return Err(Error::new(
                Code::Conflict,
                "This is the last administrator who can log in: make another one first. Nothing \
                 was changed.",
            ));
        }
        Ok(())
    }
}

async fn count_admins(change: &mut Change) -> Result<i64> {
    let (count,) = change.one(users::sql::ADMINS, args![]).await?;
    Ok(count)
}

/// A bearer secret that a login issues: 256 random bits. Only their SHA-256 is stored. `Debug`
/// hides it.
pub struct Token(Zeroizing<String>);

impl Token {
    /// `<key_prefix>_<kind>1_<43 characters>`: scanners for leaked secrets recognise this form.
    fn new(key_prefix: &str, kind: char, random: &Random) -> Result<Self> {
        let secret = Zeroizing::new(random.bytes::<32>()?);
        Ok(Self(format!("{key_prefix}_{kind}1_{}", BASE64URL_NOPAD.encode(&*secret)).into()))
    }

    /// Wraps the text that a caller sent.
    fn from_text(text: &str) -> Self {
        Self(text.to_owned().into())
    }

    /// The token itself, to give it to its owner.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The stored digest: SHA-256 in hex.
    fn hash(&self) -> String {
        crypto::sha256_hex(self.0.as_bytes())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(***)")
    }
}
