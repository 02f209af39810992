//! The statements of the cache's rules and the functions that run them.

use super::CacheSettings;
use crate::{
    Change, Error, Result,
    db::{Db, args, read, record, statements},
};

record! { CacheSettings: settings_columns {
    enabled: "enabled",
    ttl_s: "ttl_s",
    exclude: "exclude" => read::json,
} }

statements! {
    EXPIRE = "delete from cms_cache_clears where created_at <= $1 \
              and id < (select max(id) from cms_cache_clears)";
    SETTINGS = concat!("select ", settings_columns!(), " from cms_cache_settings where id = 1");
    SAVE = "insert into cms_cache_settings (id, enabled, ttl_s, exclude) values (1, $1, $2, $3) \
            on conflict (id) do update set enabled = excluded.enabled, \
            ttl_s = excluded.ttl_s, exclude = excluded.exclude";
    CLEARS = "select id, prefix from cms_cache_clears order by id desc limit 1000";
    CLEAR = "insert into cms_cache_clears (prefix, created_at) values ($1, $2)";
}

pub(super) async fn settings(db: &Db) -> Result<Option<CacheSettings>> {
    db.optional(SETTINGS, args![]).await
}

pub(super) async fn settings_in(change: &mut Change) -> Result<Option<CacheSettings>> {
    change.optional(SETTINGS, args![]).await
}

pub(super) async fn clears(db: &Db) -> Result<Vec<(i64, String)>> {
    let mut clears: Vec<(i64, String)> = db.all(CLEARS, args![]).await?;
    clears.reverse();
    Ok(clears)
}

pub(super) async fn save(change: &mut Change, settings: &CacheSettings) -> Result<()> {
    let exclude = serde_json::to_string(&settings.exclude).map_err(Error::internal)?;
    change.run(SAVE, args![settings.enabled, settings.ttl_s, exclude]).await.map(drop)
}

pub(super) async fn clear(change: &mut Change, prefix: &str) -> Result<()> {
    change.run(CLEAR, args![prefix, change.now()]).await.map(drop)
}
