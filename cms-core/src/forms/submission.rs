//! A submission as it is shown, and which are asked for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::WhichForm;
use crate::{Millis, fields::Answer};

/// A submission in a list.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Submission {
    /// Ids grow with time.
    pub id: i64,
    /// The name of its form.
    pub form: String,
    /// When it came, RFC 3339 in UTC.
    pub created_at: String,
    /// Whether it looks like that of a program.
    pub spam: bool,
    /// The first answers in one line.
    pub summary: String,
    /// When it came, in milliseconds.
    #[serde(skip)]
    pub(super) at: Millis,
}

/// A submission with its answers.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct SubmissionDetail {
    /// As in a list.
    #[serde(flatten)]
    pub submission: Submission,
    /// The answers, in the order of the fields.
    pub answers: Vec<Answer>,
}

/// Which submissions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SubmissionFilter {
    /// Only those of this form.
    pub form: Option<WhichForm>,
    /// Not before.
    pub since: Option<Millis>,
    /// Before.
    pub until: Option<Millis>,
    /// Only those that look like a program's, or only the others.
    pub spam: Option<bool>,
}

/// Where a submission stands in the list.
pub(super) type Position = (Millis, i64);
