//! Records as a change sees them: found and locked before a write, read after it.

use serde_json::{Map, Value as Json};
use sqlx::AssertSqlSafe;

use super::{
    Items,
    key::Key,
    not_found,
    query::Query,
    select::{self, Conditions, Statement},
    version, write,
};
use crate::{Change, Code, Error, Result, content::Table};

impl Items {
    /// Reads the key and the present record, and locks the record until the change ends.
    pub(super) async fn present(
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
        let json = self.locked(change, table, &key).await?;
        json.map(|json| (key, json)).ok_or_else(|| not_found(table, id, language))
    }

    /// Refuses a new record that is no version of one that exists.
    ///
    /// # Errors
    /// `permission_denied`.
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
            Some(key) => self.locked(change, &found, key).await?.is_some(),
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
    pub(super) async fn written(
        &self,
        change: &mut Change,
        table: &Table,
        key: &Key,
        returned: Option<String>,
    ) -> Result<String> {
        match returned {
            Some(json) => Ok(self.0.registry.tables().compact(table, &[], json)),
            None => self
                .locked(change, table, key)
                .await?
                .ok_or_else(|| Error::internal("a written row cannot be read")),
        }
    }

    async fn locked(
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
        let found: Option<(String,)> = change
            .optional(AssertSqlSafe(sql), args)
            .await
            .map_err(|e| write::refused(table, e, &[]))?;
        Ok(found.map(|(json,)| tables.compact(table, &[], json)))
    }
}
