//! Records as callers write them. Of some core tables they may not write everything.

use std::sync::{Arc, Weak};

use futures_util::future::BoxFuture;
use serde_json::{Map, Value as Json};

use super::{IfMatch, Items, Written, write};
use crate::{Change, Result, content::core, db::Lock};

/// What a room does in the change of a caller who writes a record of one of its tables.
pub(crate) trait WriteRules: Send + Sync {
    /// The lock that a write of these columns takes before its statement.
    fn lock(&self, table: &str, columns: &[&str], is_new: bool) -> Option<Lock>;

    /// A record was made, or changed.
    fn written<'c>(
        self: Arc<Self>,
        change: &'c mut Change,
        table: &'c str,
        written: &'c Written,
    ) -> BoxFuture<'c, Result<()>>;

    /// A record is about to be removed. The change holds the record, and its hooks have run.
    fn removing<'c>(
        self: Arc<Self>,
        change: &'c mut Change,
        table: &'c str,
        record: &'c Json,
    ) -> BoxFuture<'c, Result<()>>;

    /// A record was removed: as it was before.
    fn removed<'c>(
        self: Arc<Self>,
        change: &'c mut Change,
        table: &'c str,
        record: &'c Json,
    ) -> BoxFuture<'c, Result<()>>;
}

/// Tables, and the room that has rules for them. The room knows the items too: neither keeps the
/// other from being closed.
pub(super) type RuledTables = (&'static [&'static str], Weak<dyn WriteRules>);

impl Items {
    /// Says which room has rules for writes, once.
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

    /// Takes the lock of a write, after its hooks: they may write more columns.
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

    /// Refuses columns that nobody writes by hand. Those that do not exist come first.
    fn expect_by_hand(&self, table: &str, body: &Map<String, Json>) -> Result<()> {
        let Err(refusal) = core::by_hand(table, Some(body.keys())) else { return Ok(()) };
        self.expect_columns(table, body)?;
        Err(refusal)
    }

    async fn after(&self, change: &mut Change, table: &str, written: Written) -> Result<Written> {
        if let Some(room) = self.write_rules(table)
            && let Err(refusal) = room.written(change, table, &written).await
        {
            // The record stands in it.
            change.fail();
            return Err(refusal);
        }
        Ok(written)
    }

    /// Adds a record.
    ///
    /// # Errors
    /// `validation_failed`, `database_error`, `conflict`, `method_not_allowed` for tables whose
    /// records are not made as items, and those of hooks. Then nothing is written. After a refusal
    /// of the database or of a hook, and after any refusal once hooks have run, the change cannot
    /// be committed.
    pub async fn create(
        &self,
        change: &mut Change,
        table: &str,
        body: &Map<String, Json>,
    ) -> Result<Written> {
        core::by_hand(table, None::<[&String; 0]>)?;
        self.expect_by_hand(table, body)?;
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
        self.expect_by_hand(table, body)?;
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
        core::by_hand(table, None::<[&String; 0]>)?;
        let record = self.remove(change, table, id, language, if_match).await?;
        let Some(room) = self.write_rules(table) else { return Ok(()) };
        room.removed(change, table, &record).await.inspect_err(|_| change.fail())
    }
}
