//! Exports submissions as a table, or as lines of JSON. They are read a few at a time, so that
//! memory holds only a few.

use std::collections::{HashSet, VecDeque};

use futures_util::{StreamExt as _, TryStreamExt as _, stream, stream::BoxStream};
use serde_json::{Map, Value as Json, json};

use super::{FunnelSubmission, InboxQuery, search::narrow, sql};
use crate::{
    Code, Error, Result,
    fields::Answer,
    funnels::{Funnel, Funnels, WhichFunnel, definitions::sql::Source, sessions::NotesAndAnswers},
    items::Query,
};

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
        let query = narrow(Source::Db(self.0.base.db()), &query.0).await?.query;
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
        let Some(id) = sql::newest_version(self.0.base.db(), funnel).await? else {
            return Ok(Vec::new());
        };
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
