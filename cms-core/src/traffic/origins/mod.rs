//! Origins: the websites whose pages may call the API from a browser. A change applies from the
//! next request on, in every process.

mod form;

use std::{collections::HashSet, sync::Arc};

use arc_swap::ArcSwap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Change, Code, Error, Page, Result,
    base::Base,
    change::is_unique_violation,
    db::{Db, Statement, args, read, record, statements},
    ground::clock,
    items::{Made, OwnColumn, Query, RowList},
};
pub use form::{normalise, of_url};

/// The table's name among the epochs.
const TABLE: &str = "origins";

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
    #[serde(default = "crate::ground::yes")]
    pub active: bool,
}

impl NewOrigin {
    /// An origin whose calls are accepted.
    #[must_use]
    pub fn new(origin: impl Into<String>) -> Self {
        Self { origin: origin.into(), active: true }
    }
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

record! { Origin: origin_columns {
    id: "id",
    origin: "origin",
    active: "active",
    created_at: "created_at" => read::time,
} }

/// Origins as a list.
pub(crate) static LIST: RowList = RowList {
    name: "The list of origins",
    table: "cms_origins",
    columns: &[
        OwnColumn::integer("id"),
        OwnColumn::text("origin").searched(),
        OwnColumn::boolean("active"),
        OwnColumn::time("created_at"),
    ],
    rows: Statement::new(
        concat!(module_path!(), "::LIST"),
        concat!("select ", origin_columns!(), " from cms_origins where id in"),
    ),
    made: Made::new(),
};

statements! {
    INSERT = "insert into cms_origins (origin, active, created_at) values ($1, $2, $3) \
              returning id";
    ACTIVE = "select origin from cms_origins where active";
    GET = concat!("select ", origin_columns!(), " from cms_origins where id = $1");
    LOCK = concat!(
        "update cms_origins set active = active where id = $1 returning ", origin_columns!()
    );
    UPDATE = "update cms_origins set origin = $2, active = $3 where id = $1";
    DELETE = "delete from cms_origins where id = $1";
}

/// The origins of a site: `cms.origins()`.
#[derive(Clone)]
pub struct Origins(Arc<Inner>);

struct Inner {
    base: Base,
    active: Active,
}

impl Origins {
    pub(crate) fn new(base: &Base) -> Self {
        Self(Arc::new(Inner { base: base.clone(), active: Active::default() }))
    }

    /// Whether pages of this origin may call: it is the site's own origin (`site_url`), or it is
    /// registered and active. `origin` must be in the form of [`normalise`].
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
    pub async fn list(&self, query: &Query) -> Result<Page<Origin>> {
        LIST.page(&self.0.base, query, Vec::new(), |origin: &Origin| origin.id).await
    }

    /// One origin.
    pub async fn get(&self, id: i64) -> Result<Origin> {
        self.0.base.db().optional(GET, args![id]).await?.ok_or_else(|| not_found(id))
    }

    /// Registers an origin.
    ///
    /// # Errors
    /// `validation_failed` for a text that is not an origin, `conflict` when the origin is
    /// already registered.
    pub async fn create(&self, change: &mut Change, new: NewOrigin) -> Result<Origin> {
        let created_at = clock::rfc3339(change.now());
        let mut origin =
            Origin { id: 0, origin: checked(&new.origin)?, active: new.active, created_at };
        let args = args![&origin.origin, origin.active, change.now()];
        (origin.id,) = change.one(INSERT, args).await.map_err(|e| taken(e, &origin))?;
        change.audit_announced("create", TABLE, origin.id, &["origin", "active"]).await?;
        Ok(origin)
    }

    /// Changes an origin.
    pub async fn update(&self, change: &mut Change, id: i64, patch: OriginPatch) -> Result<Origin> {
        let mut origin = lock(change, id).await?;
        let mut columns = Vec::new();
        if let Some(text) = patch.origin {
            origin.origin = checked(&text)?;
            columns.push("origin");
        }
        if let Some(active) = patch.active {
            origin.active = active;
            columns.push("active");
        }
        let args = args![id, &origin.origin, origin.active];
        change.run_one(UPDATE, args).await.map_err(|e| taken(e, &origin))?;
        change.audit_announced("update", TABLE, id, &columns).await?;
        Ok(origin)
    }

    /// Deletes an origin.
    pub async fn delete(&self, change: &mut Change, id: i64) -> Result<()> {
        lock(change, id).await?;
        change.run_one(DELETE, args![id]).await?;
        change.audit_announced("delete", TABLE, id, &[]).await
    }
}

/// Reads and locks the origin until this change ends.
async fn lock(change: &mut Change, id: i64) -> Result<Origin> {
    change.optional(LOCK, args![id]).await?.ok_or_else(|| not_found(id))
}

fn taken(error: Error, origin: &Origin) -> Error {
    if !is_unique_violation(&error) {
        return error;
    }
    let detail = format!("The origin {} is registered already.", origin.origin);
    Error::new(Code::Conflict, detail).caused_by(error)
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

/// The active origins in memory, with the epoch at which they were read.
#[derive(Default)]
struct Active(ArcSwap<LoadedOrigins>);

#[derive(Default)]
struct LoadedOrigins {
    /// `None`: not read yet.
    epoch: Option<i64>,
    origins: HashSet<String>,
}

impl Active {
    /// Whether an origin is registered and active. Queries the database only after the table has
    /// changed. A change by this process applies from its commit on, a change by another process
    /// as soon as its epoch is seen.
    async fn holds(&self, db: &Db, origin: &str) -> Result<bool> {
        // Read the epoch before the rows: after a commit in between, the next request reads again.
        let epoch = Some(db.epochs().of(TABLE));
        let known = self.0.load();
        if known.epoch == epoch {
            return Ok(known.origins.contains(origin));
        }
        let active: Vec<(String,)> = db.all(ACTIVE, Vec::new()).await?;
        let origins: HashSet<String> = active.into_iter().map(|(origin,)| origin).collect();
        let held = origins.contains(origin);
        self.0.store(Arc::new(LoadedOrigins { epoch, origins }));
        Ok(held)
    }
}
