//! Lists submissions and counts them by their state in the inbox. Reads one submission with its
//! way, and the files that visitors sent. Exports submissions as a table, or as lines of JSON: they
//! are read a few at a time, so that memory holds only a few.

use std::collections::{BTreeMap, HashSet, VecDeque};

use futures_util::{
    StreamExt as _, TryStreamExt as _,
    stream::{self, BoxStream},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use super::{
    FunnelSubmission, FunnelSubmissionDetail, INBOX_STATUSES, InboxQuery, StoredFile,
    SubmissionChange, TABLE, none,
    search::{Hits, NarrowedQuery, index_statement, narrow},
    sql,
};
use crate::{
    Code, Error, Result, audit,
    db::{Db, args},
    fields::Answer,
    funnels::{
        Funnel, Funnels, WhichFunnel,
        retention::Aged,
        sessions::{NotesAndAnswers, VisitDetail},
        settings::FunnelSettings,
        subject,
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
        let NarrowedQuery { mut query, hits } = narrow(base.db(), &query.0).await?;
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
            let counted = base.db().all(sql::COUNTS, args![funnel]).await?;
            return Ok(inbox_counts(counted, i64::MAX));
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
        self.0.inbox.plan(base, &narrow(base.db(), &query.0).await?.query).await
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
            files: db.all(sql::FILES, args![id]).await?,
            mails: db.all(sql::MAILS, args![subject(id)]).await?,
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
        self.0.base.db().optional(sql::FILE, args![file]).await?.ok_or_else(missing)
    }
}

/// Number of submissions read at once.
const STEP: u32 = 32;

/// A table of submissions, row by row.
#[non_exhaustive]
pub struct InboxTable {
    /// The name of a file for it.
    pub save_as: String,
    /// Names of the columns.
    pub names: Vec<String>,
    /// The rows, in the order of the query.
    pub rows: BoxStream<'static, Result<Vec<String>>>,
}

/// Submissions as JSON, an object in each line.
#[non_exhaustive]
pub struct InboxLines {
    /// The name of a file for them.
    pub save_as: String,
    /// The lines, with their ends.
    pub lines: BoxStream<'static, Result<String>>,
}

/// A submission with what lists do not show.
struct ExportRow {
    row: FunnelSubmission,
    notes: String,
    answers: Vec<Answer>,
}

/// Columns before the answers. In the table their names begin with `submission.`, and so do
/// those of the last columns, for notes and for answers to fields of other versions. No field
/// has such a name.
const COLUMNS: [&str; 27] = [
    "submission_id", "funnel_id", "funnel_name", "version", "language_short", "status",
    "inbox_status", "is_spam", "is_test", "assigned_name", "contact_name", "contact_email",
    "contact_phone", "company", "score", "end_kind", "reference", "source_url", "referer",
    "utm_source", "utm_medium", "utm_campaign", "utm_term", "utm_content", "started_at",
    "completed_at", "abandoned_at",
];

impl Funnels {
    /// The submissions that a query selects as a table. For one funnel, named here or by a
    /// condition on `funnel_id`, the table has a column for each answer of the newest version.
    /// Other answers are in the last column, as a JSON object.
    ///
    /// # Errors
    /// `not_found` for a funnel that is missing; `bad_query`.
    pub async fn export_table(
        &self,
        funnel: Option<&WhichFunnel>,
        query: InboxQuery,
    ) -> Result<InboxTable> {
        let (query, funnel) = self.of_one(funnel, query).await?;
        let (save_as, answers) = match funnel {
            Some(one) => (format!("{}-inbox.csv", one.slug), self.names_of(one.id).await?),
            None => ("inbox.csv".to_owned(), Vec::new()),
        };
        self.0.inbox.check(&query.0)?;
        let named = |name: &&str| format!("submission.{}", name.trim_start_matches("submission_"));
        let last = ["inbox_notes", "more"];
        let names = COLUMNS.iter().map(named).chain(answers.iter().cloned());
        let names = names.chain(last.iter().map(named)).collect();
        let rows = self.export_rows(query).await?.map_ok(move |one| cells(&one, &answers));
        Ok(InboxTable { save_as, names, rows: rows.boxed() })
    }

    /// The submissions that a query selects, each as a line of JSON.
    ///
    /// # Errors
    /// `not_found` for a funnel that is missing; `bad_query`.
    pub async fn export_lines(
        &self,
        funnel: Option<&WhichFunnel>,
        query: InboxQuery,
    ) -> Result<InboxLines> {
        let (query, funnel) = self.of_one(funnel, query).await?;
        let slug = funnel.map(|one| format!("{}-", one.slug)).unwrap_or_default();
        let save_as = format!("{slug}inbox.jsonl");
        self.0.inbox.check(&query.0)?;
        let lines = self.export_rows(query).await?.and_then(async |one| line(&one));
        Ok(InboxLines { save_as, lines: lines.boxed() })
    }

    /// The query of an export, and the funnel if the export has only one. A condition may name a
    /// missing funnel: it selects nothing.
    async fn of_one(
        &self,
        named: Option<&WhichFunnel>,
        query: InboxQuery,
    ) -> Result<(InboxQuery, Option<Funnel>)> {
        if let Some(which) = named {
            let funnel = self.get(which).await?.funnel;
            return Ok((query.of_funnel(funnel.id), Some(funnel)));
        }
        let Some(id) = query.funnel() else { return Ok((query, None)) };
        match self.get(&WhichFunnel::Id(id)).await {
            Ok(found) => Ok((query, Some(found.funnel))),
            Err(error) if error.code() == Code::NotFound => Ok((query, None)),
            Err(error) => Err(error),
        }
    }

    async fn export_rows(
        &self,
        query: InboxQuery,
    ) -> Result<BoxStream<'static, Result<ExportRow>>> {
        let query = narrow(self.0.base.db(), &query.0).await?.query;
        let query = Query { limit: STEP, cursor: None, ..query };
        let begun = (self.clone(), Some(query), VecDeque::new());
        let all = stream::try_unfold(begun, async |(funnels, mut query, mut read)| {
            while read.is_empty() {
                let Some(asked) = query.take() else { break };
                let (page, next) = funnels.export_page(&asked).await?;
                read = page;
                query = next.map(|cursor| Query { cursor: Some(cursor), ..asked });
            }
            Ok::<_, Error>(read.pop_front().map(|one| (one, (funnels, query, read))))
        });
        Ok(all.boxed())
    }

    /// The names under which the newest version of a funnel stores answers.
    async fn names_of(&self, funnel: i64) -> Result<Vec<String>> {
        let (newest,): (Option<i64>,) =
            self.0.base.db().one(sql::NEWEST_VERSION, args![funnel]).await?;
        let Some(id) = newest else { return Ok(Vec::new()) };
        let version = self.version(id).await?;
        let fields = version.graph.nodes().iter().flat_map(|node| node.fields());
        let mut seen = HashSet::new();
        let names = fields.flat_map(|field| field.names());
        Ok(names.filter(|name| seen.insert(name.clone())).collect())
    }

    /// A page with its answers, and where the next begins.
    async fn export_page(&self, query: &Query) -> Result<(VecDeque<ExportRow>, Option<String>)> {
        let (rows, next) = self.0.inbox.page(&self.0.base, query).await?;
        let rows: Vec<_> = rows.into_iter().map(FunnelSubmission::read).collect::<Result<_>>()?;
        let ids: Vec<_> = rows.iter().map(|row| row.submission_id).collect();
        let mut found = self.notes_and_answers(&ids).await?;
        // A submission that was deleted meanwhile is left out.
        let whole = rows.into_iter().filter_map(|row| {
            let NotesAndAnswers { notes, answers } = found.remove(&row.submission_id)?;
            Some(ExportRow { row, notes, answers })
        });
        Ok((whole.collect(), next))
    }
}

fn cells(one: &ExportRow, answers: &[String]) -> Vec<String> {
    let row = serde_json::to_value(&one.row).unwrap_or_default();
    let fixed = COLUMNS.iter().map(|name| match &row[*name] {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        other => other.to_string(),
    });
    let text = |name: &String| {
        let found = one.answers.iter().find(|answer| answer.field == *name);
        found.map(|answer| answer.cell().to_owned()).unwrap_or_default()
    };
    let others = one.answers.iter().filter(|answer| !answers.contains(&answer.field));
    let others: Map<_, _> = others.map(|one| (one.field.clone(), one.cell().into())).collect();
    let more = if others.is_empty() { String::new() } else { Json::from(others).to_string() };
    fixed.chain(answers.iter().map(text)).chain([one.notes.clone(), more]).collect()
}

fn line(one: &ExportRow) -> Result<String> {
    let mut row = serde_json::to_value(&one.row).map_err(Error::internal)?;
    row["inbox_notes"] = one.notes.clone().into();
    row["answers"] = json!(one.answers);
    Ok(format!("{row}\n"))
}
