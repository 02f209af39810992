//! The data of events about what visitors submit: answers of forms, visits of funnels, and their
//! state in the inbox. Never the uuid of a visit: it is the visitor's secret.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;

use crate::events::Payload;

/// A submission of a form.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FormData {
    /// The form.
    pub(crate) form: AnsweredForm,
    /// What was stored.
    pub(crate) submission: FormSubmission,
    /// The answers, in the order of the fields.
    pub(crate) answers: Vec<AnswerData>,
}

/// A form.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AnsweredForm {
    /// Its id.
    pub(crate) id: i64,
    /// Its name.
    pub(crate) name: String,
    /// What people see above it.
    pub(crate) title: String,
}

/// A submission.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FormSubmission {
    /// Its id.
    pub(crate) id: i64,
    /// When it came.
    #[schemars(extend("format" = "date-time"))]
    pub(crate) created_at: String,
}

impl Payload for FormData {
    fn example() -> Self {
        Self {
            form: AnsweredForm {
                id: 1,
                name: "contact".to_owned(),
                title: "Write to us".to_owned(),
            },
            submission: FormSubmission { id: 7, created_at: "2026-11-21T09:30:00Z".to_owned() },
            answers: vec![AnswerData::example("mail", "email", "E-mail", "ada@example.org".into())],
        }
    }
}

/// A visit, as far as it has come.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct VisitData {
    /// The funnel.
    pub(crate) funnel: FunnelData,
    /// The visit.
    pub(crate) submission: VisitSubmission,
    /// Empty at the start. `formfunnel.step_completed` has the answers of its step;
    /// `formfunnel.completed` and `formfunnel.abandoned` have all answers that count. A list,
    /// because authors choose the ids of fields and the payload filter removes members by name.
    pub(crate) answers: Vec<AnswerData>,
}

/// A funnel.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct FunnelData {
    /// Its id.
    pub(crate) id: i64,
    /// Its name in addresses.
    pub(crate) slug: String,
    /// Its name.
    pub(crate) name: String,
    /// Its language.
    pub(crate) language_short: String,
    /// The version that the visit goes through.
    pub(crate) version: i64,
}

/// A visit.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct VisitSubmission {
    /// The id of the submission.
    pub(crate) id: i64,
    /// `in_progress`, `completed` or `abandoned`.
    pub(crate) status: String,
    /// The reference that the visitor was given; null until the visit is completed.
    pub(crate) reference: Option<String>,
    /// The node that the event is about.
    pub(crate) node: Option<PassedNode>,
    /// The nodes that were shown, the first is the start.
    pub(crate) path: Vec<i64>,
    /// When the visit began.
    #[schemars(extend("format" = "date-time"))]
    pub(crate) started_at: String,
    /// When it was completed.
    #[schemars(extend("format" = "date-time"))]
    pub(crate) completed_at: Option<String>,
    /// When the visitor had left.
    #[schemars(extend("format" = "date-time"))]
    pub(crate) abandoned_at: Option<String>,
    /// The page that the funnel stands on.
    pub(crate) source_url: Option<String>,
    /// The page that led there.
    pub(crate) referer: Option<String>,
    /// The campaign: `source`, `medium`, `campaign`, `term`, `content`, as far as known.
    pub(crate) utm: BTreeMap<String, String>,
}

/// A node of a funnel.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PassedNode {
    /// Its id.
    pub(crate) id: i64,
    /// Its name.
    pub(crate) name: String,
    /// `step` or `end`.
    #[serde(rename = "type")]
    pub(crate) kind: String,
}

impl FunnelData {
    fn example() -> Self {
        Self {
            id: 1,
            slug: "leads".to_owned(),
            name: "Leads".to_owned(),
            language_short: "en".to_owned(),
            version: 3,
        }
    }
}

impl Payload for VisitData {
    /// A step that was answered.
    fn example() -> Self {
        let node = PassedNode { id: 17, name: "Budget".to_owned(), kind: "step".to_owned() };
        Self {
            funnel: FunnelData::example(),
            submission: VisitSubmission {
                id: 7,
                status: "in_progress".to_owned(),
                reference: None,
                node: Some(node),
                path: vec![16, 17],
                started_at: "2026-11-21T09:30:00Z".to_owned(),
                completed_at: None,
                abandoned_at: None,
                source_url: Some("https://www.example.org/offer".to_owned()),
                referer: None,
                utm: [("source".to_owned(), "mail".to_owned())].into(),
            },
            answers: vec![AnswerData::example("budget", "number", "Budget", 6000.into())],
        }
    }

    fn example_of(event: &str) -> Self {
        let mut data = Self::example();
        let submission = &mut data.submission;
        match event {
            "formfunnel.started" => {
                let (id, name, kind) = (16, "Welcome".to_owned(), "step".to_owned());
                submission.node = Some(PassedNode { id, name, kind });
                submission.path = vec![16];
                data.answers.clear();
            }
            "formfunnel.completed" => {
                let (id, name, kind) = (18, "Thank you".to_owned(), "end".to_owned());
                submission.node = Some(PassedNode { id, name, kind });
                submission.path.push(18);
                submission.status = "completed".to_owned();
                submission.reference = Some("F7K2-9QXM".to_owned());
                submission.completed_at = Some("2026-11-21T09:34:00Z".to_owned());
            }
            "formfunnel.abandoned" => {
                submission.status = "abandoned".to_owned();
                submission.abandoned_at = Some("2026-11-21T10:30:00Z".to_owned());
            }
            _ => {}
        }
        data
    }
}

// No answers: a receiver that needs them asks for the submission.

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
    /// The reference that the visitor was given; null until the visit is completed.
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

/// An answer with what was asked.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub(crate) struct AnswerData {
    /// The id of the field. A value beside an answer has an entry of its own: free text has
    /// `<id>.other`.
    pub(crate) field: String,
    /// The type of the field.
    #[serde(rename = "type")]
    pub(crate) field_type: String,
    /// What people saw above it.
    pub(crate) label: String,
    /// The answer. Objects whose names an author chose are lists of `field` and `value`.
    pub(crate) value: Json,
}

impl AnswerData {
    fn example(field: &str, field_type: &str, label: &str, value: Json) -> Self {
        let [field, field_type, label] = [field, field_type, label].map(str::to_owned);
        Self { field, field_type, label, value }
    }
}
