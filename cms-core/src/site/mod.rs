//! The handle on an open site.

mod access;
mod background;
mod builder;
mod building;
mod checks;
#[cfg(all(feature = "sqlite", feature = "postgres"))]
mod copy;
mod follow;
mod handlers;
mod lists;
mod loading;
mod own_tables;
mod plugins;
mod reload;
mod statements;
mod tables;
mod widgets;

use std::{panic::Location, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use jiff::{civil::Date, tz::TimeZone};
use tokio::sync::watch;

pub use background::{Background, Work};
pub use builder::Builder;
pub use checks::{CHECKS, Check, Door, Finding, Level, Place, SealedValues, examine, worst};
pub use own_tables::OwnTables;
pub use reload::PluginDifference;

use crate::{
    Actor, AuditLog, Change, Clock, Millis, Random, Result,
    access::Endpoints,
    accounts::Accounts,
    base::Base,
    content::{Registry, Tables},
    db::{Db, Migration, watched},
    forms::Forms,
    funnels::Funnels,
    ground::Cursors,
    items::Items,
    jobs::{FaultLog, Restarts},
    keys::Keys,
    mail::Mails,
    media::Media,
    pages::Pages,
    plugins::{Begin, Plugin, Plugins},
    scripts::Scripts,
    settings::Settings,
    tasks::Tasks,
    theme::Theme,
    traffic::{
        cache::Cache, idempotency::Idempotency, limiter::Limiter, origins::Origins, redis::Redis,
    },
    webhooks::{Events, Webhooks},
};

/// How long each of the last steps of a close waits for the database.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

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
pub struct Cms(Arc<Rooms>);

/// One state for each room.
struct Rooms {
    base: Base,
    endpoints: Endpoints,
    registry: Registry,
    audit: AuditLog,
    keys: Keys,
    accounts: Accounts,
    limiter: Limiter,
    origins: Origins,
    cache: Cache,
    idempotency: Idempotency,
    items: Items,
    plugins: Plugins,
    scripts: Scripts,
    /// The plugins of the embedding program.
    given: Vec<Arc<dyn Plugin>>,
    /// Held while plugins are taken into service.
    loading: tokio::sync::Mutex<()>,
    building: building::Building,
    /// Number of times that other processes were seen to apply or remove plugins.
    reapplied: watch::Sender<u64>,
    pages: Pages,
    media: Media,
    tasks: Tasks,
    mail: Mails,
    forms: Forms,
    funnels: Funnels,
    webhooks: Webhooks,
    theme: Theme,
    restarts: Restarts,
    /// Faults of the upkeep.
    faults: FaultLog,
    kept: checks::kept::LastFindings,
    /// The connection of limiter and cache, if one of them uses Redis.
    redis: Option<Redis>,
}

impl Cms {
    /// Opens a site with the machine's clock and the plugins of its folder.
    pub async fn open(settings: Settings) -> Result<Self> {
        Self::builder(settings).open().await
    }

    /// Opens a site with more than settings.
    #[must_use]
    pub fn builder(settings: Settings) -> Builder {
        Builder::new(settings)
    }

    /// Begins a change on behalf of `actor`. SQLite has one writer, so concurrent changes, as in
    /// a `join!`, take turns there. A change that is idle for 3 s is logged with the place of
    /// this call.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be reached. `internal_error` when the change would
    /// wait for an idle change that its own task began here, which would never end. On PostgreSQL
    /// the statement that would wait for a row of that change fails so.
    #[track_caller]
    pub fn change(&self, actor: Actor) -> impl Future<Output = Result<Change>> + Send + '_ {
        // Boxed, so that the future is moved once and not at each level.
        let begin = Box::pin(self.0.base.change(actor));
        self.0.base.held(None, Location::caller(), begin)
    }

    /// How handlers of plugins begin changes, each made by `begin`. Only servers need this.
    #[doc(hidden)]
    pub fn begins(
        &self,
        begin: impl Fn() -> BoxFuture<'static, Result<Change>> + Send + Sync + 'static,
    ) -> Begin {
        Begin::new(&self.0.base, begin)
    }

    /// As [`Cms::change`], while a request waits for it. One task may answer several requests at
    /// once, so waiting for its own change is no error here. Only servers need this.
    #[doc(hidden)]
    pub async fn change_of_request(&self, actor: Actor) -> Result<Change> {
        self.0.base.change(actor).await
    }

    /// As [`Cms::change`] by the service itself, while a request waits for it: waits at most 10 s
    /// for SQLite's writer. Only servers need this.
    ///
    /// # Errors
    /// `unavailable` when the database cannot be reached, or its writer is not free in time.
    #[doc(hidden)]
    pub async fn change_in_time(&self) -> Result<Change> {
        self.0.base.change_in_time().await
    }

    /// The steps of the schema; `apply` brings the database up to date.
    ///
    /// # Errors
    /// `unavailable` when a step fails or the files were edited.
    pub async fn migrations(&self, apply: bool) -> Result<Vec<Migration>> {
        self.db().migrate(self.clock(), apply).await
    }

    /// API keys.
    #[must_use]
    pub fn keys(&self) -> &Keys {
        &self.0.keys
    }

    /// Backend users and their groups.
    #[must_use]
    pub fn accounts(&self) -> &Accounts {
        &self.0.accounts
    }

    /// Subscriptions to events, their deliveries and history.
    #[must_use]
    pub fn webhooks(&self) -> &Webhooks {
        &self.0.webhooks
    }

    /// Events for code of this process: live, or from where a named consumer stands.
    #[must_use]
    pub fn events(&self) -> Events {
        Events::new(&self.0.webhooks)
    }

    /// The data that the build of a theme reads: variables, and the key of its server.
    #[must_use]
    pub fn theme(&self) -> &Theme {
        &self.0.theme
    }

    /// Origins: websites whose pages may call.
    #[must_use]
    pub fn origins(&self) -> &Origins {
        &self.0.origins
    }

    /// The rules of the response cache.
    #[must_use]
    pub fn cache(&self) -> &Cache {
        &self.0.cache
    }

    /// The rate limiter.
    #[must_use]
    pub fn limiter(&self) -> &Limiter {
        &self.0.limiter
    }

    /// Replies kept for repeated requests with an `Idempotency-Key`. Only servers need this.
    #[doc(hidden)]
    #[must_use]
    pub fn idempotency(&self) -> &Idempotency {
        &self.0.idempotency
    }

    /// The audit log: who changed what, and when.
    #[must_use]
    pub fn audit(&self) -> &AuditLog {
        &self.0.audit
    }

    /// Records of content tables.
    #[must_use]
    pub fn items(&self) -> &Items {
        &self.0.items
    }

    /// Pages, menus and sitemap, as visitors read them.
    #[must_use]
    pub fn pages(&self) -> &Pages {
        &self.0.pages
    }

    /// Uploaded files.
    #[must_use]
    pub fn media(&self) -> &Media {
        &self.0.media
    }

    /// The plugins that were found, loaded or not.
    #[must_use]
    pub fn plugins(&self) -> &Plugins {
        &self.0.plugins
    }

    /// Scripts of plugins.
    #[must_use]
    pub fn scripts(&self) -> &Scripts {
        &self.0.scripts
    }

    /// Tasks of plugins, and the history of their runs.
    #[must_use]
    pub fn tasks(&self) -> &Tasks {
        &self.0.tasks
    }

    /// The mail room, which queues mails.
    #[must_use]
    pub fn mail(&self) -> &Mails {
        &self.0.mail
    }

    /// Forms: what visitors submit.
    #[must_use]
    pub fn forms(&self) -> &Forms {
        &self.0.forms
    }

    /// Funnels: forms of several steps.
    #[must_use]
    pub fn funnels(&self) -> &Funnels {
        &self.0.funnels
    }

    /// Finds everything that visitors sent under an address, and removes it. With `only_looks`,
    /// only counts it.
    #[must_use]
    pub fn eraser(
        &self,
        address: &crate::mail::MailAddress,
        only_looks: bool,
    ) -> crate::erasure::Eraser {
        crate::erasure::Eraser::new(&self.0.base, self.funnels(), address, only_looks)
    }

    /// The content tables at this moment.
    #[must_use]
    pub fn tables(&self) -> Arc<Tables> {
        self.0.registry.tables()
    }

    /// Seals the cursors of lists. Only servers with lists of their own need this.
    #[doc(hidden)]
    #[must_use]
    pub fn cursors(&self) -> &Cursors {
        self.0.base.cursors()
    }

    /// The database.
    #[must_use]
    pub fn db(&self) -> &Db {
        self.0.base.db()
    }

    /// The settings that the site was opened with.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        self.0.base.settings()
    }

    /// The clock that the site was opened with.
    #[must_use]
    pub fn clock(&self) -> &Clock {
        self.0.base.clock()
    }

    /// The time zone of the setting `timezone`.
    #[must_use]
    pub fn zone(&self) -> &TimeZone {
        self.0.base.zone()
    }

    /// The day of a moment in the site's time zone, as a number that increases with each day.
    #[must_use]
    pub fn day(&self, at: Millis) -> i64 {
        let number = |day: Date| {
            (i64::from(day.year()) * 100 + i64::from(day.month())) * 100 + i64::from(day.day())
        };
        self.0.base.day(at).map_or(0, number)
    }

    /// The randomness that the site was opened with.
    #[must_use]
    pub fn random(&self) -> &Random {
        self.0.base.random()
    }

    /// Writes the counters of keys that are collected in memory. [`Cms::background`] calls this
    /// once a minute, [`Cms::close`] at the end.
    ///
    /// # Errors
    /// As every write. Unwritten counters are kept.
    pub async fn flush(&self) -> Result<()> {
        watched(async {
            let keys = self.0.keys.flush().await;
            self.0.pages.write_hits().await.and(keys)
        })
        .await
    }

    /// Removes rows older than `retention` says: replies, audit rows, runs of tasks, mails,
    /// submissions of forms, links to drafts, revisions of pages, versions of funnels, events,
    /// deliveries, ended sessions. Returns the number of rows. [`Cms::background`] calls this once
    /// a minute.
    ///
    /// # Errors
    /// The first error, as every write. The other rooms still remove their rows.
    pub async fn expire(&self) -> Result<u64> {
        watched(self.remove_expired()).await
    }

    async fn remove_expired(&self) -> Result<u64> {
        let rooms = &*self.0;
        let (mut removed, mut first) = (0, None);
        // A room that fails does not keep the others from removing rows.
        let mut note = |room, outcome: Result<u64>| {
            rooms.faults.note(room, "old rows were not removed", &outcome);
            match outcome {
                Ok(rows) => removed += rows,
                Err(error) => {
                    first.get_or_insert(error);
                }
            }
        };
        note("idempotency", rooms.idempotency.expire().await);
        note("audit", rooms.audit.expire().await);
        note("tasks", rooms.tasks.expire().await);
        note("mail", rooms.mail.expire().await);
        note("forms", rooms.forms.expire().await);
        note("pages", rooms.pages.expire().await);
        note("funnels", rooms.funnels.expire().await);
        note("webhooks", rooms.webhooks.expire().await);
        note("cache", rooms.cache.expire().await);
        note("accounts", rooms.accounts.expire().await);
        note("keys", rooms.keys.expire().await);
        note("epochs", watched(rooms.base.db().fold_epochs()).await);
        // Removes no rows, and takes longest.
        note("inbox", rooms.funnels.tend_inbox().await.map(|()| 0));
        match first {
            None => Ok(removed),
            Some(error) => Err(error),
        }
    }

    /// Checks that the database serves this site: a session may write, and every migration is
    /// applied. `/readyz`, `cms status` and `cms doctor` use this.
    ///
    /// # Errors
    /// `unavailable` with the reason, within seconds.
    pub async fn ready(&self) -> Result<()> {
        self.db().ready().await
    }

    /// Stops tasks and scripts, writes the counters, gives back the names of consumers and closes
    /// the database. Takes seconds, even if the database does not answer. Test mails under way
    /// have a minute to be settled. A change that is still open after 2 s is rolled back: its
    /// commit fails with `unavailable`.
    pub async fn close(&self) {
        // Checked once, so that the following writes do not all wait in vain.
        let ((), (), answers) =
            tokio::join!(self.tasks().close(), self.scripts().close(), self.answers());
        if answers {
            // Written first: the process may be killed before the mails have ended.
            self.write_counters().await;
            self.mail().close().await;
            self.idempotency().close().await;
            let events = self.events();
            let names = in_time("names of consumers were not given back", events.close());
            tokio::join!(self.write_counters(), names);
        } else {
            tracing::error!("counters were not written: the database does not answer");
        }
        let patience = if answers { SHUTDOWN_TIMEOUT } else { SHUTDOWN_TIMEOUT / 10 };
        if tokio::time::timeout(patience, self.db().close()).await.is_err() {
            tracing::warn!("the database was not closed in time");
        }
        self.db().seal();
    }

    /// Whether the database can be written at this moment.
    #[doc(hidden)]
    pub async fn answers(&self) -> bool {
        self.db().answers().await
    }

    async fn write_counters(&self) {
        in_time("counters were not written", self.flush()).await;
    }
}

/// Runs one of the last writes of a site; `failure` is logged if it fails.
async fn in_time(failure: &'static str, write: impl Future<Output = Result<()>>) {
    match tokio::time::timeout(SHUTDOWN_TIMEOUT, write).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::error!(?error, "{failure}"),
        Err(_) => tracing::error!("{failure}: the database does not answer"),
    }
}
