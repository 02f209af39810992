//! `deployment.completed`: a deployment has ended.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::Id;
use crate::events::{EventData, Payload};

/// A deployment has ended, well or not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DeploymentCompleted {
    /// The deployment.
    pub deployment: Deployment,
}

/// A deployment. Only target and status are required.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Deployment {
    /// What was deployed to: 1 to 200 characters, such as `production`.
    #[schemars(extend("minLength" = 1, "maxLength" = 200))]
    pub target: String,
    /// How it ended.
    pub status: DeploymentStatus,
    /// Its id in the program that deploys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Id>,
    /// What was deployed, up to 200 characters: a version, a commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxLength" = 200))]
    pub version: Option<String>,
    /// Where it can be seen, up to 2000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxLength" = 2000))]
    pub url: Option<String>,
    /// When it began, as RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub started_at: Option<String>,
    /// How long it took, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// What the program says about it, up to 10000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxLength" = 10_000))]
    pub message: Option<String>,
    /// What else the program tells.
    #[serde(flatten)]
    pub more: Map<String, Json>,
}

/// How a deployment ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DeploymentStatus {
    /// The target has what was deployed.
    Succeeded,
    /// The target is as it was, or broken.
    Failed,
}

impl Deployment {
    /// A deployment of which only target and status are known.
    pub fn new(target: impl Into<String>, status: DeploymentStatus) -> Self {
        Self {
            target: target.into(),
            status,
            id: None,
            version: None,
            url: None,
            started_at: None,
            duration_ms: None,
            message: None,
            more: Map::new(),
        }
    }
}

impl EventData for DeploymentCompleted {
    const NAME: &'static str = "deployment.completed";
}

impl Payload for DeploymentCompleted {
    fn example() -> Self {
        let deployment = Deployment {
            id: Some("20261121-3".into()),
            version: Some("1.4.0".to_owned()),
            url: Some("https://www.example.org/".to_owned()),
            started_at: Some("2026-11-21T09:28:11Z".to_owned()),
            duration_ms: Some(108_400),
            ..Deployment::new("production", DeploymentStatus::Succeeded)
        };
        Self { deployment }
    }
}
