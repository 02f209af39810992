//! Plugins extend the service. Each is declared as JSON or as a Rust value.
//!
//! ```text
//! manifest  a plugin's declarations, and their JSON Schema
//! reading   plugin.json → manifest, with every fault of its form and the places of values
//! check     checks of a manifest whose form is right
//! problem   a fault of a manifest, with pointer, place and remedy
//! load      reads plugins/<id>/plugin.json
//! script_path  the rule of a script's path, and its file
//! handlers  what a plugin written in Rust runs by itself
//! index     declarations of the plugins in service: tables, events, permission keys
//! ```

mod check;
mod handlers;
mod index;
mod load;
pub mod manifest;
mod problem;
mod reading;
mod script_path;

use std::{collections::BTreeMap, sync::Arc};

use arc_swap::ArcSwap;

pub use handlers::{Begin, Handlers, ScriptCall, ScriptInput, ScriptReply, TaskRun};
pub(crate) use handlers::{ScriptHandler, TaskHandler};
pub use index::Index;
pub(crate) use index::check_permissions;
pub use load::{LoadedPlugin, check_folder, load_folder};
pub use manifest::{Button, EventDeclaration, List, Manifest, schema};
pub use problem::Problem;
pub(crate) use script_path::find_script;
pub use script_path::is_script_path;

/// A plugin of the embedding program. Every [`Manifest`] is one; your own type may hold state
/// beside its manifest.
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
    /// Its declarations. Read once, when the site opens.
    fn manifest(&self) -> Manifest;

    /// What it runs by itself. Read once, when the site opens.
    fn handlers(&self) -> Handlers {
        Handlers::default()
    }
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
    /// By the plugin's id.
    handlers: BTreeMap<String, Handlers>,
}

/// A plugin that the site found.
#[derive(Clone, Debug)]
pub struct PluginState {
    /// Its id.
    pub id: String,
    /// Its problems; empty when it is in service.
    pub problems: Vec<Problem>,
    /// Its declarations, when it is in service.
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
    /// All plugins that were found, in load order.
    #[must_use]
    pub fn states(&self) -> Arc<Vec<PluginState>> {
        self.0.load().states.clone()
    }

    /// The declarations of the plugins in service.
    #[must_use]
    pub fn index(&self) -> Arc<Index> {
        self.0.load().index.clone()
    }

    /// The handler of a plugin's task.
    pub(crate) fn task_handler(&self, plugin: &str, name: &str) -> Option<TaskHandler> {
        self.0.load().handlers.get(plugin)?.of_task(name)
    }

    /// The handler of a plugin's script.
    pub(crate) fn script_handler(&self, plugin: &str, path: &str) -> Option<ScriptHandler> {
        self.0.load().handlers.get(plugin)?.of_script(path)
    }

    /// The declarations of a plugin that is in service.
    pub(crate) fn manifest(&self, id: &str) -> Option<Arc<Manifest>> {
        let states = self.states();
        states.iter().find(|state| state.id == id)?.manifest.clone()
    }

    pub(crate) fn set(&self, states: Vec<PluginState>, handlers: BTreeMap<String, Handlers>) {
        let index = Index::new(states.iter().filter_map(|state| state.manifest.as_deref()));
        self.0.store(Arc::new(Known { states: states.into(), index: index.into(), handlers }));
    }
}
