//! How handlers of plugins begin changes.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::{Change, Result};

/// Begins a change on behalf of a caller or a run. Refuses who may no longer write.
pub type Begin = Arc<dyn Fn() -> BoxFuture<'static, Result<Change>> + Send + Sync>;
