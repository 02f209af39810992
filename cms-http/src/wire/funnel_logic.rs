//! `/api/backend/formfunnel`: conditions explained, ways and mail rules tried

use cms_core::{
    conditions::{Problem, Traced},
    funnels::{Tried, TriedRouting, WhichFunnel},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::{Body, Data, operations, parameters::NoQuery};

operations! {
    /// Evaluates a condition over answers as given, and says why. Writes nothing.
    Explain: NoQuery, Explained => Data<Explanation>;
    /// Walks a funnel as it is drawn, with all answers at once: the way, and why. Writes nothing.
    Test: NoQuery, Trial => Data<Tried>;
    /// Says which mail rule would send what to whom, and why. Writes nothing.
    RoutingTest: NoQuery, RoutingTrial => Data<TriedRouting>;
}

impl Body for Explained {}
impl Body for Trial {}
impl Body for RoutingTrial {}

/// A condition and answers.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{
    "condition": {"rules": [{"field": "budget", "op": "greater_than", "value": 5000}]},
    "answers": {"budget": 6000},
}]))]
pub struct Explained {
    /// The condition; whatever it is, it is evaluated.
    #[serde(default)]
    pub condition: Json,
    /// Answers by the ids of fields.
    #[serde(default)]
    pub answers: Map<String, Json>,
    /// Whether to refuse a condition that could not be saved.
    #[serde(default)]
    pub validate: bool,
}

/// What a condition says, and why.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Explanation {
    /// Whether it holds.
    pub result: bool,
    /// What each rule and group said.
    pub trace: Vec<Traced>,
    /// What would be told when it is saved.
    pub problems: Vec<Problem>,
}

/// A funnel and answers.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{"id": "leads", "answers": {"budget": 6000}}]))]
pub struct Trial {
    /// The funnel, by its id or slug.
    pub id: WhichFunnel,
    /// Answers by the ids of fields, of all steps; `_bucket`, `_utm.source` and such beside them.
    #[serde(default)]
    pub answers: Map<String, Json>,
}

/// A funnel, the end of a visit, and answers.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{"funnel_id": "leads", "answers": {"budget": 6000}}]))]
pub struct RoutingTrial {
    /// The funnel, by its id or slug.
    pub funnel_id: WhichFunnel,
    /// `completed` or `abandoned`.
    #[serde(default = "completed")]
    #[schemars(extend("enum" = ["completed", "abandoned"]))]
    pub trigger: String,
    /// Answers by the ids of fields, of all steps; `_bucket`, `_utm.source` and such beside them.
    #[serde(default)]
    pub answers: Map<String, Json>,
}

fn completed() -> String {
    "completed".to_owned()
}
