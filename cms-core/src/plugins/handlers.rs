//! What a plugin of the embedding program runs by itself: its tasks.

use std::{collections::BTreeMap, fmt, future::Future, sync::Arc};

use futures_util::future::BoxFuture;

use super::{Manifest, Problem};
use crate::{Change, Result, items::Items};

/// Begins a change on behalf of a run. Refuses when the run may no longer write.
pub type Begin = Arc<dyn Fn() -> BoxFuture<'static, Result<Change>> + Send + Sync>;

/// Runs a task.
pub(crate) type TaskHandler = Arc<dyn Fn(TaskRun) -> BoxFuture<'static, Result<()>> + Send + Sync>;

/// The handlers of a plugin, by the names in its manifest.
///
/// ```
/// use cms_core::{items::IfMatch, plugins::Handlers};
///
/// let handlers = Handlers::default().task("purge", |run| async move {
///     let mut change = run.change().await?;
///     run.items().delete(&mut change, "orders", "7", None, &IfMatch::Nothing).await?;
///     change.commit().await
/// });
/// ```
#[derive(Clone, Default)]
pub struct Handlers {
    tasks: BTreeMap<String, TaskHandler>,
}

impl Handlers {
    /// Adds the handler of the tasks whose `handler` is this name. An error makes the run fail;
    /// its text is kept in the history.
    #[must_use]
    pub fn task<F>(
        mut self,
        name: &str,
        handler: impl Fn(TaskRun) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Result<()>> + Send + 'static,
    {
        let handler: TaskHandler = Arc::new(move |run| Box::pin(handler(run)));
        self.tasks.insert(name.to_owned(), handler);
        self
    }

    pub(crate) fn of_task(&self, name: &str) -> Option<TaskHandler> {
        self.tasks.get(name).cloned()
    }

    /// Handlers that a manifest names and that are not here.
    /// Handlers that a manifest names and that are not here.
    pub(crate) fn missing(&self, manifest: &Manifest) -> Vec<Problem> {
        [self.missing_tasks(manifest), missing_endpoints(manifest), missing_classes(manifest)]
            .concat()
    }

    fn missing_tasks(&self, manifest: &Manifest) -> Vec<Problem> {
        let named = manifest.tasks.iter().enumerate();
        let named = named.filter_map(|(i, task)| Some((i, task.handler.as_deref()?)));
        let missing = named.filter(|(_, name)| !self.tasks.contains_key(*name));
        missing
            .map(|(i, name)| {
                let remedy = format!(
                    "no handler is named {name:?}: only a plugin written in Rust has handlers, \
                     others name a script"
                );
                Problem::new(format!("/tasks/{i}/handler"), remedy)
            })
            .collect()
    }
}

fn missing_endpoints(manifest: &Manifest) -> Vec<Problem> {
    let is_table = |name: &str| manifest.tables.iter().any(|table| table.name == name);
    let named = manifest.endpoints.iter().enumerate();
    let missing = named.filter(|(_, endpoint)| !is_table(&endpoint.model_path));
    missing
        .map(|(i, endpoint)| {
            let remedy = format!(
                "{:?} is no table of this plugin: only a plugin written in Rust has handlers",
                endpoint.model_path
            );
            Problem::new(format!("/endpoints/{i}/modelPath"), remedy)
        })
        .collect()
}

fn missing_classes(manifest: &Manifest) -> Vec<Problem> {
    let named = manifest.buttons().into_iter();
    let named = named.filter_map(|(at, button)| Some((at, button.values.as_ref()?.class.clone()?)));
    named
        .map(|(at, class)| {
            let remedy = format!(
                "there is no class {class:?}: only a plugin written in Rust has custom content"
            );
            Problem::new(format!("{at}/values/class"), remedy)
        })
        .collect()
}

impl fmt::Debug for Handlers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handlers").field("tasks", &self.tasks.keys()).finish()
    }
}

/// One run of a task, as its handler sees it.
#[derive(Clone)]
pub struct TaskRun {
    pub(crate) id: i64,
    pub(crate) name: String,
    pub(crate) items: Items,
    pub(crate) begin: Begin,
}

impl TaskRun {
    /// The id of the run in the history.
    #[must_use]
    pub fn id(&self) -> i64 {
        self.id
    }

    /// The name of the task.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Records of content tables.
    #[must_use]
    pub fn items(&self) -> &Items {
        &self.items
    }

    /// Begins a change on behalf of the system, and renews the lease of the run within it: as long
    /// as the change lasts, no other process begins the task.
    ///
    /// # Errors
    /// `conflict` when the lease is lost, because the process stood still: another one runs the
    /// task, and this run can change nothing more. As every write.
    pub async fn change(&self) -> Result<Change> {
        (self.begin)().await
    }
}
