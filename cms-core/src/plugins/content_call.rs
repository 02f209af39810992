//! Custom content of buttons, made by plugins in Rust.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value as Json;

use crate::{Result, ground::SiteRef, items::Items};

/// Makes custom content.
pub(crate) type ContentHandler =
    Arc<dyn Fn(ContentCall) -> BoxFuture<'static, Result<Json>> + Send + Sync>;

/// One call for custom content.
#[derive(Clone)]
pub struct ContentCall {
    pub(crate) row: Option<String>,
    pub(crate) items: Items,
    pub(crate) site: SiteRef,
}

impl ContentCall {
    /// The id of the row that the button belongs to; `None` in a header.
    #[must_use]
    pub fn row(&self) -> Option<&str> {
        self.row.as_deref()
    }

    /// Records of content tables, without limits by rights: everyone who sees the button sees
    /// the result.
    #[must_use]
    pub fn items(&self) -> &Items {
        &self.items
    }
}
