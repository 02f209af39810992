//! The site, as handlers of plugins hold it. Plugins stand below the site, so they cannot name it:
//! the site itself gives handlers its type (`site/handlers.rs`).

use std::{
    any::Any,
    fmt,
    sync::{Arc, Weak},
};

/// A site that may be gone: no handler keeps one open.
#[derive(Clone, Default)]
pub(crate) struct SiteRef(Option<Weak<dyn Any + Send + Sync>>);

impl SiteRef {
    pub(crate) fn of<T: Any + Send + Sync>(site: &Arc<T>) -> Self {
        let site: Weak<T> = Arc::downgrade(site);
        Self(Some(site))
    }

    /// None: the last handle on it was dropped.
    pub(crate) fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.0.as_ref()?.upgrade()?.downcast().ok()
    }
}

impl fmt::Debug for SiteRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SiteRef")
    }
}
