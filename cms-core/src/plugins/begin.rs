//! How handlers of plugins begin changes.

use std::{fmt, panic::Location, sync::Arc};

use futures_util::future::BoxFuture;

use crate::{Change, Result, base::Base};

/// Begins changes on behalf of a caller or a run. Refuses who may no longer write, and a task that
/// would wait for itself.
#[derive(Clone)]
pub struct Begin {
    base: Base,
    begin: Arc<dyn Fn() -> BoxFuture<'static, Result<Change>> + Send + Sync>,
}

impl Begin {
    pub(crate) fn new(
        base: &Base,
        begin: impl Fn() -> BoxFuture<'static, Result<Change>> + Send + Sync + 'static,
    ) -> Self {
        Self { base: base.clone(), begin: Arc::new(begin) }
    }

    #[track_caller]
    pub(crate) fn change(&self) -> impl Future<Output = Result<Change>> + Send + use<'_> {
        self.change_at(Location::caller())
    }

    /// As [`Begin::change`], for a place of the program's source.
    pub(crate) fn change_at(
        &self,
        at: &'static Location<'static>,
    ) -> impl Future<Output = Result<Change>> + Send + use<'_> {
        self.base.held(at, (self.begin)())
    }
}

impl fmt::Debug for Begin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Begin").finish_non_exhaustive()
    }
}
