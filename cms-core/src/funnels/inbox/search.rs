//! How a text is searched for. A text of three characters or more is looked up in an index first.
//! If the index finds few submissions, only these are read; if it finds many, a page is soon full,
//! whatever its order. Shorter texts, and all texts if the engine has no index, are searched for
//! among the newest submissions only.

use super::{
    index::{FOUND_AMONG_NEWEST, FOUND_BY_INDEX, HAS_INDEX, index_pattern},
    sql,
};
use crate::{
    Result,
    db::{Dialect, Value, args},
    funnels::definitions::sql::Source,
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

async fn has_index(from: &mut Source<'_>) -> Result<bool> {
    let Some(ask) = from.dialect().of(&HAS_INDEX) else { return Ok(true) };
    Ok(from.all::<(bool,)>(ask, args![]).await?.contains(&(true,)))
}

/// Restricts a query to the submissions in which its text is looked for.
pub(super) async fn narrow(mut from: Source<'_>, query: &Query) -> Result<NarrowedQuery> {
    let Some(text) = &query.search else {
        return Ok(NarrowedQuery { query: query.clone(), hits: Hits::Narrow });
    };
    let (text, dialect) = (text.to_ascii_lowercase(), from.dialect());
    let indexed = text.chars().count() >= INDEXED && has_index(&mut from).await?;
    let found: Vec<(i64,)> = if indexed {
        let args = args![index_pattern(dialect, &text), text, FEW + 1];
        from.all(dialect.of(&FOUND_BY_INDEX), args).await?
    } else {
        from.all(dialect.of(&FOUND_AMONG_NEWEST), args![text, NEWEST, FEW + 1]).await?
    };
    let (within, hits) = if found.len() as i64 <= FEW {
        let keys = found.into_iter().map(|(id,)| id).collect();
        (Some(Within::Keys(keys)), Hits::Narrow)
    } else if indexed {
        (None, Hits::of(&found))
    } else {
        let oldest: Vec<(i64,)> = from.all(sql::NEWEST, args![NEWEST]).await?;
        (Some(Within::From(oldest.first().map_or(0, |(id,)| *id))), Hits::Narrow)
    };
    Ok(NarrowedQuery { query: Query { within, ..query.clone() }, hits })
}
