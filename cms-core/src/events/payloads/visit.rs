//! What events tell of a visit of a funnel. Never the session's uuid: it is the visitor's secret.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::AnswerData;
use crate::events::Payload;

/// A visit, as far as it has come.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct VisitData {
    /// The funnel.
    pub(crate) funnel: FunnelData,
    /// The visit.
    pub(crate) submission: VisitSubmission,
    /// At the start none. Of `formfunnel.step_completed` those of that step, at the end all that
    /// count. A list, because authors choose the ids of fields and the payload filter removes
    /// members by name.
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
    /// What the visitor can name it by, once it is completed.
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
    pub(super) fn example() -> Self {
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
    /// Of a step that was answered.
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
