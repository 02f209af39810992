//! Copies the rows of one engine's database into one of the other.
//!
//! ```text
//! table   which tables there are, and how their rows are read in the order of their keys
//! cell    a row as text that is the same for both engines
//! reader  rows, one after the other
//! side    a connection to one of the two: reads, locks, inserts
//! state   how far a copy has come
//! target  the target before the first row and after the last
//! passes  the copy itself: check, copy, settle, compare
//! ```
//!
//! A first pass copies while the source is served. It notes a digest of every few thousand rows.
//! Then nobody may write to the source: its rows are read once more, and chunks whose digest
//! differs are copied again. So the first pass may see each table at another moment, and a copy
//! that was killed goes on where it stopped.

mod cell;
mod passes;
mod reader;
mod side;
mod state;
mod table;
mod target;

use std::{collections::BTreeSet, time::Duration};

pub(crate) use self::passes::Transfer;
use self::side::Side;
pub(crate) use self::table::TableRules;
use super::Db;
use crate::{Code, Error, Result, ground::crypto, settings::Database};

/// What a copy is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyStep {
    /// It looks for values that the other engine cannot hold.
    Check,
    /// It copies while the source is served.
    Copy,
    /// It copies what has changed since. Nobody can write to the source.
    Settle,
    /// It compares the two.
    Compare,
}

/// How far a copy has come.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CopyProgress<'a> {
    /// What it is doing.
    pub step: CopyStep,
    /// The table under way; empty at the end of a step.
    pub table: &'a str,
    /// Rows done in this step.
    pub rows: u64,
    /// Rows of this step, once they are known.
    pub total: Option<u64>,
}

/// Called from time to time while a copy runs.
pub type OnCopyProgress<'a> = &'a (dyn Fn(CopyProgress<'_>) + Send + Sync);

/// A copy that is complete.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Copied {
    /// Tables with their numbers of rows.
    pub tables: Vec<(String, u64)>,
    /// Tables of other programs, which were left out.
    pub left_out: Vec<String>,
    /// How long nobody could write to the source.
    pub read_only: Duration,
}

const UNFINISHED: &str = "The target holds an unfinished copy";

/// Refuses a target that is in use. Returns whether an unfinished copy of this source is in it.
pub(crate) async fn judge(
    source: &Db,
    target: &Database,
    (content, rules): (&BTreeSet<String>, &TableRules),
    resume: bool,
) -> Result<bool> {
    let refused = |what: String| Err(Error::new(Code::Conflict, what));
    let none = "There is no unfinished copy in the target: leave out --resume.";
    if matches!(target, Database::Sqlite { path, .. } if !path.exists()) {
        return if resume { refused(none.to_owned()) } else { Ok(false) };
    }
    let mut side = Side::open(target).await?;
    let judged = async {
        if let Some(path) = side.missing_schemas().await? {
            return refused(format!(
                "The target has no schema of its search_path ({path}): make the schema first, \
                 `create schema NAME`."
            ));
        }
        if side.has_state().await?
            && let Some(found) = side.value("source").await?
        {
            return match found == identity(source).await? {
                true if resume => Ok(true),
                true => refused(format!("{UNFINISHED}: go on with --resume, or empty it.")),
                false => refused(format!("{UNFINISHED} of another site: empty it.")),
            };
        }
        if resume {
            return refused(none.to_owned());
        }
        match side.first_used_table(content, rules).await? {
            Some(table) => refused(format!(
                "The target is not empty: {table} holds rows. Name an empty database, or an empty \
                 schema of one."
            )),
            None => Ok(false),
        }
    };
    let judged = judged.await;
    side.close().await;
    judged
}

/// What identifies a database.
async fn identity(source: &Db) -> Result<String> {
    let steps = target::steps(source).await?;
    let text = serde_json::to_string(&steps).map_err(Error::internal)?;
    Ok(crypto::sha256_hex(text.as_bytes()))
}

/// Marks a target, before anything is made in it. A site that is opened there refuses the database
/// until the copy is complete.
pub(crate) async fn begin(source: &Db, target: &Database) -> Result<()> {
    let source = identity(source).await?;
    let mut side = Side::open(target).await?;
    let marked = side.mark(&source).await;
    side.close().await;
    marked
}

/// Whether the tables of the target are made and emptied.
pub(crate) async fn is_prepared(target: &Database) -> Result<bool> {
    let mut side = Side::open(target).await?;
    let noted = side.value("prepared").await;
    side.close().await;
    Ok(noted?.is_some())
}
