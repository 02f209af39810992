//! Plugins: what extends the service, declared as JSON or as a Rust value.
//!
//! ```text
//! manifest  what a plugin declares
//! check     what is wrong with a manifest (pure)
//! problem   a fault with its place and remedy; locate finds the line
//! load      reads plugins/<id>/plugin.json
//! index     what the plugins in service declare: tables, events, permission keys
//! ```

mod check;
mod index;
mod load;
mod locate;
mod manifest;
mod problem;

use std::sync::Arc;

use arc_swap::ArcSwap;

pub use index::Index;
pub(crate) use index::check_permissions;
pub use load::{LoadedPlugin, load_folder};
pub use manifest::{Button, Buttons, EventDeclaration, Manifest};
pub use problem::Problem;

/// A plugin of the embedding program. A [`Manifest`] is one by itself; a type of your own may carry
/// state beside its manifest.
///
/// ```
/// use cms_core::plugins::{Manifest, Plugin};
///
/// struct Shop;
///
/// impl Plugin for Shop {
///     fn manifest(&self) -> Manifest {
///         Manifest { id: "shop".into(), name: "Shop".into(), ..Manifest::default() }
///     }
/// }
/// ```
pub trait Plugin: Send + Sync + 'static {
    /// What it declares. Read once, when the site opens.
    fn manifest(&self) -> Manifest;
}

impl Plugin for Manifest {
    fn manifest(&self) -> Manifest {
        self.clone()
    }
}

/// The plugins of a site: `cms.plugins()`. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct Plugins(Arc<ArcSwap<Known>>);

#[derive(Debug, Default)]
struct Known {
    states: Arc<Vec<PluginState>>,
    index: Arc<Index>,
}

/// A plugin that was found.
#[derive(Clone, Debug)]
pub struct PluginState {
    /// Its id.
    pub id: String,
    /// What is wrong with it; empty when it is in service.
    pub problems: Vec<Problem>,
    /// What it declares, when it is in service.
    pub manifest: Option<Arc<Manifest>>,
}

impl PluginState {
    pub(crate) fn in_service(manifest: Manifest) -> Self {
        let (id, problems) = (manifest.id.clone(), Vec::new());
        Self { id, problems, manifest: Some(Arc::new(manifest)) }
    }

    pub(crate) fn refused(id: String, problems: Vec<Problem>) -> Self {
        Self { id, problems, manifest: None }
    }
}

impl Plugins {
    /// All that were found, in the order in which they were loaded.
    #[must_use]
    pub fn states(&self) -> Arc<Vec<PluginState>> {
        self.0.load().states.clone()
    }

    /// What the plugins in service declare.
    #[must_use]
    pub fn index(&self) -> Arc<Index> {
        self.0.load().index.clone()
    }

    pub(crate) fn set(&self, states: Vec<PluginState>) {
        let index = Index::new(states.iter().filter_map(|state| state.manifest.as_deref()));
        self.0.store(Arc::new(Known { states: states.into(), index: index.into() }));
    }
}
