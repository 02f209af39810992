//! Funnels as they are stored and shown, the languages that a list selects, and problems: what is
//! wrong with a funnel, and where.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::FieldError;

/// A funnel by its id or its slug.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "a funnel is named by its id or its slug")]
pub enum WhichFunnel {
    /// Its id.
    Id(i64),
    /// Its slug, or its id as text.
    Slug(String),
}

impl From<String> for WhichFunnel {
    /// No slug begins with a digit.
    fn from(text: String) -> Self {
        text.parse().map_or(Self::Slug(text), Self::Id)
    }
}

impl std::fmt::Display for WhichFunnel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Id(id) => id.fmt(f),
            Self::Slug(slug) => write!(f, "{slug:?}"),
        }
    }
}

/// A funnel in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Funnel {
    /// Its id.
    pub id: i64,
    /// For people.
    pub name: String,
    /// For addresses: unique in its language.
    pub slug: String,
    /// `draft`, `published` or `archived`.
    pub status: String,
    /// The step that a visit begins with.
    pub start_node_id: Option<i64>,
    /// 1: visits that end early are marked.
    pub save_abandoned: i64,
    /// Minutes of rest after which they are.
    pub abandon_after_min: i64,
    /// Settings of the service, and keys of the front end's own.
    pub settings_json: Json,
    /// The funnel that this is a language version of.
    pub base_id: Option<i64>,
    /// Its language; empty: none in particular.
    pub language_short: String,
    /// Raised by every save.
    pub rev: i64,
    /// The number of the version that new visits begin with.
    pub version: Option<i64>,
    /// When that was published, RFC 3339 in UTC.
    pub published_at: Option<String>,
    /// When it was made.
    pub created_at: String,
    /// When it was saved last.
    pub updated_at: String,
}

/// A funnel as it is drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct FunnelDetail {
    /// As in a list.
    #[serde(flatten)]
    pub funnel: Funnel,
    /// Its nodes, in their order.
    pub nodes: Vec<FunnelNode>,
    /// The ways between them, in their order.
    pub edges: Vec<FunnelEdge>,
    /// Mail rules, in the order in which they are tried.
    pub email_routings: Vec<EmailRouting>,
}

/// A node of a funnel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct FunnelNode {
    /// Its id.
    pub id: i64,
    /// `step`, `condition` or `end`.
    #[serde(rename = "type")]
    pub kind: String,
    /// For people.
    pub name: String,
    /// Where editors draw it.
    pub position_x: f64,
    /// Where editors draw it.
    pub position_y: f64,
    /// The fields of a step, the rules of a condition, the kind of an end.
    pub config_json: Json,
    /// Its place among the nodes.
    pub sort_order: i64,
}

/// A way from a node to the next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct FunnelEdge {
    /// Its id.
    pub id: i64,
    /// Where it begins.
    pub from_node_id: i64,
    /// Where it leads.
    pub to_node_id: i64,
    /// `default`, `true` or `false`.
    pub branch_label: String,
    /// Its place among the edges.
    pub sort_order: i64,
}

/// A mail rule: who is written to when a visit ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct EmailRouting {
    /// Its id.
    pub id: i64,
    /// When it matches; null: always.
    pub condition_json: Option<Json>,
    /// Addresses and tokens such as `{{ mail }}`, with commas or line ends between them.
    pub recipients: String,
    /// Addresses that get a copy.
    pub cc: String,
    /// Addresses that get a blind copy.
    pub bcc: String,
    /// With tokens.
    pub subject: String,
    /// HTML with tokens.
    pub body_html: String,
    /// 1: the visitor gets a confirmation.
    pub auto_reply_enabled: i64,
    /// With tokens.
    pub auto_reply_subject: String,
    /// HTML with tokens.
    pub auto_reply_body_html: String,
    /// `completed` or `abandoned`.
    pub trigger_event: String,
    /// Rules are tried in this order.
    pub sort_order: i64,
    /// 0: the rule is switched off.
    pub is_active: i64,
}

/// Selects funnels by language, ignoring ASCII case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum FunnelLanguage {
    /// All funnels.
    #[default]
    Any,
    /// Those in this language.
    Only(String),
    /// Those in this language, and those without a language.
    OrNone(String),
}

/// A fault of a funnel. The code decides whether the funnel is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// Stable.
    pub(crate) code: &'static str,
    /// Its path in the sent funnel: `nodes[2].config_json.fields[0]`.
    pub(crate) path: String,
    /// The node with the fault, by the id that was sent.
    pub(crate) node: Option<i64>,
    /// How to fix the fault.
    pub(crate) message: String,
}

impl Problem {
    pub(super) fn new(
        code: &'static str,
        path: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self { code, path: path.into(), node: None, message: message.into() }
    }

    pub(super) fn of(self, node: i64) -> Self {
        Self { node: Some(node), ..self }
    }
}

impl From<Problem> for FieldError {
    fn from(problem: Problem) -> Self {
        Self { field: problem.path, code: problem.code, message: problem.message }
    }
}

/// What its author should know of a funnel that is good enough to be stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "FunnelWarning")]
#[non_exhaustive]
pub struct Warning {
    /// Stable, such as `unreachable_node`.
    pub code: String,
    /// Where: `nodes[2].config_json.rules`.
    pub path: String,
    /// The node, by its id.
    pub node: Option<i64>,
    /// What to do about it.
    pub message: String,
}

impl From<Problem> for Warning {
    fn from(problem: Problem) -> Self {
        let Problem { code, path, node, message } = problem;
        Self { code: code.to_owned(), path, node, message }
    }
}
