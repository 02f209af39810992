//! A key as it is stored, shown, created and changed: its members, their columns and their checks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::expiry;
use crate::{
    Change, Error, FieldError, Millis, Result,
    access::{self, Endpoints, Right},
    db::{Db, Statement, args, read, record, statements},
    ground::{clock, plain},
    items::{Made, OwnColumn, RowList},
};

/// The columns that a key is created with.
pub(super) const COLUMNS: &[&str] = &["name", "expires_on", "active", "rights"];

/// A key as the API shows it. Times are RFC 3339 in UTC.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct ApiKey {
    /// Its id.
    pub id: i64,
    /// Label for people.
    pub name: String,
    /// First part of the value, to recognise the key by.
    pub prefix: String,
    /// Day of expiry: the key stops at its start in the site's `timezone`.
    pub expires_on: Option<String>,
    /// False: the key is refused.
    pub active: bool,
    /// Calls that the key allows.
    pub rights: Vec<Right>,
    /// Time of the last request, up to a minute old.
    pub last_used_at: Option<String>,
    /// When the key was created.
    pub created_at: String,
    /// Number of requests made with the key.
    pub requests: i64,
    /// Number of requests refused for lack of a right.
    pub denied: i64,
}

record! { ApiKey: key_columns {
    id: "id",
    name: "name",
    prefix: "prefix",
    expires_on: "expires_on",
    active: "active",
    rights: "rights" => read::json,
    last_used_at: "last_used_at" => read::optional_time,
    created_at: "created_at" => read::time,
    requests: "requests",
    denied: "denied",
} }

/// The list of keys. Recent counts of this process are not in the table yet.
pub(crate) static LIST: RowList = RowList {
    name: "The list of keys",
    table: "cms_api_keys",
    columns: &[
        OwnColumn::integer("id"),
        OwnColumn::text("name").searched(),
        OwnColumn::text("prefix").searched(),
        OwnColumn::text("expires_on").nullable(),
        OwnColumn::boolean("active"),
        OwnColumn::time("last_used_at").nullable(),
        OwnColumn::time("created_at"),
        OwnColumn::integer("requests"),
        OwnColumn::integer("denied"),
    ],
    rows: Statement::new(
        concat!(module_path!(), "::LIST"),
        concat!("select ", key_columns!(), " from cms_api_keys where id in"),
    ),
    made: Made::new(),
};

statements! {
    INSERT = "insert into cms_api_keys (name, prefix, expires_on, active, rights, created_at) \
              values ($1, $2, $3, $4, $5, $6) returning id";
    LOCK = concat!(
        "update cms_api_keys set active = active where id = $1 returning ", key_columns!()
    );
    GET = concat!("select ", key_columns!(), " from cms_api_keys where id = $1");
    UPDATE = "update cms_api_keys set name = $2, expires_on = $3, active = $4, rights = $5 \
              where id = $1";
}

pub(super) async fn get(db: &Db, id: i64) -> Result<Option<ApiKey>> {
    db.optional(GET, args![id]).await
}

/// Reads and locks the key until this change ends.
pub(super) async fn lock(change: &mut Change, id: i64) -> Result<Option<ApiKey>> {
    change.optional(LOCK, args![id]).await
}

pub(super) async fn insert(change: &mut Change, key: &ApiKey) -> Result<i64> {
    let args = args![
        &key.name,
        &key.prefix,
        key.expires_on.clone(),
        key.active,
        text(&key.rights)?,
        change.now()
    ];
    let (id,): (i64,) = change.one(INSERT, args).await?;
    Ok(id)
}

pub(super) async fn update(change: &mut Change, key: &ApiKey) -> Result<()> {
    let args = args![key.id, &key.name, key.expires_on.clone(), key.active, text(&key.rights)?];
    change.run_one(UPDATE, args).await
}

fn text(rights: &[Right]) -> Result<String> {
    serde_json::to_string(rights).map_err(Error::internal)
}

/// A key to create.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{
    "name": "shop",
    "expires_on": "2027-01-31",
    "rights": [{"endpoint": "/api/pages", "methods": ["GET"]}],
}]))]
#[non_exhaustive]
pub struct NewApiKey {
    /// Label, 1 to 100 characters.
    #[schemars(length(min = 1, max = 100), regex(pattern = plain::NAME_PATTERN))]
    pub name: String,
    /// Day of expiry; None: never.
    #[serde(default)]
    #[schemars(extend("format" = "date"))]
    pub expires_on: Option<String>,
    /// False creates a key that is refused until switched on.
    #[serde(default = "crate::ground::yes")]
    pub active: bool,
    /// Rows of rights. Without a row the key allows no call.
    #[serde(default)]
    pub rights: Vec<Right>,
}

impl NewApiKey {
    /// A key of this name that never expires and has no rights.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), expires_on: None, active: true, rights: Vec::new() }
    }
}

/// Changes to a key. None leaves a member as it is.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{"active": true}]))]
#[non_exhaustive]
pub struct ApiKeyPatch {
    /// New label.
    #[schemars(length(min = 1, max = 100), regex(pattern = plain::NAME_PATTERN))]
    pub name: Option<String>,
    /// New day of expiry; `Some(None)` removes it.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date"))]
    pub expires_on: Option<Option<String>>,
    /// Switches the key on or off.
    pub active: Option<bool>,
    /// Replaces all rows of rights.
    pub rights: Option<Vec<Right>>,
    /// Rights to add to those that the key has then; a row for the same calls gets the methods.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grant: Vec<Right>,
    /// Rights to take away first; what the key does not have is ignored.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub revoke: Vec<Right>,
}

/// Tells `"expires_on": null` from a missing member.
fn present<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(value).map(Some)
}

impl ApiKey {
    /// A key to insert.
    pub(super) fn of(new: NewApiKey, prefix: String, now: Millis) -> Self {
        Self {
            id: 0,
            name: plain::composed(&new.name).into_owned(),
            prefix,
            expires_on: new.expires_on,
            active: new.active,
            rights: new.rights,
            last_used_at: None,
            created_at: clock::rfc3339(now),
            requests: 0,
            denied: 0,
        }
    }

    /// Applies a patch and checks the key. Returns the columns that the patch names.
    pub(super) fn apply(
        &mut self,
        patch: ApiKeyPatch,
        endpoints: &Endpoints,
    ) -> Result<Vec<&'static str>> {
        let mut columns = Vec::new();
        let renamed = patch.name.as_ref().is_some_and(|name| *name != self.name);
        if let Some(name) = patch.name {
            if renamed {
                self.name = plain::composed(&name).into_owned();
            }
            columns.push("name");
        }
        if let Some(expires_on) = patch.expires_on {
            self.expires_on = expires_on;
            columns.push("expires_on");
        }
        if let Some(active) = patch.active {
            self.active = active;
            columns.push("active");
        }
        if patch.rights.is_some() || !patch.grant.is_empty() || !patch.revoke.is_empty() {
            let rights = patch.rights.unwrap_or_else(|| std::mem::take(&mut self.rights));
            self.rights = access::changed_rights(rights, Vec::new(), &patch.revoke);
            columns.push("rights");
        }
        self.check(renamed, &patch.grant, endpoints)?;
        self.rights = access::changed_rights(std::mem::take(&mut self.rights), patch.grant, &[]);
        Ok(columns)
    }

    /// Checks a key. `named`: its name is new. `grant`: rights that the key is about to get.
    pub(super) fn check(&self, named: bool, grant: &[Right], endpoints: &Endpoints) -> Result<()> {
        let mut problems = access::problems("rights", &self.rights, endpoints);
        problems.extend(access::problems("grant", grant, endpoints));
        if self.name.trim().is_empty() || self.name.chars().count() > 100 {
            problems.push(FieldError {
                field: "name".to_owned(),
                code: "range",
                message: "1 to 100 characters".to_owned(),
            });
        }
        problems.extend(plain::name_problem("name", &self.name).filter(|_| named));
        if let Some(Err(error)) = self.expires_on.as_deref().map(expiry::checked) {
            problems.extend_from_slice(error.fields());
        }
        if problems.is_empty() { Ok(()) } else { Err(Error::invalid(problems)) }
    }
}
