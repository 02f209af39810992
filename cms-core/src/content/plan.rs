//! The statements that bring a table to its declared form. Making them only reads.

use crate::{
    Change, Result,
    db::{Db, DbTable, Dialect, FromRow, Sql, Value},
};

/// Statements to run, and what they are found by.
pub(super) struct Plan<'a> {
    source: Source<'a>,
    /// To run in this order.
    pub(super) statements: Vec<String>,
}

enum Source<'a> {
    Db(&'a Db),
    Change(&'a mut Change),
}

impl<'a> Plan<'a> {
    /// Looks at what is committed.
    pub(super) fn of(db: &'a Db) -> Self {
        Self { source: Source::Db(db), statements: Vec::new() }
    }

    /// Looks at what a change sees.
    pub(super) fn within(change: &'a mut Change) -> Self {
        Self { source: Source::Change(change), statements: Vec::new() }
    }

    pub(super) fn add(&mut self, statement: String) {
        self.statements.push(statement);
    }

    pub(super) fn dialect(&self) -> Dialect {
        match &self.source {
            Source::Db(db) => db.dialect(),
            Source::Change(change) => change.dialect(),
        }
    }

    pub(super) async fn describe(&mut self, table: &str) -> Result<Option<DbTable>> {
        match &mut self.source {
            Source::Db(db) => db.describe(table).await,
            Source::Change(change) => change.describe(table).await,
        }
    }

    pub(super) async fn optional<T: FromRow>(
        &mut self,
        sql: impl Into<Sql>,
        args: Vec<Value>,
    ) -> Result<Option<T>> {
        match &mut self.source {
            Source::Db(db) => db.optional(sql, args).await,
            Source::Change(change) => change.optional(sql, args).await,
        }
    }

    /// The number that a query returns.
    pub(super) async fn count(&mut self, sql: impl Into<Sql>) -> Result<i64> {
        let found: Option<(i64,)> = self.optional(sql, Vec::new()).await?;
        Ok(found.map_or(0, |(rows,)| rows))
    }
}
