//! The one handle that every part of the system holds.

mod access;
mod follow;
mod open;

use std::sync::Arc;

use arc_swap::ArcSwap;
use jiff::tz::TimeZone;

use crate::{
    Actor, Clock, Code, Error, Random, Result,
    access::Registry,
    accounts::{self, Accounts, Passwords},
    crypto::Vault,
    db::{Change, Db, Known, Migration},
    items::{Items, Tables},
    keys::{self, Keys, Usage},
    pages::Pages,
    settings::Settings,
    traffic::{
        cache::Followed,
        limiter::Limiter,
        origins::{Active, Origins},
        redis::Redis,
    },
    webhooks::{Delivered, Sender, Webhooks},
};

pub use open::Builder;

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
    sender: Sender,
    delivered: Delivered,
    tables: ArcSwap<Tables>,
    plugins: Vec<PluginState>,
    usage: Usage,
    redis: Option<Redis>,
    keys: Known<Arc<keys::Found>>,
    sessions: Known<Arc<accounts::Open>>,
    limiter: Limiter,
    origins: Active,
    cache: Followed,
    access: Registry,
}

/// A plugin and whether it is in use.
#[derive(Clone, Debug)]
pub struct PluginState {
    /// Its id.
    pub id: String,
    /// What is wrong with it; empty when it is in use.
    pub problems: Vec<String>,
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
        Builder::new(settings)
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

    /// Who is told of events, and what was delivered.
    #[must_use]
    pub fn webhooks(&self) -> Webhooks<'_> {
        Webhooks(self)
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

    pub(crate) fn sender(&self) -> &Sender {
        &self.0.sender
    }

    pub(crate) fn delivered(&self) -> &Delivered {
        &self.0.delivered
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

    pub(crate) fn known_keys(&self) -> &Known<Arc<keys::Found>> {
        &self.0.keys
    }

    pub(crate) fn known_sessions(&self) -> &Known<Arc<accounts::Open>> {
        &self.0.sessions
    }

    pub(crate) fn usage(&self) -> &Usage {
        &self.0.usage
    }

    /// The limiter of requests.
    #[must_use]
    pub fn limiter(&self) -> &Limiter {
        &self.0.limiter
    }

    /// Writes what is gathered in memory: counters of keys. To be called about once a minute, and
    /// by [`Cms::close`].
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
