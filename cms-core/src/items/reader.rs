//! Where records are read from: the pool, or an open change.

use sqlx::AssertSqlSafe;

use super::select::Statement;
use crate::{
    Change, Error, Result,
    db::{Db, FromRow},
};

/// Through the pool, or as an open change sees them.
pub(super) enum Reader<'r> {
    Pool(&'r Db),
    Under(&'r mut Change),
}

impl Reader<'_> {
    pub(super) async fn optional<T: FromRow>(
        &mut self,
        Statement { sql, args }: Statement,
    ) -> Result<Option<T>> {
        match self {
            Self::Pool(db) => db.optional(AssertSqlSafe(sql), args).await,
            Self::Under(change) => change.optional(AssertSqlSafe(sql), args).await,
        }
    }

    pub(super) async fn one<T: FromRow>(&mut self, statement: Statement) -> Result<T> {
        self.optional(statement).await?.ok_or_else(|| Error::internal(sqlx::Error::RowNotFound))
    }
}
