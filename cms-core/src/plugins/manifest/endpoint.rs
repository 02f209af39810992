//! Endpoints of a plugin.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::{access::spelled, events::Rules};

/// An endpoint: `/api/<endpoint>`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct EndpointDeclaration {
    /// A content table of the plugin, which is read, or a handler of the embedding program.
    #[serde(rename = "modelPath")]
    #[schemars(length(min = 1))]
    pub model_path: String,
    /// Its path under `/api/`. Outside `backend/` dashes become underscores. For a handler, parts
    /// after the first may be parameters: `orders/{id}/pay`.
    #[schemars(regex(pattern = "^[A-Za-z0-9_-]+(/([A-Za-z0-9_-]+|\\{[a-z][a-z0-9_]*\\}))*$"))]
    pub endpoint: String,
    /// Its methods. A table can only be read.
    #[serde(default = "get")]
    #[schemars(length(min = 1), extend("uniqueItems" = true))]
    pub methods: Vec<Method>,
    /// Whether callers need neither key nor login.
    #[serde(default)]
    pub public: bool,
    /// JSON Schema of the body of POST and PATCH, which is judged before the handler runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Map<String, Json>>,
    /// JSON Schema of `data` in the handler's reply, for those who call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<Map<String, Json>>,
}

/// Stands for the id of a record in a shape, if the service created the table.
pub(super) const NUMBER: &str = "{number}";

/// Whether one request could match both shapes.
pub(crate) fn meet(one: &str, other: &str) -> bool {
    let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let covers = |shape: &str, part: &str| shape == "{}" || (shape == NUMBER && is_number(part));
    let mut parts = one.split('/').zip(other.split('/'));
    one.split('/').count() == other.split('/').count()
        && parts.all(|(a, b)| a == b || covers(a, b) || covers(b, a))
}

/// The name of a parameter, if the part of a path is one.
fn named(part: &str) -> Option<&str> {
    part.strip_prefix('{')?.strip_suffix('}')
}

fn get() -> Vec<Method> {
    vec![Method::Get]
}

impl EndpointDeclaration {
    /// The path that is served, with its parameters in braces.
    #[must_use]
    pub fn path(&self) -> String {
        spelled(format!("/api/{}", self.endpoint))
    }

    /// The names of its parameters.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = &str> {
        self.endpoint.split('/').filter_map(named)
    }

    /// The path without the names of its parameters. Two endpoints of the same shape would match
    /// the same requests.
    pub(crate) fn shape(&self) -> String {
        let path = self.path();
        let parts = path.split('/').map(|part| if named(part).is_some() { "{}" } else { part });
        parts.collect::<Vec<_>>().join("/")
    }

    /// What its bodies are judged by.
    pub(crate) fn rules(&self) -> Option<Rules> {
        self.body.clone().map(|schema| Rules::new(Json::Object(schema)))
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

    /// Whether its requests have a body that handlers read.
    pub(crate) fn has_body(self) -> bool {
        matches!(self, Self::Post | Self::Patch)
    }
}
