//! Requests of authors. Members of funnels, nodes, edges and mail rules are read one by one, so
//! that all faults are reported at once.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::funnels::record::WhichFunnel;

/// Members of a funnel, for the description.
#[derive(JsonSchema)]
#[schemars(rename = "FunnelMembers")]
#[expect(dead_code, reason = "only described")]
struct Members {
    /// For people, 1 to 200 characters.
    name: Option<String>,
    /// For addresses: a small letter, then small letters, digits, `_` and `-`.
    slug: Option<String>,
    /// `draft` and `archived` take a published funnel off.
    status: Option<String>,
    /// The step that a visit begins with: an id, or the `client_id` of a new node.
    start_node_id: Option<i64>,
    /// 1: visits that end early are marked.
    save_abandoned: Option<i64>,
    /// Minutes of rest after which they are, 60 by default.
    abandon_after_min: Option<i64>,
    /// Settings of the service, and keys of the front end's own.
    settings_json: Option<Map<String, Json>>,
    /// The funnel that this is a language version of.
    base_id: Option<i64>,
    /// Its language, such as `en`.
    language_short: Option<String>,
}

/// A node as it is sent.
#[derive(JsonSchema)]
#[schemars(rename = "GivenFunnelNode")]
#[expect(dead_code, reason = "only described")]
struct Node {
    /// The id of a stored node, or a negative number for a new one.
    client_id: i64,
    /// `step`, `condition` or `end`.
    #[schemars(rename = "type")]
    kind: String,
    /// For people.
    name: Option<String>,
    /// Where editors draw it.
    position_x: Option<f64>,
    /// Where editors draw it.
    position_y: Option<f64>,
    /// `fields` of a step, `rules` of a condition, `end_kind` of an end.
    config_json: Option<Map<String, Json>>,
    /// Its place among the nodes; its place in the list by default.
    sort_order: Option<i64>,
}

/// An edge as it is sent.
#[derive(JsonSchema)]
#[schemars(rename = "GivenFunnelEdge")]
#[expect(dead_code, reason = "only described")]
struct Edge {
    /// The id of a stored edge; none, or a negative number, for a new one.
    client_id: Option<i64>,
    /// Where it begins: an id, or the `client_id` of a new node.
    from_node_id: i64,
    /// Where it leads.
    to_node_id: i64,
    /// `default`, `true` or `false`.
    branch_label: Option<String>,
    /// Its place among the edges; its place in the list by default.
    sort_order: Option<i64>,
}

/// A mail rule as it is sent.
#[derive(JsonSchema)]
#[schemars(rename = "GivenEmailRouting")]
#[expect(dead_code, reason = "only described")]
struct Rule {
    /// The id of a stored rule; none for a new one.
    id: Option<i64>,
    /// When it matches; null: always.
    condition_json: Option<Map<String, Json>>,
    /// Addresses and tokens such as `{{ mail }}`, with commas between them.
    recipients: Option<String>,
    /// Addresses that get a copy.
    cc: Option<String>,
    /// Addresses that get a blind copy.
    bcc: Option<String>,
    /// With tokens.
    subject: Option<String>,
    /// HTML with tokens.
    body_html: Option<String>,
    /// 1: the visitor gets a confirmation.
    auto_reply_enabled: Option<i64>,
    /// With tokens.
    auto_reply_subject: Option<String>,
    /// HTML with tokens.
    auto_reply_body_html: Option<String>,
    /// `completed` (by default) or `abandoned`.
    trigger_event: Option<String>,
    /// Rules are tried in this order; its place in the list by default.
    sort_order: Option<i64>,
    /// 0: the rule is switched off.
    is_active: Option<i64>,
}

/// A new funnel: its members, and what is drawn already. All its ids are new, so that what one
/// site exports another may create.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("examples" = [{"name": "Leads", "slug": "leads"}]))]
#[non_exhaustive]
pub struct NewFunnel {
    /// Its members, `name` at least.
    #[serde(flatten)]
    #[schemars(with = "Members")]
    pub members: Map<String, Json>,
    /// Its nodes.
    #[serde(default)]
    #[schemars(with = "Vec<Node>")]
    pub nodes: Vec<Json>,
    /// The ways between them.
    #[serde(default)]
    #[schemars(with = "Vec<Edge>")]
    pub edges: Vec<Json>,
    /// Its mail rules.
    #[serde(default)]
    #[schemars(with = "Vec<Rule>")]
    pub email_routings: Vec<Json>,
    /// Whether warnings refuse it.
    #[serde(default)]
    pub strict: bool,
}

/// A funnel as its author wants it. What is left out stays; a list that is given replaces all.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SaveFunnel")]
#[schemars(extend("examples" = [{
    "id": 1, "rev": 1, "funnel": {"start_node_id": -1},
    "nodes": [
        {"client_id": -1, "type": "step", "name": "Who", "config_json": {
            "fields": [{"id": "mail", "type": "email", "required": true}]}},
        {"client_id": -2, "type": "end", "name": "Thanks"},
    ],
    "edges": [{"from_node_id": -1, "to_node_id": -2}],
}]))]
pub struct Saved {
    /// The funnel by its id or slug, when the query does not name it.
    #[serde(default)]
    pub id: Option<WhichFunnel>,
    /// The `rev` that the author has seen: a funnel that was saved since is not overwritten.
    #[serde(default)]
    pub rev: Option<i64>,
    /// Members to change.
    #[serde(default)]
    #[schemars(with = "Members")]
    pub funnel: Map<String, Json>,
    /// All nodes.
    #[serde(default)]
    #[schemars(with = "Option<Vec<Node>>")]
    pub nodes: Option<Vec<Json>>,
    /// All edges.
    #[serde(default)]
    #[schemars(with = "Option<Vec<Edge>>")]
    pub edges: Option<Vec<Json>>,
    /// All mail rules.
    #[serde(default)]
    #[schemars(with = "Option<Vec<Rule>>")]
    pub email_routings: Option<Vec<Json>>,
    /// Whether warnings refuse it.
    #[serde(default)]
    pub strict: bool,
    /// Whether it is only judged, and nothing is stored.
    #[serde(default)]
    pub dry_run: bool,
}

/// All mail rules of a funnel.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SaveEmailRoutings")]
#[schemars(extend("examples" = [{
    "funnel_id": 1,
    "email_routings": [{"recipients": "sales@example.org", "subject": "A lead: {{ name }}"}],
}]))]
pub struct Routings {
    /// The funnel by its id or slug, when the query does not name it.
    #[serde(default)]
    pub funnel_id: Option<WhichFunnel>,
    /// The same under another name.
    #[serde(default)]
    pub id: Option<WhichFunnel>,
    /// The `rev` that the author has seen.
    #[serde(default)]
    pub rev: Option<i64>,
    /// The rules, which replace all others.
    #[schemars(with = "Vec<Rule>")]
    pub email_routings: Vec<Json>,
}

/// What a copy of a funnel is called.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "DuplicateFunnel")]
#[schemars(extend("examples" = [{"id": 1, "name": "Leads in French", "language_short": "fr"}]))]
pub struct Duplicated {
    /// The funnel by its id or slug, when the query does not name it.
    #[serde(default)]
    pub id: Option<WhichFunnel>,
    /// Another name.
    #[serde(default)]
    pub name: Option<String>,
    /// Another slug; without one a free slug is taken.
    #[serde(default)]
    pub slug: Option<String>,
    /// Another language: the copy is a language version of the funnel.
    #[serde(default)]
    pub language_short: Option<String>,
}
