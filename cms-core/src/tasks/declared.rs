//! The tasks that plugins in service declare, and the service's own tasks.

use super::Inner;
use crate::{
    Millis,
    plugins::{Plugins, TaskHandler},
};

/// The timeout of a run in seconds, if its task declares no `timeout_s`.
pub(crate) const TIMEOUT_S: u64 = 3_600;

/// A task as its plugin declares it.
pub(super) struct Declared {
    pub(super) plugin: String,
    pub(super) name: String,
    pub(super) interval_s: u64,
    /// The timeout of a run in seconds.
    pub(super) timeout_s: u64,
    pub(super) work: Work,
}

/// A task of the service itself. It is listed under the name of an area, as a plugin's task is
/// under its plugin.
#[derive(Clone)]
pub(crate) struct ServiceTask {
    pub(crate) area: &'static str,
    pub(crate) name: &'static str,
    pub(crate) interval_s: u64,
    pub(crate) timeout_s: u64,
    pub(crate) handler: TaskHandler,
}

/// Who declares the tasks to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TaskOwner {
    Plugins,
    Service,
}

/// The work of a run.
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

/// All tasks: those of plugins in load order, then the service's own.
pub(super) fn all(site: &Inner) -> Vec<Declared> {
    let mut tasks = of(site, TaskOwner::Plugins);
    tasks.extend(of(site, TaskOwner::Service));
    tasks
}

pub(super) fn of(site: &Inner, owner: TaskOwner) -> Vec<Declared> {
    match owner {
        TaskOwner::Plugins => of_plugins(&site.plugins),
        TaskOwner::Service => site.own.iter().map(Declared::from).collect(),
    }
}

impl From<&ServiceTask> for Declared {
    fn from(own: &ServiceTask) -> Self {
        Self {
            plugin: own.area.to_owned(),
            name: own.name.to_owned(),
            interval_s: own.interval_s,
            timeout_s: own.timeout_s,
            work: Work::Handler(own.handler.clone()),
        }
    }
}

fn of_plugins(plugins: &Plugins) -> Vec<Declared> {
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
                timeout_s: task.timeout_s.unwrap_or(TIMEOUT_S),
                work: handler
                    .map(Work::Handler)
                    .or_else(|| task.script.clone().map(Work::Script))
                    .unwrap_or(Work::Nothing),
            }
        })
    });
    tasks.collect()
}
