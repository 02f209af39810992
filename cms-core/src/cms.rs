//! The one handle that every part of the system holds.

use std::sync::{Arc, Weak};

use arc_swap::ArcSwap;
use jiff::tz::TimeZone;

use crate::{
    Actor, Clock, Code, Error, Random, Result,
    accounts::{Accounts, Passwords},
    crypto::Vault,
    db::{Change, Db, Migration, follow::Watch},
    items::{self, Items, Tables, registry},
    keys::{Keys, Known, Usage},
    pages::Pages,
    plugins::{self, Plugin},
    settings::Settings,
    traffic::{
        cache::Followed,
        limiter::Limiter,
        origins::{Active, Origins},
        redis::Redis,
    },
};

/// An open site. Clones are cheap and share everything.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
/// # let folder = tempfile::tempdir()?;
/// use cms_core::{Actor, Cms, items::Query, settings::Settings};
///
/// let mut settings = Settings::default();
/// settings.dirs.data = folder.path().to_owned();
/// let cms = Cms::open(settings).await?;
///
/// let mut change = cms.change(Actor::Operator).await?;
/// let body = serde_json::json!({"name": "claim", "value": "Hello", "public": true});
/// cms.items().create(&mut change, "settings", body.as_object().ok_or("no object")?).await?;
/// change.commit().await?;
///
/// assert_eq!(cms.pages().settings().await?, r#"{"claim":"Hello"}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Cms(Arc<Inner>);

struct Inner {
    db: Db,
    clock: Clock,
    random: Random,
    settings: Settings,
    zone: TimeZone,
    vault: Vault,
    passwords: Passwords,
    tables: ArcSwap<Tables>,
    plugins: Vec<PluginState>,
    usage: Usage,
    redis: Option<Redis>,
    keys: Known,
    limiter: Limiter,
    origins: Active,
    cache: Followed,
}

/// A plugin and whether it is in use.
#[derive(Clone, Debug)]
pub struct PluginState {
    /// Its id.
    pub id: String,
    /// What is wrong with it; empty when it is in use.
    pub problems: Vec<String>,
}

/// Opens a site with more than settings.
pub struct Builder {
    settings: Settings,
    clock: Clock,
    random: Random,
    plugins: Vec<Plugin>,
}

impl Builder {
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
        let database = self.settings.database().map_err(|e| Error::new(Code::ValidationFailed, e.to_string()))?;
        let db = Db::open(&database).await?;
        let steps = db.migrate(&self.clock, &self.random, apply).await;
        db.close().await;
        steps
    }

    /// Connects, applies pending migrations (unless `migrate = false`), loads the plugins.
    ///
    /// # Errors
    /// `validation_failed` for settings or for a plugin given here; `unavailable` when the database cannot be used. A plugin
    /// folder with errors is skipped and logged.
    pub async fn open(self) -> Result<Cms> {
        let Self { settings, clock, random, plugins } = self;
        let invalid = |e: crate::settings::SettingsError| Error::new(Code::ValidationFailed, e.to_string());
        settings.validate().map_err(invalid)?;
        let zone = TimeZone::get(&settings.timezone).map_err(|e| Error::invalid_field("timezone", "unknown", e.to_string()))?;
        let vault = Vault::new(settings.encryption_key.iter().chain(&settings.old_encryption_keys), random.clone())?;
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
        let inner = Inner {
            db,
            clock,
            random,
            settings,
            zone,
            vault,
            passwords,
            tables: ArcSwap::default(),
            plugins: Vec::new(),
            usage: Usage::default(),
            redis,
            keys: Known::default(),
            limiter,
            origins: Active::default(),
            cache,
        };
        let cms = Cms(Arc::new(inner));
        cms.load(plugins).await
    }
}

impl Cms {
    /// Opens a site with the machine's clock and the plugins of its folder.
    ///
    /// # Errors
    /// As [`Builder::open`].
    pub async fn open(settings: Settings) -> Result<Self> {
        Self::builder(settings).open().await
    }

    /// Opens a site with more than settings.
    #[must_use]
    pub fn builder(settings: Settings) -> Builder {
        Builder { settings, clock: Clock::system(), random: Random::system(), plugins: Vec::new() }
    }

    /// The content tables: core, then given plugins, then the folder.
    async fn load(self, given: Vec<Plugin>) -> Result<Self> {
        let mut tables = Tables::default();
        let core = items::core::plugin();
        let mut resolved = Vec::new();
        for table in &core.tables {
            resolved.push(registry::resolve(self.db(), &core, table).await?);
        }
        tables.add(resolved);
        let mut states = Vec::new();
        for plugin in given {
            let problems = plugin.problems();
            if !problems.is_empty() {
                return Err(Error::new(Code::ValidationFailed, format!("plugin {}: {}", plugin.id, problems.join("; "))));
            }
            self.add_plugin(&mut tables, &plugin).await?;
            states.push(PluginState { id: plugin.id, problems });
        }
        for loaded in plugins::load_folder(&self.settings().dirs.plugins) {
            let problems = match loaded.outcome {
                Ok(plugin) => {
                    self.add_plugin(&mut tables, &plugin).await.err().map(|e| e.detail().to_owned()).into_iter().collect()
                }
                Err(problems) => problems,
            };
            for problem in &problems {
                tracing::error!(plugin = loaded.id, problem, "plugin not loaded");
            }
            states.push(PluginState { id: loaded.id, problems });
        }
        self.0.tables.store(Arc::new(tables));
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

    /// Takes over what other processes have committed since: epochs, and what is kept in memory. Runs by itself in the background,
    /// several times a second; a test calls it instead of waiting.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be reached.
    pub async fn catch_up(&self) -> Result<()> {
        let _changed = self.db().catch_up().await?;
        Ok(())
    }

    /// Begins a change on behalf of somebody.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be reached.
    pub async fn change(&self, actor: Actor) -> Result<Change> {
        Change::begin(self.db(), self.clock(), self.random(), actor).await
    }

    /// The steps of the schema; `apply` brings the database up to date.
    ///
    /// # Errors
    /// `unavailable` when a step fails or the files were edited.
    pub async fn migrations(&self, apply: bool) -> Result<Vec<Migration>> {
        self.db().migrate(self.clock(), self.random(), apply).await
    }

    /// API keys.
    #[must_use]
    pub fn keys(&self) -> Keys<'_> {
        Keys(self)
    }

    /// Backend users and their groups.
    #[must_use]
    pub fn accounts(&self) -> Accounts<'_> {
        Accounts(self)
    }

    /// Websites whose pages may call.
    #[must_use]
    pub fn origins(&self) -> Origins<'_> {
        Origins(self)
    }

    /// Rows of content tables.
    #[must_use]
    pub fn items(&self) -> Items<'_> {
        Items(self)
    }

    /// What visitors read.
    #[must_use]
    pub fn pages(&self) -> Pages<'_> {
        Pages(self)
    }

    /// The content tables at this moment.
    #[must_use]
    pub fn tables(&self) -> Arc<Tables> {
        self.0.tables.load_full()
    }

    /// The plugins that were found.
    #[must_use]
    pub fn plugins(&self) -> &[PluginState] {
        &self.0.plugins
    }

    /// The database.
    #[must_use]
    pub fn db(&self) -> &Db {
        &self.0.db
    }

    /// The settings it was opened with.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// The clock it was opened with.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// The randomness it was opened with.
    #[must_use]
    pub fn random(&self) -> &Random {
        &self.0.random
    }

    pub(crate) fn zone(&self) -> &TimeZone {
        &self.0.zone
    }

    pub(crate) fn vault(&self) -> &Vault {
        &self.0.vault
    }

    pub(crate) fn passwords(&self) -> &Passwords {
        &self.0.passwords
    }

    pub(crate) fn followed_cache(&self) -> &Followed {
        &self.0.cache
    }

    pub(crate) fn active_origins(&self) -> &Active {
        &self.0.origins
    }

    pub(crate) fn redis(&self) -> Option<&Redis> {
        self.0.redis.as_ref()
    }

    pub(crate) fn known_keys(&self) -> &Known {
        &self.0.keys
    }

    pub(crate) fn usage(&self) -> &Usage {
        &self.0.usage
    }

    /// The limiter of requests.
    #[must_use]
    pub fn limiter(&self) -> &Limiter {
        &self.0.limiter
    }

    /// Writes what is gathered in memory: counters of keys. To be called about once a minute, and by [`Cms::close`].
    ///
    /// # Errors
    /// As every write; what could not be written is kept.
    pub async fn flush(&self) -> Result<()> {
        self.usage().flush(self).await
    }

    /// Whether the database answers and has every migration.
    ///
    /// # Errors
    /// `unavailable` with the reason.
    pub async fn ready(&self) -> Result<()> {
        if self.db().migrations_applied().await? >= cms_migrations::ALL.len() as i64 {
            return Ok(());
        }
        Err(Error::new(Code::Unavailable, "The database lacks migrations: run `cms migrate up`."))
    }

    /// Flushes and closes the database.
    pub async fn close(&self) {
        if let Err(error) = self.flush().await {
            tracing::error!(%error, "counters were not written");
        }
        self.db().close().await;
    }
}

/// Follows other processes until the site is dropped or closed.
async fn follow(site: Weak<Inner>) {
    const PAUSE: std::time::Duration = std::time::Duration::from_millis(500);
    while let Some(db) = site.upgrade().map(|inner| inner.db.clone()) {
        let outcome = async {
            let mut watch = Watch::new(&db).await?;
            loop {
                watch.news().await?;
                let Some(inner) = site.upgrade() else { return Ok(()) };
                Cms(inner).catch_up().await?;
            }
        };
        match outcome.await {
            Ok(()) => return,
            Err(error) if db.is_closed() => return drop::<Error>(error),
            Err(error) => {
                tracing::warn!(%error, "other processes cannot be followed; trying again");
                drop(db);
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}
