//! The statements of API keys beside those of `row.rs`, and the functions that run them.

use super::{DeniedCall, Right};
use crate::{
    Change, Millis, Result,
    db::{Db, Lock, PerEngine, Statement, args, epoch_of, read, record, statements},
};

record! {
    /// A key with the columns that the gate needs.
    pub(super) struct KeyRow: found_columns {
        /// The hash of the value that was sent.
        pub(super) hash: String = "v.hash",
        pub(super) id: i64 = "k.id",
        pub(super) name: String = "k.name",
        pub(super) expires_on: Option<String> = "k.expires_on",
        pub(super) active: bool = "k.active",
        pub(super) rights: Vec<Right> = "k.rights" => read::json,
        /// When the value that was sent expires; None for the current value.
        pub(super) valid_until: Option<Millis> = "v.valid_until",
        /// Epoch of the table that is about to be read.
        pub(super) epoch: i64 = [epoch_of!("$2")],
    }
}

macro_rules! find {
    ($beside:literal, $end:literal) => {
        concat!(
            "select ",
            found_columns!(),
            " from cms_api_key_values v join cms_api_keys k on k.id = v.api_key_id",
            $beside,
            " where v.hash = $1",
            $end
        )
    };
}

record! {
    struct LastDenied: last_denied_columns {
        call: Option<DeniedCall> = "last_denied" => read::optional_json,
    }
}

/// Makes a change wait for another change that revokes the key, and the reverse. Shared row
/// locks alone would let a key in constant use outlast its revocation, so the statement also
/// shares the lock `$3`.
pub(crate) const FIND_LOCKED: Statement = Statement::new(
    concat!(module_path!(), "::FIND_LOCKED"),
    find!(" cross join (select pg_advisory_xact_lock_shared($3)) l", " for share of v, k"),
);

statements! {
    INSERT_VALUE = "insert into cms_api_key_values (hash, api_key_id) values ($1, $2)";
    /// A key by the hash of its value, with the epoch of a table.
    FIND = find!("", "");
    NAMED = "select id from cms_api_keys where name = $1 order by id limit 1";
    DELETE = "delete from cms_api_keys where id = $1";
    END_VALUES = "update cms_api_key_values set valid_until = $2 \
                  where api_key_id = $1 and (valid_until is null or valid_until > $2)";
    DROP_VALUES = "delete from cms_api_key_values where api_key_id = $1 and valid_until <= $2";
    EXPIRE_VALUES = "delete from cms_api_key_values where hash in \
                     (select hash from cms_api_key_values where valid_until <= $1 limit 1000)";
    /// Deletes a value that has expired.
    DROP_VALUE = "delete from cms_api_key_values where hash = $1 and valid_until <= $2";
    SET_PREFIX = "update cms_api_keys set prefix = $2 where id = $1";
    LAST_DENIED = concat!("select ", last_denied_columns!(), " from cms_api_keys where id = $1");
}

macro_rules! count_use {
    () => {
        "update cms_api_keys set requests = requests + $2, denied = denied + $3, \
         last_used_at = case when last_used_at is null or last_used_at < $4 \
         then $4 else last_used_at end, \
         last_denied = coalesce(cast($5 as text), last_denied) where id "
    };
}

/// Counts the use of a key. On PostgreSQL the statement commits by itself. It skips a key that is
/// being changed, so that no caller waits, and then returns 1.
pub(super) const COUNT_USE: PerEngine<Statement> = PerEngine {
    sqlite: Statement::new(concat!(module_path!(), "::COUNT_USE"), concat!(count_use!(), "= $1")),
    postgres: Statement::new(
        concat!(module_path!(), "::COUNT_USE"),
        concat!(
            "with free as (select id from cms_api_keys where id = $1 for update skip locked), \
             counted as (",
            count_use!(),
            "in (select id from free) returning id) select cast(count(*) as bigint) \
             from cms_api_keys where id = $1 and id not in (select id from counted)"
        ),
    ),
};

/// A key by the hash of its value. It stays as it is until the change ends.
pub(super) async fn find_again(
    change: &mut Change,
    hash: &str,
    in_use: Lock,
) -> Result<Option<KeyRow>> {
    let statement = change.dialect().keeping(FIND, FIND_LOCKED);
    change.optional(statement, args![hash, "", in_use.number()]).await
}

/// Adds the current value.
pub(super) async fn add_value(change: &mut Change, id: i64, hash: String) -> Result<()> {
    change.run(INSERT_VALUE, args![hash, id]).await.map(drop)
}

/// Lets the current value expire at `until`, and deletes values that have expired.
pub(super) async fn replace_value(
    change: &mut Change,
    id: i64,
    until: i64,
    hash: String,
    prefix: &str,
) -> Result<()> {
    change.run(END_VALUES, args![id, until]).await?;
    change.run(DROP_VALUES, args![id, change.now()]).await?;
    add_value(change, id, hash).await?;
    change.run_one(SET_PREFIX, args![id, prefix]).await
}

/// The last denied call of a key. Outer `None`: there is no such key.
pub(super) async fn last_denied(db: &Db, id: i64) -> Result<Option<Option<DeniedCall>>> {
    let found: Option<LastDenied> = db.optional(LAST_DENIED, args![id]).await?;
    Ok(found.map(|found| found.call))
}
