//! The statements of pending logins and second factors.

use crate::{
    Change, Result,
    db::{Db, args, record, statements},
};

record! {
    /// The columns that a password is checked against.
    pub(in crate::accounts) struct Credentials: credential_columns {
        pub(in crate::accounts) user: i64 = "id",
        pub(in crate::accounts) password: String = "password",
    }
}

record! {
    /// A login that waits for its code.
    pub(in crate::accounts) struct Waiting: waiting_columns {
        pub(in crate::accounts) user: i64 = "user_id",
        pub(in crate::accounts) setup_secret: Option<String> = "setup_secret",
        pub(in crate::accounts) wrong_codes: i64 = "wrong_codes",
    }
}

record! {
    /// The user of a login that waits for its code.
    pub(in crate::accounts) struct Candidate: candidate_columns {
        pub(in crate::accounts) username: String = "username",
        pub(in crate::accounts) active: bool = "active",
        pub(in crate::accounts) totp_secret: Option<String> = "totp_secret",
        pub(in crate::accounts) password: String = "password",
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
    USE_STEP = "update cms_users set totp_step = $2 where id = $1 and totp_step < $2";
    SET_TOTP = "update cms_users set totp_secret = $2, totp_step = $3 where id = $1";
    ALL_TOTP = "select id, totp_secret from cms_users where totp_secret is not null order by id \
                limit 500";
    NOTE_LOGIN = "update cms_users set last_login_at = $2 where id = $1";
    USE_RECOVERY = "update cms_recovery_codes set used_at = $3 \
                    where user_id = $1 and hash = $2 and used_at is null";
    DROP_RECOVERY = "delete from cms_recovery_codes where user_id = $1";
    ADD_RECOVERY = "insert into cms_recovery_codes (user_id, hash) values ($1, $2)";
}

pub(in crate::accounts) async fn credentials(
    db: &Db,
    [sent, composed, decomposed]: [String; 3],
) -> Result<Option<Credentials>> {
    db.optional(CREDENTIALS, args![sent, composed, decomposed]).await
}

/// Sealed secrets of authenticators by user, 500 at most.
pub(in crate::accounts) async fn all_totp(db: &Db) -> Result<Vec<(i64, String)>> {
    db.all(ALL_TOTP, args![]).await
}

pub(in crate::accounts) async fn begin(
    change: &mut Change,
    hash: String,
    user: i64,
    setup_secret: Option<String>,
) -> Result<()> {
    change.run(BEGIN, args![hash, user, setup_secret, change.now()]).await.map(drop)
}

/// The user of this login.
pub(in crate::accounts) async fn owner(change: &mut Change, hash: &str) -> Result<Option<i64>> {
    Ok(change.optional::<(i64,)>(OWNER, args![hash]).await?.map(|(user,)| user))
}

/// Reads and locks the login until this change ends.
pub(in crate::accounts) async fn lock(
    change: &mut Change,
    hash: &str,
    since: i64,
) -> Result<Option<Waiting>> {
    change.optional(LOCK, args![hash, since]).await
}

pub(in crate::accounts) async fn lock_user(
    change: &mut Change,
    user: i64,
) -> Result<Option<Candidate>> {
    change.optional(LOCK_USER, args![user]).await
}

pub(in crate::accounts) async fn note_wrong(change: &mut Change, hash: &str) -> Result<()> {
    change.run_one(WRONG, args![hash]).await
}

pub(in crate::accounts) async fn drop_pending(change: &mut Change, hash: &str) -> Result<()> {
    change.run_one(DROP_PENDING, args![hash]).await
}

pub(in crate::accounts) async fn drop_pending_of(change: &mut Change, user: i64) -> Result<()> {
    change.run(DROP_PENDING_OF, args![user]).await.map(drop)
}

/// False when this step or a later one was used already.
pub(in crate::accounts) async fn use_step(
    change: &mut Change,
    user: i64,
    step: i64,
) -> Result<bool> {
    Ok(change.run(USE_STEP, args![user, step]).await? > 0)
}

pub(in crate::accounts) async fn set_totp(
    change: &mut Change,
    user: i64,
    sealed: Option<String>,
    step: i64,
) -> Result<()> {
    change.run_one(SET_TOTP, args![user, sealed, step]).await
}

pub(in crate::accounts) async fn note_login(change: &mut Change, user: i64) -> Result<()> {
    change.run_one(NOTE_LOGIN, args![user, change.now()]).await
}

/// False when the code does not exist or was used already.
pub(in crate::accounts) async fn use_recovery(
    change: &mut Change,
    user: i64,
    hash: &str,
) -> Result<bool> {
    Ok(change.run(USE_RECOVERY, args![user, hash, change.now()]).await? > 0)
}

/// Replaces the user's recovery codes.
pub(in crate::accounts) async fn set_recovery(
    change: &mut Change,
    user: i64,
    hashes: &[String],
) -> Result<()> {
    change.run(DROP_RECOVERY, args![user]).await?;
    for hash in hashes {
        change.run(ADD_RECOVERY, args![user, hash]).await?;
    }
    Ok(())
}
