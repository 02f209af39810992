//! Changes, deletes and erases submissions, and erases what notes of other submissions say of a
//! person. Events hold the submission's id and state but no answers: a receiver that needs them
//! reads the submission.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::{
    INBOX_STATUSES, TABLE, check_assignable, none,
    search::INDEXING,
    sql::{self, Touched},
};
use crate::{
    Change, Code, Error, FieldError, Result,
    db::args,
    events::{
        FunnelData, InboxSubmission, SUBMISSION_DELETED, SUBMISSION_UPDATED, SubmissionDeleted,
        SubmissionUpdated,
    },
    funnels::{
        Funnels,
        counters::{self, TURN},
    },
    items::IfMatch,
};

/// Maximum characters of notes.
const NOTES: usize = 10_000;

/// What is to change. Members that are left out stay as they are.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "UpdateSubmission")]
#[schemars(extend("examples" = [{"id": 1, "inbox_status": "qualified"}]))]
#[non_exhaustive]
pub struct SubmissionUpdate {
    /// The submission, when the query does not name it.
    #[serde(default)]
    pub id: Option<i64>,
    /// `new`, `qualified`, `contacted`, `converted` or `rejected`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inbox_status: Option<String>,
    /// Notes of the staff, up to 10,000 characters; empty: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inbox_notes: Option<String>,
    /// The user to whom the submission is assigned; null: nobody.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<i64>")]
    pub assigned_to: Option<Option<i64>>,
    /// The `inbox_rev` that the caller has seen: a submission that was changed since stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rev: Option<i64>,
}

/// A submission to delete.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "DeleteSubmission")]
#[schemars(extend("examples" = [{"id": 1}]))]
#[non_exhaustive]
pub struct SubmissionDeletion {
    /// The submission, when the query does not name it.
    #[serde(default)]
    pub id: Option<i64>,
    /// The `inbox_rev` that the caller has seen: a submission that was changed since stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rev: Option<i64>,
}

/// A changed submission, for callers that may change it but not read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "UpdatedSubmission")]
#[non_exhaustive]
pub struct Updated {
    /// Its id.
    pub id: i64,
    /// Its `inbox_rev` now.
    pub inbox_rev: i64,
}

/// A member that was sent, null or not.
fn given<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Option<i64>>, D::Error> {
    Option::deserialize(from).map(Some)
}

/// The beginning of a submission's entity tag: it changes with every change in the inbox or
/// of the visit.
fn tagged(id: i64, rev: i64, inbox_rev: i64) -> String {
    format!("\"{id}.{rev}.{inbox_rev}.")
}

impl Funnels {
    /// The entity tag of a submission as it is shown as `json`.
    pub async fn submission_etag(&self, id: i64, json: &str) -> Result<String> {
        let revs = self.0.base.db().optional(sql::REVS, args![id]).await?;
        let (rev, inbox_rev): (i64, i64) = revs.ok_or_else(|| none(id))?;
        let digest = crate::items::etag(json);
        Ok(format!("{}{}", tagged(id, rev, inbox_rev), digest.trim_start_matches('"')))
    }

    /// Changes the status, the notes or the assignment of a submission.
    ///
    /// # Errors
    /// `not_found`; `stale` when `if_match` no longer holds, `rev_conflict` for another `rev`;
    /// `validation_failed` for an unknown status, for a user who may not see the inbox, and for
    /// notes that are too long.
    pub async fn update_submission(
        &self,
        change: &mut Change,
        id: i64,
        update: SubmissionUpdate,
        if_match: &IfMatch,
    ) -> Result<Updated> {
        let faults = faults(&update);
        if !faults.is_empty() {
            return Err(Error::invalid(faults));
        }
        if let Some(Some(user)) = update.assigned_to {
            check_assignable(change, user, "assigned_to").await?;
        }
        let found = hold_if_match(change, id, update.rev, if_match).await?;
        let notes = update.inbox_notes.map(|notes| notes.replace("\r\n", "\n"));
        let status = update.inbox_status.filter(|status| *status != found.inbox_status);
        let assigned = update.assigned_to.filter(|user| *user != found.assigned_to);
        let notes = match notes {
            Some(notes) if sql::notes_in(change, id).await? != notes => Some(notes),
            _ => None,
        };
        let columns = [
            status.is_some().then_some("inbox_status"),
            notes.is_some().then_some("inbox_notes"),
            assigned.is_some().then_some("assigned_to"),
        ];
        let columns: Vec<_> = columns.into_iter().flatten().collect();
        if columns.is_empty() {
            return Ok(Updated { id, inbox_rev: found.inbox_rev });
        }
        let touched = sql::update(change, id, status, notes, assigned).await?;
        let inbox_rev = touched.inbox_rev;
        emit_updated(change, vec![touched], &columns).await?;
        Ok(Updated { id, inbox_rev })
    }

    /// Deletes a submission for good, with its files and the mails that it caused.
    pub async fn delete_submission(
        &self,
        change: &mut Change,
        id: i64,
        rev: Option<i64>,
        if_match: &IfMatch,
    ) -> Result<()> {
        change.lock(TURN).await?;
        let found = hold_if_match(change, id, rev, if_match).await?;
        counters::sql::stage(change, id).await?;
        self.count_leaving(change).await?;
        counters::sql::clear_staged(change).await?;
        sql::delete(change, id).await?;
        emit_deleted(change, vec![found]).await
    }
}

/// Locks the submission until the change ends, and checks that it is as the caller has seen it.
async fn hold_if_match(
    change: &mut Change,
    id: i64,
    rev: Option<i64>,
    if_match: &IfMatch,
) -> Result<sql::Touched> {
    let found = sql::hold(change, id).await?.ok_or_else(|| none(id))?;
    let is_same = |tag: &String| tag.starts_with(&tagged(id, found.rev, found.inbox_rev));
    if let IfMatch::Tags(tags) = if_match
        && !tags.iter().any(is_same)
    {
        let detail = "The submission has changed since you read it: read it again, then repeat \
                      the change.";
        return Err(if_match.stale(detail));
    }
    if rev.is_some_and(|rev| rev != found.inbox_rev) {
        let detail = "Somebody has changed the submission since you read it. Nothing was changed.";
        return Err(Error::new(Code::RevConflict, detail));
    }
    Ok(found)
}

fn faults(update: &SubmissionUpdate) -> Vec<FieldError> {
    let fault =
        |field: &str, code, message: String| FieldError { field: field.to_owned(), code, message };
    let mut faults = Vec::new();
    if let Some(status) = &update.inbox_status {
        faults.extend(state_fault("inbox_status", status));
    }
    if let Some(notes) = &update.inbox_notes {
        if notes.chars().count() > NOTES {
            let message = format!("at most {NOTES} characters are expected");
            faults.push(fault("inbox_notes", "range", message));
        }
        if notes.contains('\0') {
            let message = "a text without the character U+0000 is expected".to_owned();
            faults.push(fault("inbox_notes", "format", message));
        }
    }
    faults
}

/// What is wrong with a state of the inbox.
pub(super) fn state_fault(field: &str, status: &str) -> Option<FieldError> {
    let known = INBOX_STATUSES.contains(&status);
    let message = format!("one of {} is expected", INBOX_STATUSES.join(", "));
    (!known).then(|| FieldError { field: field.to_owned(), code: "unknown", message })
}

impl Funnels {
    /// Deletes submissions with all that they caused, even submissions of a deleted funnel. Their
    /// counts stay; no part of their texts stays in the search index.
    pub(crate) async fn erase_submissions(&self, change: &mut Change, ids: &[i64]) -> Result<()> {
        change.lock(TURN).await?;
        counters::sql::hold_funnels(change).await?;
        let mut touched = Vec::new();
        for id in ids {
            touched.extend(sql::hold(change, *id).await?);
            counters::sql::stage(change, *id).await?;
        }
        self.count_leaving(change).await?;
        counters::sql::clear_staged(change).await?;
        for id in ids {
            sql::erase(change, *id).await?;
        }
        emit_deleted(change, touched).await?;
        if let Some(indexing) = change.dialect().of(&INDEXING) {
            let keys = serde_json::json!(ids).to_string();
            let [begin, end] = indexing.overwrite;
            change.script(begin).await?;
            change.run(indexing.forget, args![keys.clone()]).await?;
            change.script(end).await?;
            change.run(indexing.done, args![keys]).await?;
        }
        Ok(())
    }

    /// Replaces the notes of a submission by the result of `cut`.
    pub(crate) async fn erase_notes(
        &self,
        change: &mut Change,
        id: i64,
        cut: &(dyn Fn(&str) -> String + Sync),
    ) -> Result<()> {
        if sql::hold(change, id).await?.is_none() {
            return Ok(());
        }
        let notes = cut(&sql::notes_in(change, id).await?);
        let touched = sql::update(change, id, None, Some(notes), None).await?;
        emit_updated(change, vec![touched], &["inbox_notes"]).await
    }
}

/// Raises an event for each submission, with a row in the audit log.
pub(super) async fn emit_updated(
    change: &mut Change,
    touched: Vec<Touched>,
    columns: &[&str],
) -> Result<()> {
    let rows = touched.into_iter().map(|one| {
        let (funnel, submission) = event_data(one);
        let changed = columns.iter().map(|column| (*column).to_owned()).collect();
        (submission.id, SubmissionUpdated { funnel, submission, changed })
    });
    change.raise_each(SUBMISSION_UPDATED, ("update", TABLE, columns), rows.collect()).await
}

/// As [`emit_updated`], for submissions that are gone.
pub(super) async fn emit_deleted(change: &mut Change, touched: Vec<Touched>) -> Result<()> {
    let rows = touched.into_iter().map(|one| {
        let (funnel, submission) = event_data(one);
        (submission.id, SubmissionDeleted { funnel, submission })
    });
    change.raise_each(SUBMISSION_DELETED, ("delete", TABLE, &[]), rows.collect()).await
}

fn event_data(one: Touched) -> (FunnelData, InboxSubmission) {
    let funnel = FunnelData {
        id: one.funnel,
        slug: one.slug,
        name: one.name,
        language_short: one.language,
        version: one.version,
    };
    let submission = InboxSubmission {
        id: one.id,
        status: one.status,
        reference: one.reference,
        inbox_status: one.inbox_status,
        assigned_to: one.assigned_to,
    };
    (funnel, submission)
}
