//! Submissions listed, and how many are in each state of the inbox.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FunnelSubmission, INBOX_STATUSES, query::InboxQuery, search::narrowed, sql};
use crate::{Result, funnels::Funnels};

/// Up to so many matching submissions are counted.
const COUNTED: i64 = 10_000;

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
pub struct InboxPage {
    /// The submissions.
    pub data: Vec<FunnelSubmission>,
    /// The number of rows asked for.
    pub limit: u32,
    /// The cursor of the next page.
    pub next: Option<String>,
    /// On the first page: how many in each state, under the other conditions.
    pub counts: Option<InboxCounts>,
}

impl Funnels {
    /// Submissions, newest first unless `sort` says otherwise, a page at a time. None of a funnel
    /// that was deleted.
    ///
    /// # Errors
    /// `bad_query`.
    pub async fn submissions(&self, query: &InboxQuery) -> Result<InboxPage> {
        let base = &self.0.base;
        let query = &InboxQuery(narrowed(base.db(), &query.0).await?);
        let (rows, next) = self.0.inbox.page(base, &query.0).await?;
        let data = rows.into_iter().map(FunnelSubmission::read).collect::<Result<_>>()?;
        let counts = match query.0.cursor {
            None => Some(self.counts(query).await?),
            Some(_) => None,
        };
        Ok(InboxPage { data, limit: query.0.limit, next, counts })
    }

    /// Counters tell of all that are there, and of a funnel's. Otherwise matching submissions are
    /// counted, together if they are few, else so many of each state.
    async fn counts(&self, query: &InboxQuery) -> Result<InboxCounts> {
        let base = &self.0.base;
        if let Some(funnel) = query.whole() {
            return Ok(exactly(sql::counts(base.db(), funnel).await?));
        }
        let inbox = &self.0.inbox;
        let count = async |query| inbox.count_by(base, &query, "inbox_status", COUNTED + 1).await;
        let all = count(query.of_any_state()).await?;
        if all.iter().map(|(_, found)| found).sum::<i64>() <= COUNTED {
            return Ok(exactly(all));
        }
        let mut counts = InboxCounts::new();
        for state in INBOX_STATUSES {
            let found = count(query.of_state(state)).await?.first().map_or(0, |(_, found)| *found);
            let count = match found > COUNTED {
                true => InboxCount::More("10k+".to_owned()),
                false => InboxCount::Exactly(found),
            };
            counts.insert(state.to_owned(), count);
        }
        Ok(counts)
    }

    /// How the database would read a page: the lines of the engine's plan.
    ///
    /// # Errors
    /// `bad_query`.
    pub async fn inbox_plan(&self, query: &InboxQuery) -> Result<Vec<String>> {
        let base = &self.0.base;
        self.0.inbox.plan(base, &narrowed(base.db(), &query.0).await?).await
    }
}

fn exactly(found: Vec<(String, i64)>) -> InboxCounts {
    let found: BTreeMap<_, _> = found.into_iter().collect();
    let count = |state: &&str| found.get(*state).copied().unwrap_or_default();
    let named = |state: &&str| ((*state).to_owned(), InboxCount::Exactly(count(state)));
    INBOX_STATUSES.iter().map(named).collect()
}
