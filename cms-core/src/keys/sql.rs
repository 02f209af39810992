//! The statements of API keys and the functions that run them.

use super::{ApiKey, Right};
use crate::{
    Change, Error, Millis, Result, args,
    db::{Db, FromRow, Row},
    ground::clock,
};

crate::db::statements! {
    INSERT = "insert into cms_api_keys (name, prefix, expires_on, active, rights, created_at) \
              values ($1, $2, $3, $4, $5, $6) returning id";
    INSERT_VALUE = "insert into cms_api_key_values (hash, api_key_id) values ($1, $2)";
    /// With the epoch of the table that is about to be read.
    FIND = "select k.id, k.name, k.expires_on, k.active, k.rights, v.valid_until, \
            coalesce((select epoch from cms_table_epochs where name = $2), 0) \
            from cms_api_key_values v join cms_api_keys k on k.id = v.api_key_id \
            where v.hash = $1";
    LIST = "select id, name, prefix, expires_on, active, rights, last_used_at, created_at, \
            requests, denied from cms_api_keys where id > $1 order by id limit $2";
    LOCK = "update cms_api_keys set active = active where id = $1 \
            returning id, name, prefix, expires_on, active, rights, last_used_at, created_at, \
            requests, denied";
    GET = "select id, name, prefix, expires_on, active, rights, last_used_at, created_at, \
           requests, denied from cms_api_keys where id = $1";
    UPDATE = "update cms_api_keys set name = $2, expires_on = $3, active = $4, rights = $5 \
              where id = $1";
    DELETE = "delete from cms_api_keys where id = $1";
    END_VALUES = "update cms_api_key_values set valid_until = $2 \
                  where api_key_id = $1 and (valid_until is null or valid_until > $2)";
    DROP_VALUES = "delete from cms_api_key_values where api_key_id = $1 and valid_until <= $2";
    SET_PREFIX = "update cms_api_keys set prefix = $2 where id = $1";
    COUNT_USE = "update cms_api_keys set requests = requests + $2, denied = denied + $3, \
                 last_used_at = case when last_used_at is null or last_used_at < $4 \
                 then $4 else last_used_at end where id = $1";
}

/// A key as the gate needs it.
pub(crate) struct Found {
    pub(super) id: i64,
    pub(super) name: String,
    pub(super) expires_on: Option<String>,
    pub(super) active: bool,
    pub(super) rights: Vec<Right>,
    /// When the value that was shown stops; None: it is the present one.
    pub(super) valid_until: Option<Millis>,
}

fn rights(text: &str) -> Result<Vec<Right>> {
    serde_json::from_str(text).map_err(Error::internal)
}

impl FromRow for (Found, i64) {
    fn from_row(row: &Row) -> Result<Self> {
        let found = Found {
            id: row.get(0)?,
            name: row.get(1)?,
            expires_on: row.get(2)?,
            active: row.get(3)?,
            rights: rights(&row.get::<String>(4)?)?,
            valid_until: row.get(5)?,
        };
        Ok((found, row.get(6)?))
    }
}

impl FromRow for ApiKey {
    fn from_row(row: &Row) -> Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            name: row.get(1)?,
            prefix: row.get(2)?,
            expires_on: row.get(3)?,
            active: row.get(4)?,
            rights: rights(&row.get::<String>(5)?)?,
            last_used_at: row.get::<Option<i64>>(6)?.map(clock::rfc3339),
            created_at: clock::rfc3339(row.get(7)?),
            requests: row.get(8)?,
            denied: row.get(9)?,
        })
    }
}

/// A key by its hash, with the epoch of `table`.
pub(super) async fn find(db: &Db, hash: &str, table: &str) -> Result<Option<(Found, i64)>> {
    db.optional(FIND, args![hash, table]).await
}

pub(super) async fn list(db: &Db, after: i64, limit: i64) -> Result<Vec<ApiKey>> {
    db.all(LIST, args![after, limit]).await
}

pub(super) async fn get(db: &Db, id: i64) -> Result<Option<ApiKey>> {
    db.optional(GET, args![id]).await
}

/// The key, which nobody else changes before this change ends.
pub(super) async fn lock(change: &mut Change, id: i64) -> Result<Option<ApiKey>> {
    change.optional(LOCK, args![id]).await
}

pub(super) async fn insert(change: &mut Change, key: &ApiKey, hash: String) -> Result<i64> {
    let args = args![
        &key.name,
        &key.prefix,
        key.expires_on.clone(),
        key.active,
        text(&key.rights)?,
        change.now()
    ];
    let (id,): (i64,) = change.one(INSERT, args).await?;
    change.run(INSERT_VALUE, args![hash, id]).await?;
    Ok(id)
}

pub(super) async fn update(change: &mut Change, key: &ApiKey) -> Result<()> {
    let args = args![key.id, &key.name, key.expires_on.clone(), key.active, text(&key.rights)?];
    change.run(UPDATE, args).await.map(drop)
}

/// The current value stops at `until`; values that have already stopped are forgotten.
pub(super) async fn replace_value(
    change: &mut Change,
    id: i64,
    until: i64,
    hash: String,
    prefix: &str,
) -> Result<()> {
    change.run(END_VALUES, args![id, until]).await?;
    change.run(DROP_VALUES, args![id, change.now()]).await?;
    change.run(INSERT_VALUE, args![hash, id]).await?;
    change.run(SET_PREFIX, args![id, prefix]).await.map(drop)
}

pub(super) async fn delete(change: &mut Change, id: i64) -> Result<()> {
    change.run(DELETE, args![id]).await.map(drop)
}

pub(super) async fn count_use(
    change: &mut Change,
    id: i64,
    requests: i64,
    denied: i64,
    last: i64,
) -> Result<()> {
    change.run(COUNT_USE, args![id, requests, denied, last]).await.map(drop)
}

fn text(rights: &[Right]) -> Result<String> {
    serde_json::to_string(rights).map_err(Error::internal)
}
