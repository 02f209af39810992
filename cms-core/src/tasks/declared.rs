//! The tasks that the plugins in service declare.

use crate::{
    Millis,
    plugins::{Plugins, TaskHandler},
};

/// A task as its plugin declares it.
pub(super) struct Declared {
    pub(super) plugin: String,
    pub(super) name: String,
    pub(super) interval_s: u64,
    pub(super) work: Work,
}

/// What a run does.
pub(super) enum Work {
    Handler(TaskHandler),
    /// A path below the plugin's folder `script/`.
    Script(String),
    /// Neither a handler nor a script: the checks at load refuse such a task.
    Nothing,
}

impl Declared {
    /// Milliseconds from the start of one run to the next.
    pub(super) fn interval(&self) -> Millis {
        i64::try_from(self.interval_s).unwrap_or(i64::MAX).saturating_mul(1000).max(1)
    }
}

/// All tasks, in load order.
pub(super) fn all(plugins: &Plugins) -> Vec<Declared> {
    let states = plugins.states();
    let manifests = states.iter().filter_map(|state| state.manifest.as_deref());
    let tasks = manifests.flat_map(|manifest| {
        manifest.tasks.iter().map(|task| {
            let handler = task.handler.as_deref();
            let handler = handler.and_then(|name| plugins.task_handler(&manifest.id, name));
            Declared {
                plugin: manifest.id.clone(),
                name: task.name.clone(),
                interval_s: task.interval_s,
                work: handler
                    .map(Work::Handler)
                    .or_else(|| task.script.clone().map(Work::Script))
                    .unwrap_or(Work::Nothing),
            }
        })
    });
    tasks.collect()
}
