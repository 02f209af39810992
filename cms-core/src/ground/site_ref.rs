//! The site, as hooks and handlers of plugins hold it. They are a layer below the site and cannot
//! name its type; `site/handlers.rs` gives them the typed site.

use std::{
    any::Any,
    fmt,
    sync::{Arc, Weak},
};

/// A weak reference to the site, so that no handler keeps it open.
#[derive(Clone, Default)]
pub(crate) struct SiteRef(Option<Weak<dyn Any + Send + Sync>>);

impl SiteRef {
    pub(crate) fn of<T: Any + Send + Sync>(site: &Arc<T>) -> Self {
        let site: Weak<T> = Arc::downgrade(site);
        Self(Some(site))
    }

    /// The site; `None`: its last handle was dropped.
    pub(crate) fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.0.as_ref()?.upgrade()?.downcast().ok()
    }
}

impl fmt::Debug for SiteRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SiteRef")
    }
}
