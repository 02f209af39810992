//! Plugins of a running site: what applying them would change, applying and removing them, and
//! noticing that another process did.

use super::{
    Cms,
    plugins::{Opening, declared},
};
use crate::{
    Actor, Change, Code, Error, Result,
    content::{Changes, install},
    plugins::{self, Manifest, PluginState, Problem, installed},
};

/// What applying a plugin changes, or has changed.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The plugin.
    pub plugin: String,
    /// Problems of its declaration. Then nothing is changed.
    pub problems: Vec<Problem>,
    /// What changes in the database.
    pub changes: Changes,
    /// Events that are new.
    pub events: Vec<String>,
    /// Whether it was removed, and comes back.
    pub removed: bool,
}

impl Cms {
    /// Loads the plugins for the first time.
    pub(super) async fn begin(&self, opening: Opening) -> Result<()> {
        // Afterwards only changes by other processes are news.
        self.db().catch_up().await?;
        self.load(opening, None).await
    }

    /// What applying the plugins of the folder would change. Changes nothing.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be read; `not_found` when the folder has no plugin
    /// `only`.
    pub async fn plugin_differences(&self, only: Option<&str>) -> Result<Vec<Difference>> {
        let installed = installed::all(self.db()).await?;
        let given: Vec<_> = self.0.given.iter().map(|plugin| plugin.manifest()).collect();
        let mut differences = Vec::new();
        for found in plugins::load_folder(&self.settings().dirs.plugins, &given) {
            if only.is_some_and(|only| only != found.id) {
                continue;
            }
            let before = installed.get(&found.id);
            let mut difference = Difference {
                plugin: found.id.clone(),
                problems: Vec::new(),
                changes: Changes::default(),
                events: Vec::new(),
                removed: before.is_some_and(|installed| installed.removed),
            };
            match &found.outcome {
                Err(problems) => difference.problems.clone_from(problems),
                Ok(manifest) => {
                    let before = before.and_then(|installed| installed.manifest());
                    difference.events = new_events(manifest, before.as_ref());
                    self.compare(manifest, &mut difference).await?;
                }
            }
            differences.push(difference);
        }
        if let (Some(id), true) = (only, differences.is_empty()) {
            let detail = format!("The folder of plugins has no plugin {id:?}.");
            return Err(Error::new(Code::NotFound, detail));
        }
        Ok(differences)
    }

    async fn compare(&self, manifest: &Manifest, difference: &mut Difference) -> Result<()> {
        let others = self.tables().without(&manifest.id);
        let states = self.plugins().states();
        let beside: Vec<PluginState> =
            states.iter().filter(|state| state.id != manifest.id).cloned().collect();
        let declared = declared(manifest, &manifest.tables);
        let clashes = [others.check_names(declared), plugins::check_names(&beside, manifest)];
        difference.problems =
            clashes.into_iter().filter_map(Result::err).map(Problem::from).collect();
        difference.changes = install::changes(self.db(), &others, declared).await?;
        Ok(())
    }

    /// Reads the plugins of the folder again and takes them into service: their tables get their
    /// declared form. With `only`, just that one, also when it was removed. Returns what was
    /// changed, and the problems of those that keep their earlier declaration.
    ///
    /// # Errors
    /// As [`Cms::plugin_differences`].
    pub async fn apply_plugins(&self, only: Option<&str>) -> Result<Vec<Difference>> {
        let mut differences = self.plugin_differences(only).await?;
        if let Some(id) = only.filter(|_| differences.iter().any(|one| one.removed)) {
            let mut change = self.change(Actor::System).await?;
            installed::remove(&mut change, id, false).await?;
            change.commit().await?;
        }
        self.load(Opening::Update, only).await?;
        let states = self.plugins().states();
        for difference in &mut differences {
            if let Some(state) = states.iter().find(|state| state.id == difference.plugin) {
                difference.problems.clone_from(&state.problems);
            }
        }
        Ok(differences)
    }

    /// Takes a plugin out of service until it is applied by name. Its tables and their rows stay.
    /// After the commit [`Cms::refresh_plugins`] makes this process notice.
    ///
    /// # Errors
    /// `not_found`; `conflict` for a plugin that the program contains.
    pub async fn remove_plugin(&self, change: &mut Change, id: &str) -> Result<()> {
        if self.0.given.iter().any(|plugin| plugin.manifest().id == id) {
            let detail = format!("{id} is part of the program, so it cannot be removed.");
            return Err(Error::new(Code::Conflict, detail));
        }
        if installed::remove(change, id, true).await? {
            return Ok(());
        }
        let detail = format!("No plugin {id:?} was ever in service.");
        Err(Error::new(Code::NotFound, detail))
    }

    /// Takes the plugins into service as the database remembers them. Changes no table.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be read.
    pub async fn refresh_plugins(&self) -> Result<()> {
        self.load(Opening::Inspect, None).await
    }

    /// Refreshes the plugins when another process has applied or removed some.
    pub(super) async fn follow_plugins(&self, changed: &[String]) {
        if changed.iter().any(|table| table == installed::TABLE)
            && let Err(error) = self.refresh_plugins().await
        {
            tracing::warn!(%error, "plugins that another process applied are not in service here");
        }
    }
}

fn new_events(manifest: &Manifest, before: Option<&Manifest>) -> Vec<String> {
    let known = |name: &str| {
        before.is_some_and(|before| before.webhook_events.iter().any(|event| event.name == name))
    };
    let names = manifest.webhook_events.iter().map(|event| &event.name);
    names.filter(|name| !known(name)).cloned().collect()
}
