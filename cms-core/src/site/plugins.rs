//! Taking plugins into service: their tables, then their events.

use super::Cms;
use crate::{
    Actor, Code, Error, Result,
    content::{self, Declared, Tables, resolve},
    plugins::{self, Plugin, PluginState},
};

impl Cms {
    /// The content tables: the core's, then those of `given` plugins, then those of the folder.
    ///
    /// # Errors
    /// `validation_failed` for a given plugin with errors. One of the folder is logged and left
    /// out.
    pub(super) async fn load(&self, given: Vec<Plugin>) -> Result<()> {
        let (core, mut tables) = (content::core::tables(), Tables::default());
        let declared = Declared { plugin: content::core::ID, tables: &core };
        self.resolve(&mut tables, declared).await?;
        let (mut states, mut loaded) = (Vec::new(), Vec::new());
        for plugin in given {
            let problems = plugin.problems();
            if !problems.is_empty() {
                let why = format!("plugin {}: {}", plugin.id, problems.join("; "));
                return Err(Error::new(Code::ValidationFailed, why));
            }
            self.take_in(&mut tables, &plugin).await?;
            states.push(PluginState { id: plugin.id.clone(), problems });
            loaded.push(plugin);
        }
        for found in plugins::load_folder(&self.settings().dirs.plugins) {
            let problems = match found.outcome {
                Ok(plugin) => match self.take_in(&mut tables, &plugin).await {
                    Ok(()) => {
                        loaded.push(plugin);
                        Vec::new()
                    }
                    Err(error) => vec![error.detail().to_owned()],
                },
                Err(problems) => problems,
            };
            for problem in &problems {
                tracing::error!(plugin = found.id, problem, "plugin not loaded");
            }
            states.push(PluginState { id: found.id, problems });
        }
        self.0.registry.set(tables);
        self.0.plugins.set(states);
        self.webhooks().register(&loaded).await
    }

    async fn take_in(&self, tables: &mut Tables, plugin: &Plugin) -> Result<()> {
        let declared = Declared { plugin: &plugin.id, tables: &plugin.tables };
        tables.check_names(declared)?;
        if plugin.tables.iter().any(|table| !table.adopt) {
            let mut change = self.change(Actor::System).await?;
            content::install::install(&mut change, tables, declared).await?;
            change.commit().await?;
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
