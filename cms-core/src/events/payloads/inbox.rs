//! What events tell of a change in the inbox of funnels: which submission, and what became of it.
//! No answers: who needs them asks for the submission.

use schemars::JsonSchema;
use serde::Serialize;

use super::FunnelData;
use crate::events::Payload;

/// A submission that was changed.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SubmissionUpdated {
    /// The funnel.
    pub(crate) funnel: FunnelData,
    /// The submission as it is now.
    pub(crate) submission: InboxSubmission,
    /// The members that were written.
    pub(crate) changed: Vec<String>,
}

/// A submission that was deleted.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SubmissionDeleted {
    /// The funnel.
    pub(crate) funnel: FunnelData,
    /// The submission as it was.
    pub(crate) submission: InboxSubmission,
}

/// A submission as the inbox sorts it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct InboxSubmission {
    /// Its id.
    pub(crate) id: i64,
    /// How far the visit came: `in_progress`, `completed`, `abandoned`.
    pub(crate) status: String,
    /// What the visitor can name it by.
    pub(crate) reference: Option<String>,
    /// Where it is sorted: `new`, `qualified`, `contacted`, `converted`, `rejected`.
    pub(crate) inbox_status: String,
    /// The user who looks after it.
    pub(crate) assigned_to: Option<i64>,
}

impl InboxSubmission {
    fn example() -> Self {
        Self {
            id: 7,
            status: "completed".to_owned(),
            reference: Some("F7K2-9QXM".to_owned()),
            inbox_status: "qualified".to_owned(),
            assigned_to: Some(1),
        }
    }
}

impl Payload for SubmissionUpdated {
    fn example() -> Self {
        Self {
            funnel: FunnelData::example(),
            submission: InboxSubmission::example(),
            changed: vec!["inbox_status".to_owned(), "assigned_to".to_owned()],
        }
    }
}

impl Payload for SubmissionDeleted {
    fn example() -> Self {
        Self { funnel: FunnelData::example(), submission: InboxSubmission::example() }
    }
}
