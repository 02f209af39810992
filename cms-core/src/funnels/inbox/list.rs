//! Lists submissions and counts them by their state in the inbox. Reads one submission with its
//! way, and the files that visitors sent.

use std::collections::BTreeMap;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    FunnelSubmission, FunnelSubmissionDetail, INBOX_STATUSES, StoredFile, SubmissionChange, TABLE,
    none,
    query::InboxQuery,
    search::{Hits, NarrowedQuery, index_statement, narrow},
    sql,
};
use crate::{
    Code, Error, Result, audit,
    db::Db,
    funnels::{
        Funnels, definitions::sql::Source, retention::Aged, sessions::VisitDetail,
        settings::FunnelSettings,
    },
    items::Query,
    rfc3339,
};

/// Matching submissions are counted up to this number.
const COUNTED: i64 = 10_000;
/// The column that submissions are counted by.
const STATUS: &str = "inbox_status";
/// Number of states that are counted at a time: two cores need half the time, and readers are
/// left for others.
const AT_ONCE: usize = 2;

/// How many submissions are in each state of the inbox.
pub type InboxCounts = BTreeMap<String, InboxCount>;

/// A number of submissions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum InboxCount {
    /// As many.
    Exactly(i64),
    /// More than were counted: `10k+`.
    More(String),
}

/// A page of submissions.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct InboxPage {
    /// The submissions.
    pub data: Vec<FunnelSubmission>,
    /// The number of rows asked for.
    pub limit: u32,
    /// The cursor of the next page.
    pub next: Option<String>,
    /// On the first page, if asked for: the number in each state, under the other conditions.
    pub counts: Option<InboxCounts>,
    /// The number of all matching submissions, if the query asked for `count`.
    pub total: Option<i64>,
}

impl Funnels {
    /// Submissions, newest first unless `sort` says otherwise, a page at a time. Submissions
    /// of deleted funnels are left out. `counts`: counts every state, even states that a
    /// filter leaves out.
    pub async fn submissions(&self, query: &InboxQuery, counts: bool) -> Result<InboxPage> {
        let base = &self.0.base;
        let NarrowedQuery { mut query, hits } = narrow(Source::Db(base.db()), &query.0).await?;
        // Counted apart from the page: an index may find the text.
        let is_counted = std::mem::take(&mut query.count);
        let (rows, next) = self.0.inbox.page(base, &query).await?;
        let data = rows.into_iter().map(FunnelSubmission::read).collect::<Result<_>>()?;
        let limit = query.limit;
        let total = if is_counted { Some(self.total(&query, hits).await?) } else { None };
        let counts = match query.cursor {
            None if counts => Some(self.counts(&InboxQuery(query), hits).await?),
            _ => None,
        };
        Ok(InboxPage { data, limit, next, counts, total })
    }

    /// The number of all submissions that a query selects.
    async fn total(&self, query: &Query, hits: Hits) -> Result<i64> {
        let base = &self.0.base;
        let query = Query { sort: Vec::new(), cursor: None, ..query.clone() };
        let states = match (&query.search, hits) {
            (Some(text), Hits::Sparse) => {
                let lookup = index_statement(base.db().dialect(), text);
                self.0.inbox.count_found_by(base, lookup, &query, STATUS).await?
            }
            _ => self.0.inbox.count_by(base, &query, STATUS, i64::MAX).await?,
        };
        Ok(states.iter().map(|(_, number)| number).sum())
    }

    /// The number of submissions in each state. For all submissions, or all of one funnel, the
    /// counters are read. Otherwise matching submissions are counted: together if they are few or
    /// far apart, else up to [`COUNTED`] of each state.
    async fn counts(&self, query: &InboxQuery, hits: Hits) -> Result<InboxCounts> {
        let base = &self.0.base;
        if let Some(funnel) = query.whole() {
            return Ok(inbox_counts(sql::counts(base.db(), funnel).await?, i64::MAX));
        }
        let (inbox, any) = (&self.0.inbox, query.of_any_state());
        if let (Some(text), Hits::Sparse) = (&any.search, hits) {
            let lookup = index_statement(base.db().dialect(), text);
            let found = inbox.count_found_by(base, lookup, &any, STATUS).await?;
            return Ok(inbox_counts(found, COUNTED));
        }
        let count = async |query| inbox.count_by(base, &query, STATUS, COUNTED + 1).await;
        if hits != Hits::Dense {
            let all = count(any).await?;
            if all.iter().map(|(_, found)| found).sum::<i64>() <= COUNTED {
                return Ok(inbox_counts(all, COUNTED));
            }
        }
        let states: Vec<_> = INBOX_STATUSES.iter().map(|state| query.of_state(state)).collect();
        let found: Vec<_> = stream::iter(states).map(count).buffered(AT_ONCE).try_collect().await?;
        Ok(inbox_counts(found.into_iter().flatten().collect(), COUNTED))
    }

    /// How the database would read a page: the lines of the engine's plan.
    pub async fn inbox_plan(&self, query: &InboxQuery) -> Result<Vec<String>> {
        let base = &self.0.base;
        self.0.inbox.plan(base, &narrow(Source::Db(base.db()), &query.0).await?.query).await
    }
}

/// The number of each state, exactly up to `most`.
fn inbox_counts(found: Vec<(String, i64)>, most: i64) -> InboxCounts {
    let found: BTreeMap<_, _> = found.into_iter().collect();
    let count = |state: &str| match found.get(state).copied().unwrap_or_default() {
        found if found > most => InboxCount::More("10k+".to_owned()),
        found => InboxCount::Exactly(found),
    };
    INBOX_STATUSES.iter().map(|state| ((*state).to_owned(), count(state))).collect()
}

/// Maximum number of changes in the history of a submission.
const HISTORY: i64 = 50;

impl Funnels {
    /// A submission with its answers, its way, its files and its mails.
    ///
    /// # Errors
    /// `not_found`, also for one of a funnel that was deleted.
    pub async fn submission(&self, id: i64) -> Result<FunnelSubmissionDetail> {
        let (base, inbox) = (&self.0.base, &self.0.inbox);
        let (mut rows, _) = inbox.page(base, &inbox.keyed([id])).await?;
        let submission = FunnelSubmission::read(rows.pop().ok_or_else(|| none(id))?)?;
        let detail = self.visit_detail(id).await?.ok_or_else(|| none(id))?;
        let VisitDetail { answers, path, passed, started_at, open_until } = detail;
        let db = base.db();
        let (inbox_notes, settings) =
            sql::notes_and_settings(db, id).await?.ok_or_else(|| none(id))?;
        let aged = Aged { status: &submission.inbox_status, started_at, open_until };
        let kept_until = self.kept_until(&FunnelSettings::read(&settings).0, &aged);
        Ok(FunnelSubmissionDetail {
            submission,
            kept_until: kept_until.map(rfc3339),
            inbox_notes,
            answers,
            path,
            path_resolved: passed,
            files: sql::files(db, id).await?,
            mails: sql::mails(db, id).await?,
            history: history(db, id).await?,
        })
    }
}

async fn history(db: &Db, id: i64) -> Result<Vec<SubmissionChange>> {
    let rows = audit::of_row(db, TABLE, &id.to_string(), HISTORY).await?;
    let change = |row: crate::AuditRow| SubmissionChange {
        actor: row.actor,
        action: row.action,
        columns: row.columns,
        created_at: row.created_at,
    };
    Ok(rows.into_iter().map(change).collect())
}

impl Funnels {
    /// A file, by the id that answers hold.
    ///
    /// # Errors
    /// `not_found`, also for one of a funnel that was deleted.
    pub async fn file(&self, file: &str) -> Result<StoredFile> {
        let missing = || Error::new(Code::NotFound, "There is no such file.");
        // PostgreSQL refuses to compare with text that holds U+0000.
        if file.contains('\0') {
            return Err(missing());
        }
        sql::file(self.0.base.db(), file).await?.ok_or_else(missing)
    }
}
