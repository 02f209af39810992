//! Origins: the websites whose pages may call the API from a browser. A change counts from the next
//! request on, in every process.

mod active;
mod form;
pub(crate) mod sql;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use active::Active;
pub use form::{normalise, of_url};

use crate::{
    AuditEntry, Change, Code, Error, Page, Result, base::Base, ground::clock, items::Query,
};

/// A registered origin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Origin {
    /// Its id.
    pub id: i64,
    /// `scheme://host[:port]`, in the form of [`normalise`].
    pub origin: String,
    /// False: calls from this origin are refused.
    pub active: bool,
    /// When it was registered.
    pub created_at: String,
}

/// An origin to register.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{"origin": "https://shop.example.org"}]))]
#[non_exhaustive]
pub struct NewOrigin {
    /// `scheme://host[:port]`, http or https.
    #[schemars(regex(pattern = form::PATTERN))]
    pub origin: String,
    /// False registers the origin but refuses its calls.
    #[serde(default = "yes")]
    pub active: bool,
}

impl NewOrigin {
    /// An origin whose calls are accepted.
    #[must_use]
    pub fn new(origin: impl Into<String>) -> Self {
        Self { origin: origin.into(), active: true }
    }
}

fn yes() -> bool {
    true
}

/// Changes to an origin. None leaves a member as it is.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{"active": false}]))]
#[non_exhaustive]
pub struct OriginPatch {
    /// Another origin.
    #[schemars(regex(pattern = form::PATTERN))]
    pub origin: Option<String>,
    /// Accept or refuse its calls.
    pub active: Option<bool>,
}

/// The origins of a site: `cms.origins()`.
#[derive(Clone)]
pub struct Origins(Arc<State>);

struct State {
    base: Base,
    active: Active,
}

impl Origins {
    pub(crate) fn new(base: &Base) -> Self {
        Self(Arc::new(State { base: base.clone(), active: Active::default() }))
    }

    /// Whether pages of this origin may call: the origin is the site's own (`site_url`), or it is
    /// registered and active. `origin` is in the form of [`normalise`].
    ///
    /// # Errors
    /// `unavailable` when changed origins cannot be read.
    pub async fn allows(&self, origin: &str) -> Result<bool> {
        if self
            .0
            .base
            .settings()
            .site_url
            .as_deref()
            .and_then(of_url)
            .is_some_and(|own| own == origin)
        {
            return Ok(true);
        }
        self.0.active.holds(self.0.base.db(), origin).await
    }

    /// Origins, one page at a time. Conditions and orders name `id`, `origin`, `active` and
    /// `created_at`.
    ///
    /// # Errors
    /// `bad_query`.
    pub async fn list(&self, query: &Query) -> Result<Page<Origin>> {
        sql::LIST.page(&self.0.base, query, Vec::new(), |origin: &Origin| origin.id).await
    }

    /// One origin.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn get(&self, id: i64) -> Result<Origin> {
        sql::get(self.0.base.db(), id).await?.ok_or_else(|| not_found(id))
    }

    /// Registers an origin.
    ///
    /// # Errors
    /// `validation_failed` for a text that is no origin, `conflict` when the origin is registered
    /// already.
    pub async fn create(&self, change: &mut Change, new: NewOrigin) -> Result<Origin> {
        let created_at = clock::rfc3339(change.now());
        let mut origin =
            Origin { id: 0, origin: checked(&new.origin)?, active: new.active, created_at };
        origin.id = sql::insert(change, &origin).await?;
        record(change, "create", origin.id, &["origin", "active"]).await?;
        Ok(origin)
    }

    /// Changes an origin.
    ///
    /// # Errors
    /// As [`Origins::create`], and `not_found`.
    pub async fn update(&self, change: &mut Change, id: i64, patch: OriginPatch) -> Result<Origin> {
        let mut origin = sql::lock(change, id).await?.ok_or_else(|| not_found(id))?;
        let mut columns = Vec::new();
        if let Some(text) = patch.origin {
            origin.origin = checked(&text)?;
            columns.push("origin");
        }
        if let Some(active) = patch.active {
            origin.active = active;
            columns.push("active");
        }
        sql::update(change, &origin).await?;
        record(change, "update", id, &columns).await?;
        Ok(origin)
    }

    /// Deletes an origin.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn delete(&self, change: &mut Change, id: i64) -> Result<()> {
        sql::lock(change, id).await?.ok_or_else(|| not_found(id))?;
        sql::delete(change, id).await?;
        record(change, "delete", id, &[]).await
    }
}

fn not_found(id: i64) -> Error {
    Error::new(Code::NotFound, format!("There is no origin with id {id}."))
}

fn checked(text: &str) -> Result<String> {
    normalise(text).ok_or_else(|| {
        Error::invalid_field(
            "origin",
            "format",
            "https://host or http://host, optionally with a port, and nothing else; names in ASCII",
        )
    })
}

async fn record(
    change: &mut Change,
    action: &'static str,
    id: i64,
    columns: &[&str],
) -> Result<()> {
    change.announce(active::TABLE);
    change.audit(AuditEntry { action, table: active::TABLE, id: &id.to_string(), columns }).await
}
