//! Writes of records by callers: columns that they may not write, and what a room does around the
//! writes of its tables: the lock before, the checks and the work after.

use std::sync::{Arc, Weak};

use futures_util::future::BoxFuture;
use serde_json::{Map, Value as Json};

use super::{IfMatch, Items, Written, write};
use crate::{Change, Result, content::core, db::Lock};

/// The rules of a room for callers' writes to its tables. They run in the caller's change.
pub(crate) trait WriteRules: Send + Sync {
    /// The lock that a write of these columns takes before its statement.
    fn lock(&self, table: &str, columns: &[&str], is_new: bool) -> Option<Lock>;

    /// Called after a record was created or changed.
    fn written<'c>(
        self: Arc<Self>,
        change: &'c mut Change,
        table: &'c str,
        written: &'c Written,
    ) -> BoxFuture<'c, Result<()>>;

    /// Called before a record is removed. The change holds the record, and its hooks have run.
    fn removing<'c>(
        self: Arc<Self>,
        change: &'c mut Change,
        table: &'c str,
        record: &'c Json,
    ) -> BoxFuture<'c, Result<()>>;

    /// Called after a record was removed, with the record as it was before.
    fn removed<'c>(
        self: Arc<Self>,
        change: &'c mut Change,
        table: &'c str,
        record: &'c Json,
    ) -> BoxFuture<'c, Result<()>>;
}

/// Tables, and the room that has rules for them. The room holds the items too, so the reference is
/// weak: neither keeps the other alive.
pub(super) type RuledTables = (&'static [&'static str], Weak<dyn WriteRules>);

impl Items {
    /// Sets the room that has rules for writes. Call this only once.
    pub(crate) fn set_write_rules(
        &self,
        tables: &'static [&'static str],
        room: Weak<dyn WriteRules>,
    ) {
        let is_first = self.0.write_rules.set((tables, room)).is_ok();
        assert!(is_first, "one room has rules for writes");
    }

    pub(super) fn write_rules(&self, table: &str) -> Option<Arc<dyn WriteRules>> {
        let (tables, room) = self.0.write_rules.get()?;
        room.upgrade().filter(|_| tables.contains(&table))
    }

    /// Acquires the lock of a write. Runs after the hooks, because they may write more columns.
    pub(super) async fn take_lock(
        &self,
        change: &mut Change,
        table: &str,
        columns: &[&str],
        is_new: bool,
    ) -> Result<()> {
        let room = self.write_rules(table);
        match room.and_then(|room| room.lock(table, columns, is_new)) {
            Some(lock) => change.lock(lock).await,
            None => Ok(()),
        }
    }

    /// Refuses columns that do not exist.
    pub(crate) fn expect_columns(&self, table: &str, body: &Map<String, Json>) -> Result<()> {
        write::expect_columns(&*self.table(table)?, body)
    }

    /// Refuses columns that callers may not write. Columns that do not exist are refused first.
    fn expect_writable_columns(
        &self,
        table: &str,
        body: &Map<String, Json>,
        is_copied: bool,
    ) -> Result<()> {
        let Err(refusal) = core::check_caller_write(table, Some(body.keys()), is_copied) else {
            return Ok(());
        };
        self.expect_columns(table, body)?;
        Err(refusal)
    }

    async fn after(&self, change: &mut Change, table: &str, written: Written) -> Result<Written> {
        if let Some(room) = self.write_rules(table)
            && let Err(refusal) = room.written(change, table, &written).await
        {
            // The change already holds the written record.
            change.fail();
            return Err(refusal);
        }
        Ok(written)
    }

    /// Adds a record.
    ///
    /// # Errors
    /// `validation_failed`, `database_error`, `conflict`, `method_not_allowed` for tables whose
    /// records are not created as items, and errors of hooks. Nothing is written then. After a
    /// refusal of the database or of a hook, and after any refusal once hooks have run, the change
    /// cannot be committed.
    pub async fn create(
        &self,
        change: &mut Change,
        table: &str,
        body: &Map<String, Json>,
    ) -> Result<Written> {
        core::check_caller_write(table, None::<[&String; 0]>, false)?;
        let is_copied = change.is_silent() && body.contains_key("id");
        self.expect_writable_columns(table, body, is_copied)?;
        let written = self.insert(change, table, body).await?;
        self.after(change, table, written).await
    }

    /// Changes the columns named in `body`.
    ///
    /// # Errors
    /// `not_found`, `stale`, `precondition_required`, and as [`Items::create`].
    pub async fn update(
        &self,
        change: &mut Change,
        table: &str,
        id: &str,
        language: Option<&str>,
        if_match: &IfMatch,
        body: &Map<String, Json>,
    ) -> Result<Written> {
        self.expect_writable_columns(table, body, false)?;
        let written = self.set(change, table, id, language, if_match, body).await?;
        self.after(change, table, written).await
    }

    /// Deletes a record. Its event carries the record as it was.
    ///
    /// # Errors
    /// `not_found`, `stale`, `precondition_required`, `conflict` when other rows refer to it,
    /// `method_not_allowed` for tables whose records are not removed as items.
    pub async fn delete(
        &self,
        change: &mut Change,
        table: &str,
        id: &str,
        language: Option<&str>,
        if_match: &IfMatch,
    ) -> Result<()> {
        core::check_caller_write(table, None::<[&String; 0]>, false)?;
        let record = self.remove(change, table, id, language, if_match).await?;
        let Some(room) = self.write_rules(table) else { return Ok(()) };
        room.removed(change, table, &record).await.inspect_err(|_| change.fail())
    }
}
