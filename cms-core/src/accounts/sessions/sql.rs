//! The statements of sessions.

use crate::{
    Change, Result,
    accounts::{HeldPermissions, Session},
    db::{Db, Statement, args, epoch_of, read, record, statements},
};

record! {
    /// A session joined with one group of its user.
    pub(in crate::accounts) struct SessionRow: found_columns {
        pub(in crate::accounts) hash: String = "s.hash",
        pub(in crate::accounts) session: i64 = "s.id",
        pub(in crate::accounts) created_at: i64 = "s.created_at",
        pub(in crate::accounts) last_seen_at: i64 = "s.last_seen_at",
        pub(in crate::accounts) user: i64 = "u.id",
        pub(in crate::accounts) username: String = "u.username",
        pub(in crate::accounts) rights: HeldPermissions =
            "g.rights" => HeldPermissions::from_stored,
        /// Epoch of the table that is about to be read.
        pub(in crate::accounts) epoch: i64 = [epoch_of!("$4")],
    }
}

macro_rules! find {
    () => {
        concat!(
            "select ",
            found_columns!(),
            " from cms_sessions s \
             join cms_users u on u.id = s.user_id \
             join cms_user_group_members m on m.user_id = u.id \
             join cms_user_groups g on g.id = m.user_group_id \
             where s.hash = $1 and s.last_seen_at > $2 and s.created_at > $3 and u.active"
        )
    };
}

record! { Session: session_columns {
    id: "id",
    address: "address",
    user_agent: "user_agent",
    created_at: "created_at" => read::time,
    last_seen_at: "last_seen_at" => read::time,
} }

/// As `FIND`, with shared locks: a change that takes rights from the user waits for a change that
/// the user makes, and the other way round.
pub(crate) const FIND_LOCKED: Statement =
    Statement::new(concat!(module_path!(), "::FIND_LOCKED"), concat!(find!(), " for share"));

statements! {
    EXPIRE = "delete from cms_sessions where id in \
              (select id from cms_sessions where last_seen_at <= $1 limit 1000) \
              and last_seen_at <= $1";
    FIND = find!();
    SEEN = "update cms_sessions set last_seen_at = $2 where id = $1 and last_seen_at < $2";
    INSERT = "insert into cms_sessions \
              (hash, user_id, address, user_agent, created_at, last_seen_at) \
              values ($1, $2, $3, $4, $5, $5)";
    LIST = concat!(
        "select ", session_columns!(), " from cms_sessions where user_id = $1 and id > $2 \
         and last_seen_at > $4 and created_at > $5 order by id limit $3"
    );
    END = "delete from cms_sessions where user_id = $1 and id = $2";
    END_ALL = "delete from cms_sessions where user_id = $1";
    END_OTHERS = "delete from cms_sessions where user_id = $1 and id <> $2";
}

pub(in crate::accounts) async fn find(
    db: &Db,
    hash: &str,
    (seen, begun): (i64, i64),
    table: &str,
) -> Result<Vec<SessionRow>> {
    db.all(FIND, args![hash, seen, begun, table]).await
}

/// As [`find`], under a change. Session, user and groups stay as they are until the change ends.
pub(in crate::accounts) async fn find_again(
    change: &mut Change,
    hash: &str,
    (seen, begun): (i64, i64),
) -> Result<Vec<SessionRow>> {
    let statement = change.dialect().keeping(FIND, FIND_LOCKED);
    change.all(statement, args![hash, seen, begun, ""]).await
}

pub(in crate::accounts) async fn set_last_seen(change: &mut Change, session: i64) -> Result<()> {
    change.run(SEEN, args![session, change.now()]).await.map(drop)
}

pub(in crate::accounts) async fn insert(
    change: &mut Change,
    hash: String,
    user: i64,
    address: String,
    user_agent: Option<&str>,
) -> Result<()> {
    let user_agent = user_agent.map(|text| text.chars().take(200).collect::<String>());
    change.run(INSERT, args![hash, user, address, user_agent, change.now()]).await.map(drop)
}

pub(in crate::accounts) async fn list(
    db: &Db,
    user: i64,
    after: i64,
    limit: i64,
    (seen, begun): (i64, i64),
) -> Result<Vec<Session>> {
    db.all(LIST, args![user, after, limit, seen, begun]).await
}

pub(in crate::accounts) async fn count(
    db: &Db,
    user: i64,
    (seen, begun): (i64, i64),
) -> Result<i64> {
    db.count_rows(LIST, args![user, i64::MIN, i64::MAX, seen, begun]).await
}

/// False when the session does not exist.
pub(in crate::accounts) async fn end(change: &mut Change, user: i64, session: i64) -> Result<bool> {
    Ok(change.run(END, args![user, session]).await? > 0)
}

pub(in crate::accounts) async fn end_all(change: &mut Change, user: i64) -> Result<()> {
    change.run(END_ALL, args![user]).await.map(drop)
}

/// Ends all sessions but one.
pub(in crate::accounts) async fn end_others(
    change: &mut Change,
    user: i64,
    session: i64,
) -> Result<()> {
    change.run(END_OTHERS, args![user, session]).await.map(drop)
}
