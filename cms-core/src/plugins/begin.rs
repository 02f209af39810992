//! How handlers of plugins begin changes.

use std::{fmt, panic::Location, sync::Arc};

use futures_util::future::BoxFuture;

use crate::{Change, Result, base::Base, change::Call};

/// Begins the changes of one call of a handler. Refuses a caller that may no longer write, and a
/// call that would wait for itself.
#[derive(Clone)]
pub struct Begin {
    base: Base,
    call: Call,
    begin: Arc<dyn Fn() -> BoxFuture<'static, Result<Change>> + Send + Sync>,
}

impl Begin {
    pub(crate) fn new(
        base: &Base,
        begin: impl Fn() -> BoxFuture<'static, Result<Change>> + Send + Sync + 'static,
    ) -> Self {
        Self { base: base.clone(), call: Call::new(), begin: Arc::new(begin) }
    }

    /// Makes the events of its changes one deeper than the event that its handler is called for.
    pub(crate) fn for_event(self, depth: i64) -> Self {
        Self { call: self.call.at_depth(depth.saturating_add(1)), ..self }
    }

    /// The call for which it begins changes.
    pub(crate) fn call(&self) -> Call {
        self.call
    }

    #[track_caller]
    pub(crate) fn change(&self) -> impl Future<Output = Result<Change>> + Send + use<'_> {
        self.base.held(Some(self.call), Location::caller(), (self.begin)())
    }

    /// Begins a change for a program outside of any call of a handler.
    pub(crate) async fn change_of_task(self, at: &'static Location<'static>) -> Result<Change> {
        let change = self.base.held(None, at, (self.begin)()).await?;
        Ok(change.at_depth(self.call.depth()))
    }
}

impl fmt::Debug for Begin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Begin").finish_non_exhaustive()
    }
}
