//! Takes plugins into service: their tables, then their events.

use std::collections::BTreeMap;

use super::{
    Cms,
    building::IndexJob,
    loading::{Loading, Opening},
};
use crate::{
    Actor, Code, Error, Result,
    content::{self, Declared},
    db::Lock,
    plugins::{
        self, LoadedPlugin, Manifest, Names, PluginState, Problem,
        installed::{self, Installed, Part, Refusals},
        names,
    },
    webhooks::enter_handlers,
};

/// The plugins of the folder that may come into service.
pub(super) fn in_question<'f>(
    folder: &'f [LoadedPlugin],
    installed: &BTreeMap<String, Installed>,
) -> Vec<&'f Manifest> {
    let is_removed = |id: &str| installed.get(id).is_some_and(|before| before.removed);
    let present = folder.iter().filter(|found| !is_removed(&found.id));
    present.filter_map(|found| found.outcome.as_ref().ok()).collect()
}

fn refusal(manifest: &Manifest, problems: &[Problem]) -> Error {
    let list: Vec<_> = problems.iter().map(Problem::to_string).collect();
    let why = format!("plugin {}: {}", manifest.id, list.join("; "));
    Error::new(Code::ValidationFailed, why)
}

fn removed(id: &str) -> PluginState {
    let why = format!("it was removed: `cms plugins apply {id}` takes it back");
    PluginState::refused(id.to_owned(), vec![Problem::whole(why)])
}

impl Cms {
    /// Loads the content tables of the core, then those of plugins of the program, then those of
    /// plugins in the folder. With `only`, no other plugin of the folder changes the database.
    /// Returns the indexes that are still to be made.
    ///
    /// # Errors
    /// `validation_failed` for a faulty plugin of the program. A faulty plugin of the folder is
    /// logged; its earlier declaration stays in service.
    pub(super) async fn load(&self, opening: Opening, only: Option<&str>) -> Result<Vec<IndexJob>> {
        let _turn = self.0.loading.lock().await;
        // Such a command reports problems itself; a server has tables in service and only its log.
        let is_first = self.0.registry.tables().iter().next().is_none();
        let only_looks = is_first && opening == Opening::Inspect;
        let installed = installed::all(self.db()).await?;
        if opening.writes() {
            self.claim_installed(&installed, opening).await?;
        }
        let names = Names::load(self.db()).await?;
        let mut loading = Loading::with(self.rows_kept(&installed).await?, names);
        loading.refusals = Refusals::load(self.db()).await?;
        let core = content::core::tables();
        let declared = Declared { plugin: content::core::ID, tables: &core, silent: false };
        self.resolve(&mut loading.tables, declared).await?;
        let (mut handlers, mut guards) = (BTreeMap::new(), Vec::new());
        let (mut hooks, mut read_hooks) = (Vec::new(), Vec::new());
        let site = self.plugins().site();
        let program: Vec<_> = self.0.given.iter().map(|plugin| plugin.manifest()).collect();
        for plugin in &self.0.given {
            let (manifest, own) = (plugin.manifest(), plugin.handlers());
            let problems = [
                manifest.problems(),
                own.missing(&manifest),
                own.missing_icons(&manifest),
                own.unnamed(&manifest, &program),
                own.repeated(),
                own.faulty_events(),
                own.faulty_guards(),
            ]
            .concat();
            if !problems.is_empty() {
                return Err(refusal(&manifest, &problems));
            }
            // Applying one plugin removes nothing of others.
            let opening = match opening {
                Opening::Apply if only.is_some_and(|only| only != manifest.id) => Opening::Start,
                opening => opening,
            };
            let clashes = match self.take_in(&mut loading, &manifest, None, opening).await {
                // A command that looks before it applies: applying makes the tables.
                Err(error) if error.is_outdated() && only_looks => {
                    loading.note_out_of_service(Some(&manifest));
                    let problems = vec![error.into()];
                    loading.states.push(PluginState::refused(manifest.id, problems));
                    continue;
                }
                taken => taken?,
            };
            if !clashes.is_empty() {
                let is_given = |id: &&str| self.0.given.iter().any(|one| one.manifest().id == **id);
                let names = loading.names_but_of(&manifest.id);
                if names.rivals(&manifest).iter().any(is_given) {
                    return Err(refusal(&manifest, &clashes));
                }
                // The owner stays in service, and the operator can still reach the site.
                loading.states.push(PluginState::refused(manifest.id, clashes));
                continue;
            }
            if opening.writes() {
                loading.claims.push(manifest.clone());
            }
            hooks.extend(own.hooks(&manifest.id, &site));
            read_hooks.extend(own.read_hooks(&manifest.id, &site));
            guards.extend(own.guards(&manifest.id, &site));
            handlers.insert(manifest.id.clone(), own);
            loading.expect(&manifest.id, Some(manifest.clone()));
            loading.states.push(PluginState::in_service(manifest));
        }
        let own: Vec<_> = loading.expected.values().cloned().collect();
        let folder = plugins::load_folder(&self.settings().dirs.plugins, &own);
        for found in &folder {
            let before = installed.get(&found.id);
            let manifest = found.outcome.as_ref().ok().cloned();
            let manifest = manifest.or_else(|| before.and_then(Installed::manifest));
            match before.is_some_and(|before| before.removed) {
                true => loading.note_out_of_service(manifest.as_ref()),
                false => loading.expect(&found.id, manifest),
            }
        }
        let gone = self.miss_folders(&mut loading, &folder, &installed);
        let mutual = loading.names.mutual(&in_question(&folder, &installed), only);
        let folder = plugins::in_order(folder, &loading.expected);
        let first = loading.states.len();
        for found in &folder {
            let opening = match opening {
                _ if !opening.writes() || only.is_none_or(|only| only == found.id) => opening,
                _ => Opening::Inspect,
            };
            let before = installed.get(&found.id);
            let state = match mutual.get(&found.id) {
                Some(problems) if !before.is_some_and(|before| before.removed) => {
                    let problems = found.located(problems.clone());
                    self.fall_back(&mut loading, &found.id, before, problems).await?
                }
                _ => self.state_of(&mut loading, found, before, opening).await?,
            };
            loading.expect(&found.id, state.manifest.as_deref().cloned());
            loading.states.push(state);
        }
        self.take_out(&mut loading, (&folder, first), &installed).await?;
        // Before recording: a recorded plugin comes into service in other processes too. A new
        // plugin taken out here keeps its rows and names until it is applied or removed.
        while self.register_widgets(&mut loading, (opening, only), &installed).await? {
            self.take_out(&mut loading, (&folder, first), &installed).await?;
        }
        for state in &loading.states {
            for problem in &state.problems {
                let what = match state.is_earlier() {
                    true => "plugin not loaded; its earlier declaration stays in service",
                    false => "plugin not loaded",
                };
                match only_looks {
                    true => tracing::debug!(plugin = state.id, %problem, "{what}"),
                    false => tracing::error!(plugin = state.id, %problem, "{what}"),
                }
            }
        }
        if let Err(error) = self.record(&mut loading, opening).await {
            // For example, another process makes an index, for which SQLite reserves its writer.
            if opening != Opening::Start || error.code() != Code::Unavailable {
                return Err(error);
            }
            tracing::warn!(?error, "plugins in service are not recorded; the next start does it");
        }
        let left = loading.note_absent_tables(opening);
        let named = hooks.iter().map(|hook| (&hook.name, &hook.table));
        let named = named.chain(read_hooks.iter().map(|hook| (&hook.name, &hook.table)));
        for (hook, table) in named.filter(|(_, table)| loading.tables.find(table).is_none()) {
            tracing::error!(hook, table, "this hook never runs: no such table is in service");
        }
        for (plugin, own) in &handlers {
            let tables = own.endpoint_tables();
            for (name, table) in tables.filter(|(_, table)| loading.tables.find(table).is_none()) {
                let what = "replies of this endpoint are not kept: no such table is in service";
                tracing::warn!(plugin, name, table, "{what}");
            }
        }
        self.items().set_hooks(hooks, read_hooks);
        self.0.base.guards().set(guards);
        self.0.registry.set(loading.tables);
        self.0.plugins.set(loading.states, handlers, gone, left);
        self.warn_of_unknown_events();
        if opening.writes() {
            self.webhooks().register(&self.plugins().index()).await?;
            match enter_handlers(self.webhooks(), self.plugins()).await {
                Err(error) if opening == Opening::Start && error.code() == Code::Unavailable => {
                    tracing::warn!(?error, "handlers of events begin later");
                }
                entered => entered?,
            }
        }
        Ok(loading.builds)
    }

    /// Warns about guards and event handlers whose pattern matches no declared event.
    fn warn_of_unknown_events(&self) {
        let raised = self.webhooks().raised(&self.plugins().index());
        for guard in self.0.base.guards().all().iter() {
            if !raised.iter().any(|event| guard.stands_before(&event.event_name)) {
                let (name, pattern) = (&*guard.name, &*guard.pattern);
                tracing::warn!(name, pattern, "no event that is declared has this guard's name");
            }
        }
        for (plugin, handler) in self.plugins().event_handlers() {
            if !raised.iter().any(|event| handler.hears(&event.event_name)) {
                let (name, pattern) = (&handler.name, &handler.pattern);
                let what = "no event that is declared has this handler's name";
                tracing::warn!(plugin, name, pattern, "{what}");
            }
        }
    }

    /// Takes a plugin of the folder into service: with its present declaration, or else with the
    /// previous one.
    ///
    /// # Errors
    /// When the database cannot be used, or is not up to date and may not be changed.
    async fn state_of(
        &self,
        loading: &mut Loading,
        found: &LoadedPlugin,
        installed: Option<&Installed>,
        opening: Opening,
    ) -> Result<PluginState> {
        if installed.is_some_and(|installed| installed.removed) {
            return Ok(removed(&found.id));
        }
        let known = match (&found.outcome, installed) {
            (Ok(manifest), Some(before)) => {
                let mut known = found.located(before.exposed(manifest));
                // Only applying registers widgets, so otherwise the plugin would come into service
                // without them.
                if opening != Opening::Apply {
                    let why = loading.refusals.of(manifest, Part::Widgets)?;
                    known.extend(why.map(|why| Problem::whole(why.to_owned())));
                }
                known
            }
            _ => Vec::new(),
        };
        let problems = match &found.outcome {
            Ok(_) if !known.is_empty() => known,
            Ok(manifest) => match self.take_in(loading, manifest, Some(found), opening).await {
                // A new plugin must claim its names, which needs a change.
                Ok(problems) if problems.is_empty() && !opening.writes() && installed.is_none() => {
                    loading.withdraw(&found.id);
                    let id = &found.id;
                    let why = format!("it is new: `cms plugins apply {id}` takes it into service");
                    vec![Problem::whole(why)]
                }
                Ok(problems) if problems.is_empty() => {
                    let recorded = installed.map(|i| i.is(manifest)).transpose()?;
                    if opening.writes() && recorded != Some(true) {
                        loading.news.push(manifest.clone());
                    }
                    if opening.writes() && loading.names.lack(manifest) {
                        loading.claims.push(manifest.clone());
                    }
                    return Ok(PluginState::in_service(manifest.clone()));
                }
                Ok(problems) => problems,
                Err(error) if error.is_outdated() && opening == Opening::AsIs => return Err(error),
                Err(error) => {
                    if opening.writes() && error.is_by_database() {
                        self.note_refusal(manifest, Part::Tables, &error).await;
                    }
                    vec![error.into()]
                }
            },
            Err(problems) => problems.clone(),
        };
        self.fall_back(loading, &found.id, installed, problems).await
    }

    /// Records that the database refused a part of a plugin. For tables, commands that change
    /// nothing then need not try again. For widgets, other processes then keep the plugin as
    /// it was.
    pub(super) async fn note_refusal(&self, manifest: &Manifest, part: Part, error: &Error) {
        if error.code() != Code::ValidationFailed {
            return;
        }
        let noted = async {
            let mut change = self.0.base.change(Actor::System).await?;
            installed::refuse(&mut change, (manifest, part), error.detail()).await?;
            change.commit().await
        };
        if let Err(error) = noted.await {
            tracing::warn!(plugin = manifest.id, ?error, "a refusal by the database is not noted");
        }
    }

    /// Claims the names of plugins that were in service before names had owners. Of several
    /// plugins with the same name, the one that was applied first gets it. Then settles which
    /// plugin the rights of groups mean.
    async fn claim_installed(
        &self,
        installed: &BTreeMap<String, Installed>,
        opening: Opening,
    ) -> Result<()> {
        let names = Names::load(self.db()).await?;
        let (removed, present): (Vec<_>, Vec<_>) =
            installed.values().partition(|before| before.removed);
        let mut lacking: Vec<_> = present
            .into_iter()
            .filter_map(|before| Some((before.applied_at, before.manifest()?)))
            .filter(|(_, manifest)| names.lack(manifest))
            .collect();
        lacking.sort_by(|(one, a), (other, b)| (one, &a.id).cmp(&(other, &b.id)));
        let mut formerly = BTreeMap::new();
        for manifest in removed.into_iter().filter_map(Installed::manifest) {
            for key in names::permission_keys(&manifest) {
                formerly.insert(key, manifest.id.clone());
            }
        }
        let claimed = async {
            if !lacking.is_empty() {
                let mut change = self.0.base.change(Actor::System).await?;
                change.lock(Lock::SCHEMA).await?;
                for (_, manifest) in &lacking {
                    names::claim(&mut change, manifest).await?;
                }
                change.announce(installed::TABLE);
                change.commit().await?;
            }
            self.accounts().reassign_owners(&formerly).await
        };
        match claimed.await {
            // For example, another process makes an index, for which SQLite reserves its writer.
            Err(error) if opening == Opening::Start && error.code() == Code::Unavailable => {
                tracing::warn!(?error, "names of plugins are not claimed; the next start does it");
                Ok(())
            }
            claimed => claimed,
        }
    }

    /// Refuses plugins that were in service and whose folder is missing. Returns their ids. They
    /// come back automatically when the folder is back.
    fn miss_folders(
        &self,
        loading: &mut Loading,
        folder: &[LoadedPlugin],
        installed: &BTreeMap<String, Installed>,
    ) -> Vec<String> {
        let mut gone = Vec::new();
        for (id, before) in installed.iter().filter(|(_, before)| !before.removed) {
            let is_there = folder.iter().any(|found| found.id == *id)
                || loading.states.iter().any(|state| state.id == *id);
            if is_there {
                continue;
            }
            let path = self.settings().dirs.plugins.join(id);
            let why = format!(
                "its folder {} is gone: put it back, and it is in service again; or take it out \
                 for good with `cms plugins remove {id}`",
                path.display()
            );
            loading.note_out_of_service(before.manifest().as_ref());
            loading.states.push(PluginState::refused(id.clone(), vec![Problem::whole(why)]));
            gone.push(id.clone());
        }
        gone
    }

    /// Serves the previous declaration, if there is one, of a plugin whose present one
    /// has problems.
    async fn fall_back(
        &self,
        loading: &mut Loading,
        id: &str,
        installed: Option<&Installed>,
        mut problems: Vec<Problem>,
    ) -> Result<PluginState> {
        let Some(earlier) = installed.and_then(Installed::manifest) else {
            loading.rows.remove(id);
            return Ok(PluginState::refused(id.to_owned(), problems));
        };
        let served = match self.check_rows(loading, &earlier, (false, true)).await {
            Ok(()) => self.serve(loading, &earlier).await,
            refused => refused,
        };
        Ok(match served {
            Ok(()) => {
                loading.note_rows(&earlier, true);
                PluginState::earlier(earlier, problems)
            }
            Err(error) => {
                loading.rows.remove(id);
                let why = Problem::from(error);
                if !problems.contains(&why) {
                    problems.push(why);
                }
                PluginState::refused(id.to_owned(), problems)
            }
        })
    }

    /// Takes plugins out again that use a table of a plugin that was refused later. This happens
    /// to plugins that use each other's tables.
    async fn take_out(
        &self,
        loading: &mut Loading,
        (folder, first): (&[LoadedPlugin], usize),
        installed: &BTreeMap<String, Installed>,
    ) -> Result<()> {
        let mut at = 0;
        while let Some(found) = folder.get(at) {
            let state = first + at;
            at += 1;
            let Ok(manifest) = &found.outcome else { continue };
            if !loading.states.get(state).is_some_and(|state| state.problems.is_empty()) {
                continue;
            }
            let problems = self.problems_of(loading, found, manifest).await?;
            if problems.is_empty() {
                continue;
            }
            self.take_back(loading, state, installed, problems).await?;
            // Other plugins may use its tables, so begin again.
            at = 0;
        }
        Ok(())
    }

    /// Takes a plugin of the folder out again, and serves its previous declaration, if there
    /// is one.
    pub(super) async fn take_back(
        &self,
        loading: &mut Loading,
        at: usize,
        installed: &BTreeMap<String, Installed>,
        problems: Vec<Problem>,
    ) -> Result<()> {
        let id = loading.states.remove(at).id;
        loading.withdraw(&id);
        let refused = self.fall_back(loading, &id, installed.get(&id), problems).await?;
        loading.expect(&id, refused.manifest.as_deref().cloned());
        loading.states.insert(at, refused);
        Ok(())
    }

    /// Records the declarations that are newly in service, and claims their names. Refuses a
    /// plugin that was removed while this load waited, and a plugin whose names another process
    /// claimed for another plugin; that process notifies the processes that use its tables.
    /// Applying always notifies other processes, because their folders may have changed.
    async fn record(&self, loading: &mut Loading, opening: Opening) -> Result<()> {
        let is_good = |manifest: &&Manifest| {
            loading.states.iter().any(|one| one.id == manifest.id && one.problems.is_empty())
        };
        let news: Vec<_> = loading.news.iter().filter(is_good).cloned().collect();
        let claims: Vec<_> = loading.claims.iter().filter(is_good).cloned().collect();
        let is_new = |manifest: &Manifest| loading.names.lack(manifest);
        if opening != Opening::Apply && news.is_empty() && !claims.iter().any(is_new) {
            return Ok(());
        }
        let mut change = self.0.base.change(Actor::System).await?;
        change.lock(Lock::SCHEMA).await?;
        let mut refused = Vec::new();
        for manifest in claims.iter().filter(|manifest| is_new(manifest)) {
            let clashes = Names::load(&mut change).await?.clashes(manifest);
            if clashes.is_empty() {
                names::claim(&mut change, manifest).await?;
            } else {
                refused.push(PluginState::refused(manifest.id.clone(), clashes));
            }
        }
        for manifest in &news {
            let is_refused = refused.iter().any(|state| state.id == manifest.id);
            if !is_refused && !installed::record(&mut change, manifest).await? {
                refused.push(removed(&manifest.id));
            }
        }
        if opening == Opening::Apply {
            let good = loading.states.iter().filter(|state| state.problems.is_empty());
            for manifest in good.filter_map(|state| state.manifest.as_deref()) {
                installed::accept(&mut change, manifest).await?;
            }
        }
        change.announce(installed::TABLE);
        change.commit().await?;
        self.accounts().reassign_owners(&BTreeMap::new()).await?;
        let serves_fewer = !refused.is_empty();
        for refused in refused {
            loading.withdraw(&refused.id);
            if let Some(state) = loading.states.iter_mut().find(|state| state.id == refused.id) {
                *state = refused;
            }
        }
        if serves_fewer {
            self.register_widgets(loading, (Opening::Inspect, None), &BTreeMap::new()).await?;
        }
        loading.names = Names::load(self.db()).await?;
        Ok(())
    }
}
