//! Where an address is found: stage by stage, a page at a time, read without a lock.

use serde_json::Value as Json;

use super::{Eraser, sql};
use crate::{
    Result,
    db::{Statement, Value, args},
};

/// How often all stages are gone through at most: others write meanwhile.
const PASSES: u8 = 3;
/// Submissions that go together.
const BATCH_SIZE: usize = 50;

/// Where the eraser looks, in this order. The submissions are the last, because by them everything
/// else of a person is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    Visits,
    Forms,
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
    pub(super) const fn name(self) -> &'static str {
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
            Self::Forms => Self::Events,
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

/// Rows of one stage that hold the address.
#[derive(Debug)]
pub struct FoundRows(pub(super) What);

#[derive(Debug)]
pub(super) enum What {
    Events(Vec<String>),
    Rows(Kind, Vec<i64>),
    Rest,
    Forms(Vec<i64>),
    Visits(Vec<i64>),
}

impl Eraser {
    /// What holds the address next; None: nothing more.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be reached.
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
                Stage::Events => self.events().await?.map(What::Events),
                Stage::Rows(kind) => {
                    let rows = self.rows(kind.statement()).await?;
                    rows.map(|rows| What::Rows(kind, rows))
                }
                Stage::Rest if self.after.is_empty() => {
                    self.after = "once".to_owned();
                    Some(What::Rest)
                }
                Stage::Rest => None,
                Stage::RemoveForms => self.part(false).map(What::Forms),
                Stage::RemoveVisits => self.part(true).map(What::Visits),
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

    /// All rows of a statement that hold the address.
    async fn all<C: FromIterator<i64>>(&mut self, statement: Statement) -> Result<C> {
        let mut found = Vec::new();
        while let Some(rows) = self.rows(statement).await? {
            found.extend(rows);
        }
        Ok(found.into_iter().collect())
    }

    /// The next rows of a statement that hold the address; None: there are no more.
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

    async fn events(&mut self) -> Result<Option<Vec<String>>> {
        loop {
            let args = self.args(self.after.as_str().into());
            let rows: Vec<(String, String, String)> = self.base.db().all(sql::EVENTS, args).await?;
            let Some((last, ..)) = rows.last() else { return Ok(None) };
            self.after = last.clone();
            let held = rows.into_iter().filter(|(_, name, body)| self.is_theirs(name, body));
            let held: Vec<String> = held.map(|(id, ..)| id).collect();
            if !held.is_empty() {
                return Ok(Some(held));
            }
        }
    }

    /// Whether an event holds the address, or answers of one of the person's submissions.
    fn is_theirs(&self, name: &str, body: &str) -> bool {
        let of = match name {
            "form.submitted" => &self.forms,
            // These hold no answers.
            "formfunnel.submission_updated" | "formfunnel.submission_deleted" => {
                return self.needles.held_in(body);
            }
            name if name.starts_with("formfunnel.") => &self.visits,
            _ => return self.needles.held_in(body),
        };
        let id = || {
            let body: Json = serde_json::from_str(body).ok()?;
            body["data"]["submission"]["id"].as_i64()
        };
        self.needles.held_in(body) || !of.is_empty() && id().is_some_and(|id| of.contains(&id))
    }

    /// The next submissions to go.
    fn part(&mut self, visits: bool) -> Option<Vec<i64>> {
        let of = if visits { &mut self.visits } else { &mut self.forms };
        let part: Vec<i64> = of.iter().take(BATCH_SIZE).copied().collect();
        of.retain(|id| !part.contains(id));
        (!part.is_empty()).then_some(part)
    }

    /// The patterns alone.
    pub(super) fn patterns(&self) -> Vec<Value> {
        let [plain, in_url, in_html] = self.needles.patterns();
        args![plain, in_url, in_html]
    }
}
