//! Published versions, as visits read them.

pub(in crate::funnels) mod sql;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::Value as Json;

use crate::{
    Change, Code, Error, Result,
    conditions::Condition,
    db::Snapshot,
    funnels::{
        Funnels,
        graph::{Drawn, Graph, read},
        header::Header,
        record::WhichFunnel,
    },
};

/// Bytes that versions take at most.
const KEPT_BYTES: usize = 64 << 20;
/// A version in memory is about so many times as large as its text: fields have all their settings
/// twice, as they are read and as visitors see them.
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
    pub(super) fn read(row: &sql::Row) -> Result<Self> {
        let definition: Json = serde_json::from_str(&row.definition).map_err(Error::internal)?;
        let members = definition["funnel"].as_object().cloned().unwrap_or_default();
        let mut header = Header::default();
        header.take(&members);
        let list = |name: &str| definition[name].as_array().cloned().unwrap_or_default();
        let (nodes, edges) = (list("nodes"), list("edges"));
        let drawn = Drawn { start: header.start_node_id, nodes: &nodes, edges: &edges };
        let (graph, problems) = read(drawn);
        if !problems.is_empty() {
            let (funnel, number) = (row.funnel, row.number);
            let why = format!("version {number} of the funnel {funnel}: {problems:?}");
            return Err(Error::internal(why));
        }
        let deciding = graph.nodes().iter().filter(|node| graph.branches(node.id));
        let conditions =
            deciding.map(|node| (node.id, Condition::read(&node.condition()))).collect();
        let sql::Row { id, funnel, number, .. } = *row;
        Ok(Self { id, funnel, number, header, graph, conditions })
    }
}

/// Versions that were read: they never change.
#[derive(Debug, Default)]
pub(crate) struct VersionCache(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
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
            *kept = Kept::default();
        }
        if kept.versions.insert(version.id, version.clone()).is_none() {
            kept.bytes += bytes;
        }
    }
}

impl Funnels {
    /// The version that a new visit begins with: of the language asked for, else of the funnel that
    /// the others are versions of, else in the site's first language, else of the funnel named.
    ///
    /// # Errors
    /// `funnel_not_available` when no such funnel is published.
    pub(in crate::funnels) async fn live(
        &self,
        which: &WhichFunnel,
        language: Option<&str>,
    ) -> Result<Arc<Version>> {
        let db = self.0.base.db();
        let found = match which {
            WhichFunnel::Id(id) => sql::live_by_id(db, *id).await?,
            WhichFunnel::Slug(text) => match WhichFunnel::from(text.clone()) {
                WhichFunnel::Id(id) => sql::live_by_id(db, id).await?,
                WhichFunnel::Slug(slug) => sql::live_by_slug(db, &slug).await?,
            },
        };
        let same = |one: &str, live: &sql::Live| one.eq_ignore_ascii_case(&live.language);
        let spoken = |live: &&sql::Live| language.is_some_and(|one| same(one, live));
        let base = |live: &&sql::Live| live.base.is_none_or(|base| base == live.funnel);
        let first = found.iter().find(spoken).or_else(|| found.iter().find(base));
        let first = first.or(found.first()).ok_or_else(|| {
            Error::new(Code::FunnelNotAvailable, format!("No funnel {which} is published."))
        })?;
        let other = match language.filter(|language| !same(language, first)) {
            Some(language) => self.other(first, language).await?,
            None => None,
        };
        self.version(other.as_ref().unwrap_or(first).version).await
    }

    /// The funnel of a family in a language; else the one that the others are versions of, else the
    /// one in the site's first language.
    async fn other(&self, live: &sql::Live, language: &str) -> Result<Option<sql::Live>> {
        let (db, family) = (self.0.base.db(), live.base.unwrap_or(live.funnel));
        if let Some(spoken) = sql::live_in(db, family, language).await? {
            return Ok(Some(spoken));
        }
        if let Some(base) = sql::live_by_id(db, family).await?.into_iter().next() {
            return Ok(Some(base));
        }
        match self.0.base.settings().languages.first() {
            Some(first) => sql::live_in(db, family, first).await,
            None => Ok(None),
        }
    }

    /// A version by its id.
    ///
    /// # Errors
    /// `not_found` when its funnel was deleted.
    pub(in crate::funnels) async fn version(&self, id: i64) -> Result<Arc<Version>> {
        if let Some(kept) = self.0.versions.get(id) {
            return Ok(kept);
        }
        self.keep(sql::get(self.0.base.db(), id).await?)
    }

    /// As [`Funnels::version`], within a change.
    pub(in crate::funnels) async fn version_in(
        &self,
        change: &mut Change,
        id: i64,
    ) -> Result<Arc<Version>> {
        match self.0.versions.get(id) {
            Some(kept) => Ok(kept),
            None => self.keep(sql::get_in(change, id).await?),
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
            None => self.keep(sql::get_at(at, id).await?),
        }
    }

    fn keep(&self, row: Option<sql::Row>) -> Result<Arc<Version>> {
        let row = row.ok_or_else(|| Error::new(Code::NotFound, "The funnel was deleted."))?;
        let version = Arc::new(Version::read(&row)?);
        self.0.versions.keep(&version, GROWTH * row.definition.len());
        Ok(version)
    }
}
