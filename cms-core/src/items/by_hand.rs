//! Records as callers write them. Of some core tables they may not write everything.

use futures_util::future::BoxFuture;
use serde_json::{Map, Value as Json};

use super::{IfMatch, Items, Written};
use crate::{Change, Result, content::core};

/// What a room does in the change of a caller who writes a record of its table.
pub(crate) trait AfterWrite: Send + Sync {
    /// A record was made, or changed.
    fn written<'c>(
        &'c self,
        change: &'c mut Change,
        written: &'c Written,
        is_new: bool,
    ) -> BoxFuture<'c, Result<()>>;

    /// A record is about to be removed. The change holds the record, and its hooks have run.
    fn removing<'c>(&'c self, _: &'c mut Change, _: &'c Json) -> BoxFuture<'c, Result<()>> {
        Box::pin(async { Ok(()) })
    }

    /// A record was removed: as it was before.
    fn removed<'c>(&'c self, change: &'c mut Change, record: &'c Json)
    -> BoxFuture<'c, Result<()>>;
}

/// The tables of a room, each with what it does after their writes.
pub(super) type AfterWrites = Vec<(&'static str, Box<dyn AfterWrite>)>;

impl Items {
    /// Says what is done after the writes of tables, once.
    pub(crate) fn set_after_writes(&self, tables: AfterWrites) {
        let is_first = self.0.after_writes.set(tables).is_ok();
        assert!(is_first, "one room works after the writes of records");
    }

    pub(super) fn after_write(&self, table: &str) -> Option<&dyn AfterWrite> {
        let tables = self.0.after_writes.get()?;
        tables.iter().find(|(of, _)| *of == table).map(|(_, room)| &**room)
    }

    async fn after(
        &self,
        change: &mut Change,
        table: &str,
        written: Written,
        is_new: bool,
    ) -> Result<Written> {
        if let Some(room) = self.after_write(table)
            && let Err(refusal) = room.written(change, &written, is_new).await
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
    /// `validation_failed`, `database_error`, `conflict`, and those of hooks. Then nothing is
    /// written. After a refusal of the database or of a hook the change cannot be committed.
    pub async fn create(
        &self,
        change: &mut Change,
        table: &str,
        body: &Map<String, Json>,
    ) -> Result<Written> {
        core::by_hand(table, None::<[&String; 0]>)?;
        core::by_hand(table, Some(body.keys()))?;
        let written = self.insert(change, table, body).await?;
        self.after(change, table, written, true).await
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
        core::by_hand(table, Some(body.keys()))?;
        let written = self.set(change, table, id, language, if_match, body).await?;
        self.after(change, table, written, false).await
    }

    /// Deletes a record. Its event carries the record as it was.
    ///
    /// # Errors
    /// `not_found`, `stale`, `precondition_required`, `conflict` when other rows refer to it.
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
        let Some(room) = self.after_write(table) else { return Ok(()) };
        room.removed(change, &record).await.inspect_err(|_| change.fail())
    }
}
