//! Takes plugins into service: their tables, then their events.

use std::{collections::BTreeMap, sync::Arc};

use super::Cms;
use crate::{
    Actor, Code, Error, Result,
    content::{self, Declared, Tables, resolve},
    plugins::{self, Manifest, Plugin, PluginState, Problem, manifest::ContentType},
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

impl Cms {
    /// Loads the content tables: those of the core, then of `given` plugins, then of plugins in the
    /// folder.
    ///
    /// # Errors
    /// `validation_failed` for a faulty `given` plugin. A faulty plugin of the folder is logged and
    /// left out.
    pub(super) async fn load(&self, given: Vec<Arc<dyn Plugin>>, opening: Opening) -> Result<()> {
        let (core, mut tables) = (content::core::tables(), Tables::default());
        let declared = Declared { plugin: content::core::ID, tables: &core, silent: false };
        self.resolve(&mut tables, declared).await?;
        let (mut states, mut handlers) = (Vec::new(), BTreeMap::new());
        for plugin in given {
            let (manifest, own) = (plugin.manifest(), plugin.handlers());
            let problems = [manifest.problems(), own.missing(&manifest)].concat();
            if !problems.is_empty() {
                let list: Vec<_> = problems.iter().map(Problem::to_string).collect();
                let why = format!("plugin {}: {}", manifest.id, list.join("; "));
                return Err(Error::new(Code::ValidationFailed, why));
            }
            self.take_in(&mut tables, &states, &manifest, opening).await?;
            handlers.insert(manifest.id.clone(), own);
            states.push(PluginState::in_service(manifest));
        }
        let own: Vec<_> = states.iter().filter_map(|state| state.manifest.as_deref()).collect();
        let own: Vec<_> = own.into_iter().cloned().collect();
        for found in plugins::load_folder(&self.settings().dirs.plugins, &own) {
            let state = match &found.outcome {
                Ok(manifest) => match self.take_in(&mut tables, &states, manifest, opening).await {
                    Ok(()) => match found.problems_with(manifest, &tables) {
                        problems if problems.is_empty() => {
                            PluginState::in_service(manifest.clone())
                        }
                        problems => {
                            tables.remove(&found.id);
                            PluginState::refused(found.id, problems)
                        }
                    },
                    Err(error) if error.is_outdated() && opening == Opening::AsIs => {
                        return Err(error);
                    }
                    Err(error) => PluginState::refused(found.id, vec![error.into()]),
                },
                Err(problems) => PluginState::refused(found.id.clone(), problems.clone()),
            };
            for problem in &state.problems {
                tracing::error!(plugin = state.id, %problem, "plugin not loaded");
            }
            states.push(state);
        }
        self.0.registry.set(tables);
        self.0.plugins.set(states, handlers);
        if opening == Opening::Update {
            self.webhooks().register(&self.plugins().index()).await?;
        }
        Ok(())
    }

    /// Adds the tables of a plugin, unless a name is already taken. Creates them, or says that they
    /// are not up to date.
    async fn take_in(
        &self,
        tables: &mut Tables,
        before: &[PluginState],
        manifest: &Manifest,
        opening: Opening,
    ) -> Result<()> {
        let silent = manifest.content_type == ContentType::Custom;
        let declared = Declared { plugin: &manifest.id, tables: &manifest.tables, silent };
        tables.check_names(declared)?;
        plugins::check_names(before, manifest)?;
        if !content::install::is_installed(self.db(), declared).await? {
            if opening != Opening::Update {
                // So that a plugin that can never be installed does not keep the site from opening.
                let changes = content::install::changes(self.db(), tables, declared).await?;
                if !changes.refused.is_empty() {
                    return Err(resolve::load_error(changes.refused.join(" ")));
                }
                return Err(Error::outdated(format!("tables of the plugin {}", manifest.id)));
            }
            let mut change = self.change(Actor::System).await?;
            let builds = content::install::install(&mut change, tables, declared).await?;
            change.commit().await?;
            for build in &builds {
                content::install::build(self.db(), &manifest.id, build).await?;
            }
        }
        self.resolve(tables, declared).await
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
