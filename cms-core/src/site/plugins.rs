//! Takes plugins into service: their tables, then their events.

use std::collections::{BTreeMap, BTreeSet};

use super::{Cms, building::Wanted};
use crate::{
    Actor, Code, Error, Result,
    content::{
        self, Declared, TableDeclaration, Tables,
        install::{self, Standing},
        resolve,
    },
    db::Lock,
    plugins::{
        self, LoadedPlugin, Manifest, Names, PluginState, Problem,
        installed::{self, Installed, Refusals},
        manifest::ContentType,
        names,
    },
};

/// What loading plugins may do to the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opening {
    /// Make it when missing, bring it up to date. Indexes that no rule needs are made under way;
    /// none is dropped.
    Start,
    /// Give the tables exactly their declared form.
    Apply,
    /// Write nothing, and refuse it when it is not up to date.
    AsIs,
    /// Write nothing, and leave out plugins that are not up to date.
    Inspect,
}

impl Opening {
    pub(super) fn writes(self) -> bool {
        matches!(self, Self::Start | Self::Apply)
    }

    /// Whether tables in this form need a change, not just indexes.
    pub(super) fn changes(self, standing: Standing) -> bool {
        match self {
            Self::Apply => standing != Standing::Current,
            Self::Start | Self::AsIs | Self::Inspect => standing == Standing::Behind,
        }
    }

    /// Whether tables in this form need something done, or cannot be served as they are.
    fn wants(self, standing: Standing) -> bool {
        match self {
            Self::Apply => standing != Standing::Current,
            Self::Start => matches!(standing, Standing::Unindexed | Standing::Behind),
            Self::AsIs | Self::Inspect => standing == Standing::Behind,
        }
    }
}

/// What is in service so far.
#[derive(Default)]
pub(super) struct Taken {
    pub(super) tables: Tables,
    pub(super) states: Vec<PluginState>,
    /// Names with their owners, as the database has them.
    pub(super) names: Names,
    /// Why the database refused tables.
    refusals: Refusals,
    /// What is in service, and what probably will be, by id.
    expected: BTreeMap<String, Manifest>,
    /// Tables that are not in service, with their plugins.
    absent: BTreeMap<String, String>,
    /// Columns of widgets that are registered, or that this load registers, by plugin; none of
    /// plugins that are out of service.
    pub(super) rows: BTreeMap<String, BTreeSet<String>>,
    /// Declarations to be recorded.
    news: Vec<Manifest>,
    /// Declarations whose names are to be claimed.
    claims: Vec<Manifest>,
    /// Indexes that are still to be made.
    builds: Vec<Wanted>,
}

impl Taken {
    /// Nothing but what is registered.
    pub(super) fn with(rows: BTreeMap<String, BTreeSet<String>>, names: Names) -> Self {
        Self { rows, names, ..Self::default() }
    }

    /// Names with their owners, those of plugins included that are in service without having
    /// claimed them yet.
    pub(super) fn names_but_of(&self, id: &str) -> Names {
        let mut names = self.names.clone();
        let others = self.states.iter().filter(|state| state.id != id);
        others.filter_map(|state| state.manifest.as_deref()).for_each(|other| names.hold(other));
        names
    }

    /// Notes what will be in service of a plugin, unless the program contains one of that id.
    fn expect(&mut self, id: &str, manifest: Option<Manifest>) {
        if self.states.iter().any(|state| state.id == id) {
            return;
        }
        let before = match &manifest {
            Some(manifest) => self.expected.insert(id.to_owned(), manifest.clone()),
            None => self.expected.remove(id),
        };
        self.miss(before.as_ref());
        for table in manifest.iter().flat_map(|manifest| &manifest.tables) {
            self.absent.remove(&table.name);
        }
    }

    /// Takes the tables of a plugin out of service, and the indexes that were to be made of them.
    fn withdraw(&mut self, id: &str) {
        self.tables.remove(id);
        self.builds.retain(|wanted| !wanted.is_of(id));
    }

    /// Notes why tables that plugins own are not served. Returns those that plugins in service
    /// declare no longer.
    fn note_absent_tables(&mut self, opening: Opening) -> BTreeMap<String, Vec<String>> {
        let mut left = BTreeMap::<String, Vec<String>>::new();
        let mut absent = BTreeMap::new();
        for (table, plugin) in self.names.tables() {
            if self.tables.find(table).is_some() {
                continue;
            }
            let state = self.states.iter().find(|state| state.id == plugin);
            let why = match state.map(|state| state.manifest.is_some()) {
                Some(true) => {
                    if opening.writes() {
                        let what = "a table is declared no longer; its rows stay";
                        tracing::warn!(plugin, table, "{what}");
                    }
                    left.entry(plugin.to_owned()).or_default().push(table.to_owned());
                    format!("its plugin {plugin} declares it no longer")
                }
                Some(false) => format!("its plugin {plugin} is not in service"),
                None => format!("its plugin {plugin} is gone"),
            };
            absent.insert(table.to_owned(), why);
        }
        self.tables.note_absent(absent);
        left
    }

    /// Notes the tables of a plugin that is not in service.
    fn miss(&mut self, manifest: Option<&Manifest>) {
        for (id, table) in manifest.iter().flat_map(|m| m.tables.iter().map(|t| (&m.id, t))) {
            self.absent.insert(table.name.clone(), id.clone());
        }
    }
}

/// Tables of a plugin.
pub(super) fn declared<'a>(manifest: &'a Manifest, tables: &'a [TableDeclaration]) -> Declared<'a> {
    let silent = manifest.content_type == ContentType::Custom;
    Declared { plugin: &manifest.id, tables, silent }
}

/// Refuses a plugin whose id another in service has.
pub(super) fn check_id(taken: &[PluginState], id: &str) -> Result<()> {
    if taken.iter().any(|state| state.id == id && state.manifest.is_some()) {
        let why = format!("A plugin {id:?} is in service already: choose another id.");
        return Err(Error::new(Code::ValidationFailed, why));
    }
    Ok(())
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
    /// Loads the content tables: those of the core, then of plugins that the program contains, then
    /// of plugins in the folder. With `only`, no other plugin of the folder changes the database.
    /// Returns the indexes that are still to be made.
    ///
    /// # Errors
    /// `validation_failed` for a faulty plugin of the program. A faulty plugin of the folder is
    /// logged; its earlier declaration stays in service.
    pub(super) async fn load(&self, opening: Opening, only: Option<&str>) -> Result<Vec<Wanted>> {
        let _turn = self.0.loading.lock().await;
        let installed = installed::all(self.db()).await?;
        if opening.writes() {
            self.claim_installed(&installed, opening).await?;
        }
        let names = Names::load(self.db()).await?;
        let mut taken = Taken::with(self.rows_kept(&installed).await?, names);
        taken.refusals = Refusals::load(self.db()).await?;
        let core = content::core::tables();
        let declared = Declared { plugin: content::core::ID, tables: &core, silent: false };
        self.resolve(&mut taken.tables, declared).await?;
        let mut handlers = BTreeMap::new();
        for plugin in &self.0.given {
            let (manifest, own) = (plugin.manifest(), plugin.handlers());
            let problems =
                [manifest.problems(), own.missing(&manifest), own.missing_icons(&manifest)]
                    .concat();
            if !problems.is_empty() {
                return Err(refusal(&manifest, &problems));
            }
            // Applying one plugin takes nothing away from others.
            let opening = match opening {
                Opening::Apply if only.is_some_and(|only| only != manifest.id) => Opening::Start,
                opening => opening,
            };
            let clashes = self.take_in(&mut taken, &manifest, None, opening).await?;
            if !clashes.is_empty() {
                let is_given = |id: &&str| self.0.given.iter().any(|one| one.manifest().id == **id);
                let names = taken.names_but_of(&manifest.id);
                if names.rivals(&manifest).iter().any(is_given) {
                    return Err(refusal(&manifest, &clashes));
                }
                // What is in service stays, and the operator can still reach the site.
                taken.states.push(PluginState::refused(manifest.id, clashes));
                continue;
            }
            if opening.writes() {
                taken.claims.push(manifest.clone());
            }
            handlers.insert(manifest.id.clone(), own);
            taken.expect(&manifest.id, Some(manifest.clone()));
            taken.states.push(PluginState::in_service(manifest));
        }
        let own: Vec<_> = taken.expected.values().cloned().collect();
        let folder = plugins::load_folder(&self.settings().dirs.plugins, &own);
        for found in &folder {
            let before = installed.get(&found.id);
            let manifest = found.outcome.as_ref().ok().cloned();
            let manifest = manifest.or_else(|| before.and_then(Installed::manifest));
            match before.is_some_and(|before| before.removed) {
                true => taken.miss(manifest.as_ref()),
                false => taken.expect(&found.id, manifest),
            }
        }
        let gone = self.miss_folders(&mut taken, &folder, &installed);
        let in_question = folder.iter().filter(|found| only.is_none_or(|only| only == found.id));
        let in_question =
            in_question.filter(|one| installed.get(&one.id).is_none_or(|before| !before.removed));
        let manifests = in_question.filter_map(|one| one.outcome.as_ref().ok());
        let ambiguous = taken.names.ambiguous(manifests);
        let folder = plugins::in_order(folder, &taken.expected);
        let first = taken.states.len();
        for found in &folder {
            let opening = match opening {
                _ if !opening.writes() || only.is_none_or(|only| only == found.id) => opening,
                _ => Opening::Inspect,
            };
            let before = installed.get(&found.id);
            let state = match ambiguous.get(&found.id) {
                Some(problems) if !before.is_some_and(|before| before.removed) => {
                    let problems = found.located(problems.clone());
                    self.fall_back(&mut taken, &found.id, before, problems).await?
                }
                _ => self.state_of(&mut taken, found, before, opening).await?,
            };
            taken.expect(&found.id, state.manifest.as_deref().cloned());
            taken.states.push(state);
        }
        self.take_out(&mut taken, (&folder, first), &installed).await?;
        for state in &taken.states {
            for problem in &state.problems {
                let what = match state.is_earlier() {
                    true => "plugin not loaded; its earlier declaration stays in service",
                    false => "plugin not loaded",
                };
                tracing::error!(plugin = state.id, %problem, "{what}");
            }
        }
        if let Err(error) = self.record(&mut taken).await {
            // As when another process makes an index for which SQLite keeps its writer.
            if opening != Opening::Start || error.code() != Code::Unavailable {
                return Err(error);
            }
            tracing::warn!(%error, "plugins in service are not recorded; the next start does it");
        }
        self.register_widgets(&taken.states, opening, only).await?;
        let left = taken.note_absent_tables(opening);
        self.0.registry.set(taken.tables);
        self.0.plugins.set(taken.states, handlers, gone, left);
        if opening.writes() {
            self.webhooks().register(&self.plugins().index()).await?;
        }
        Ok(taken.builds)
    }

    /// Takes a plugin of the folder into service: with its present declaration, or else with the
    /// one before.
    ///
    /// # Errors
    /// When the database cannot be used, or when it is not up to date and must be left as it is.
    async fn state_of(
        &self,
        taken: &mut Taken,
        found: &LoadedPlugin,
        installed: Option<&Installed>,
        opening: Opening,
    ) -> Result<PluginState> {
        if installed.is_some_and(|installed| installed.removed) {
            return Ok(removed(&found.id));
        }
        let exposed = match (&found.outcome, installed) {
            (Ok(manifest), Some(before)) => found.located(before.exposed(manifest)),
            _ => Vec::new(),
        };
        let problems = match &found.outcome {
            Ok(_) if !exposed.is_empty() => exposed,
            Ok(manifest) => match self.take_in(taken, manifest, Some(found), opening).await {
                // Whoever takes it into service claims its names, and that needs a change.
                Ok(problems) if problems.is_empty() && !opening.writes() && installed.is_none() => {
                    taken.withdraw(&found.id);
                    let id = &found.id;
                    let why = format!("it is new: `cms plugins apply {id}` takes it into service");
                    vec![Problem::whole(why)]
                }
                Ok(problems) if problems.is_empty() => {
                    let recorded = installed.map(|i| i.is(manifest)).transpose()?;
                    if opening.writes() && recorded != Some(true) {
                        taken.news.push(manifest.clone());
                    }
                    if opening.writes() && taken.names.lack(manifest) {
                        taken.claims.push(manifest.clone());
                    }
                    return Ok(PluginState::in_service(manifest.clone()));
                }
                Ok(problems) => problems,
                Err(error) if error.is_outdated() && opening == Opening::AsIs => return Err(error),
                Err(error) => {
                    if opening.writes() && error.is_by_database() {
                        self.note_refusal(manifest, &error).await;
                    }
                    vec![error.into()]
                }
            },
            Err(problems) => problems.clone(),
        };
        self.fall_back(taken, &found.id, installed, problems).await
    }

    /// Notes that the database refused tables, so that commands which change nothing do not wait
    /// for them.
    async fn note_refusal(&self, manifest: &Manifest, error: &Error) {
        if error.code() != Code::ValidationFailed {
            return;
        }
        let noted = async {
            let mut change = self.change(Actor::System).await?;
            installed::refuse(&mut change, manifest, error.detail()).await?;
            change.commit().await
        };
        if let Err(error) = noted.await {
            tracing::warn!(plugin = manifest.id, %error, "a refusal by the database is not noted");
        }
    }

    /// Claims the names of plugins that were in service before names had owners: of the one that
    /// was applied first, when several have the same. Settles which plugin groups mean.
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
                let mut change = self.change(Actor::System).await?;
                change.lock(Lock::SCHEMA).await?;
                for (_, manifest) in &lacking {
                    names::claim(&mut change, manifest).await?;
                }
                change.announce(installed::TABLE);
                change.commit().await?;
            }
            self.accounts().settle_rights(&formerly).await
        };
        match claimed.await {
            // As when another process makes an index for which SQLite keeps its writer.
            Err(error) if opening == Opening::Start && error.code() == Code::Unavailable => {
                tracing::warn!(%error, "names of plugins are not claimed; the next start does it");
                Ok(())
            }
            claimed => claimed,
        }
    }

    /// Refuses plugins that were in service and whose folder is gone. Returns their ids: they come
    /// back by themselves with their folders.
    fn miss_folders(
        &self,
        taken: &mut Taken,
        folder: &[LoadedPlugin],
        installed: &BTreeMap<String, Installed>,
    ) -> Vec<String> {
        let mut gone = Vec::new();
        for (id, before) in installed.iter().filter(|(_, before)| !before.removed) {
            let is_there = folder.iter().any(|found| found.id == *id)
                || taken.states.iter().any(|state| state.id == *id);
            if is_there {
                continue;
            }
            let path = self.settings().dirs.plugins.join(id);
            let why = format!(
                "its folder {} is gone: put it back, and it is in service again; or take it out \
                 for good with `cms plugins remove {id}`",
                path.display()
            );
            taken.miss(before.manifest().as_ref());
            taken.states.push(PluginState::refused(id.clone(), vec![Problem::whole(why)]));
            gone.push(id.clone());
        }
        gone
    }

    /// Serves the declaration before of a plugin whose present one has problems, if there is one.
    async fn fall_back(
        &self,
        taken: &mut Taken,
        id: &str,
        installed: Option<&Installed>,
        problems: Vec<Problem>,
    ) -> Result<PluginState> {
        let Some(earlier) = installed.and_then(Installed::manifest) else {
            taken.rows.remove(id);
            return Ok(PluginState::refused(id.to_owned(), problems));
        };
        let served = match self.check_rows(taken, &earlier, (false, true)).await {
            Ok(()) => self.serve(taken, &earlier).await,
            refused => refused,
        };
        Ok(match served {
            Ok(()) => {
                taken.note_rows(&earlier, true);
                PluginState::earlier(earlier, problems)
            }
            Err(error) => {
                taken.rows.remove(id);
                let mut problems = problems;
                let why = Problem::from(error);
                if !problems.contains(&why) {
                    problems.push(why);
                }
                PluginState::refused(id.to_owned(), problems)
            }
        })
    }

    /// Takes plugins out again that use a table of another one which was refused after them: two
    /// that use each other's tables.
    async fn take_out(
        &self,
        taken: &mut Taken,
        (folder, first): (&[LoadedPlugin], usize),
        installed: &BTreeMap<String, Installed>,
    ) -> Result<()> {
        let mut at = 0;
        while let Some(found) = folder.get(at) {
            let state = first + at;
            at += 1;
            let Ok(manifest) = &found.outcome else { continue };
            if !taken.states.get(state).is_some_and(|state| state.problems.is_empty()) {
                continue;
            }
            let problems = self.problems_of(taken, found, manifest).await?;
            if problems.is_empty() {
                continue;
            }
            taken.withdraw(&found.id);
            taken.states.remove(state);
            let before = installed.get(&found.id);
            let refused = self.fall_back(taken, &found.id, before, problems).await?;
            taken.expect(&found.id, refused.manifest.as_deref().cloned());
            taken.states.insert(state, refused);
            // Others may use its tables.
            at = 0;
        }
        Ok(())
    }

    /// Records the declarations that are newly in service, and claims their names. Refuses a plugin
    /// that was removed while this load waited, and one whose names another process claimed for
    /// another plugin; that process tells those that use its tables.
    async fn record(&self, taken: &mut Taken) -> Result<()> {
        let is_good = |manifest: &&Manifest| {
            taken.states.iter().any(|one| one.id == manifest.id && one.problems.is_empty())
        };
        let news: Vec<_> = taken.news.iter().filter(is_good).cloned().collect();
        let claims: Vec<_> = taken.claims.iter().filter(is_good).cloned().collect();
        let is_new = |manifest: &Manifest| taken.names.lack(manifest);
        if news.is_empty() && !claims.iter().any(is_new) {
            return Ok(());
        }
        let mut change = self.change(Actor::System).await?;
        change.lock(Lock::SCHEMA).await?;
        let mut refused = Vec::new();
        for manifest in claims.iter().filter(|manifest| is_new(manifest)) {
            let clashes = Names::within(&mut change).await?.clashes(manifest);
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
        change.announce(installed::TABLE);
        change.commit().await?;
        self.accounts().settle_rights(&BTreeMap::new()).await?;
        for refused in refused {
            taken.withdraw(&refused.id);
            if let Some(state) = taken.states.iter_mut().find(|state| state.id == refused.id) {
                *state = refused;
            }
        }
        taken.names = Names::load(self.db()).await?;
        Ok(())
    }

    /// Adds the tables of a plugin. Everything is checked before anything is made: names, what the
    /// database would refuse, what only the tables in service show. Returns the problems that its
    /// file has beside them.
    async fn take_in(
        &self,
        taken: &mut Taken,
        manifest: &Manifest,
        found: Option<&LoadedPlugin>,
        opening: Opening,
    ) -> Result<Vec<Problem>> {
        let declared = declared(manifest, &manifest.tables);
        check_id(&taken.states, &manifest.id)?;
        let clashes = taken.names_but_of(&manifest.id).clashes(manifest);
        if !clashes.is_empty() {
            return Ok(found.map_or(clashes.clone(), |found| found.located(clashes)));
        }
        taken.tables.check_names(declared)?;
        let registers = opening == Opening::Apply;
        self.check_rows(taken, manifest, (found.is_none(), registers)).await?;
        let standing = install::standing(self.db(), declared).await?;
        if opening.wants(standing) && !opening.writes() {
            // A plugin that can never be installed does not keep the site from opening.
            if let Some(why) = taken.refusals.of(manifest)?.filter(|_| found.is_some()) {
                return Err(resolve::load_error(why.to_owned()));
            }
            let changes = install::changes(self.db(), &taken.tables, declared).await?;
            if !changes.refused.is_empty() {
                return Err(resolve::load_error(changes.refused.join(" ")));
            }
        }
        if let Some(found) = found {
            let problems = self.problems_of(taken, found, manifest).await?;
            if !problems.is_empty() {
                return Ok(problems);
            }
        }
        if opening.wants(standing) {
            if !opening.writes() {
                return Err(Error::outdated(format!("tables of the plugin {}", manifest.id)));
            }
            for build in self.install(taken, declared, opening).await? {
                // A rule is in force before anybody writes.
                if opening == Opening::Apply || build.index.unique {
                    install::build(self.db(), &manifest.id, &build).await?;
                } else {
                    taken.builds.push(Wanted::new(&manifest.id, build));
                }
            }
        }
        self.serve(taken, manifest).await?;
        taken.note_rows(manifest, registers);
        Ok(Vec::new())
    }

    /// What only the tables in service show, such as columns of adopted tables.
    async fn problems_of(
        &self,
        taken: &Taken,
        found: &LoadedPlugin,
        manifest: &Manifest,
    ) -> Result<Vec<Problem>> {
        let mut tables = taken.tables.clone();
        let adopted: Vec<_> = manifest.tables.iter().filter(|table| table.adopt).cloned().collect();
        self.resolve(&mut tables, declared(manifest, &adopted)).await?;
        let others = taken.expected.values().filter(|other| other.id != manifest.id);
        Ok(found.problems_with(manifest, others, &tables, &taken.absent))
    }
}
