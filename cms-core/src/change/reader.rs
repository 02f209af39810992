//! Where rows are read from: the pool, or an open change.

use super::Change;
use crate::{
    Error, Result,
    db::{Db, Dialect, FromRow, Sql, Value},
};

/// Reads through the pool, or as an open change sees the rows. A function that serves both takes
/// an `impl Into<Reader<'_>>`: a `&Db`, a `&mut Change` or the `&mut Reader` of its own caller.
/// Who holds a change passes it: changes that wait for a second connection could deadlock.
pub(crate) enum Reader<'a> {
    Pool(&'a Db),
    Change(&'a mut Change),
}

impl<'a> From<&'a Db> for Reader<'a> {
    fn from(db: &'a Db) -> Self {
        Self::Pool(db)
    }
}

impl<'a> From<&'a mut Change> for Reader<'a> {
    fn from(change: &'a mut Change) -> Self {
        Self::Change(change)
    }
}

impl<'a> From<&'a mut Reader<'_>> for Reader<'a> {
    fn from(reader: &'a mut Reader<'_>) -> Self {
        match reader {
            Reader::Pool(db) => Self::Pool(db),
            Reader::Change(change) => Self::Change(change),
        }
    }
}

impl Reader<'_> {
    pub(crate) fn dialect(&self) -> Dialect {
        match self {
            Self::Pool(db) => db.dialect(),
            Self::Change(change) => change.dialect(),
        }
    }

    pub(crate) async fn all<T: FromRow>(
        &mut self,
        sql: impl Into<Sql>,
        args: Vec<Value>,
    ) -> Result<Vec<T>> {
        match self {
            Self::Pool(db) => db.all(sql, args).await,
            Self::Change(change) => change.all(sql, args).await,
        }
    }

    pub(crate) async fn optional<T: FromRow>(
        &mut self,
        sql: impl Into<Sql>,
        args: Vec<Value>,
    ) -> Result<Option<T>> {
        Ok(self.all(sql, args).await?.into_iter().next())
    }

    pub(crate) async fn one<T: FromRow>(
        &mut self,
        sql: impl Into<Sql>,
        args: Vec<Value>,
    ) -> Result<T> {
        self.optional(sql, args).await?.ok_or_else(|| Error::internal(sqlx::Error::RowNotFound))
    }
}
