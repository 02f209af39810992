//! Records as a change sees them: found and locked before a write, read after it.

use serde_json::{Map, Value as Json};
use sqlx::AssertSqlSafe;

use super::{
    Items,
    key::Key,
    not_found,
    query::Query,
    references,
    select::{self, Conditions, Statement},
    version, write,
};
use crate::{
    Change, Code, Error, Result,
    content::Table,
    db::{Lossy, args, dialect::quote},
};

/// The message for a base that does not exist.
const NO_BASE: &str = "there is no such record: leave it out for a new one (administrators copy \
                       rows in any order with no_events=true)";

impl Items {
    /// Reads the key and the present record, and locks the record until the change ends.
    pub(super) async fn lock_record(
        &self,
        change: &mut Change,
        table: &Table,
        id: &str,
        language: Option<&str>,
    ) -> Result<(Key, String)> {
        let key = match language {
            Some(language) => self.version_key(change, table, id, language).await?,
            None => Key::parse(table, id)?,
        };
        let json = self.find_locked(change, table, &key).await?;
        json.map(|json| (key, json)).ok_or_else(|| not_found(table, id, language))
    }

    /// Refuses a new record that is not a version of an existing record.
    pub async fn admit_version(
        &self,
        change: &mut Change,
        table: &str,
        record: &Map<String, Json>,
    ) -> Result<()> {
        let found = self.table(table)?;
        let base = match record.get("base_id") {
            Some(Json::String(base)) => Some(base.clone()),
            Some(Json::Number(base)) => Some(base.to_string()),
            _ => None,
        };
        let key = base.and_then(|base| Key::parse(&found, &base).ok());
        let exists = match &key {
            Some(key) => self.find_locked(change, &found, key).await?.is_some(),
            None => false,
        };
        if exists {
            return Ok(());
        }
        let detail = format!(
            "Your permissions cover only versions of records of {table} that exist: name one in \
             base_id. Nothing was changed."
        );
        Err(Error::new(Code::PermissionDenied, detail))
    }

    /// Sets the base of a written row to itself, if the row has none.
    pub(super) async fn own_base(change: &mut Change, table: &Table, key: &Key) -> Result<()> {
        let Statement { sql, args } = write::own_base(table, key);
        // No row is hit when a default or a trigger of the table has set the base already.
        let based = change.run(AssertSqlSafe(sql), args).await;
        based.map(drop).map_err(|e| references::refused(table, e, &[]))
    }

    /// Refuses a written row whose base is neither the row itself nor a row that is its own base:
    /// the versions of one record share one base. Rows whose base was deleted may keep it.
    pub(super) async fn check_base(
        &self,
        change: &mut Change,
        table: &Table,
        key: &Key,
        record: &Json,
    ) -> Result<()> {
        // Adopted tables have rules of their own.
        let ids = (record["base_id"].as_i64(), key.json(table).as_i64());
        let (Some(base), Some(id), false) = (ids.0, ids.1, table.adopted) else { return Ok(()) };
        if base == id {
            return Ok(());
        }
        let refused = |code, message| Err(Error::invalid_field("base_id", code, message));
        if versions(change, table, id, id).await? > 0 {
            return refused("refused", "other rows are versions of this one: leave it out");
        }
        // Locked, so that the named row stays its own base until the change ends.
        let named = Key::parse(table, &base.to_string())?;
        let Some(json) = self.find_locked(change, table, &named).await? else {
            return match versions(change, table, base, id).await? {
                0 => refused("unknown", NO_BASE),
                _ => Ok(()),
            };
        };
        let found: Json = serde_json::from_str(&json).map_err(Error::internal)?;
        match found["base_id"].as_i64() {
            Some(other) if other != base => {
                refused("refused", "this record is a version itself: send the base_id that it has")
            }
            _ => Ok(()),
        }
    }

    /// Refuses a new key for a row that is its own base, because its versions name the old key.
    /// For a row without versions, callers send `base_id` null with the new key.
    pub(super) async fn check_number(
        change: &mut Change,
        table: &Table,
        values: &write::Values<'_>,
        old: &Json,
    ) -> Result<()> {
        let Some(key) = table.key_columns().next().map(|key| &key.name) else { return Ok(()) };
        let is_moved =
            values.iter().any(|(column, value)| column.name == *key && *value != old[key]);
        if !table.multilanguage || table.adopted || !is_moved || old["base_id"] != old[key] {
            return Ok(());
        }
        let id = old[key].as_i64().unwrap_or_default();
        let is_unbased = write::base(values).is_some_and(Json::is_null);
        if is_unbased && versions(change, table, id, id).await? == 0 {
            return Ok(());
        }
        let message = "it is the base_id of the record: without versions send base_id null with it";
        Err(Error::invalid_field(key, "refused", message))
    }

    async fn version_key(
        &self,
        change: &mut Change,
        table: &Table,
        id: &str,
        language: &str,
    ) -> Result<Key> {
        let mut conditions = Conditions::new(table);
        version(&mut conditions, table, id, language)?;
        let sql = format!(
            "select {} from {} t{}",
            write::key_of(table, "t"),
            table.quoted(),
            conditions.sql()
        );
        let found: Option<(String,)> =
            change.optional(AssertSqlSafe(sql), conditions.into_args()).await?;
        let (key,) = found.ok_or_else(|| not_found(table, id, Some(language)))?;
        Key::from_json(table, &key)
    }

    /// The written row as JSON: as the statement returned it, or read again.
    pub(super) async fn read_written(
        &self,
        change: &mut Change,
        table: &Table,
        key: &Key,
        returned: Option<String>,
    ) -> Result<String> {
        match returned {
            Some(json) => Ok(self.0.registry.tables().compact(table, &[], json)),
            None => self
                .find_locked(change, table, key)
                .await?
                .ok_or_else(|| Error::internal("a written row cannot be read")),
        }
    }

    async fn find_locked(
        &self,
        change: &mut Change,
        table: &Table,
        key: &Key,
    ) -> Result<Option<String>> {
        let mut conditions = Conditions::new(table);
        conditions.key(key);
        let tables = self.0.registry.tables();
        let Statement { sql, args } =
            select::one(&tables, table, conditions, &Query::default(), true)?;
        let found: Option<(Option<Lossy>,)> = change
            .optional(AssertSqlSafe(sql), args)
            .await
            .map_err(|e| references::refused(table, e, &[]))?;
        let json = found.and_then(|(json,)| json);
        Ok(json.map(|Lossy(json)| tables.compact(table, &[], json)))
    }
}

/// The number of rows with this base, not counting the row `id`.
async fn versions(change: &mut Change, table: &Table, base: i64, id: i64) -> Result<i64> {
    let key = table.key_columns().next().map(|column| quote(&column.name)).unwrap_or_default();
    let sql = format!(
        "select count(*) from {} t where t.\"base_id\" = $1 and t.{key} <> $2",
        table.quoted()
    );
    let (count,): (i64,) = change.one(AssertSqlSafe(sql), args![base, id]).await?;
    Ok(count)
}
