//! Requests of visitors' pages, and the replies to them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::funnels::WhichFunnel;

/// The beginning of a visit.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{"funnel_id": "offer", "utm_source": "mail"}]))]
#[non_exhaustive]
pub struct StartVisit {
    /// The funnel, by its id or slug.
    pub funnel_id: WhichFunnel,
    /// The visitor's language: the funnel's version in it, else that in `en` for `en-US`.
    #[serde(default, alias = "language_short")]
    pub language: Option<String>,
    /// The address of the page, `http` or `https`; others are not kept.
    #[serde(default)]
    pub source_url: Option<String>,
    /// The page before it.
    #[serde(default)]
    pub referer: Option<String>,
    /// Who sent the visitor.
    #[serde(default)]
    pub utm_source: Option<String>,
    /// By which way.
    #[serde(default)]
    pub utm_medium: Option<String>,
    /// The campaign.
    #[serde(default)]
    pub utm_campaign: Option<String>,
    /// The words that were searched for.
    #[serde(default)]
    pub utm_term: Option<String>,
    /// The advertisement.
    #[serde(default)]
    pub utm_content: Option<String>,
    /// Hidden fields by their ids. What is not given is read from `source_url`, if the field names
    /// a parameter of it.
    #[serde(default)]
    pub hidden: Map<String, Json>,
}

impl StartVisit {
    /// A visit of a funnel, without any other member.
    pub fn of(funnel_id: impl Into<WhichFunnel>) -> Self {
        Self {
            funnel_id: funnel_id.into(),
            language: None,
            source_url: None,
            referer: None,
            utm_source: None,
            utm_medium: None,
            utm_campaign: None,
            utm_term: None,
            utm_content: None,
            hidden: Map::new(),
        }
    }
}

/// An answered step.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{
    "session_uuid": "0191d0a4-7c9e-4b6f-8a2d-1f5e3c7b9a10",
    "answers": {"budget": 6000},
}]))]
#[non_exhaustive]
pub struct AnswerStep {
    /// The session.
    pub session_uuid: String,
    /// The step; otherwise the one that is presented.
    #[serde(default)]
    pub node_id: Option<i64>,
    /// Answers by the ids of fields.
    #[serde(default)]
    pub answers: Map<String, Json>,
    /// The value of a hidden trap input. People leave it empty; a value marks the sender as a
    /// program.
    #[serde(default)]
    pub trap: Option<String>,
}

impl AnswerStep {
    /// The step that is presented, without answers.
    #[must_use]
    pub fn new(session_uuid: impl Into<String>) -> Self {
        let session_uuid = session_uuid.into();
        Self { session_uuid, node_id: None, answers: Map::new(), trap: None }
    }
}

/// The end of a visit.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{"session_uuid": "0191d0a4-7c9e-4b6f-8a2d-1f5e3c7b9a10"}]))]
#[non_exhaustive]
pub struct CompleteVisit {
    /// The session.
    pub session_uuid: String,
    /// The answers of the last step, if they were not sent before.
    #[serde(default)]
    pub answers: Option<Map<String, Json>>,
    /// The value of a hidden trap input. People leave it empty; a value marks the sender as a
    /// program.
    #[serde(default)]
    pub trap: Option<String>,
}

impl CompleteVisit {
    /// The end of a visit whose answers were sent before.
    #[must_use]
    pub fn new(session_uuid: impl Into<String>) -> Self {
        Self { session_uuid: session_uuid.into(), answers: None, trap: None }
    }
}

/// A visit that goes on: its session after a reload, or the token of a link in a mail.
#[derive(Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{"session_uuid": "0191d0a4-7c9e-4b6f-8a2d-1f5e3c7b9a10"}]))]
#[non_exhaustive]
pub struct ResumeVisit {
    /// The session.
    #[serde(default)]
    pub session_uuid: Option<String>,
    /// What the page finds behind `#cms-resume=` in its own address.
    #[serde(default)]
    pub token: Option<String>,
}

/// To which session and field a file belongs.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct UploadFor {
    /// The session.
    pub session_uuid: String,
    /// The id of a field of the step that is presented, or of one before.
    pub field: String,
}

impl UploadFor {
    /// A file of this session and field.
    #[must_use]
    pub fn new(session_uuid: impl Into<String>, field: impl Into<String>) -> Self {
        Self { session_uuid: session_uuid.into(), field: field.into() }
    }
}

macro_rules! hides_session {
    ($($name:ident),*) => {$(
        /// Without the session, which is the visitor's secret, and without answers.
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name)).finish_non_exhaustive()
            }
        }
    )*};
}
hides_session!(AnswerStep, CompleteVisit, ResumeVisit, UploadFor, Started, StartedTest, Resumed);

/// The funnel as visitors see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ShownFunnel {
    /// Its id.
    pub id: i64,
    /// Its slug.
    pub slug: String,
    /// Its name.
    pub name: String,
    /// Its language.
    pub language_short: String,
    /// The version that this visit keeps.
    pub version: i64,
}

/// A node as visitors see it.
#[derive(JsonSchema)]
#[schemars(rename = "ShownFunnelNode")]
#[expect(dead_code, reason = "only described")]
struct ShownNode {
    /// Its id.
    id: i64,
    /// What it is.
    #[schemars(rename = "type")]
    kind: ShownKind,
    /// For people.
    name: String,
    /// What the page shows: `title`, `text`, `html`, `button_label`, `media_id` and `public`; the
    /// `fields` of a step; of an end also `end_kind` and `redirect_url`.
    config: Map<String, Json>,
}

/// What visitors see.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case", inline)]
#[expect(dead_code, reason = "only described")]
enum ShownKind {
    Step,
    End,
}

/// How far a visit has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Progress {
    /// Steps that were answered.
    pub answered: usize,
    /// Steps that may still come, at most.
    pub remaining_max: usize,
}

/// A visit that has begun.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Started {
    /// The session: whoever knows it can answer and read.
    pub session_uuid: String,
    /// The funnel.
    pub funnel: ShownFunnel,
    /// The first step.
    #[schemars(with = "ShownNode")]
    pub node: Json,
    /// How far the visit has come.
    pub progress: Progress,
    /// Until when the session waits for the next call, RFC 3339.
    pub expires_at: String,
    /// Raised by every change of the session.
    pub rev: i64,
}

/// A visit by which an author tries a funnel.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "StartedFunnelTest")]
#[non_exhaustive]
pub struct StartedTest {
    /// The visit.
    #[serde(flatten)]
    pub started: Started,
    /// The page of the funnel with this visit; null when its settings name none in `page_url`.
    pub url: Option<String>,
}

/// Where a visit stands.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Stepped {
    /// The next step or the end; null where no edge leads on, which is an end too.
    #[schemars(with = "Option<ShownNode>")]
    pub node: Option<Json>,
    /// `step` or `end`.
    pub node_type: String,
    /// Whether the visit can be completed now.
    pub can_complete: bool,
    /// How far the visit has come.
    pub progress: Progress,
    /// Names of answers that no field of the step takes.
    pub ignored: Vec<String>,
    /// Earlier answers to the fields of the step, to show them again.
    pub answers: Map<String, Json>,
    /// Raised by every change of the session.
    pub rev: i64,
}

/// A visit that goes on.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Resumed {
    /// Where it stands.
    #[serde(flatten)]
    pub stepped: Stepped,
    /// The session, for a page that came by a link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_uuid: Option<String>,
}

/// A completed visit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Completed {
    /// `completed`.
    pub status: String,
    /// The end; null where no edge leads to one.
    #[schemars(with = "Option<ShownNode>")]
    pub node: Option<Json>,
    /// Where to lead the visitor.
    pub redirect_url: Option<String>,
    /// A short text by which the visitor and the site can speak of the submission.
    pub reference: String,
}

/// A file that was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Uploaded {
    /// Its id, as the answer holds it.
    pub file: String,
    /// What its bytes say it is.
    pub media_type: String,
    /// Its size in bytes.
    pub size: i64,
}

#[cfg(test)]
mod tests {
    use schemars::schema_for;
    use serde_json::json;

    use super::*;

    #[test]
    fn nodes_of_replies_are_described() {
        let schemas = [
            schema_for!(Started),
            schema_for!(StartedTest),
            schema_for!(Stepped),
            schema_for!(Resumed),
            schema_for!(Completed),
        ];
        for schema in schemas {
            let schema = schema.as_value();
            let node = schema["properties"]["node"].to_string();
            assert!(node.contains("#/$defs/ShownFunnelNode"), "{schema}");
            let members = &schema["$defs"]["ShownFunnelNode"]["properties"];
            assert_eq!(members["type"]["enum"], json!(["step", "end"]), "{schema}");
            assert_eq!(members["config"]["type"], "object", "{schema}");
        }
    }
}
