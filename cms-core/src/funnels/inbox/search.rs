//! Where a text is searched for. What holds a text of three characters or more is found by an index
//! first. When that is little, only these submissions are read; when it is much, a page is soon
//! full, whatever its order. Shorter texts, and all texts where the engine has no index, are sought
//! among the newest submissions only.

use super::sql;
use crate::{
    Change, Result,
    db::{Db, Dialect, FromRow, Sql, Value, args},
    items::{Query, Within},
};

/// So many submissions are little.
const FEW: i64 = 5_000;
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
        let Some(ask) = self.dialect().has_search_index() else { return Ok(true) };
        Ok(self.all::<(bool,)>(ask, args![]).await?.contains(&(true,)))
    }

    async fn oldest_of_newest(&mut self) -> Result<i64> {
        let rows = self.all::<(i64,)>(sql::NEWEST, args![NEWEST]).await?;
        Ok(rows.first().map_or(0, |(id,)| *id))
    }
}

/// The query with the submissions among which it looks for its text.
pub(super) async fn narrowed<'a>(reader: impl Into<Reader<'a>>, query: &Query) -> Result<Query> {
    let mut reader = reader.into();
    let Some(text) = &query.search else { return Ok(query.clone()) };
    let (text, dialect) = (text.to_ascii_lowercase(), reader.dialect());
    let indexed = text.chars().count() >= INDEXED && reader.has_index().await?;
    let found: Vec<(i64,)> = if indexed {
        let args = args![dialect.sought(&text), text, FEW + 1];
        reader.all(dialect.found_by_index(), args).await?
    } else {
        reader.all(dialect.found_among_newest(), args![text, NEWEST, FEW + 1]).await?
    };
    let within = if found.len() as i64 <= FEW {
        Some(Within::Keys(found.into_iter().map(|(id,)| id).collect()))
    } else if indexed {
        None
    } else {
        Some(Within::From(reader.oldest_of_newest().await?))
    };
    Ok(Query { within, ..query.clone() })
}
