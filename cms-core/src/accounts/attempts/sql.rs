//! The statements of wrong logins.

use crate::{
    Change, Result,
    accounts::{ATTEMPTS, Attempts},
    db::{Db, args, read, record, statements},
};

record! {
    /// Number of wrong logins, and the time of the oldest.
    pub(in crate::accounts) struct Counted: counted_columns {
        pub(in crate::accounts) count: i64 = "count(*)",
        pub(in crate::accounts) oldest: Option<i64> = "min(created_at)",
    }
}

record! { Attempts: network_columns {
    id: "n.id",
    network: "n.network",
    attempts: "count(*)",
    last_attempt_at: "max(a.created_at)" => read::time;
    locked: locked(attempts),
} }

fn locked(attempts: i64) -> bool {
    attempts >= ATTEMPTS
}

statements! {
    EXPIRE = "delete from cms_login_attempts where id in \
              (select id from cms_login_attempts where created_at <= $1 limit 1000)";
    EXPIRE_NETWORKS = "delete from cms_login_networks where id in \
                       (select id from cms_login_networks where last_attempt_at <= $1 limit 1000) \
                       and last_attempt_at <= $1";
    LOCK = "insert into cms_login_networks (network, last_attempt_at) values ($1, $2) \
            on conflict (network) do update set last_attempt_at = excluded.last_attempt_at";
    COUNT = concat!(
        "select ", counted_columns!(), " from cms_login_attempts \
         where network = $1 and created_at > $2"
    );
    LATEST = "select max(created_at) from cms_login_attempts \
              where network = $1 and created_at > $2";
    INSERT = "insert into cms_login_attempts (network, created_at) values ($1, $2)";
    CLEAR = "delete from cms_login_attempts where network = $1";
    LIST = concat!(
        "select ", network_columns!(), " from cms_login_networks n \
         join cms_login_attempts a on a.network = n.network and a.created_at > $3 \
         where n.id > $1 group by n.id, n.network order by n.id limit $2"
    );
}

pub(in crate::accounts) async fn lock(change: &mut Change, network: &str) -> Result<()> {
    change.run(LOCK, args![network, change.now()]).await.map(drop)
}

pub(in crate::accounts) async fn count(
    change: &mut Change,
    network: &str,
    since: i64,
) -> Result<Counted> {
    change.one(COUNT, args![network, since]).await
}

/// As [`count`], outside a change.
pub(in crate::accounts) async fn read_count(db: &Db, network: &str, since: i64) -> Result<Counted> {
    Ok(db
        .optional(COUNT, args![network, since])
        .await?
        .unwrap_or(Counted { count: 0, oldest: None }))
}

/// The time of the latest entry of a counter.
pub(in crate::accounts) async fn latest(
    change: &mut Change,
    network: &str,
    since: i64,
) -> Result<Option<i64>> {
    let (latest,): (Option<i64>,) = change.one(LATEST, args![network, since]).await?;
    Ok(latest)
}

/// As [`latest`], outside a change.
pub(in crate::accounts) async fn read_latest(
    db: &Db,
    network: &str,
    since: i64,
) -> Result<Option<i64>> {
    let (latest,): (Option<i64>,) = db.one(LATEST, args![network, since]).await?;
    Ok(latest)
}

pub(in crate::accounts) async fn insert(change: &mut Change, network: &str) -> Result<()> {
    change.run(INSERT, args![network, change.now()]).await.map(drop)
}

pub(in crate::accounts) async fn clear(change: &mut Change, network: &str) -> Result<()> {
    change.run(CLEAR, args![network]).await.map(drop)
}

pub(in crate::accounts) async fn list(
    db: &Db,
    after: i64,
    limit: i64,
    since: i64,
) -> Result<Vec<Attempts>> {
    db.all(LIST, args![after, limit, since]).await
}

pub(in crate::accounts) async fn count_networks(db: &Db, since: i64) -> Result<i64> {
    db.count_rows(LIST, args![i64::MIN, i64::MAX, since]).await
}
