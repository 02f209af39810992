//! Where a text is searched for. What holds a text of three characters or more is found by an index
//! first. When that is little, only these submissions are read; when it is much, a page is soon
//! full, whatever its order. Shorter texts, and all texts where the engine has no index, are sought
//! among the newest submissions only.

use super::{
    index::{FOUND_AMONG_NEWEST, FOUND_BY_INDEX, HAS_INDEX, sought},
    sql,
};
use crate::{
    Change, Result,
    db::{Db, Dialect, FromRow, Sql, Value, args},
    items::{Query, Within},
};

/// So many submissions are little.
const FEW: i64 = 5_000;
/// They are dense where at least one in so many holds the text.
const ONE_IN: i64 = 4;
/// Characters that the index takes at least.
const INDEXED: usize = 3;
/// Submissions that are read without an index.
pub(super) const NEWEST: i64 = 50_000;

/// Who reads.
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

/// Where the text of a query is looked for.
pub(super) struct Narrowed {
    /// The query, among fewer submissions where the index found few.
    pub(super) query: Query,
    pub(super) hits: Hits,
}

/// How the submissions that hold the text lie among all.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Hits {
    /// No text is sought, or the query names the submissions.
    Narrow,
    /// The index found more than a few, one in several: as many are soon read in any order.
    Dense,
    /// The index found more than a few, far apart: whoever wants all of them asks the index.
    Sparse,
}

impl Hits {
    /// By the first that the index found: of old submissions, with which counting begins.
    fn of(found: &[(i64,)]) -> Self {
        let ids = || found.iter().map(|(id,)| *id);
        let span = ids().max().unwrap_or_default() - ids().min().unwrap_or_default();
        match span <= ONE_IN * FEW {
            true => Self::Dense,
            false => Self::Sparse,
        }
    }
}

/// The statement that finds all submissions that may hold a text by the index, and its values.
pub(super) fn held(dialect: Dialect, text: &str) -> (&'static str, Vec<Value>) {
    let text = text.to_ascii_lowercase();
    (dialect.of(&FOUND_BY_INDEX), args![sought(dialect, &text), text, i64::MAX])
}

/// The query with the submissions among which it looks for its text.
pub(super) async fn narrowed<'a>(reader: impl Into<Reader<'a>>, query: &Query) -> Result<Narrowed> {
    let mut reader = reader.into();
    let Some(text) = &query.search else {
        return Ok(Narrowed { query: query.clone(), hits: Hits::Narrow });
    };
    let (text, dialect) = (text.to_ascii_lowercase(), reader.dialect());
    let indexed = text.chars().count() >= INDEXED && reader.has_index().await?;
    let found: Vec<(i64,)> = if indexed {
        let args = args![sought(dialect, &text), text, FEW + 1];
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
    Ok(Narrowed { query: Query { within, ..query.clone() }, hits })
}
