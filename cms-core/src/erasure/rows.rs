//! Rows that contain an address. They are found stage by stage, a page at a time, without a lock.
//! The rows of a page are removed in one change.

use serde_json::Value as Json;

use super::{Eraser, sql};
use crate::{
    Change, Result,
    db::{Db, Statement, Value, args},
    webhooks::CLAIMS,
};

/// Maximum number of repetitions of all stages, needed because others write meanwhile.
const PASSES: u8 = 3;
/// Submissions that are removed together.
const BATCH_SIZE: usize = 50;

/// The stages of the search, in order. Submissions are removed last, because everything else of a
/// person is found through them.
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

/// Rows of one stage that contain the address.
#[derive(Debug)]
pub struct FoundRows(What);

#[derive(Debug)]
enum What {
    Events(Vec<String>),
    Rows(Kind, Vec<i64>),
    Rest,
    Forms(Vec<i64>),
    Visits(Vec<i64>),
}

impl Eraser {
    /// The next rows that contain the address; `None`: there are no more.
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

    /// All rows of a statement that contain the address.
    async fn all<C: FromIterator<i64>>(&mut self, statement: Statement) -> Result<C> {
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

    /// Whether an event contains the address, or answers from one of the person's submissions.
    fn is_theirs(&self, name: &str, body: &str) -> bool {
        let of = match name {
            "form.submitted" => &self.forms,
            // These events contain no answers.
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

    /// The next submissions to remove.
    fn part(&mut self, visits: bool) -> Option<Vec<i64>> {
        let of = if visits { &mut self.visits } else { &mut self.forms };
        let part: Vec<i64> = of.iter().take(BATCH_SIZE).copied().collect();
        of.retain(|id| !part.contains(id));
        (!part.is_empty()).then_some(part)
    }

    /// The patterns, without a position.
    fn patterns(&self) -> Vec<Value> {
        let [plain, in_url, in_html] = self.needles.patterns();
        args![plain, in_url, in_html]
    }
}

impl Eraser {
    /// Counts rows that were found, and removes nothing.
    ///
    /// # Errors
    /// As every read.
    pub async fn look(&mut self, found: FoundRows) -> Result<()> {
        match found.0 {
            What::Events(ids) => self.count("events", ids),
            What::Rows(kind, ids) => self.count(kind.name(), texts(&ids)),
            What::Forms(ids) => self.count("form_submissions", texts(&ids)),
            What::Visits(ids) => self.count("submissions", texts(&ids)),
            What::Rest => {
                let db: &Db = self.base.db();
                let (rations,): (i64,) = db.one(sql::COUNT_RATIONS, self.rationed()).await?;
                let (replies,): (i64,) = db.one(sql::COUNT_REPLIES, self.patterns()).await?;
                self.count_rows("rations", rations.unsigned_abs());
                self.count_rows("replies", replies.unsigned_abs());
            }
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
            What::Rest => {
                let rations = change.run(sql::DELETE_RATIONS, self.rationed()).await?;
                let replies = change.run(sql::DELETE_REPLIES, self.patterns()).await?;
                change.run(sql::EMPTY_ATTEMPTS, self.patterns()).await?;
                change.run(sql::MERGE_SOURCES, self.patterns()).await?;
                change.run(sql::DELETE_SOURCES, self.patterns()).await?;
                change.run(sql::EMPTY_PROVIDERS, self.patterns()).await?;
                self.count_rows("rations", rations);
                self.count_rows("replies", replies);
            }
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

    /// The names under which automatic replies to the address are counted.
    fn rationed(&self) -> Vec<crate::db::Value> {
        args![self.address.mailbox(), self.address.as_str().to_lowercase()]
    }

    /// Counts rows without ids of their own.
    fn count_rows(&mut self, kind: &'static str, count: u64) {
        if count > 0 {
            self.removed.entry(kind).or_default().count += count;
        }
    }
}

fn texts(ids: &[i64]) -> Vec<String> {
    ids.iter().map(i64::to_string).collect()
}
