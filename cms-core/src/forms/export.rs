//! Submissions of a form as a table: a column for each name under which an answer is stored.

use std::collections::VecDeque;

use futures_util::{StreamExt as _, stream, stream::BoxStream};
use serde_json::{Map, Value as Json};

use super::{Forms, SubmissionDetail, SubmissionFilter, WhichForm, sql, submission::Position};
use crate::{Result, fields::Answer};

/// Rows that are read at once: each may hold the answers of a whole request.
const STEP: i64 = 16;
/// Columns before the answers, whose names no field can have: the parts after the points are none
/// of those that stand beside answers.
const FIRST: [&str; 3] = ["submission.id", "submission.created_at", "submission.spam"];
/// The column after them.
const LAST: &str = "submission.more";

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
    /// The submissions of a form. Answers to fields that the form has no more stand in the last
    /// column, as a JSON object.
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
