//! Takes plugins into service: their tables, then their events.

use std::collections::BTreeMap;

use super::Cms;
use crate::{
    Actor, Code, Error, Result,
    content::{self, Declared, TableDeclaration, Tables, resolve},
    plugins::{
        self, LoadedPlugin, Manifest, PluginState, Problem,
        installed::{self, Installed},
        manifest::ContentType,
    },
};

/// What opening a site may do to its database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opening {
    /// Make it when missing, bring it up to date.
    Update,
    /// Write nothing, and refuse it when it is not up to date.
    AsIs,
    /// Write nothing, and leave out plugins that are not up to date.
    Inspect,
}

/// What is in service so far.
#[derive(Default)]
struct Taken {
    tables: Tables,
    states: Vec<PluginState>,
}

/// Tables of a plugin.
pub(super) fn declared<'a>(manifest: &'a Manifest, tables: &'a [TableDeclaration]) -> Declared<'a> {
    let silent = manifest.content_type == ContentType::Custom;
    Declared { plugin: &manifest.id, tables, silent }
}

impl Cms {
    /// Loads the content tables: those of the core, then of plugins that the program contains, then
    /// of plugins in the folder. With `only`, no other plugin of the folder changes the database.
    ///
    /// # Errors
    /// `validation_failed` for a faulty plugin of the program. A faulty plugin of the folder is
    /// logged; its earlier declaration stays in service.
    pub(super) async fn load(&self, opening: Opening, only: Option<&str>) -> Result<()> {
        let _turn = self.0.loading.lock().await;
        let mut taken = Taken::default();
        let core = content::core::tables();
        let declared = Declared { plugin: content::core::ID, tables: &core, silent: false };
        self.resolve(&mut taken.tables, declared).await?;
        let mut handlers = BTreeMap::new();
        for plugin in &self.0.given {
            let (manifest, own) = (plugin.manifest(), plugin.handlers());
            let problems = [manifest.problems(), own.missing(&manifest)].concat();
            if !problems.is_empty() {
                let list: Vec<_> = problems.iter().map(Problem::to_string).collect();
                let why = format!("plugin {}: {}", manifest.id, list.join("; "));
                return Err(Error::new(Code::ValidationFailed, why));
            }
            self.take_in(&mut taken, &manifest, opening).await?;
            handlers.insert(manifest.id.clone(), own);
            taken.states.push(PluginState::in_service(manifest));
        }
        let installed = installed::all(self.db()).await?;
        let own: Vec<_> =
            taken.states.iter().filter_map(|state| state.manifest.as_deref()).collect();
        let own: Vec<_> = own.into_iter().cloned().collect();
        for found in plugins::load_folder(&self.settings().dirs.plugins, &own) {
            let opening = match opening {
                Opening::Update if only.is_some_and(|only| only != found.id) => Opening::Inspect,
                opening => opening,
            };
            let state =
                self.state_of(&mut taken, &found, installed.get(&found.id), opening).await?;
            for problem in &state.problems {
                let what = match state.is_earlier() {
                    true => "plugin not loaded; its earlier declaration stays in service",
                    false => "plugin not loaded",
                };
                tracing::error!(plugin = state.id, %problem, "{what}");
            }
            taken.states.push(state);
        }
        self.0.registry.set(taken.tables);
        self.0.plugins.set(taken.states, handlers);
        if opening == Opening::Update {
            self.webhooks().register(&self.plugins().index()).await?;
        }
        Ok(())
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
            let why = format!("it was removed: `cms plugins apply {}` takes it back", found.id);
            return Ok(PluginState::refused(found.id.clone(), vec![Problem::whole(why)]));
        }
        let problems = match &found.outcome {
            Ok(manifest) => match self.take_in(taken, manifest, opening).await {
                Ok(()) => {
                    let problems = found.problems_with(manifest, &taken.tables);
                    if problems.is_empty() {
                        let recorded = installed.map(|i| i.is(manifest)).transpose()?;
                        if opening == Opening::Update && recorded != Some(true) {
                            let mut change = self.change(Actor::System).await?;
                            installed::record(&mut change, manifest).await?;
                            change.commit().await?;
                        }
                        return Ok(PluginState::in_service(manifest.clone()));
                    }
                    taken.tables.remove(&found.id);
                    problems
                }
                Err(error) if error.is_outdated() && opening == Opening::AsIs => return Err(error),
                Err(error) => vec![error.into()],
            },
            Err(problems) => problems.clone(),
        };
        let Some(earlier) = installed.and_then(Installed::manifest) else {
            return Ok(PluginState::refused(found.id.clone(), problems));
        };
        Ok(match self.serve(taken, &earlier).await {
            Ok(()) => PluginState::earlier(earlier, problems),
            Err(error) => {
                let problems = [problems, vec![error.into()]].concat();
                PluginState::refused(found.id.clone(), problems)
            }
        })
    }

    /// Adds the tables of a plugin, unless a name is already taken. Creates them, or says that they
    /// are not up to date.
    async fn take_in(
        &self,
        taken: &mut Taken,
        manifest: &Manifest,
        opening: Opening,
    ) -> Result<()> {
        let declared = declared(manifest, &manifest.tables);
        taken.tables.check_names(declared)?;
        plugins::check_names(&taken.states, manifest)?;
        if !content::install::is_installed(self.db(), declared).await? {
            if opening != Opening::Update {
                // So that a plugin that can never be installed does not keep the site from opening.
                let changes = content::install::changes(self.db(), &taken.tables, declared).await?;
                if !changes.refused.is_empty() {
                    return Err(resolve::load_error(changes.refused.join(" ")));
                }
                return Err(Error::outdated(format!("tables of the plugin {}", manifest.id)));
            }
            let mut change = self.change(Actor::System).await?;
            let builds = content::install::install(&mut change, &taken.tables, declared).await?;
            change.commit().await?;
            for build in &builds {
                content::install::build(self.db(), &manifest.id, build).await?;
            }
        }
        self.serve(taken, manifest).await
    }

    /// Adds the tables of a plugin as they are.
    async fn serve(&self, taken: &mut Taken, manifest: &Manifest) -> Result<()> {
        let tables = plugins::bound_tables(manifest);
        let declared = declared(manifest, &tables);
        taken.tables.check_names(declared)?;
        plugins::check_names(&taken.states, manifest)?;
        self.resolve(&mut taken.tables, declared).await
    }

    async fn resolve(&self, tables: &mut Tables, declared: Declared<'_>) -> Result<()> {
        let mut resolved = Vec::new();
        for table in declared.tables {
            resolved.push(resolve::resolve(self.db(), declared, table).await?);
        }
        tables.add(resolved);
        Ok(())
    }
}
