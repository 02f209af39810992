//! Rows that contain an address. They are found stage by stage, a page at a time, without a lock.
//! The rows of a page are removed in one change.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::{Eraser, rest::Rest, sql};
use crate::{
    Change, Result,
    db::{Statement, Value, args},
    webhooks::CLAIMS,
};

/// Maximum number of repetitions of all stages, needed because others write meanwhile.
const PASSES: u8 = 3;
/// Events and submissions that are removed together.
const BATCH_SIZE: usize = 50;

/// The stages of the search, in order. Submissions are removed last, because everything else of a
/// person is found through them. For the same reason events that hold the address are removed
/// after events that only have other answers of the same submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Visits,
    Forms,
    DeletedSubmissions,
    Answers,
    Events,
    Rows(Kind),
    Rest,
    RemoveForms,
    RemoveVisits,
    End,
}

/// Rows that are found by their text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Deliveries,
    Jobs,
    Mails,
    Notes,
    Views,
    Audit,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Deliveries => "deliveries",
            Self::Jobs => "jobs",
            Self::Mails => "mails",
            Self::Notes => "notes",
            Self::Views => "views",
            Self::Audit => "audit",
        }
    }

    const fn statement(self) -> Statement {
        match self {
            Self::Deliveries => sql::DELIVERIES,
            Self::Jobs => sql::JOBS,
            Self::Mails => sql::MAILS,
            Self::Notes => sql::NOTES,
            Self::Views => sql::VIEWS,
            Self::Audit => sql::AUDIT,
        }
    }
}

impl Stage {
    pub(super) const FIRST: Self = Self::Visits;

    const fn next(self) -> Self {
        match self {
            Self::Visits => Self::Forms,
            Self::Forms => Self::DeletedSubmissions,
            Self::DeletedSubmissions => Self::Answers,
            Self::Answers => Self::Events,
            Self::Events => Self::Rows(Kind::Deliveries),
            Self::Rows(Kind::Deliveries) => Self::Rows(Kind::Jobs),
            Self::Rows(Kind::Jobs) => Self::Rows(Kind::Mails),
            Self::Rows(Kind::Mails) => Self::Rows(Kind::Notes),
            Self::Rows(Kind::Notes) => Self::Rows(Kind::Views),
            Self::Rows(Kind::Views) => Self::Rows(Kind::Audit),
            Self::Rows(Kind::Audit) => Self::Rest,
            Self::Rest => Self::RemoveForms,
            Self::RemoveForms => Self::RemoveVisits,
            Self::RemoveVisits | Self::End => Self::End,
        }
    }
}

/// Rows of one stage that contain the address.
#[derive(Debug)]
pub struct FoundRows(What);

#[derive(Debug)]
enum What {
    Events(Vec<String>),
    Rows(Kind, Vec<i64>),
    Rest(Rest),
    Forms(Vec<i64>),
    Visits(Vec<i64>),
}

/// Id, name and body.
type Event = (String, String, String);

impl Eraser {
    /// The next rows that contain the address; `None`: there are no more.
    pub async fn find(&mut self) -> Result<Option<FoundRows>> {
        loop {
            let found = match self.stage {
                Stage::Visits => {
                    self.visits = self.all(sql::VISITS).await?;
                    None
                }
                Stage::Forms => {
                    self.forms = self.all(sql::FORMS).await?;
                    None
                }
                Stage::DeletedSubmissions => {
                    self.note_events().await?;
                    None
                }
                Stage::Answers if self.submissions.is_empty() => None,
                Stage::Answers => self.answers().await?.map(What::Events),
                Stage::Events => part(&mut self.events).map(What::Events),
                Stage::Rows(kind) => {
                    let rows = self.rows(kind.statement()).await?;
                    rows.map(|rows| What::Rows(kind, rows))
                }
                Stage::Rest if self.after.is_empty() => {
                    let rest = self.rest().await?;
                    self.after = "once".to_owned();
                    Some(What::Rest(rest))
                }
                Stage::Rest => None,
                Stage::RemoveForms => part(&mut self.forms).map(What::Forms),
                Stage::RemoveVisits => part(&mut self.visits).map(What::Visits),
                Stage::End if self.hit && !self.only_looks && self.passes < PASSES => {
                    self.passes += 1;
                    (self.stage, self.hit) = (Stage::FIRST, false);
                    continue;
                }
                Stage::End => return Ok(None),
            };
            match found {
                Some(what) => return Ok(Some(FoundRows(what))),
                None => {
                    self.stage = self.stage.next();
                    self.after.clear();
                }
            }
        }
    }

    fn args(&self, after: Value) -> Vec<Value> {
        let patterns = self.needles.patterns().into_iter().map(Value::from);
        [after].into_iter().chain(patterns).collect()
    }

    /// All rows of a statement that contain the address.
    pub(super) async fn all<C: FromIterator<i64>>(&mut self, statement: Statement) -> Result<C> {
        let mut found = Vec::new();
        while let Some(rows) = self.rows(statement).await? {
            found.extend(rows);
        }
        Ok(found.into_iter().collect())
    }

    /// The next rows of a statement that contain the address; `None`: there are no more.
    async fn rows(&mut self, statement: Statement) -> Result<Option<Vec<i64>>> {
        loop {
            let after: i64 = self.after.parse().unwrap_or_default();
            let args = self.args(after.into());
            let rows: Vec<(i64, String)> = self.base.db().all(statement, args).await?;
            let Some((last, _)) = rows.last() else { return Ok(None) };
            self.after = last.to_string();
            let held = rows.iter().filter(|(_, text)| self.needles.held_in(text));
            let held: Vec<i64> = held.map(|(id, _)| *id).collect();
            if !held.is_empty() {
                return Ok(Some(held));
            }
        }
    }

    /// The next page of events; empty: there are no more.
    async fn page(&mut self, statement: Statement, args: Vec<Value>) -> Result<Vec<Event>> {
        let rows: Vec<Event> = self.base.db().all(statement, args).await?;
        if let Some((last, ..)) = rows.last() {
            self.after.clone_from(last);
        }
        Ok(rows)
    }

    /// Notes the events that contain the address, and whose answers further events may have: the
    /// submissions that were found, and deleted ones that an event with the address is about. Ids
    /// are never used again.
    async fn note_events(&mut self) -> Result<()> {
        self.submissions.extend(self.visits.iter().map(|id| (false, *id)));
        self.submissions.extend(self.forms.iter().map(|id| (true, *id)));
        loop {
            let rows = self.page(sql::EVENTS, self.args(self.after.as_str().into())).await?;
            if rows.is_empty() {
                return Ok(());
            }
            for (event, name, body) in rows {
                if !self.needles.held_in(&body) {
                    continue;
                }
                self.events.insert(event);
                let Some(of @ (is_form, id)) = submission(&name, &body) else { continue };
                if self.submissions.contains(&of) {
                    continue;
                }
                let statement = if is_form { sql::FORM } else { sql::VISIT };
                let stays: Option<(i64,)> = self.base.db().optional(statement, args![id]).await?;
                if stays.is_none() {
                    self.submissions.insert(of);
                }
            }
        }
    }

    /// The next events without the address that have answers from one of the person's submissions;
    /// `None`: there are no more.
    async fn answers(&mut self) -> Result<Option<Vec<String>>> {
        loop {
            let rows = self.page(sql::ANSWERS, args![self.after.as_str()]).await?;
            if rows.is_empty() {
                return Ok(None);
            }
            let is_theirs = |(id, name, body): &Event| {
                !self.events.contains(id)
                    && submission(name, body).is_some_and(|of| self.submissions.contains(&of))
            };
            let found = rows.into_iter().filter(is_theirs);
            let found: Vec<String> = found.map(|(id, ..)| id).collect();
            if !found.is_empty() {
                return Ok(Some(found));
            }
        }
    }
}

/// Takes the next rows to remove.
fn part<T: Ord>(of: &mut BTreeSet<T>) -> Option<Vec<T>> {
    let part: Vec<T> = std::iter::from_fn(|| of.pop_first()).take(BATCH_SIZE).collect();
    (!part.is_empty()).then_some(part)
}

/// The submission whose answers an event has: whether it is of a form, and its id.
fn submission(name: &str, body: &str) -> Option<(bool, i64)> {
    let is_form = name == "form.submitted";
    // Events of the inbox contain no answers.
    let is_of_inbox =
        matches!(name, "formfunnel.submission_updated" | "formfunnel.submission_deleted");
    if is_of_inbox || !is_form && !name.starts_with("formfunnel.") {
        return None;
    }
    let body: Json = serde_json::from_str(body).ok()?;
    Some((is_form, body["data"]["submission"]["id"].as_i64()?))
}

impl Eraser {
    /// Counts rows that were found, and removes nothing.
    pub async fn look(&mut self, found: FoundRows) -> Result<()> {
        match found.0 {
            What::Events(ids) => self.count("events", ids),
            What::Rows(kind, ids) => self.count(kind.name(), texts(&ids)),
            What::Forms(ids) => self.count("form_submissions", texts(&ids)),
            What::Visits(ids) => self.count("submissions", texts(&ids)),
            What::Rest(rest) => self.look_at_rest(&rest).await?,
        }
        Ok(())
    }

    /// Removes rows that were found.
    ///
    /// # Errors
    /// As every write. After an error nothing of this part is removed.
    pub async fn remove(&mut self, change: &mut Change, found: FoundRows) -> Result<()> {
        match found.0 {
            What::Events(ids) => {
                change.lock(CLAIMS).await?;
                for id in &ids {
                    // Jobs first: settling a job writes its delivery in the same change.
                    for statement in
                        [sql::DELETE_EVENT_JOBS, sql::DELETE_EVENT_DELIVERIES, sql::DELETE_EVENT]
                    {
                        change.run(statement, args![id.as_str()]).await?;
                    }
                }
                self.count("events", ids);
            }
            What::Rows(kind, ids) => {
                if matches!(kind, Kind::Jobs) {
                    change.lock(CLAIMS).await?;
                }
                for id in &ids {
                    self.remove_row(change, kind, *id).await?;
                }
                self.count(kind.name(), texts(&ids));
            }
            What::Forms(ids) => {
                for id in &ids {
                    change.run(sql::DELETE_MAILS_OF, args![format!("submission {id}")]).await?;
                    change.run(sql::DELETE_FORM, args![*id]).await?;
                }
                self.count("form_submissions", texts(&ids));
            }
            What::Visits(ids) => {
                self.funnels.erase_submissions(change, &ids).await?;
                self.count("submissions", texts(&ids));
            }
            What::Rest(rest) => self.remove_rest(change, &rest).await?,
        }
        Ok(())
    }

    async fn remove_row(&self, change: &mut Change, kind: Kind, id: i64) -> Result<()> {
        let statement = match kind {
            Kind::Notes => {
                return self.funnels.erase_notes(change, id, &|text| self.needles.cut(text)).await;
            }
            Kind::Audit => {
                return change.run(sql::EMPTY_AUDIT, args![id, self.digest()]).await.map(drop);
            }
            Kind::Deliveries => sql::EMPTY_DELIVERY,
            Kind::Jobs => sql::EMPTY_JOB,
            Kind::Mails => sql::DELETE_MAIL,
            Kind::Views => sql::DELETE_VIEW,
        };
        change.run(statement, args![id]).await.map(drop)
    }
}

fn texts(ids: &[i64]) -> Vec<String> {
    ids.iter().map(i64::to_string).collect()
}
