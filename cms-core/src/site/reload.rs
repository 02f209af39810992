//! Plugins of a running site: what applying them would change, applying and removing them, and
//! noticing that another process did.

use tracing::Instrument as _;

use super::{
    Cms,
    plugins::{Opening, Taken, declared},
};
use crate::{
    Actor, Change, Code, Error, Result,
    content::{Changes, install},
    pages::widgets::WidgetChange,
    plugins::{self, Manifest, PluginState, Problem, installed},
    webhooks::Registered,
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
    /// Widgets that are declared otherwise than they are registered.
    pub widgets: Vec<WidgetChange>,
    /// Whether it was removed, and comes back.
    pub removed: bool,
}

impl Difference {
    fn of(plugin: &str) -> Self {
        let (problems, changes, events, widgets) = Default::default();
        Self { plugin: plugin.to_owned(), problems, changes, events, widgets, removed: false }
    }
}

impl Cms {
    /// Loads the plugins for the first time.
    pub(super) async fn begin(&self, opening: Opening) -> Result<()> {
        // Afterwards only changes by other processes are news.
        self.db().catch_up().await?;
        let wanted = self.load(opening, None).await?;
        self.0.building.begin(self, wanted);
        Ok(())
    }

    /// What applying the plugins would change: those of the folder, then those that the program
    /// contains. Changes nothing.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be read; `not_found` when there is no plugin `only`.
    pub async fn plugin_differences(&self, only: Option<&str>) -> Result<Vec<Difference>> {
        let installed = installed::all(self.db()).await?;
        let registered = self.webhooks().registered().await?;
        let given: Vec<_> = self.0.given.iter().map(|plugin| plugin.manifest()).collect();
        let states = self.plugins().states();
        let mut rows = self.rows_kept(&installed).await?;
        let is_out = |id: &str| states.iter().any(|one| one.id == id && one.manifest.is_none());
        rows.retain(|id, _| !is_out(id));
        let beside = Taken::with(rows);
        let mut differences = Vec::new();
        for found in plugins::load_folder(&self.settings().dirs.plugins, &given) {
            if only.is_some_and(|only| only != found.id) {
                continue;
            }
            let mut difference = Difference::of(&found.id);
            difference.removed = installed.get(&found.id).is_some_and(|before| before.removed);
            match &found.outcome {
                Err(problems) => difference.problems.clone_from(problems),
                Ok(manifest) => {
                    self.compare(manifest, &registered, &mut difference).await?;
                    let exposed = installed.get(&found.id).map(|before| before.exposed(manifest));
                    difference.problems.extend(found.placed(exposed.unwrap_or_default()));
                    let checked = self.check_rows(&beside, manifest, (false, true)).await;
                    difference.problems.extend(checked.err().map(Problem::from));
                }
            }
            differences.push(difference);
        }
        for manifest in given.iter().filter(|given| only.is_none_or(|only| only == given.id)) {
            let mut difference = Difference::of(&manifest.id);
            self.compare(manifest, &registered, &mut difference).await?;
            differences.push(difference);
        }
        if let (Some(id), true) = (only, differences.is_empty()) {
            let detail = format!("There is no plugin {id:?} in the folder or in the program.");
            return Err(Error::new(Code::NotFound, detail));
        }
        Ok(differences)
    }

    async fn compare(
        &self,
        manifest: &Manifest,
        registered: &Registered,
        difference: &mut Difference,
    ) -> Result<()> {
        let names = manifest.webhook_events.iter().map(|event| &event.name);
        let is_new = |name: &&String| !registered.contains(&(manifest.id.clone(), (*name).clone()));
        difference.events = names.filter(is_new).cloned().collect();
        difference.widgets = self.pages().widgets().differences(manifest);
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

    /// Reads the plugins again and takes them into service: their tables get their declared form.
    /// With `only`, just that one, also when it was removed; one with problems stays removed.
    /// Returns what was changed, and the problems of those that keep their earlier declaration.
    ///
    /// # Errors
    /// As [`Cms::plugin_differences`].
    pub async fn apply_plugins(&self, only: Option<&str>) -> Result<Vec<Difference>> {
        let (cms, only) = (self.clone(), only.map(str::to_owned));
        outlasting(async move { cms.apply_now(only.as_deref()).await }).await
    }

    async fn apply_now(&self, only: Option<&str>) -> Result<Vec<Difference>> {
        let mut differences = self.plugin_differences(only).await?;
        if let Some(id) = only.filter(|_| differences.iter().any(|one| one.removed)) {
            // What did not fit would come between others and their columns.
            if differences.iter().any(|one| !one.problems.is_empty()) {
                return Ok(differences);
            }
            let mut change = self.change(Actor::System).await?;
            installed::remove(&mut change, id, false).await?;
            change.commit().await?;
        }
        self.load(Opening::Apply, only).await?;
        // Applying has made them, or has told why it could not.
        self.retry_indexes(true);
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
        let cms = self.clone();
        outlasting(async move { cms.load(Opening::Inspect, None).await.map(drop) }).await
    }
}

/// Work that goes on when its caller hangs up: tables that are changed already would else be served
/// by their old declaration.
async fn outlasting<T: Send + 'static>(
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    tokio::spawn(work.in_current_span()).await.map_err(Error::internal)?
}
