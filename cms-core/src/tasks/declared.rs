//! The tasks that the plugins in service declare, and those of the service itself.

use super::Inner;
use crate::{
    Millis,
    plugins::{Plugins, TaskHandler},
};

/// After so many seconds a run is ended whose task declares no `timeout_s`.
pub(crate) const TIMEOUT_S: u64 = 3_600;

/// A task as its plugin declares it.
pub(super) struct Declared {
    pub(super) plugin: String,
    pub(super) name: String,
    pub(super) interval_s: u64,
    /// After so many seconds a run is ended.
    pub(super) timeout_s: u64,
    pub(super) work: Work,
}

/// A task of the service itself. It is shown under the name of an area, as a plugin's is.
#[derive(Clone)]
pub(crate) struct Own {
    pub(crate) area: &'static str,
    pub(crate) name: &'static str,
    pub(crate) interval_s: u64,
    pub(crate) timeout_s: u64,
    pub(crate) handler: TaskHandler,
}

/// Whose tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    Plugins,
    Own,
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

/// All tasks: those of plugins in load order, then the service's own.
pub(super) fn all(site: &Inner) -> Vec<Declared> {
    let mut tasks = of(site, Whose::Plugins);
    tasks.extend(of(site, Whose::Own));
    tasks
}

pub(super) fn of(site: &Inner, whose: Whose) -> Vec<Declared> {
    match whose {
        Whose::Plugins => of_plugins(&site.plugins),
        Whose::Own => site.own.iter().map(Declared::from).collect(),
    }
}

impl From<&Own> for Declared {
    fn from(own: &Own) -> Self {
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
