//! Plugins extend the service. Each plugin is declared as JSON or as a Rust value.
//!
//! ```text
//! manifest  a plugin's declarations, and their JSON Schema
//! reading   plugin.json → manifest, with every fault of its form and the places of values
//! check     checks of a manifest whose form is right
//! problem   a fault of a manifest, with pointer, place and remedy
//! load      reads plugins/<id>/plugin.json
//! script_path  the rule of a script's path, and its file
//! handlers  what a plugin written in Rust runs by itself; endpoint: what it answers
//! handler_faults  what is wrong with them
//! begin     how handlers begin changes
//! guard     code that runs before an act that raises an event, and may refuse it
//! widgets   what a plugin written in Rust shows in widgets; their files, columns and taken names
//! buttons   buttons as a user sees them; select: their fixed options
//! installed what the database remembers: the last declaration in service
//! names     names that plugins declare, each with the plugin that it belongs to
//! order     who names a table of another plugin comes after it
//! index     declarations of the plugins in service: events, permission keys, what buttons write
//! ```

mod begin;
mod buttons;
mod check;
mod endpoint;
mod guard;
mod handler_faults;
mod handlers;
mod index;
pub(crate) mod installed;
mod load;
pub mod manifest;
pub(crate) mod names;
mod order;
mod problem;
mod reading;
mod script_path;
mod select;
mod widgets;

use std::{
    collections::BTreeMap,
    sync::{Arc, OnceLock},
    time::Duration,
};

use arc_swap::ArcSwap;

use crate::{Code, Error, Result, change::Call, events::Rules, ground::SiteRef, items::Items};

pub use begin::Begin;
pub(crate) use buttons::options_of;
pub use buttons::{ButtonViewer, RowStatuses, ShownButton, ShownField};
#[cfg(test)]
pub(crate) use check::problems_of_widgets;
pub use endpoint::{ContentCall, EndpointCall, EndpointReply, EndpointRequest, ReplyBody};
pub use guard::{Act, BeforeAct};
pub use handlers::{EventCall, Handlers, ScriptCall, ScriptInput, ScriptReply, TaskRun};
pub(crate) use handlers::{EventHandler, ScriptHandler, TaskHandler};
pub use index::Index;
pub(crate) use load::has_manifest;
pub use load::{LoadedPlugin, check_folder, check_text, full_path, load_folder};
pub use manifest::document::{Manifest, schema};
use manifest::{Button, List};
pub use names::Names;
pub(crate) use order::in_order;
pub use problem::Problem;
pub(crate) use script_path::find_script;
pub(crate) use script_path::is_script_path;
pub(crate) use select::bound_tables;
#[cfg(test)]
pub(crate) use widgets::BUILT_IN_WIDGETS;
pub(crate) use widgets::{
    MAX_ICON_BYTES, MOST_COLUMNS, check_made, check_rows, find_component, find_icon, rows_of,
};
pub use widgets::{PlacedWidget, TODAY, WIDGET_COLUMNS, WidgetContent};

/// A plugin of the embedding program. Every [`Manifest`] is a plugin; your own type may hold state
/// besides its manifest.
///
/// ```
/// use cms_core::plugins::{Manifest, Plugin};
///
/// struct Shop;
///
/// impl Plugin for Shop {
///     fn manifest(&self) -> Manifest {
///         let mut manifest = Manifest::default();
///         manifest.id = "shop".into();
///         manifest
///     }
/// }
/// ```
pub trait Plugin: Send + Sync + 'static {
    /// Its declarations. Read when the site opens, and when plugins are applied.
    fn manifest(&self) -> Manifest;

    /// Its code: the handlers. Read together with the declarations.
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
pub struct Plugins {
    known: Arc<ArcSwap<Registry>>,
    /// The site, and the timeout of its handlers.
    site: Arc<OnceLock<(SiteRef, Duration)>>,
}

#[derive(Debug, Default)]
struct Registry {
    states: Arc<Vec<PluginState>>,
    index: Arc<Index>,
    /// By the plugin's id.
    handlers: BTreeMap<String, Handlers>,
    /// What the bodies of endpoints are judged by, by the endpoint's path.
    bodies: BTreeMap<String, Rules>,
    /// Plugins that were in service and whose folder is gone.
    gone: Vec<String>,
    /// Tables that plugins in service own but no longer declare, by the plugin's id.
    left: BTreeMap<String, Vec<String>>,
}

/// A plugin that the site found.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PluginState {
    /// Its id.
    pub id: String,
    /// Problems of its present declaration; empty when that declaration is in service.
    pub problems: Vec<Problem>,
    /// The declaration in service: the present one, or the previous one when the present one
    /// has problems.
    pub manifest: Option<Arc<Manifest>>,
}

impl PluginState {
    pub(crate) fn in_service(manifest: Manifest) -> Self {
        let (id, problems) = (manifest.id.clone(), Vec::new());
        Self { id, problems, manifest: Some(Arc::new(manifest)) }
    }

    /// The newer declaration has problems, so the previous one stays in service.
    pub(crate) fn earlier(manifest: Manifest, problems: Vec<Problem>) -> Self {
        Self { problems, ..Self::in_service(manifest) }
    }

    /// Whether an earlier declaration is in service, because the present one has problems.
    #[must_use]
    pub fn is_earlier(&self) -> bool {
        self.manifest.is_some() && !self.problems.is_empty()
    }

    pub(crate) fn refused(id: String, problems: Vec<Problem>) -> Self {
        Self { id, problems, manifest: None }
    }
}

impl Plugins {
    /// Sets the site of the plugins, and the timeout of handlers.
    pub(crate) fn set_site(&self, site: SiteRef, limit: Duration) {
        let _ = self.site.set((site, limit));
    }

    /// Stops a handler that takes too long. An open change of the handler is rolled back.
    ///
    /// # Errors
    /// `unavailable` when the handler was stopped.
    pub(crate) async fn in_time<T>(
        &self,
        (plugin, name): (&str, &str),
        call: Call,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let work = call.run(work);
        let Some((_, limit)) = self.site.get() else { return work.await };
        let outcome = tokio::time::timeout(*limit, work).await;
        outcome.unwrap_or_else(|_| {
            tracing::error!(plugin, name, "a handler took too long");
            let detail = format!(
                "The handler took longer than {} s, see scripts.timeout_s: what it had not \
                 committed was undone.",
                limit.as_secs()
            );
            Err(Error::new(Code::Unavailable, detail))
        })
    }

    /// The site, for handlers.
    pub(crate) fn site(&self) -> SiteRef {
        self.site.get().map(|(site, _)| site.clone()).unwrap_or_default()
    }

    /// All plugins that were found, in load order.
    #[must_use]
    pub fn states(&self) -> Arc<Vec<PluginState>> {
        self.known.load().states.clone()
    }

    /// The declarations of the plugins in service.
    #[must_use]
    pub fn index(&self) -> Arc<Index> {
        self.known.load().index.clone()
    }

    /// Whether the plugins in service are still those of this index.
    #[must_use]
    pub fn has(&self, index: &Arc<Index>) -> bool {
        Arc::ptr_eq(&self.known.load().index, index)
    }

    /// The handler of a plugin's task.
    pub(crate) fn task_handler(&self, plugin: &str, name: &str) -> Option<TaskHandler> {
        self.known.load().handlers.get(plugin)?.of_task(name)
    }

    /// The event handlers of the plugins in service, each with the id of its plugin.
    pub(crate) fn event_handlers(&self) -> Vec<(String, EventHandler)> {
        let known = self.known.load();
        let of = |(id, own): (&String, &Handlers)| {
            own.events.iter().map(|one| (id.clone(), one.clone())).collect::<Vec<_>>()
        };
        known.handlers.iter().flat_map(of).collect()
    }

    /// The handler of a plugin's script.
    pub(crate) fn script_handler(&self, plugin: &str, path: &str) -> Option<ScriptHandler> {
        self.known.load().handlers.get(plugin)?.of_script(path)
    }

    /// The ids of plugins in service with buttons or tasks that run a file.
    pub(crate) fn with_scripts(&self) -> Vec<String> {
        let has_files = |manifest: &Manifest| {
            let buttons = manifest.buttons().into_iter();
            let scripts = buttons.filter_map(|(_, button)| button.script.as_deref());
            let mut files =
                scripts.filter(|path| self.script_handler(&manifest.id, path).is_none());
            files.next().is_some() || manifest.tasks.iter().any(|task| task.script.is_some())
        };
        let states = self.states();
        let manifests = states.iter().filter_map(|state| state.manifest.as_deref());
        manifests.filter(|one| has_files(one)).map(|one| one.id.clone()).collect()
    }

    /// The code of a plugin in service that makes the content of a widget.
    pub(crate) fn widget_content(&self, widget: &str) -> Option<Arc<dyn WidgetContent>> {
        self.known.load().handlers.values().find_map(|own| own.widgets.get(widget).cloned())
    }

    /// The icon of this name that a plugin in Rust has added.
    pub(crate) fn icon(&self, plugin: &str, file: &str) -> Option<&'static [u8]> {
        self.known.load().handlers.get(plugin)?.icons.get(file).copied()
    }

    /// The manifest of a plugin in service.
    #[must_use]
    pub fn manifest(&self, plugin: &str) -> Option<Arc<Manifest>> {
        let known = self.known.load();
        known.states.iter().find(|state| state.id == plugin)?.manifest.clone()
    }

    /// Custom content of a plugin; `None`: the plugin has no such class.
    ///
    /// # Errors
    /// The errors of its handler.
    pub async fn content(
        &self,
        items: &Items,
        plugin: &str,
        class: &str,
        row: Option<String>,
    ) -> Option<Result<serde_json::Value>> {
        let handler = self.known.load().handlers.get(plugin)?.contents.get(class)?.clone();
        let call = ContentCall { row, items: items.clone(), site: self.site() };
        Some(self.in_time((plugin, class), Call::new(), handler(call)).await)
    }

    /// The answer of an endpoint's handler; `None`: the plugin has no handler of this name.
    ///
    /// # Errors
    /// `unsupported_media_type` and `validation_failed` for a body that is not JSON, or does not
    /// fit, where the endpoint has a schema. The errors of its handler.
    pub async fn answer(
        &self,
        items: &Items,
        plugin: &str,
        name: &str,
        request: EndpointRequest,
    ) -> Option<Result<EndpointReply>> {
        let known = self.known.load_full();
        let handler = known.handlers.get(plugin)?.endpoints.get(name)?.handler.clone();
        if request.method.has_body()
            && let Some(rules) = known.bodies.get(&request.path)
        {
            if request.json.is_none() && !request.body.is_empty() {
                let mend = "Send JSON, with Content-Type: application/json.";
                return Some(Err(Error::new(Code::UnsupportedMediaType, mend)));
            }
            let sent = request.json.as_ref().unwrap_or(&serde_json::Value::Null);
            let faults = rules.faults(sent, "");
            if !faults.is_empty() {
                return Some(Err(Error::invalid(faults)));
            }
        }
        let of = request.begin.call();
        let call = EndpointCall::new(request, items.clone(), self.site());
        Some(self.in_time((plugin, name), of, handler(call)).await)
    }

    /// The content tables that an endpoint's replies are made from; empty: replies are not cached.
    #[must_use]
    pub fn tables_of(&self, plugin: &str, name: &str) -> Vec<String> {
        let known = self.known.load();
        let endpoint = known.handlers.get(plugin).and_then(|handlers| handlers.endpoints.get(name));
        endpoint.map(|endpoint| endpoint.tables.clone()).unwrap_or_default()
    }

    /// Plugins that were in service and whose folder is gone.
    pub(crate) fn gone(&self) -> Vec<String> {
        self.known.load().gone.clone()
    }

    /// Notes for the operator about tables that a plugin in service no longer declares.
    #[must_use]
    pub fn left_tables(&self, plugin: &str) -> Vec<Problem> {
        let known = self.known.load();
        let tables = known.left.get(plugin).into_iter().flatten();
        let told = tables.map(|table| {
            Problem::whole(format!(
                "the table {table} is declared no longer, so nobody can read it; its rows stay in \
                 the database: declare it again, or give it up with `cms plugins release {plugin}`"
            ))
        });
        told.collect()
    }

    pub(crate) fn set(
        &self,
        states: Vec<PluginState>,
        handlers: BTreeMap<String, Handlers>,
        gone: Vec<String>,
        left: BTreeMap<String, Vec<String>>,
    ) {
        let manifests = || states.iter().filter_map(|state| state.manifest.as_deref());
        let index = Index::new(manifests());
        let endpoints = manifests().flat_map(|manifest| manifest.endpoints.iter());
        let bodies = endpoints.filter_map(|one| Some((one.path(), one.rules()?))).collect();
        let (states, index) = (states.into(), index.into());
        self.known.store(Arc::new(Registry { states, index, handlers, bodies, gone, left }));
    }
}
