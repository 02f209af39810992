//! The rules of the response cache: its settings and its clears. A clear makes every process
//! forget replies. Every process follows both. `cms-http` keeps the replies themselves, including
//! those in Redis, which all processes of the site share.

use std::{collections::BTreeSet, sync::Arc};

use arc_swap::ArcSwap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::redis::Redis;
use crate::{
    AuditEntry, Change, Code, Error, FieldError, Result,
    base::Base,
    db::{Db, Lock, args},
    jobs,
    settings::CacheStore,
};

/// Locked by changes of the rules: clears get consecutive numbers, and the rules do not change
/// after they are read.
const RULES: Lock = Lock::new(21);
/// The table's name among the epochs.
const TABLE: &str = "cache";
const MAX_EXCLUDED: usize = 100;
const MAX_TTL_S: i64 = 31_536_000;

/// Settings in force: those saved at run time, else those configured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct CacheSettings {
    /// Whether the cache keeps replies.
    pub enabled: bool,
    /// How long a reply is kept, in seconds.
    pub ttl_s: i64,
    /// Prefixes of paths that are never kept.
    pub exclude: Vec<String>,
}

/// Changes to the settings. None leaves a member as it is.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{"ttl_s": 60, "exclude": ["/api/menu"]}]))]
#[non_exhaustive]
pub struct CachePatch {
    /// Switches the cache on or off.
    pub enabled: Option<bool>,
    /// Seconds, from 1 to a year.
    #[schemars(range(min = 1, max = MAX_TTL_S))]
    pub ttl_s: Option<i64>,
    /// At most 100 path prefixes, each starting with `/`.
    #[schemars(length(max = MAX_EXCLUDED), inner(length(max = 200), regex(pattern = "^/[^?#%]*$")))]
    pub exclude: Option<Vec<String>>,
    /// Prefixes to add to the present list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = MAX_EXCLUDED), inner(length(max = 200), regex(pattern = "^/[^?#%]*$")))]
    pub exclude_add: Vec<String>,
    /// Prefixes to remove first; those that are not there are ignored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude_remove: Vec<String>,
}

/// Settings and clears, as one state of the site.
#[derive(Debug)]
pub struct CacheRules {
    /// The table's epoch when the rules were read; `None`: not read yet.
    epoch: Option<i64>,
    /// Settings in force.
    pub settings: CacheSettings,
    /// Number and path prefix of each clear that is still stored, in order.
    clears: Vec<(i64, String)>,
}

impl CacheRules {
    /// The number of the last clear. Note it before making a reply, and store it with the reply.
    // For cms-http, which keeps replies; so the other hidden calls of this room.
    #[doc(hidden)]
    #[must_use]
    pub fn last_clear(&self) -> i64 {
        self.clears.last().map_or(0, |(number, _)| *number)
    }

    /// Whether a clear newer than `seen` covers a reply for `path`.
    #[doc(hidden)]
    #[must_use]
    pub fn is_cleared(&self, path: &str, seen: i64) -> bool {
        // A clear that is no longer stored may have covered the path.
        let forgotten = self.clears.first().is_some_and(|(oldest, _)| seen < oldest - 1);
        forgotten
            || self
                .clears
                .iter()
                .rev()
                .take_while(|(number, _)| *number > seen)
                .any(|(_, prefix)| path.starts_with(prefix))
    }

    /// Whether replies for `path` may be kept.
    #[must_use]
    pub fn may_keep(&self, path: &str) -> bool {
        self.settings.enabled
            && !self.settings.exclude.iter().any(|prefix| path.starts_with(prefix))
    }
}

/// The rules in memory, with the epoch at which they were read.
struct RulesCache {
    rules: ArcSwap<CacheRules>,
    /// After a change one request reads the rules and the others wait for it.
    reading: tokio::sync::Mutex<()>,
}

impl RulesCache {
    fn new(configured: &crate::settings::ReplyCacheSettings) -> Self {
        let rules = CacheRules {
            epoch: None,
            settings: configured_settings(configured),
            clears: Vec::new(),
        };
        Self { rules: ArcSwap::from_pointee(rules), reading: tokio::sync::Mutex::default() }
    }

    async fn rules(
        &self,
        db: &Db,
        configured: &crate::settings::ReplyCacheSettings,
    ) -> Result<Arc<CacheRules>> {
        match self.current(db) {
            Some(known) => Ok(known),
            // Boxed, so that the futures of other requests do not reserve memory for a read.
            None => Box::pin(self.read(db, configured)).await,
        }
    }

    fn current(&self, db: &Db) -> Option<Arc<CacheRules>> {
        let known = self.rules.load();
        (known.epoch == Some(db.epochs().of(TABLE))).then(|| Arc::clone(&known))
    }

    async fn read(
        &self,
        db: &Db,
        configured: &crate::settings::ReplyCacheSettings,
    ) -> Result<Arc<CacheRules>> {
        let _reading = self.reading.lock().await;
        // Read the epoch before the rows: after a commit in between, the next request reads again.
        let epoch = Some(db.epochs().of(TABLE));
        let known = self.rules.load_full();
        if known.epoch == epoch {
            return Ok(known);
        }
        let settings = db.optional(sql::SETTINGS, args![]).await?;
        let settings = settings.unwrap_or_else(|| configured_settings(configured));
        let fresh = Arc::new(CacheRules { epoch, settings, clears: sql::clears(db).await? });
        self.rules.store(fresh.clone());
        Ok(fresh)
    }
}

fn configured_settings(configured: &crate::settings::ReplyCacheSettings) -> CacheSettings {
    let ttl_s = i64::try_from(configured.ttl_s).unwrap_or(MAX_TTL_S);
    CacheSettings { enabled: configured.enabled, ttl_s, exclude: all(&configured.exclude) }
}

/// The rules of a site's response cache: `cms.cache()`.
#[derive(Clone)]
pub struct Cache(Arc<Inner>);

struct Inner {
    base: Base,
    cached: RulesCache,
    redis: Option<Redis>,
}

impl Cache {
    pub(crate) fn new(base: &Base, redis: Option<&Redis>) -> Self {
        let settings = &base.settings().cache;
        let redis = redis.filter(|_| settings.store == CacheStore::Redis).cloned();
        let cached = RulesCache::new(settings);
        Self(Arc::new(Inner { base: base.clone(), cached, redis }))
    }

    /// Deletes clears that are older than a day.
    pub(crate) async fn expire(&self) -> Result<u64> {
        let base = &self.0.base;
        jobs::expire(base, &[(sql::EXPIRE, jobs::days_before(base.clock().now(), 1))]).await
    }

    /// The rules of the response cache. Queries the database only after the rules have changed.
    ///
    /// # Errors
    /// `unavailable` when changed rules cannot be read.
    pub async fn rules(&self) -> Result<Arc<CacheRules>> {
        self.0.cached.rules(self.0.base.db(), &self.0.base.settings().cache).await
    }

    /// The rules of the response cache from memory; `None`: they have changed and must be read.
    #[doc(hidden)]
    #[must_use]
    pub fn known_rules(&self) -> Option<Arc<CacheRules>> {
        self.0.cached.current(self.0.base.db())
    }

    /// Changes the settings of the response cache, in every process.
    ///
    /// # Errors
    /// `validation_failed` with the fields.
    pub async fn update(&self, change: &mut Change, patch: CachePatch) -> Result<CacheSettings> {
        change.lock(RULES).await?;
        let mut settings: CacheSettings = change
            .optional(sql::SETTINGS, args![])
            .await?
            .unwrap_or_else(|| configured_settings(&self.0.base.settings().cache));
        let mut columns = Vec::new();
        if let Some(enabled) = patch.enabled {
            settings.enabled = enabled;
            columns.push("enabled");
        }
        if let Some(ttl_s) = patch.ttl_s {
            settings.ttl_s = ttl_s;
            columns.push("ttl_s");
        }
        let (added, removed) = (all(&patch.exclude_add), all(&patch.exclude_remove));
        if patch.exclude.is_some() || !added.is_empty() || !removed.is_empty() {
            let exclude = patch.exclude.map_or(settings.exclude, |exclude| all(&exclude));
            settings.exclude = exclude.into_iter().filter(|one| !removed.contains(one)).collect();
            columns.push("exclude");
        }
        check(&settings, &added)?;
        for one in added {
            if !settings.exclude.contains(&one) {
                settings.exclude.push(one);
            }
        }
        sql::save(change, &settings).await?;
        record(change, "update", &columns).await?;
        Ok(settings)
    }

    /// Makes every process forget replies whose path starts with `prefix`. An empty prefix covers
    /// all replies.
    ///
    /// # Errors
    /// `bad_query` for a text that is not a path prefix.
    pub async fn clear(&self, change: &mut Change, prefix: &str) -> Result<()> {
        if !prefix.is_empty() && !is_prefix(prefix) {
            return Err(Error::new(Code::BadQuery, format!("path must be {PREFIX}.")));
        }
        change.lock(RULES).await?;
        change.run(sql::CLEAR, args![canonical(prefix), change.now()]).await?;
        record(change, "clear", &[]).await
    }
}

/// `added`: prefixes that are about to be excluded too.
fn check(settings: &CacheSettings, added: &[String]) -> Result<()> {
    let mut problems = Vec::new();
    let mut add = |field: &str, message: String| {
        problems.push(FieldError { field: field.to_owned(), code: "range", message })
    };
    if !(1..=MAX_TTL_S).contains(&settings.ttl_s) {
        add("ttl_s", format!("seconds from 1 to {MAX_TTL_S}"));
    }
    let room = MAX_EXCLUDED.checked_sub(settings.exclude.len());
    let new: BTreeSet<_> = added.iter().filter(|one| !settings.exclude.contains(one)).collect();
    for (field, list, is_too_long) in [
        ("exclude", &settings.exclude[..], room.is_none()),
        ("exclude_add", added, room.is_some_and(|room| new.len() > room)),
    ] {
        if is_too_long || !list.iter().all(|prefix| is_prefix(prefix)) {
            add(field, format!("at most {MAX_EXCLUDED} entries, each {PREFIX}"));
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(Error::invalid(problems)) }
}

const PREFIX: &str = "an unencoded path prefix such as /api/pages, of at most 200 bytes";

fn is_prefix(text: &str) -> bool {
    text.starts_with('/') && text.len() <= 200 && !text.contains(['?', '#', '%'])
}

fn all(prefixes: &[String]) -> Vec<String> {
    prefixes.iter().map(|prefix| canonical(prefix)).collect()
}

/// The canonical form of a request path: public endpoints have underscores instead of dashes.
fn canonical(prefix: &str) -> String {
    match prefix.strip_prefix("/api/") {
        Some(rest) if !rest.starts_with("backend/") => format!("/api/{}", rest.replace('-', "_")),
        _ => prefix.to_owned(),
    }
}

async fn record(change: &mut Change, action: &'static str, columns: &[&str]) -> Result<()> {
    change.announce(TABLE);
    change.audit(AuditEntry { action, table: TABLE, id: "", columns }).await
}

impl Cache {
    /// Where replies are kept: `memory`, `redis`, or `redis_away` (Redis does not answer, so each
    /// process keeps its own replies).
    #[must_use]
    pub fn state(&self) -> &'static str {
        match self.0.redis.as_ref() {
            None => "memory",
            Some(redis) if redis.is_away() => "redis_away",
            Some(_) => "redis",
        }
    }

    /// The value that any process of the site stored under this name. Also `None` while Redis is
    /// away or not configured.
    // For cms-http: the names and the form of replies are its own.
    #[doc(hidden)]
    pub async fn shared_reply(&self, name: &str) -> Option<Vec<u8>> {
        self.0.redis.as_ref()?.get(name).await
    }

    /// Keeps a reply for all processes of the site for `ttl_s` seconds. Does nothing while Redis is
    /// away or not configured.
    // For cms-http, as above.
    #[doc(hidden)]
    pub async fn share_reply(&self, name: &str, reply: &[u8], ttl_s: i64) {
        if let Some(redis) = self.0.redis.as_ref() {
            redis.set(name, reply, ttl_s * 1000).await;
        }
    }

    /// Whether replies are shared. If not, callers need not prepare them.
    // For cms-http, as above.
    #[doc(hidden)]
    #[must_use]
    pub fn shares_replies(&self) -> bool {
        self.0.redis.as_ref().is_some_and(|redis| !redis.is_away())
    }
}

/// The statements of the cache's rules and the functions that run them.
pub(crate) mod sql {
    use super::CacheSettings;
    use crate::{
        Change, Error, Result,
        db::{Db, args, read, record, statements},
    };

    record! { CacheSettings: settings_columns {
        enabled: "enabled",
        ttl_s: "ttl_s",
        exclude: "exclude" => read::json,
    } }

    statements! {
        EXPIRE = "delete from cms_cache_clears where created_at <= $1 \
                  and id < (select max(id) from cms_cache_clears)";
        SETTINGS = concat!("select ", settings_columns!(), " from cms_cache_settings where id = 1");
        SAVE = "insert into cms_cache_settings (id, enabled, ttl_s, exclude) values (1, $1, $2, \
                $3) on conflict (id) do update set enabled = excluded.enabled, \
                ttl_s = excluded.ttl_s, exclude = excluded.exclude";
        CLEARS = "select id, prefix from cms_cache_clears order by id desc limit 1000";
        CLEAR = "insert into cms_cache_clears (prefix, created_at) values ($1, $2)";
    }

    pub(super) async fn clears(db: &Db) -> Result<Vec<(i64, String)>> {
        let mut clears: Vec<(i64, String)> = db.all(CLEARS, args![]).await?;
        clears.reverse();
        Ok(clears)
    }

    pub(super) async fn save(change: &mut Change, settings: &CacheSettings) -> Result<()> {
        let exclude = serde_json::to_string(&settings.exclude).map_err(Error::internal)?;
        change.run(SAVE, args![settings.enabled, settings.ttl_s, exclude]).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clear_covers_replies_made_before_it() {
        let settings =
            CacheSettings { enabled: true, ttl_s: 1, exclude: vec!["/api/menu".to_owned()] };
        let rules = CacheRules {
            epoch: None,
            settings,
            clears: vec![(5, "/api/pages".to_owned()), (7, String::new())],
        };
        for (path, seen, cleared) in [
            ("/api/pages", 7, false),
            ("/api/pages", 6, true),
            ("/api/settings", 6, true),
            ("/api/settings", 5, true),
            ("/api/pages", 4, true),
            ("/api/pages", 3, true),
        ] {
            assert_eq!(rules.is_cleared(path, seen), cleared, "{path} {seen}");
        }
        let one = CacheRules { clears: vec![(5, "/api/pages".to_owned())], ..rules };
        assert!(
            !one.is_cleared("/api/settings", 4)
                && one.is_cleared("/api/pages", 4)
                && one.is_cleared("/api/settings", 3)
        );
        assert!(one.may_keep("/api/pages") && !one.may_keep("/api/menu"));
        assert_eq!(one.last_clear(), 5);
    }
}
