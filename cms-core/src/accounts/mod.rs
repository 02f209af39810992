//! Backend users: groups and their rights, passwords, one-time codes, sessions.
//!
//! ```text
//! users      users, and who may change them
//! groups     groups and their rights
//! admins     at least one administrator remains
//! login      password, then code: the only way to a session
//! sessions   the user behind a token
//! second_factor  recovery for users who lost theirs, on the site's own machine only
//! own        what users change of their own account
//! acting     the operator looks as a user
//! application  users of the embedding application, without rows
//! people     users with their rights, for other rooms
//! attempts   wrong logins by network
//! password, totp, recovery, token, qr   the secrets, each with its own type
//! ```

mod acting;
pub(crate) mod admins;
mod application;
pub(crate) mod attempts;
pub(crate) mod groups;
pub(crate) mod login;
mod own;
mod password;
mod people;
pub mod qr;
mod recovery;
mod second_factor;
pub(crate) mod sessions;
mod token;
mod totp;
pub(crate) mod users;

pub use application::AppUser;
pub use attempts::{ATTEMPTS, Attempts};
pub use groups::{Group, GroupPatch, NewGroup};
pub use login::{CheckedLogin, LoggedIn, PENDING_S, Pending, Proof, Setup};
pub use own::OwnProof;
use password::Passwords;
pub use password::{MAX_PASSWORD_BYTES, MIN_PASSWORD_CHARS, problem as password_problem};
pub(crate) use people::Person;
pub use recovery::RecoveryCode;
pub use sessions::{Session, SessionUser};
pub use token::Token;
pub use totp::{STEP_S, TotpSecret};
pub use users::{GroupName, Membership, NewUser, User, UserPatch};

use crate::access::HeldPermissions;
use std::sync::Arc;

use crate::{
    AuditEntry, Change, Code, Error, Result,
    base::Base,
    db::{Db, Lock, RecordCache},
    jobs,
};

/// Every change of users and groups takes this lock, so that an administrator always remains.
const LOCK: Lock = Lock::new(2);

/// The users and groups of a site: `cms.accounts()`.
#[derive(Clone)]
pub struct Accounts(Arc<State>);

struct State {
    base: Base,
    passwords: Passwords,
    /// Open sessions by the hash of their token.
    known: RecordCache<Arc<sessions::Open>>,
}

impl Accounts {
    pub(crate) fn new(base: &Base) -> Self {
        let passwords = Passwords::new(base.settings().password_salt.clone());
        Self(Arc::new(State { base: base.clone(), passwords, known: RecordCache::default() }))
    }

    /// Removes expired sessions, pending logins and wrong logins.
    pub(crate) async fn expire(&self) -> Result<u64> {
        let (base, now) = (&self.0.base, self.0.base.clock().now());
        let window = jobs::seconds_before(now, attempts::WINDOW_S.unsigned_abs());
        let due = [
            (attempts::sql::EXPIRE, window),
            (attempts::sql::EXPIRE_NETWORKS, window),
            (login::sql::EXPIRE, jobs::seconds_before(now, PENDING_S.unsigned_abs())),
            (sessions::sql::EXPIRE, self.session_horizons().0),
        ];
        jobs::expire(base, &due).await
    }
}

/// Users by id, after one.
pub(crate) async fn people(db: &Db, after: i64, limit: i64) -> Result<Vec<Person>> {
    users::sql::people(db, after, limit).await
}

/// A user as the change sees it, who is not deleted before it ends.
pub(crate) async fn person(change: &mut Change, id: i64) -> Result<Option<Person>> {
    users::sql::person(change, id).await
}

/// Where a login comes from.
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

async fn record(
    change: &mut Change,
    action: &'static str,
    table: &str,
    id: i64,
    columns: &[&str],
) -> Result<()> {
    change.touch(table);
    change.audit(AuditEntry { action, table, id: &id.to_string(), columns }).await
}

/// Lower case: names that differ only by case are the same.
fn name_key(name: &str) -> String {
    name.to_lowercase()
}

/// Names that [`name_problem`] accepts.
const NAME_PATTERN: &str = concat!(
    r"^(?![+-]?[0-9]+$)[^\s:",
    crate::plain::hidden!(),
    "]([^:",
    crate::plain::hidden!(),
    r"]{0,98}[^\s:",
    crate::plain::hidden!(),
    "])?$",
);

fn name_problem(field: &str, name: &str) -> Option<crate::FieldError> {
    let fine = !name.is_empty()
        && name.chars().count() <= 100
        && name.trim() == name
        && !name.contains(':')
        // A number would be read as an id.
        && name.parse::<i64>().is_err();
    let message =
        "1 to 100 characters, not only digits, no colon, no blank at either end".to_owned();
    let format = || crate::FieldError { field: field.to_owned(), code: "format", message };
    crate::plain::problem(field, name).or_else(|| (!fine).then(format))
}
