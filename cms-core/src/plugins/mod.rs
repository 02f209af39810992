//! Plugins: what extends the service, declared as JSON or as a Rust value.

mod declaration;
mod load;

use std::sync::Arc;

use arc_swap::ArcSwap;

pub use declaration::{EventDeclaration, Plugin};
pub use load::{LoadedPlugin, load_folder};

/// The plugins of a site: `cms.plugins()`.
#[derive(Clone, Debug, Default)]
pub struct Plugins(Arc<ArcSwap<Vec<PluginState>>>);

/// A plugin and whether it is in use.
#[derive(Clone, Debug)]
pub struct PluginState {
    /// Its id.
    pub id: String,
    /// What is wrong with it; empty when it is in use.
    pub problems: Vec<String>,
}

impl Plugins {
    /// All that were found, in the order in which they were loaded.
    #[must_use]
    pub fn states(&self) -> Arc<Vec<PluginState>> {
        self.0.load_full()
    }

    pub(crate) fn set(&self, states: Vec<PluginState>) {
        self.0.store(Arc::new(states));
    }
}
