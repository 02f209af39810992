//! Opening a site: the database, its migrations, then the content tables of the core and of
//! plugins.

use std::sync::Arc;

use arc_swap::ArcSwap;
use jiff::tz::TimeZone;

use super::{Cms, Inner, PluginState, follow::follow};
use crate::{
    Actor, Clock, Code, Error, Random, Result,
    access::Registry,
    accounts::Passwords,
    crypto::Vault,
    db::{Db, Known, Migration},
    items::{self, Tables, registry},
    keys::Usage,
    plugins::{self, Plugin},
    settings::Settings,
    traffic::{cache::Followed, limiter::Limiter, origins::Active, redis::Redis},
    webhooks::{self, Delivered, Sender},
};

/// Opens a site with more than settings.
pub struct Builder {
    settings: Settings,
    clock: Clock,
    random: Random,
    plugins: Vec<Plugin>,
}

impl Builder {
    pub(super) fn new(settings: Settings) -> Self {
        Self { settings, clock: Clock::system(), random: Random::system(), plugins: Vec::new() }
    }

    /// Time from elsewhere: tests travel with a fixed clock.
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Randomness from elsewhere: only for tests.
    #[must_use]
    pub fn random(mut self, random: Random) -> Self {
        self.random = random;
        self
    }

    /// Adds a plugin of the embedding program.
    #[must_use]
    pub fn plugin(mut self, plugin: Plugin) -> Self {
        self.plugins.push(plugin);
        self
    }

    /// The steps of the schema, without opening the site: `apply` brings the database up to date.
    ///
    /// # Errors
    /// `validation_failed` for settings; `unavailable` when a step fails or the files were edited.
    pub async fn migrations(self, apply: bool) -> Result<Vec<Migration>> {
        let database = self
            .settings
            .database()
            .map_err(|e| Error::new(Code::ValidationFailed, e.to_string()))?;
        let db = Db::open(&database).await?;
        let steps = db.migrate(&self.clock, &self.random, apply).await;
        db.close().await;
        steps
    }

    /// Connects, applies pending migrations (unless `migrate = false`), loads the plugins.
    ///
    /// # Errors
    /// `validation_failed` for settings or for a plugin given here; `unavailable` when the database
    /// cannot be used. A plugin folder with errors is skipped and logged.
    pub async fn open(self) -> Result<Cms> {
        let Self { settings, clock, random, plugins } = self;
        let invalid =
            |e: crate::settings::SettingsError| Error::new(Code::ValidationFailed, e.to_string());
        settings.validate().map_err(invalid)?;
        let zone = TimeZone::get(&settings.timezone)
            .map_err(|e| Error::invalid_field("timezone", "unknown", e.to_string()))?;
        let vault = Vault::new(
            settings.encryption_key.iter().chain(&settings.old_encryption_keys),
            random.clone(),
        )?;
        let redis = Redis::of(&settings)?;
        let db = Db::open(&settings.database().map_err(invalid)?).await?;
        let steps = db.migrate(&clock, &random, settings.migrate).await?;
        if !settings.migrate && steps.iter().any(|step| !step.applied) {
            return Err(Error::new(
                Code::Unavailable,
                "The database lacks migrations and migrate = false: run `cms migrate up`.",
            ));
        }
        let cache = Followed::new(&settings.cache);
        let limiter = Limiter::new(&settings, redis.as_ref(), clock.clone());
        let passwords = Passwords::new(settings.password_salt.clone());
        let sender = Sender::new(&settings.webhooks)?;
        let inner = Inner {
            db,
            clock,
            random,
            settings,
            zone,
            vault,
            passwords,
            sender,
            delivered: Delivered::default(),
            tables: ArcSwap::default(),
            plugins: Vec::new(),
            usage: Usage::default(),
            redis,
            keys: Known::default(),
            sessions: Known::default(),
            limiter,
            origins: Active::default(),
            cache,
            access: Registry::default(),
        };
        let cms = Cms(Arc::new(inner));
        cms.load(plugins).await
    }
}

impl Cms {
    /// The content tables: core, then given plugins, then the folder.
    async fn load(self, given: Vec<Plugin>) -> Result<Self> {
        let mut tables = Tables::default();
        let core = items::core::plugin();
        let mut resolved = Vec::new();
        for table in &core.tables {
            resolved.push(registry::resolve(self.db(), &core, table).await?);
        }
        tables.add(resolved);
        let (mut states, mut loaded_plugins) = (Vec::new(), Vec::new());
        for plugin in given {
            let problems = plugin.problems();
            if !problems.is_empty() {
                return Err(Error::new(
                    Code::ValidationFailed,
                    format!("plugin {}: {}", plugin.id, problems.join("; ")),
                ));
            }
            self.add_plugin(&mut tables, &plugin).await?;
            states.push(PluginState { id: plugin.id.clone(), problems });
            loaded_plugins.push(plugin);
        }
        for loaded in plugins::load_folder(&self.settings().dirs.plugins) {
            let problems = match loaded.outcome {
                Ok(plugin) => match self.add_plugin(&mut tables, &plugin).await {
                    Ok(()) => {
                        loaded_plugins.push(plugin);
                        Vec::new()
                    }
                    Err(error) => vec![error.detail().to_owned()],
                },
                Err(problems) => problems,
            };
            for problem in &problems {
                tracing::error!(plugin = loaded.id, problem, "plugin not loaded");
            }
            states.push(PluginState { id: loaded.id, problems });
        }
        self.0.tables.store(Arc::new(tables));
        webhooks::register(&self, &loaded_plugins).await?;
        self.catch_up().await?;
        // Read here, so that no visitor waits for them.
        self.cache_rules().await?;
        // Nobody else holds the handle yet.
        match Arc::try_unwrap(self.0) {
            Ok(inner) => {
                let cms = Self(Arc::new(Inner { plugins: states, ..inner }));
                tokio::spawn(follow(Arc::downgrade(&cms.0)));
                Ok(cms)
            }
            Err(shared) => Ok(Self(shared)),
        }
    }

    async fn add_plugin(&self, tables: &mut Tables, plugin: &Plugin) -> Result<()> {
        tables.check_names(plugin)?;
        if plugin.tables.iter().any(|table| !table.adopt) {
            let mut change = self.change(Actor::System).await?;
            items::install::install(self, &mut change, tables, plugin).await?;
            change.commit().await?;
        }
        let mut resolved = Vec::new();
        for table in &plugin.tables {
            resolved.push(registry::resolve(self.db(), plugin, table).await?);
        }
        tables.add(resolved);
        Ok(())
    }
}
