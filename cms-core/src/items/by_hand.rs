//! Records as callers write them. Of some core tables they may not write everything.

use serde_json::{Map, Value as Json};

use super::{IfMatch, Items, Written};
use crate::{Change, Result, content::core};

impl Items {
    /// Adds a record.
    ///
    /// # Errors
    /// `validation_failed`, `database_error`, `conflict`. Then nothing is written and the change
    /// cannot be committed.
    pub async fn create(
        &self,
        change: &mut Change,
        table: &str,
        body: &Map<String, Json>,
    ) -> Result<Written> {
        core::by_hand(table, None::<[&String; 0]>)?;
        self.insert(change, table, body).await
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
        self.set(change, table, id, language, if_match, body).await
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
        self.remove(change, table, id, language, if_match).await.map(drop)
    }
}
