//! Endpoints of a plugin.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::spelled;

/// An endpoint: `/api/<endpoint>`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EndpointDeclaration {
    /// A content table of the plugin, which is read, or a handler of the embedding program.
    #[serde(rename = "modelPath")]
    #[schemars(length(min = 1))]
    pub model_path: String,
    /// Its path under `/api/`. Outside `backend/` dashes become underscores.
    #[schemars(regex(pattern = "^[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*$"))]
    pub endpoint: String,
    /// Its methods. A table can only be read.
    #[serde(default = "get")]
    #[schemars(length(min = 1), extend("uniqueItems" = true))]
    pub methods: Vec<Method>,
    /// Whether callers need neither key nor login.
    #[serde(default)]
    pub public: bool,
}

fn get() -> Vec<Method> {
    vec![Method::Get]
}

impl EndpointDeclaration {
    /// The path that is served.
    #[must_use]
    pub fn path(&self) -> String {
        spelled(format!("/api/{}", self.endpoint))
    }
}

/// A method of HTTP.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema,
)]
#[serde(rename_all = "UPPERCASE")]
#[expect(missing_docs, reason = "the names say it all")]
pub enum Method {
    Get,
    Post,
    Patch,
    Delete,
}

impl Method {
    /// As a request names it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}
