//! Records as callers write them. Of some core tables they may not write everything.

use futures_util::future::BoxFuture;
use serde_json::{Map, Value as Json};

use super::{IfMatch, Items, Written};
use crate::{Change, Result, content::core};

/// What a room does in the change of a caller who writes a record of its table.
pub(crate) trait Beside: Send + Sync {
    /// A record was made, or changed.
    fn written<'c>(
        &'c self,
        change: &'c mut Change,
        written: &'c Written,
        is_new: bool,
    ) -> BoxFuture<'c, Result<()>>;

    /// A record was removed: as it was before.
    fn removed<'c>(&'c self, change: &'c mut Change, record: &'c Json)
    -> BoxFuture<'c, Result<()>>;
}

impl Items {
    /// Says what is done beside the writes of a table, once.
    pub(crate) fn set_beside(&self, table: &'static str, beside: Box<dyn Beside>) {
        let is_first = self.0.beside.set((table, beside)).is_ok();
        assert!(is_first, "one room works beside the writes of records");
    }

    fn beside(&self, table: &str) -> Option<&dyn Beside> {
        self.0.beside.get().filter(|(of, _)| *of == table).map(|(_, beside)| &**beside)
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
        let written = self.insert(change, table, body).await?;
        if let Some(beside) = self.beside(table) {
            beside.written(change, &written, true).await?;
        }
        Ok(written)
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
        if let Some(beside) = self.beside(table) {
            beside.written(change, &written, false).await?;
        }
        Ok(written)
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
        match self.beside(table) {
            Some(beside) => beside.removed(change, &record).await,
            None => Ok(()),
        }
    }
}
