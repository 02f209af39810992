//! A submission in a list, and with its details. Also the columns of the inbox, which lists show,
//! filter and sort by.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::INBOX_STATUSES;
use crate::{
    AuditActor, Error, Result,
    db::{Dialect, Kind},
    fields::Answer,
    funnels::{graph::EndKind, sessions::PassedNode},
    items::{OwnColumn, OwnList},
    rfc3339,
};

/// A submission of a funnel in a list. Times are RFC 3339 in UTC.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct FunnelSubmission {
    /// Ids grow with time.
    pub submission_id: i64,
    /// Its funnel.
    pub funnel_id: i64,
    /// The funnel's name.
    pub funnel_name: String,
    /// The version of the funnel that the visit keeps.
    pub version: i64,
    /// The language of the visit; empty: none in particular.
    pub language_short: String,
    /// `in_progress`, `completed` or `abandoned`.
    pub status: String,
    /// `new`, `qualified`, `contacted`, `converted` or `rejected`.
    pub inbox_status: String,
    /// Whether it looks like that of a program.
    pub is_spam: bool,
    /// Whether its author tried the funnel.
    pub is_test: bool,
    /// The user to whom the submission is assigned.
    pub assigned_to: Option<i64>,
    /// That user's name.
    pub assigned_name: Option<String>,
    /// The first answer that is a name.
    pub contact_name: Option<String>,
    /// The first answer that is an address of mail.
    pub contact_email: Option<String>,
    /// The first answer that is a number of a telephone.
    pub contact_phone: Option<String>,
    /// The answer `company`.
    pub company: Option<String>,
    /// The first answers in one line.
    pub summary: String,
    /// The answer `score`.
    pub score: Option<f64>,
    /// The node that was shown last.
    pub last_node_id: Option<i64>,
    /// Its name.
    pub last_node_name: Option<String>,
    /// The end that the visit came to.
    pub end_node_id: Option<i64>,
    /// `thank_you`, `redirect`, `disqualified` or `booking`.
    pub end_kind: Option<String>,
    /// Steps that were answered.
    pub steps_answered: i64,
    /// How far the visit has come, in percent.
    pub progress_pct: i64,
    /// The reference that the visitor quotes in letters and calls.
    pub reference: Option<String>,
    /// The page that the visit began on.
    pub source_url: Option<String>,
    /// The page before it.
    pub referer: Option<String>,
    /// Of the campaign that led there.
    pub utm_source: Option<String>,
    /// Of the campaign that led there.
    pub utm_medium: Option<String>,
    /// Of the campaign that led there.
    pub utm_campaign: Option<String>,
    /// Of the campaign that led there.
    pub utm_term: Option<String>,
    /// Of the campaign that led there.
    pub utm_content: Option<String>,
    /// The mail rule that matched.
    pub mail_rule_id: Option<i64>,
    /// Whether mails were due when the visit ended: `queued`, `no_recipient` or `unmatched`; what
    /// became of them, each mail tells.
    pub mail_status: Option<String>,
    /// When the visit began.
    pub started_at: String,
    /// When the visitor was heard of last.
    pub last_activity_at: String,
    /// When it was completed.
    pub completed_at: Option<String>,
    /// When the visitor left.
    pub abandoned_at: Option<String>,
    /// Seconds from the beginning to the completion.
    pub duration_s: Option<i64>,
    /// When the staff first did something about it.
    pub first_touched_at: Option<String>,
    /// When the visit can no longer go on.
    pub expires_at: String,
    /// Raised by every change of `inbox_status`, `inbox_notes` and `assigned_to`.
    pub inbox_rev: i64,
}

/// A submission with its answers and the way that it took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct FunnelSubmissionDetail {
    /// As in a list.
    #[serde(flatten)]
    pub submission: FunnelSubmission,
    /// When it is removed, with the next run of `cleanup_old_submissions`; null: it is kept.
    pub kept_until: Option<String>,
    /// What the staff noted.
    pub inbox_notes: String,
    /// The answers that count, in the order of the way.
    pub answers: Vec<Answer>,
    /// The nodes that were shown, in order.
    pub path: Vec<i64>,
    /// The same in words: each node with its answers, and why the way went on from there.
    pub path_resolved: Vec<PassedNode>,
    /// The files that the visitor sent.
    pub files: Vec<SubmissionFile>,
    /// The mails that it caused, the newest 50.
    pub mails: Vec<SubmissionMail>,
    /// Who changed what, newest first, 50 at most; the audit log keeps it.
    pub history: Vec<SubmissionChange>,
}

/// A file that a visitor sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct SubmissionFile {
    /// What answers hold, and `action=file` takes.
    pub file: String,
    /// The field that it was sent for.
    pub field: String,
    /// What the visitor called it.
    pub name: String,
    /// What its bytes are.
    pub media_type: String,
    /// Bytes.
    pub size: i64,
    /// Whether an answer holds it.
    pub attached: bool,
    /// When it came.
    pub created_at: String,
}

/// A mail that a submission caused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct SubmissionMail {
    /// Its id in the log of mails.
    pub id: i64,
    /// What it is for.
    pub purpose: String,
    /// Who gets it.
    pub to: String,
    /// The subject.
    pub subject: String,
    /// `queued`, `sending`, `sent`, `failed` or `dropped`.
    pub status: String,
    /// Why it was not sent yet, or not at all.
    pub reason: Option<String>,
    /// When it was queued.
    pub created_at: String,
    /// When it was sent, given up or dropped.
    pub settled_at: Option<String>,
}

/// A change of a submission: by its visitor, by the staff, by the service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct SubmissionChange {
    /// Who made it.
    pub actor: AuditActor,
    /// `create`, `update`.
    pub action: String,
    /// The columns written, without their values.
    pub columns: Vec<String>,
    /// When it was made.
    pub created_at: String,
}

/// A file with its bytes.
#[derive(Clone)]
#[non_exhaustive]
pub struct StoredFile {
    /// What the visitor called it.
    pub name: String,
    /// What its bytes are.
    pub media_type: String,
    /// SHA-256 of the bytes.
    pub sha256: String,
    /// The bytes.
    pub content: Vec<u8>,
}

impl std::fmt::Debug for StoredFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoredFile").field("media_type", &self.media_type).finish_non_exhaustive()
    }
}

impl FunnelSubmission {
    /// From the JSON that the database made, where times are milliseconds.
    pub(super) fn read(mut row: Map<String, Json>) -> Result<Self> {
        for name in COLUMNS.iter().filter(|one| one.is_time()).map(|one| one.name) {
            if let Some(at) = row.get(name).and_then(Json::as_i64) {
                row.insert(name.to_owned(), rfc3339(at).into());
            }
        }
        serde_json::from_value(Json::Object(row)).map_err(Error::internal)
    }
}

/// The columns of `cms_v_funnel_inbox`.
pub(crate) const COLUMNS: [OwnColumn; 41] = [
    OwnColumn::integer("submission_id"),
    OwnColumn::integer("funnel_id"),
    OwnColumn::text("funnel_name"),
    OwnColumn::integer("version"),
    OwnColumn::text("language_short"),
    OwnColumn::choice("status", &["in_progress", "completed", "abandoned"]),
    OwnColumn::choice("inbox_status", &INBOX_STATUSES),
    OwnColumn::boolean("is_spam"),
    OwnColumn::boolean("is_test"),
    OwnColumn::integer("assigned_to").nullable(),
    OwnColumn::text("assigned_name").nullable(),
    OwnColumn::text("contact_name").nullable().searched(),
    OwnColumn::text("contact_email").nullable().searched(),
    OwnColumn::text("contact_phone").nullable().searched(),
    OwnColumn::text("company").nullable().searched(),
    OwnColumn::text("summary").searched(),
    OwnColumn::double("score").nullable(),
    OwnColumn::integer("last_node_id").nullable(),
    OwnColumn::text("last_node_name").nullable(),
    OwnColumn::integer("end_node_id").nullable(),
    OwnColumn::choice("end_kind", &EndKind::NAMES).nullable(),
    OwnColumn::integer("steps_answered"),
    OwnColumn::integer("progress_pct"),
    OwnColumn::text("reference").nullable().searched(),
    OwnColumn::text("source_url").nullable(),
    OwnColumn::text("referer").nullable(),
    OwnColumn::text("utm_source").nullable(),
    OwnColumn::text("utm_medium").nullable(),
    OwnColumn::text("utm_campaign").nullable(),
    OwnColumn::text("utm_term").nullable(),
    OwnColumn::text("utm_content").nullable(),
    OwnColumn::integer("mail_rule_id").nullable(),
    OwnColumn::choice("mail_status", &["queued", "no_recipient", "unmatched"]).nullable(),
    OwnColumn::time("started_at"),
    OwnColumn::time("last_activity_at"),
    OwnColumn::time("completed_at").nullable(),
    OwnColumn::time("abandoned_at").nullable(),
    OwnColumn::integer("duration_s").nullable(),
    OwnColumn::time("first_touched_at").nullable(),
    OwnColumn::time("expires_at"),
    OwnColumn::integer("inbox_rev"),
];

/// The list of submissions.
pub(in crate::funnels) fn inbox(dialect: Dialect) -> OwnList {
    OwnList::new("The inbox", "cms_v_funnel_inbox", dialect, &COLUMNS)
}

/// The kind of a column; None: there is no such column.
pub(super) fn kind(name: &str) -> Option<Kind> {
    COLUMNS.iter().find(|column| column.name == name).map(|column| column.kind)
}

/// The names of the columns, for people.
pub(super) fn names() -> String {
    COLUMNS.map(|column| column.name).join(", ")
}
