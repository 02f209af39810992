//! How a text is searched for. A text of three characters or more is looked up in an index first.
//! If the index finds few submissions, only these are read; if it finds many, a page is soon full,
//! whatever its order. Shorter texts, and all texts if the engine has no index, are searched for
//! among the newest submissions only.

use super::{
    index::{FOUND_AMONG_NEWEST, FOUND_BY_INDEX, HAS_INDEX, index_pattern},
    sql,
};
use crate::{
    Change, Result,
    db::{Db, Dialect, FromRow, Sql, Value, args},
    items::{Query, Within},
};

/// Up to this number, the found submissions are few.
const FEW: i64 = 5_000;
/// Hits are dense if at least one in this many submissions holds the text.
const ONE_IN: i64 = 4;
/// Minimum characters of a text that the index looks up.
const INDEXED: usize = 3;
/// Number of newest submissions that are searched without an index.
pub(super) const NEWEST: i64 = 50_000;

/// Reads through the pool, or in a change.
pub(super) enum Reader<'a> {
    Db(&'a Db),
    Change(&'a mut Change),
}

impl<'a> From<&'a Db> for Reader<'a> {
    fn from(db: &'a Db) -> Self {
        Self::Db(db)
    }
}

impl<'a> From<&'a mut Change> for Reader<'a> {
    fn from(change: &'a mut Change) -> Self {
        Self::Change(change)
    }
}

impl Reader<'_> {
    fn dialect(&self) -> Dialect {
        match self {
            Self::Db(db) => db.dialect(),
            Self::Change(change) => change.dialect(),
        }
    }

    async fn all<T: FromRow>(&mut self, sql: impl Into<Sql>, args: Vec<Value>) -> Result<Vec<T>> {
        match self {
            Self::Db(db) => db.all(sql, args).await,
            Self::Change(change) => change.all(sql, args).await,
        }
    }

    async fn has_index(&mut self) -> Result<bool> {
        let Some(ask) = self.dialect().of(&HAS_INDEX) else { return Ok(true) };
        Ok(self.all::<(bool,)>(ask, args![]).await?.contains(&(true,)))
    }

    async fn oldest_of_newest(&mut self) -> Result<i64> {
        let rows = self.all::<(i64,)>(sql::NEWEST, args![NEWEST]).await?;
        Ok(rows.first().map_or(0, |(id,)| *id))
    }
}

/// A query, with the submissions in which its text is looked for.
pub(super) struct NarrowedQuery {
    /// The query, restricted to the found submissions if these are few.
    pub(super) query: Query,
    pub(super) hits: Hits,
}

/// How the submissions that hold the text are spread among all.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Hits {
    /// No text is searched for, or the query names the submissions.
    Narrow,
    /// The index found many, close together: a read in any order soon finds enough.
    Dense,
    /// The index found many, far apart: a read of all of them uses the index.
    Sparse,
}

impl Hits {
    /// Judges by the submissions that the index found first: old ones, with which counting begins.
    fn of(found: &[(i64,)]) -> Self {
        let ids = || found.iter().map(|(id,)| *id);
        let span = ids().max().unwrap_or_default() - ids().min().unwrap_or_default();
        match span <= ONE_IN * FEW {
            true => Self::Dense,
            false => Self::Sparse,
        }
    }
}

/// The statement that finds, by the index, all submissions that may hold a text; with its values.
pub(super) fn index_statement(dialect: Dialect, text: &str) -> (&'static str, Vec<Value>) {
    let text = text.to_ascii_lowercase();
    (dialect.of(&FOUND_BY_INDEX), args![index_pattern(dialect, &text), text, i64::MAX])
}

/// Restricts a query to the submissions in which its text is looked for.
pub(super) async fn narrow<'a>(
    reader: impl Into<Reader<'a>>,
    query: &Query,
) -> Result<NarrowedQuery> {
    let mut reader = reader.into();
    let Some(text) = &query.search else {
        return Ok(NarrowedQuery { query: query.clone(), hits: Hits::Narrow });
    };
    let (text, dialect) = (text.to_ascii_lowercase(), reader.dialect());
    let indexed = text.chars().count() >= INDEXED && reader.has_index().await?;
    let found: Vec<(i64,)> = if indexed {
        let args = args![index_pattern(dialect, &text), text, FEW + 1];
        reader.all(dialect.of(&FOUND_BY_INDEX), args).await?
    } else {
        reader.all(dialect.of(&FOUND_AMONG_NEWEST), args![text, NEWEST, FEW + 1]).await?
    };
    let (within, hits) = if found.len() as i64 <= FEW {
        let keys = found.into_iter().map(|(id,)| id).collect();
        (Some(Within::Keys(keys)), Hits::Narrow)
    } else if indexed {
        (None, Hits::of(&found))
    } else {
        (Some(Within::From(reader.oldest_of_newest().await?)), Hits::Narrow)
    };
    Ok(NarrowedQuery { query: Query { within, ..query.clone() }, hits })
}
