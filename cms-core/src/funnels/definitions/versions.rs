//! Published versions, as visits read them, and their statements.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::Value as Json;

use crate::{
    Change, Code, Error, Millis, Result,
    base::Base,
    change::{Reader, is_unique_violation},
    conditions::Condition,
    db::{Db, Snapshot, args, record, statements},
    funnels::{
        Funnels,
        graph::{Graph, GraphInput, read},
        header::Header,
        record::WhichFunnel,
    },
    jobs,
};

/// Maximum bytes of cached versions.
const KEPT_BYTES: usize = 64 << 20;
/// A version in memory takes about this many times the bytes of its text: each field holds all of
/// its settings twice, parsed and as visitors see them.
const GROWTH: usize = 16;

/// A funnel as it was published.
#[derive(Debug)]
pub(crate) struct Version {
    pub(crate) id: i64,
    pub(crate) funnel: i64,
    /// Counts from 1 in each funnel.
    pub(crate) number: i64,
    pub(crate) header: Header,
    pub(crate) graph: Graph,
    /// Conditions by the ids of the nodes whose ways they decide.
    pub(crate) conditions: HashMap<i64, Condition>,
}

impl Version {
    fn read(row: &Row) -> Result<Self> {
        let definition: Json = serde_json::from_str(&row.definition).map_err(Error::internal)?;
        let members = definition["funnel"].as_object().cloned().unwrap_or_default();
        let mut header = Header::default();
        header.merge(&members);
        let list = |name: &str| definition[name].as_array().cloned().unwrap_or_default();
        let (nodes, edges) = (list("nodes"), list("edges"));
        let drawn = GraphInput { start: header.start_node_id, nodes: &nodes, edges: &edges };
        let (graph, problems) = read(drawn);
        if !problems.is_empty() {
            let (funnel, number) = (row.funnel, row.number);
            let why = format!("version {number} of the funnel {funnel}: {problems:?}");
            return Err(Error::internal(why));
        }
        let conditions = graph.conditions();
        let Row { id, funnel, number, .. } = *row;
        Ok(Self { id, funnel, number, header, graph, conditions })
    }
}

/// Cached versions: a version never changes.
#[derive(Debug, Default)]
pub(crate) struct VersionCache(Mutex<CachedVersions>);

#[derive(Debug, Default)]
struct CachedVersions {
    versions: HashMap<i64, Arc<Version>>,
    bytes: usize,
}

impl VersionCache {
    fn get(&self, id: i64) -> Option<Arc<Version>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).versions.get(&id).cloned()
    }

    fn keep(&self, version: &Arc<Version>, bytes: usize) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.bytes + bytes > KEPT_BYTES {
            *kept = CachedVersions::default();
        }
        if kept.versions.insert(version.id, version.clone()).is_none() {
            kept.bytes += bytes;
        }
    }
}

impl Funnels {
    /// The version that a new visit begins with: of the published funnel in the requested
    /// language, else in a broader one (`en` for `en-US`), else of the base of the language
    /// versions, else of the funnel in the site's first language, else of the named funnel.
    pub(in crate::funnels) async fn live(
        &self,
        which: &WhichFunnel,
        language: Option<&str>,
    ) -> Result<Arc<Version>> {
        let db = self.0.base.db();
        let found = match which {
            WhichFunnel::Id(id) => live_by_id(db, *id).await?,
            WhichFunnel::Slug(text) => match WhichFunnel::from(text.clone()) {
                WhichFunnel::Id(id) => live_by_id(db, id).await?,
                WhichFunnel::Slug(slug) => live_by_slug(db, &slug).await?,
            },
        };
        let same = |one: &str, live: &Live| one.eq_ignore_ascii_case(&live.language);
        let spoken = |one| found.iter().find(|live| same(one, live));
        let base = |live: &&Live| live.base.is_none_or(|base| base == live.funnel);
        let first = broader(language).find_map(spoken).or_else(|| found.iter().find(base));
        let first = first.or(found.first()).ok_or_else(|| {
            Error::new(Code::FunnelNotAvailable, format!("No funnel {which} is published."))
        })?;
        let other = match language.filter(|language| !same(language, first)) {
            Some(language) => self.other(first, language).await?,
            None => None,
        };
        self.version(other.as_ref().unwrap_or(first).version).await
    }

    /// The published funnel of a family in a language or in a broader one; else the base of the
    /// family, else the funnel in the site's first language.
    async fn other(&self, live: &Live, language: &str) -> Result<Option<Live>> {
        let (db, family) = (self.0.base.db(), live.base.unwrap_or(live.funnel));
        for language in broader(Some(language)) {
            if let Some(spoken) = live_in(db, family, language).await? {
                return Ok(Some(spoken));
            }
        }
        if let Some(base) = live_by_id(db, family).await?.into_iter().next() {
            return Ok(Some(base));
        }
        match self.0.base.settings().languages.first() {
            Some(first) => live_in(db, family, first).await,
            None => Ok(None),
        }
    }

    /// A version by its id.
    ///
    /// # Errors
    /// `not_found` when its funnel was deleted.
    pub(in crate::funnels) async fn version(&self, id: i64) -> Result<Arc<Version>> {
        self.version_in(self.0.base.db(), id).await
    }

    /// As [`Funnels::version`], also within a change.
    pub(in crate::funnels) async fn version_in(
        &self,
        from: impl Into<Reader<'_>>,
        id: i64,
    ) -> Result<Arc<Version>> {
        match self.0.versions.get(id) {
            Some(kept) => Ok(kept),
            None => self.keep(from.into().optional(GET, args![id]).await?),
        }
    }

    /// As [`Funnels::version`], within a snapshot.
    pub(in crate::funnels) async fn version_at(
        &self,
        at: &mut Snapshot,
        id: i64,
    ) -> Result<Arc<Version>> {
        match self.0.versions.get(id) {
            Some(kept) => Ok(kept),
            None => self.keep(at.optional(GET, args![id]).await?),
        }
    }

    fn keep(&self, row: Option<Row>) -> Result<Arc<Version>> {
        let row = row.ok_or_else(|| Error::new(Code::NotFound, "The funnel was deleted."))?;
        let version = Arc::new(Version::read(&row)?);
        self.0.versions.keep(&version, GROWTH * row.definition.len());
        Ok(version)
    }
}

/// A language, then its broader languages: `en-US`, `en`.
fn broader(language: Option<&str>) -> impl Iterator<Item = &str> {
    std::iter::successors(language, |one| Some(one.rsplit_once('-')?.0))
}

record! {
    /// A version as stored.
    #[derive(Debug)]
    struct Row: version_columns {
        id: i64 = "id",
        funnel: i64 = "funnel_id",
        number: i64 = "version",
        definition: String = "definition",
    }
}

record! {
    /// The newest version of a funnel.
    #[derive(Debug)]
    pub(in crate::funnels) struct Newest: newest_columns {
        pub(in crate::funnels) id: i64 = "id",
        pub(in crate::funnels) number: i64 = "version",
        pub(in crate::funnels) checksum: String = "checksum",
        pub(in crate::funnels) published_at: Millis = "published_at",
    }
}

record! {
    /// A published funnel.
    #[derive(Debug)]
    struct Live: live_columns {
        funnel: i64 = "id",
        base: Option<i64> = "live_base_id",
        language: String = "live_language",
        version: i64 = "published_version_id",
    }
}

/// A version to be stored.
pub(super) struct Frozen<'a> {
    pub(super) number: i64,
    pub(super) definition: String,
    pub(super) checksum: &'a str,
}

macro_rules! live {
    ($where:literal) => {
        concat!(
            "select ",
            live_columns!(),
            " from cms_formfunnels where status = 'published' and published_version_id is not \
             null and ",
            $where
        )
    };
}

/// Versions that at least $1 newer versions have replaced. Leaves out versions that new visits
/// begin with, and versions with stored or counted visits.
macro_rules! beyond {
    () => {
        "select v.id from (select funnel_id, max(version) as newest from cms_formfunnel_versions \
         group by funnel_id) n join cms_formfunnel_versions v on v.funnel_id = n.funnel_id \
         and v.version <= n.newest - $1 join cms_formfunnels f on f.id = v.funnel_id \
         where (f.published_version_id is null or f.published_version_id <> v.id) \
         and not exists (select 1 from cms_formfunnel_submissions s where s.version_id = v.id) \
         and not exists (select 1 from cms_formfunnel_daily d where d.funnel_id = v.funnel_id \
         and d.version = v.version) limit 1000"
    };
}

statements! {
    GET = concat!(
        "select ", version_columns!(), " from cms_formfunnel_versions where id = $1"
    );
    NEWEST = concat!(
        "select ", newest_columns!(), " from cms_formfunnel_versions where funnel_id = $1 \
         order by version desc limit 1"
    );
    LIVE_BY_ID = live!("id = $1");
    LIVE_BY_SLUG = live!("live_slug = $1 order by id limit 100");
    LIVE_IN = live!(
        "(id = $1 or live_base_id = $1) and lower(live_language) = lower($2) order by id limit 1"
    );
    INSERT = "insert into cms_formfunnel_versions (funnel_id, version, definition, checksum, \
              published_at) values ($1, $2, $3, $4, $5) returning id";
    INSERT_NODE = "insert into cms_formfunnel_version_nodes (version_id, node_id, type, name, \
                   end_kind, depth) values ($1, $2, $3, $4, $5, $6)";
    INSERT_EDGE = "insert into cms_formfunnel_version_edges (version_id, edge_id, from_node_id, \
                   to_node_id, branch_label) values ($1, $2, $3, $4, $5)";
    BEYOND = beyond!();
    EXPIRE = concat!("delete from cms_formfunnel_versions where id in (", beyond!(), ")");
    PUT = "update cms_formfunnels set status = 'published', published_version_id = $2, \
           live_slug = slug, live_language = language_short, live_base_id = base_id where id = $1";
}

/// Removes unneeded versions that at least `kept` newer versions have replaced. Returns how many.
pub(super) async fn expire(base: &Base, kept: u64) -> Result<u64> {
    let args = args![i64::try_from(kept).unwrap_or(i64::MAX)];
    // Usually there are none, and a needless change would hold up other writers.
    let found: Option<(i64,)> = base.db().optional(BEYOND, args.clone()).await?;
    if found.is_some() { jobs::remove(base, EXPIRE, args).await } else { Ok(0) }
}

async fn live_by_id(db: &Db, id: i64) -> Result<Vec<Live>> {
    db.all(LIVE_BY_ID, args![id]).await
}

async fn live_by_slug(db: &Db, slug: &str) -> Result<Vec<Live>> {
    // PostgreSQL refuses to compare with text that holds U+0000.
    if slug.contains('\0') {
        return Ok(Vec::new());
    }
    db.all(LIVE_BY_SLUG, args![slug]).await
}

/// The published funnel of a family in a language.
async fn live_in(db: &Db, family: i64, language: &str) -> Result<Option<Live>> {
    if language.contains('\0') {
        return Ok(None);
    }
    db.optional(LIVE_IN, args![family, language]).await
}

pub(in crate::funnels) async fn newest(
    from: impl Into<Reader<'_>>,
    funnel: i64,
) -> Result<Option<Newest>> {
    from.into().optional(NEWEST, args![funnel]).await
}

/// Stores a version and returns its id.
pub(super) async fn insert(change: &mut Change, funnel: i64, frozen: &Frozen<'_>) -> Result<i64> {
    let Frozen { number, definition, checksum } = frozen;
    let args = args![funnel, *number, definition, *checksum, change.now()];
    let (id,): (i64,) = change.one(INSERT, args).await?;
    Ok(id)
}

/// Makes new visits begin with this version.
pub(super) async fn put(change: &mut Change, funnel: i64, version: i64) -> Result<()> {
    change.run_one(PUT, args![funnel, version]).await.map_err(|error| {
        if !is_unique_violation(&error) {
            return error;
        }
        // The other funnel was published with this slug and has another slug since.
        let detail = "Visitors know another funnel by this slug. Publish that one first, with its \
                      new slug. Nothing was changed.";
        Error::new(Code::Conflict, detail)
    })
}
