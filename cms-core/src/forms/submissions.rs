//! Submissions: the list, one submission, its removal, and a table for export.

use std::collections::VecDeque;

use futures_util::{
    StreamExt as _,
    stream::{self, BoxStream},
};
use serde_json::{Map, Value as Json};

use super::{
    Forms, Position, Submission, SubmissionDetail, SubmissionFilter, TABLE, WhichForm, sql,
};
use crate::{
    AuditEntry, Change, Code, Direction, Error, Page, Paging, Result, db::args, fields::Answer,
    ground::ListName,
};

/// Rows read at once in an export: each row may be as large as a whole request.
const STEP: i64 = 16;
/// Columns before the answers. No column of a field can have these names: no field type has a
/// member `id`, `created_at` or `spam`.
const FIRST: [&str; 3] = ["submission.id", "submission.created_at", "submission.spam"];
/// The column after the answers.
const LAST: &str = "submission.more";

fn position(bytes: &[u8]) -> Option<Position> {
    let number = |part: &[u8]| part.try_into().ok().map(i64::from_be_bytes);
    bytes.split_at_checked(8).and_then(|(at, id)| Some((number(at)?, number(id)?)))
}

impl Forms {
    /// Submissions, newest first, a page at a time.
    ///
    /// # Errors
    /// `not_found` for a form that is missing; `bad_query` for backward order.
    pub async fn submissions(
        &self,
        filter: &SubmissionFilter,
        paging: &Paging,
    ) -> Result<Page<Submission>> {
        if paging.direction == Direction::Backward {
            return Err(Error::new(Code::BadQuery, "This list has only one order."));
        }
        let base = &self.0.base;
        let form = match &filter.form {
            Some(which) => Some(self.form(which).await?.id),
            None => None,
        };
        let list = base.list(ListName::Submissions).of(filter);
        let read = async |before, limit| sql::list(base.db(), form, filter, before, limit).await;
        let key = |row: &Submission| [row.at.to_be_bytes(), row.id.to_be_bytes()].concat();
        let page = Page::by_key(list, paging, position, read, key).await?;
        page.counted(paging, async || sql::count(base.db(), form, filter).await).await
    }

    /// One submission with its answers.
    pub async fn submission(&self, id: i64) -> Result<SubmissionDetail> {
        self.0.base.db().optional(sql::GET, args![id]).await?.ok_or_else(|| none(id))
    }

    /// Removes a submission for good.
    ///
    /// # Errors
    /// `not_found`; as every write.
    pub async fn delete_submission(&self, change: &mut Change, id: i64) -> Result<()> {
        if change.run(sql::DELETE, args![id]).await? == 0 {
            return Err(none(id));
        }
        let row = id.to_string();
        change.audit(AuditEntry { action: "delete", table: TABLE, id: &row, columns: &[] }).await
    }
}

fn none(id: i64) -> Error {
    Error::new(Code::NotFound, format!("There is no submission with id {id}."))
}

/// A table, row by row.
#[non_exhaustive]
pub struct Export {
    /// The name of a file for it.
    pub save_as: String,
    /// Names of the columns.
    pub names: Vec<String>,
    /// The rows, newest first.
    pub rows: BoxStream<'static, Result<Vec<String>>>,
}

impl Forms {
    /// Exports the submissions of a form. Answers to fields that the form no longer has are in the
    /// last column, as a JSON object.
    ///
    /// # Errors
    /// `not_found` for a form that is missing.
    pub async fn export(&self, form: &WhichForm, filter: SubmissionFilter) -> Result<Export> {
        let form = self.form(form).await?;
        let fields = self.0.known.fields(&form)?;
        let answers: Vec<String> = fields.iter().flat_map(|field| field.names()).collect();
        let names = [&FIRST.map(str::to_owned)[..], &answers, &[LAST.to_owned()]].concat();
        let begun = (self.0.base.clone(), None::<Position>, VecDeque::new(), false);
        let rows = stream::try_unfold(begun, move |(base, mut before, mut read, mut ended)| {
            let (filter, answers) = (filter.clone(), answers.clone());
            async move {
                if read.is_empty() && !ended {
                    let page = sql::details(base.db(), form.id, &filter, before, STEP).await?;
                    ended = page.len() < usize::try_from(STEP).unwrap_or_default();
                    before = page.last().map(|row| (row.submission.at, row.submission.id));
                    read = page.into();
                }
                let row = read.pop_front().map(|row: SubmissionDetail| cells(&row, &answers));
                Ok(row.map(|row| (row, (base, before, read, ended))))
            }
        });
        let save_as = format!("{}-submissions.csv", form.name);
        Ok(Export { save_as, names, rows: rows.boxed() })
    }
}

fn cells(row: &SubmissionDetail, columns: &[String]) -> Vec<String> {
    let SubmissionDetail { submission, answers } = row;
    let text = |column: &String| {
        let found = answers.iter().find(|answer| answer.field == *column);
        found.map(|answer| answer.cell().to_owned()).unwrap_or_default()
    };
    let is_gone = |answer: &&Answer| !columns.contains(&answer.field);
    let gone = answers.iter().filter(is_gone);
    let gone: Map<_, _> = gone.map(|one| (one.field.clone(), one.cell().into())).collect();
    let first =
        [submission.id.to_string(), submission.created_at.clone(), submission.spam.to_string()];
    let more = if gone.is_empty() { String::new() } else { Json::from(gone).to_string() };
    first.into_iter().chain(columns.iter().map(text)).chain([more]).collect()
}
