//! What a plugin written in Rust answers: custom content of buttons, and endpoints.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value as Json;

use super::{begin::Begin, manifest::Method};
use crate::{Change, Result, items::Items};

/// Makes custom content.
pub(crate) type ContentHandler =
    Arc<dyn Fn(ContentCall) -> BoxFuture<'static, Result<Json>> + Send + Sync>;

/// Answers an endpoint.
pub(crate) type EndpointHandler =
    Arc<dyn Fn(EndpointCall) -> BoxFuture<'static, Result<Json>> + Send + Sync>;

/// An endpoint's handler, and the tables that its replies are made from.
#[derive(Clone)]
pub(crate) struct Answering {
    pub(crate) handler: EndpointHandler,
    pub(crate) tables: Vec<String>,
}

/// One look at custom content.
#[derive(Clone)]
pub struct ContentCall {
    pub(crate) row: Option<String>,
    pub(crate) items: Items,
}

impl ContentCall {
    /// The id of the row that the button belongs to; None in a header.
    #[must_use]
    pub fn row(&self) -> Option<&str> {
        self.row.as_deref()
    }

    /// Records of content tables. No rights limit them: whoever sees the button sees what you show.
    #[must_use]
    pub fn items(&self) -> &Items {
        &self.items
    }
}

/// One call of an endpoint.
#[derive(Clone)]
pub struct EndpointCall {
    /// The method. HEAD is GET.
    pub method: Method,
    /// The parameters of the query.
    pub query: Vec<(String, String)>,
    /// The body; null without one.
    pub body: Json,
    /// Records of content tables. No rights limit them: whoever may call sees what you answer.
    pub items: Items,
    /// Begins a change on behalf of the caller.
    pub begin: Begin,
}

impl EndpointCall {
    /// A parameter of the query.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Begins a change on behalf of the caller.
    ///
    /// # Errors
    /// The refusal of a caller who was revoked meanwhile. As every write.
    pub async fn change(&self) -> Result<Change> {
        (self.begin)().await
    }
}
