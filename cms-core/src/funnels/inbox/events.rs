//! What events tell of a change in the inbox: which submission, and what became of it. No answers:
//! who needs them asks for the submission.

use super::{TABLE, sql::Touched};
use crate::{
    Change, Result,
    events::{
        FunnelData, InboxSubmission, SUBMISSION_DELETED, SUBMISSION_UPDATED, SubmissionDeleted,
        SubmissionUpdated,
    },
};

/// Raises an event for each submission, with a row in the audit log.
pub(super) async fn updated(
    change: &mut Change,
    touched: Vec<Touched>,
    columns: &[&str],
) -> Result<()> {
    let rows = touched.into_iter().map(|one| {
        let (funnel, submission) = data(one);
        let changed = columns.iter().map(|column| (*column).to_owned()).collect();
        (submission.id, SubmissionUpdated { funnel, submission, changed })
    });
    change.raise_each(SUBMISSION_UPDATED, ("update", TABLE, columns), rows.collect()).await
}

/// As [`updated`], for submissions that are gone.
pub(super) async fn deleted(change: &mut Change, touched: Vec<Touched>) -> Result<()> {
    let rows = touched.into_iter().map(|one| {
        let (funnel, submission) = data(one);
        (submission.id, SubmissionDeleted { funnel, submission })
    });
    change.raise_each(SUBMISSION_DELETED, ("delete", TABLE, &[]), rows.collect()).await
}

fn data(one: Touched) -> (FunnelData, InboxSubmission) {
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
