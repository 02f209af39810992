//! Plugins of a running site: previews changes, applies and removes plugins, and notices that
//! another process did so.

use std::sync::Arc;

use tracing::Instrument as _;

use super::{
    Cms,
    loading::{Loading, Opening},
    plugins::in_question,
    tables::declared,
};
use crate::{
    Actor, Change, Code, Error, Result,
    content::{Action, Changes, Step, install},
    db::Lock,
    pages::widgets::WidgetChange,
    plugins::{
        self, Manifest, Names, Problem,
        installed::{self, Installed},
        names::{self, NameKind},
    },
    webhooks::Registered,
};

/// The changes that applying a plugin makes, or has made.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PluginDifference {
    /// The plugin.
    pub plugin: String,
    /// Problems of its declaration. With problems, nothing is changed.
    pub problems: Vec<Problem>,
    /// The changes to the database.
    pub changes: Changes,
    /// New events.
    pub events: Vec<String>,
    /// Widgets whose declaration differs from the registered one.
    pub widgets: Vec<WidgetChange>,
    /// Whether the plugin was removed and comes back.
    pub removed: bool,
}

impl PluginDifference {
    fn of(plugin: &str) -> Self {
        let (problems, changes, events, widgets) = Default::default();
        Self { plugin: plugin.to_owned(), problems, changes, events, widgets, removed: false }
    }

    /// Whether there are neither changes nor problems.
    fn is_nothing(&self) -> bool {
        self.problems.is_empty()
            && self.changes.is_empty()
            && self.events.is_empty()
            && self.widgets.is_empty()
    }
}

impl Cms {
    /// Loads the plugins for the first time.
    pub(super) async fn begin(&self, opening: Opening) -> Result<()> {
        // From here on only changes by other processes are news.
        self.db().catch_up().await?;
        let wanted = self.load(opening, None).await?;
        self.0.building.begin(self, wanted);
        Ok(())
    }

    /// The changes that applying the plugins would make: first those of the folder, then those of
    /// the program. Changes nothing.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be read; `not_found` when there is no plugin `only`.
    pub async fn plugin_differences(&self, only: Option<&str>) -> Result<Vec<PluginDifference>> {
        let installed = installed::all(self.db()).await?;
        let registered = self.webhooks().registered().await?;
        let given: Vec<_> = self.0.given.iter().map(|plugin| plugin.manifest()).collect();
        let states = self.plugins().states();
        let mut rows = self.rows_kept(&installed).await?;
        let is_out = |id: &str| states.iter().any(|one| one.id == id && one.manifest.is_none());
        rows.retain(|id, _| !is_out(id));
        // Plugins are compared in the order of applying, each with the plugins in service by then.
        let mut beside = Loading::with(rows, Names::load(self.db()).await?);
        beside.tables = self.tables().as_ref().clone();
        let mut differences = Vec::new();
        let is_asked = |id: &str| only.is_none_or(|only| only == id);
        let folder = plugins::load_folder(&self.settings().dirs.plugins, &given);
        let mutual = beside.names.mutual(&in_question(&folder, &installed), only);
        states.iter().filter_map(|one| one.manifest.as_deref()).for_each(|m| beside.names.hold(m));
        let mut of_program = Vec::new();
        for manifest in given.iter().filter(|given| is_asked(&given.id)) {
            let mut difference = PluginDifference::of(&manifest.id);
            let before = self.plugins().manifest(&manifest.id);
            let before = before.as_deref();
            self.compare((before, manifest), (&registered, &beside), &mut difference).await?;
            self.assume_applied(&mut beside, manifest, &difference).await?;
            of_program.push(difference);
        }
        let wanted = folder.iter().filter_map(|one| one.outcome.as_ref().ok());
        let wanted = wanted.map(|one| (one.id.clone(), one.clone())).collect();
        for found in plugins::in_order(folder, &wanted) {
            if !is_asked(&found.id) {
                continue;
            }
            let mut difference = PluginDifference::of(&found.id);
            difference.removed = installed.get(&found.id).is_some_and(|before| before.removed);
            match &found.outcome {
                Err(problems) => difference.problems.clone_from(problems),
                Ok(manifest) => {
                    // A process that begins has loaded the new declaration already.
                    let recorded = installed.get(&found.id).filter(|before| !before.removed);
                    let recorded = recorded.and_then(Installed::manifest).map(Arc::new);
                    let before = recorded.or_else(|| self.plugins().manifest(&found.id));
                    let compared = (before.as_deref(), manifest);
                    self.compare(compared, (&registered, &beside), &mut difference).await?;
                    let exposed = installed.get(&found.id).map(|before| before.exposed(manifest));
                    let mut exposed = exposed.unwrap_or_default();
                    let known = &mut difference.problems;
                    exposed.retain(|one| known.iter().all(|other| other.pointer != one.pointer));
                    known.append(&mut exposed);
                    let problems = mutual.get(&found.id).cloned().unwrap_or_default();
                    difference.problems.extend(problems);
                    difference.problems = found.located(difference.problems);
                    let checked = self.check_rows(&beside, manifest, (false, true)).await;
                    difference.problems.extend(checked.err().map(Problem::from));
                    // Changed buttons and tasks change no table, so they are compared here.
                    let before = installed.get(&found.id).filter(|before| !before.removed);
                    if difference.is_nothing()
                        && before.map(|one| one.declares(manifest)).transpose()? == Some(false)
                    {
                        let (action, table) = (Action::Record, String::new());
                        difference.changes.steps.push(Step { action, table, columns: Vec::new() });
                    }
                    if !difference.removed || only.is_some() {
                        self.assume_applied(&mut beside, manifest, &difference).await?;
                    }
                }
            }
            differences.push(difference);
        }
        differences.sort_by(|one, other| one.plugin.cmp(&other.plugin));
        differences.append(&mut of_program);
        if let (Some(id), true) = (only, differences.is_empty()) {
            let detail = format!("There is no plugin {id:?} in the folder or in the program.");
            return Err(Error::new(Code::NotFound, detail));
        }
        Ok(differences)
    }

    async fn compare(
        &self,
        (before, manifest): (Option<&Manifest>, &Manifest),
        (registered, beside): (&Registered, &Loading),
        difference: &mut PluginDifference,
    ) -> Result<()> {
        let names = manifest.webhook_events.iter().map(|event| &event.name);
        let is_new = |name: &&String| !registered.contains(&(manifest.id.clone(), (*name).clone()));
        difference.events = names.filter(is_new).cloned().collect();
        difference.widgets = self.pages().widgets().differences(manifest);
        let others = beside.tables.without(&manifest.id);
        let declared = declared(manifest, &manifest.tables);
        difference.problems = beside.names.clashes(manifest);
        if difference.problems.is_empty() {
            let reserved = others.check_names(declared).err();
            difference.problems.extend(reserved.map(Problem::from));
        }
        difference.changes = install::changes(self.db(), &others, declared).await?;
        for table in before.into_iter().flat_map(|before| &before.tables) {
            if !manifest.tables.iter().any(|one| one.name == table.name) {
                let (action, table) = (Action::LeaveTable, table.name.clone());
                difference.changes.steps.push(Step { action, table, columns: Vec::new() });
            }
        }
        Ok(())
    }

    /// Adds to `beside` what a plugin has once it is applied, unless it would be refused.
    async fn assume_applied(
        &self,
        beside: &mut Loading,
        manifest: &Manifest,
        difference: &PluginDifference,
    ) -> Result<()> {
        if !difference.problems.is_empty() || !difference.changes.refused.is_empty() {
            return Ok(());
        }
        beside.names.hold(manifest);
        beside.note_rows(manifest, true);
        beside.tables.remove(&manifest.id);
        let (adopted, made): (Vec<_>, Vec<_>) =
            manifest.tables.iter().cloned().partition(|table| table.adopt);
        beside.tables.foresee(declared(manifest, &made), self.db().dialect());
        match self.resolve(&mut beside.tables, declared(manifest, &adopted)).await {
            // Applying reports problems of an adopted table.
            Err(error) if error.code() == Code::ValidationFailed => Ok(()),
            resolved => resolved,
        }
    }

    /// Reads the plugins again and takes them into service; their tables get exactly their
    /// declared form. With `only`, applies just that plugin, even if it was removed; a removed
    /// plugin with problems stays removed. Returns the changes, and the problems of plugins that
    /// keep their earlier declaration.
    pub async fn apply_plugins(&self, only: Option<&str>) -> Result<Vec<PluginDifference>> {
        let (cms, only) = (self.clone(), only.map(str::to_owned));
        outlasting(async move { cms.apply_now(only.as_deref()).await }).await
    }

    async fn apply_now(&self, only: Option<&str>) -> Result<Vec<PluginDifference>> {
        let mut differences = self.plugin_differences(only).await?;
        if let Some(id) = only.filter(|_| differences.iter().any(|one| one.removed)) {
            // A plugin that does not fit would conflict with other plugins over their columns.
            if differences.iter().any(|one| !one.problems.is_empty()) {
                return Ok(differences);
            }
            let mut change = self.0.base.change(Actor::System).await?;
            installed::remove(&mut change, id, false).await?;
            change.commit().await?;
        }
        self.load(Opening::Apply, only).await?;
        // Applying has made these indexes, or has reported why not.
        self.retry_indexes(true);
        let states = self.plugins().states();
        for difference in &mut differences {
            if let Some(state) = states.iter().find(|state| state.id == difference.plugin) {
                difference.problems.clone_from(&state.problems);
                // Another plugin may have removed the obstacle.
                if state.problems.is_empty() && state.manifest.is_some() {
                    difference.changes.refused.clear();
                }
            }
        }
        Ok(differences)
    }

    /// Takes a plugin out of service until it is applied by name. Its tables and their rows
    /// stay; its other names are free for other plugins. Rights that groups hold for it do not
    /// apply to those plugins. After the commit, call [`Cms::refresh_plugins`] so that this
    /// process notices.
    ///
    /// # Errors
    /// `not_found`; `conflict` for a plugin that the program contains.
    pub async fn remove_plugin(&self, change: &mut Change, id: &str) -> Result<()> {
        if self.0.given.iter().any(|plugin| plugin.manifest().id == id) {
            let detail = format!("{id} is part of the program, so it cannot be removed.");
            return Err(Error::new(Code::Conflict, detail));
        }
        // Loading plugins takes this lock first, too.
        change.lock(Lock::SCHEMA).await?;
        if !installed::remove(change, id, true).await? {
            let detail = format!("No plugin {id:?} was ever in service.");
            return Err(Error::new(Code::NotFound, detail));
        }
        let mut free = Names::load(&mut *change).await?.undeclared(id, None);
        free.retain(|(kind, _)| *kind != NameKind::Table);
        names::release(change, id, &free).await
    }

    /// Releases the names that a plugin owns but does not declare: all of them if it was removed.
    /// The next plugin that declares one of its tables gets the table with its rows. Returns kinds
    /// and names. After the commit, call [`Cms::refresh_plugins`] so that this process notices.
    ///
    /// # Errors
    /// `not_found` when the plugin owns no name; `conflict` for a plugin that is out of service
    /// but was not removed, because it may come back.
    pub async fn release_names(
        &self,
        change: &mut Change,
        id: &str,
    ) -> Result<Vec<(&'static str, String)>> {
        change.lock(Lock::SCHEMA).await?;
        let names = Names::load(&mut *change).await?;
        if names.undeclared(id, None).is_empty() {
            let detail = format!("No plugin {id:?} owns a name.");
            return Err(Error::new(Code::NotFound, detail));
        }
        let mut manifest = self.plugins().manifest(id);
        if let Some(recorded) = installed::recorded(change, id).await? {
            // This process may know an older declaration.
            let readable = recorded.manifest().filter(|_| manifest.is_some());
            let Some(readable) = readable else {
                let detail = format!(
                    "{id} is out of service and may come back: `cms plugins remove {id}` takes it \
                     out for good. Nothing was changed."
                );
                return Err(Error::new(Code::Conflict, detail));
            };
            manifest = Some(Arc::new(readable));
        }
        let free = names.undeclared(id, manifest.as_deref());
        names::release(change, id, &free).await?;
        Ok(free.into_iter().map(|(kind, name)| (kind.name(), name)).collect())
    }

    /// Takes the plugins into service as the database records them. Changes no table.
    pub async fn refresh_plugins(&self) -> Result<()> {
        let cms = self.clone();
        outlasting(async move { cms.load(Opening::Inspect, None).await.map(drop) }).await
    }
}

/// Runs work that continues when its caller disconnects. Otherwise tables that were already
/// changed would be served by their old declaration.
async fn outlasting<T: Send + 'static>(
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    tokio::spawn(work.in_current_span()).await.map_err(Error::internal)?
}
