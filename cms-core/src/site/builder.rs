//! Opens a site: the database, its migrations, then the content tables of the core and of plugins.

use std::{sync::Arc, time::Duration};

use jiff::tz::TimeZone;
use tokio::sync::watch;

use super::{
    Cms, Rooms,
    background::own_tasks,
    building::Building,
    follow::{follow, refresh},
    loading::Opening,
    own_tables::{self, OwnTables},
};
use crate::{
    AuditLog, Clock, Code, Error, Random, Result, Vault,
    access::Endpoints,
    accounts::Accounts,
    backup,
    base::{Base, Parts},
    change::{Guards, Holders},
    content::{Registry, Tables},
    db::{Db, Migration},
    events::Outbox,
    forms::Forms,
    funnels::{self, Funnels},
    ground::{Cursors, Secret, SiteRef},
    items::{Content, Items, mismatches},
    jobs::{FaultLog, Restarts},
    keys::Keys,
    mail::Mails,
    media::Media,
    pages::Pages,
    plugins::{Names, Plugin, Plugins},
    scripts::{ScriptLauncher, Scripts},
    settings::{Settings, SettingsError},
    tasks::Tasks,
    theme::Theme,
    traffic::{
        cache::Cache, idempotency::Idempotency, limiter::Limiter, origins::Origins, redis::Redis,
    },
    webhooks::Webhooks,
};

/// Opens a site with more than settings: a clock, randomness, plugins.
pub struct Builder {
    settings: Settings,
    clock: Clock,
    random: Random,
    plugins: Vec<Arc<dyn Plugin>>,
    types: Vec<fn(&Tables) -> Vec<String>>,
    launcher: Option<ScriptLauncher>,
    own_tables: Vec<OwnTables>,
}

impl Builder {
    pub(super) fn new(settings: Settings) -> Self {
        Self {
            settings,
            clock: Clock::system(),
            random: Random::system(),
            plugins: Vec::new(),
            types: Vec::new(),
            launcher: None,
            own_tables: Vec::new(),
        }
    }

    /// Sets the clock. Tests set a fixed one.
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Sets the randomness. For tests only.
    #[must_use]
    pub fn random(mut self, random: Random) -> Self {
        self.random = random;
        self
    }

    /// Adds a plugin of the embedding program.
    #[must_use]
    pub fn plugin(mut self, plugin: impl Plugin) -> Self {
        self.plugins.push(Arc::new(plugin));
        self
    }

    /// Creates tables of the embedding program when the site opens, and lets
    /// [`Items::sql`](crate::items::Items::sql) write to them.
    #[must_use]
    pub fn own_tables(mut self, tables: OwnTables) -> Self {
        self.own_tables.push(tables);
        self
    }

    /// Compares a Rust type with its content table when the site opens. If they do not fit,
    /// opening fails and reports all differences.
    #[must_use]
    pub fn content<T: Content>(mut self) -> Self {
        self.types.push(mismatches::<T>);
        self
    }

    /// Sets the program that runs between the service and scripts of plugins. Without it, scripts
    /// run with all rights of this process.
    #[must_use]
    pub fn script_launcher(mut self, launcher: ScriptLauncher) -> Self {
        self.launcher = Some(launcher);
        self
    }

    /// The steps of the schema, without opening the site. With `apply`, creates the database if it
    /// is missing and brings it up to date, including the program's own tables.
    ///
    /// # Errors
    /// `validation_failed` for settings; `unavailable` when a step fails, when the files were
    /// edited, or when there is no database to read.
    pub async fn migrations(self, apply: bool) -> Result<Vec<Migration>> {
        let database = self.settings.database().map_err(invalid)?;
        backup::expect_none(&self.settings)?;
        let db = if apply { Db::open(&database).await? } else { Db::existing(&database).await? };
        let migrated = async {
            let steps = db.migrate(&self.clock, apply).await?;
            if apply {
                let parts = (&db, &self.clock, &self.random);
                own_tables::make(&self.own_tables, parts, true).await?;
            }
            Ok(steps)
        };
        let steps = migrated.await;
        db.close().await;
        steps
    }

    /// The names of plugins, each with its owner, without opening the site.
    ///
    /// # Errors
    /// `validation_failed` for settings; `unavailable` when there is no database to read, or when
    /// the database has another version.
    pub async fn plugin_names(self) -> Result<Names> {
        let db = Db::existing(&self.settings.database().map_err(invalid)?).await?;
        let names = Names::load(&db).await;
        db.close().await;
        names
    }

    /// Connects, applies pending migrations, and loads the plugins with their tables. Indexes of
    /// tables that have rows are made in the background: [`Cms::indexes_made`] waits for them.
    /// With `migrate = false` nothing is created, and a database that is missing or not up to date
    /// is refused.
    ///
    /// # Errors
    /// `validation_failed` for wrong settings or for a faulty plugin given here; `unavailable`
    /// when the database cannot be used. A faulty plugin of the folder is logged and left out.
    pub async fn open(self) -> Result<Cms> {
        let opening = if self.settings.migrate { Opening::Start } else { Opening::AsIs };
        self.open_for(opening).await
    }

    /// Opens the site for reading: writes nothing, and leaves out plugins whose tables are not up
    /// to date.
    ///
    /// # Errors
    /// As [`Builder::open`] with `migrate = false`.
    pub async fn inspect(self) -> Result<Cms> {
        self.open_for(Opening::Inspect).await
    }

    async fn open_for(self, opening: Opening) -> Result<Cms> {
        let Self { settings, clock, random, plugins, types, launcher, own_tables } = self;
        if tokio::runtime::Handle::try_current().is_err() {
            let why =
                "A site is opened within a Tokio runtime: #[tokio::main], or block_on of one.";
            return Err(Error::new(Code::Unavailable, why));
        }
        settings.validate().map_err(invalid)?;
        let zone = TimeZone::get(&settings.timezone)
            .map_err(|e| Error::invalid_field("timezone", "unknown", e.to_string()))?;
        let vault = Vault::new(
            settings.encryption_key.iter().chain(&settings.old_encryption_keys),
            random.clone(),
        )?;
        let keys = settings.encryption_key.iter().chain(&settings.old_encryption_keys);
        // A site without `encryption_key` still has a salt, if anyone can log in.
        let salt = settings.password_salt.iter().filter(|_| settings.encryption_key.is_none());
        let cursors = Cursors::new(keys.chain(salt).map(Secret::expose), &random)?;
        let redis = Redis::of(&settings)?;
        let database = settings.database().map_err(invalid)?;
        backup::expect_none(&settings)?;
        let db = match opening {
            Opening::Start | Opening::Apply => Db::open(&database).await?,
            Opening::AsIs | Opening::Inspect => Db::existing(&database).await?,
        };
        let migrated = match opening {
            Opening::Start | Opening::Apply => db.migrate(&clock, true).await.map(drop),
            Opening::AsIs | Opening::Inspect => db.expect_migrated().await,
        };
        let migrated = match migrated {
            Ok(()) => own_tables::make(&own_tables, (&db, &clock, &random), opening.writes()).await,
            failed => failed,
        };
        if let Err(error) = migrated {
            db.close().await;
            return Err(error);
        }
        let base = Base::new(Parts {
            db,
            clock,
            random,
            settings,
            zone,
            vault,
            cursors,
            outbox: Outbox::default(),
            guards: Guards::default(),
            holders: Holders::default(),
        });
        let settings = base.settings();
        let (endpoints, registry) = (Endpoints::default(), Registry::default());
        let own = own_tables.iter().flat_map(|own| own.tables.iter().copied()).collect();
        let (items, known) = (Items::new(&base, &registry, own), Plugins::default());
        let (reapplied, news) = watch::channel(0);
        let scripts = Scripts::new(&base, &items, &known, launcher);
        let mail = Mails::new(&base)?;
        let funnels = Funnels::new(&base, &mail);
        let pages = Pages::new(&base, &items, &known);
        let media = Media::new(&base, &items, &pages)?;
        let keys = Keys::new(&base, &endpoints);
        let own = own_tasks(settings, &funnels, &media, &pages);
        let rooms = Rooms {
            audit: AuditLog::new(&base),
            theme: Theme::new(&base, &endpoints, &keys),
            keys,
            accounts: Accounts::new(&base, &[funnels::UNASSIGN]),
            limiter: Limiter::new(settings, redis.as_ref(), base.clock().clone()),
            origins: Origins::new(&base),
            cache: Cache::new(&base, redis.as_ref()),
            idempotency: Idempotency::new(&base),
            pages,
            tasks: Tasks::new(&base, &items, &known, &scripts, own),
            media,
            forms: Forms::new(&base, &mail),
            funnels,
            mail,
            webhooks: Webhooks::new(&base, &registry)?,
            endpoints,
            items,
            scripts,
            plugins: known,
            given: plugins,
            loading: tokio::sync::Mutex::default(),
            building: Building::default(),
            reapplied,
            restarts: Restarts::default(),
            faults: FaultLog::default(),
            kept: Default::default(),
            redis,
            registry,
            base,
        };
        let cms = Cms(Arc::new(rooms));
        let limit = Duration::from_secs(cms.settings().scripts.timeout_s);
        cms.plugins().set_site(SiteRef::of(&cms.0), limit);
        cms.provide_widgets();
        if let Err(error) = cms.begin(opening).await {
            cms.db().close().await;
            return Err(error);
        }
        let tables = cms.0.registry.tables();
        let unfit: Vec<_> = types.iter().flat_map(|mismatches| mismatches(&tables)).collect();
        if !unfit.is_empty() {
            cms.db().close().await;
            let why = format!("Rust types do not fit their tables: {}.", unfit.join("; "));
            return Err(Error::new(Code::ValidationFailed, why));
        }
        cms.catch_up().await?;
        // Reads the rules now, so that no visitor has to wait for them.
        cms.cache().rules().await?;
        let site = Arc::downgrade(&cms.0);
        let (unstopped, stop) = watch::channel(false);
        let (followed, refreshed) = (site.clone(), site);
        let following = cms.supervised("follower", stop.clone(), move |_| follow(followed.clone()));
        let refreshing =
            cms.supervised("plugins", stop, move |_| refresh(refreshed.clone(), news.clone()));
        tokio::spawn(async move {
            tokio::join!(following, refreshing);
            // This work ends with the site; no stop comes before.
            drop(unstopped);
        });
        Ok(cms)
    }
}

fn invalid(error: SettingsError) -> Error {
    Error::new(Code::ValidationFailed, error.to_string())
}
