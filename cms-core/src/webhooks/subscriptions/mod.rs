//! Subscriptions: which events go to which address.

pub(super) mod catalogue;
mod emit;
pub(super) mod saving;
pub(super) mod sql;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::{
    saving::{is_elsewhere, left_behind},
    sql::Stored,
};
use super::{
    Webhooks,
    rules::{MAX_HEADERS, MAX_RETRIES},
    sign::WebhookSecret,
};
use crate::{
    Change, Code, Error, FieldError, Page, Result, db::Lock, ground::plain, items::Query,
    keys::check_grace, rfc3339,
};

/// Held by claims, and by changes that lock many subscriptions in no fixed order.
pub(crate) const CLAIMS: Lock = Lock::new(1);
/// The table's name among the epochs and in the audit log.
pub(super) const TABLE: &str = "webhook_subscriptions";
/// Accepted addresses, as far as a regular expression can describe them.
const URL_PATTERN: &str = concat!("^https?://[^", plain::hidden!(), "]*$");
/// Shown in place of the value of a custom header.
const MASK: &str = "***";
/// Maximum number of entries in `events`.
const MAX_EVENTS: usize = 100;
/// The columns that a subscription is created with.
const COLUMNS: &[&str] = &["name", "url", "events", "custom_headers", "max_retries", "active"];
/// The `disabled_reason` when a user switched the subscription off.
const PAUSED: &str = "paused";

/// A subscription as the API shows it. Times are RFC 3339 in UTC.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Subscription {
    /// Its id.
    pub id: i64,
    /// For people.
    pub name: String,
    /// The address of the receiver.
    pub url: String,
    /// Event names, `item.*` or `*`.
    pub events: Vec<String>,
    /// Headers sent with every delivery; their values are masked.
    pub custom_headers: BTreeMap<String, String>,
    /// Attempts after the first.
    pub max_retries: i64,
    /// Failed attempts in a row.
    pub failure_count: i64,
    /// When false, jobs are held until the subscription is activated.
    pub active: bool,
    /// Why the subscription is not active.
    pub disabled_reason: Option<String>,
    /// When it was created.
    pub created_at: String,
    /// How its deliveries fare.
    #[serde(flatten)]
    pub health: SubscriptionHealth,
}

/// How the deliveries of a subscription fare. Times are RFC 3339 in UTC.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct SubscriptionHealth {
    /// When the last attempt in the log ended; null when there is none.
    pub last_attempt_at: Option<String>,
    /// Its status, as in the log: `delivered`, or the code of the failure.
    pub last_status: Option<String>,
    /// Status code of its reply.
    pub last_response_code: Option<i64>,
    /// Waiting jobs, including held ones. Each kind is counted up to 1,000.
    pub waiting_jobs: i64,
}

/// A subscription to create. No `Debug`, because header values may be secret.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{
    "name": "warehouse",
    "url": "https://hooks.example.org/cms",
    "events": ["item.*", "auth.login"],
}]))]
#[non_exhaustive]
pub struct NewSubscription {
    /// 1 to 100 characters.
    #[schemars(length(max = 100), regex(pattern = plain::NAME_PATTERN))]
    pub name: String,
    /// A public https address.
    #[schemars(regex(pattern = URL_PATTERN))]
    pub url: String,
    /// Event names, `item.*` or `*`; at least one.
    #[schemars(length(min = 1, max = MAX_EVENTS), inner(length(min = 1, max = 300)))]
    pub events: Vec<String>,
    /// Additional headers of every delivery.
    #[serde(default)]
    #[schemars(extend(
        "maxProperties" = MAX_HEADERS,
        "propertyNames" = {"pattern": "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"},
    ))]
    pub custom_headers: BTreeMap<String, String>,
    /// Attempts after the first, 5 by default.
    #[serde(default = "five")]
    #[schemars(range(min = 0, max = MAX_RETRIES))]
    pub max_retries: i64,
    /// When false, jobs are held until the subscription is activated.
    #[serde(default = "crate::ground::yes")]
    pub active: bool,
}

impl NewSubscription {
    /// An active subscription with the default number of retries.
    #[must_use]
    pub fn new(name: impl Into<String>, url: impl Into<String>, events: Vec<String>) -> Self {
        Self {
            name: name.into(),
            url: url.into(),
            events,
            custom_headers: BTreeMap::new(),
            max_retries: five(),
            active: true,
        }
    }
}

/// Removes repeated entries and keeps the order.
fn once(mut events: Vec<String>) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    events.retain(|event| seen.insert(event.clone()));
    events
}

fn five() -> i64 {
    5
}

/// Changes to a subscription; `None` keeps a value. No `Debug`, as for [`NewSubscription`].
#[derive(Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("examples" = [{"max_retries": 3}]))]
#[non_exhaustive]
pub struct SubscriptionPatch {
    /// New name.
    #[schemars(length(max = 100), regex(pattern = plain::NAME_PATTERN))]
    pub name: Option<String>,
    /// New address.
    #[schemars(regex(pattern = URL_PATTERN))]
    pub url: Option<String>,
    /// The new entries, which replace all present ones.
    #[schemars(length(min = 1, max = MAX_EVENTS), inner(length(min = 1, max = 300)))]
    pub events: Option<Vec<String>>,
    /// The new headers, which replace all present ones; the value `***` keeps the present value.
    #[schemars(extend(
        "maxProperties" = MAX_HEADERS,
        "propertyNames" = {"pattern": "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"},
    ))]
    pub custom_headers: Option<BTreeMap<String, String>>,
    /// New number of retries.
    #[schemars(range(min = 0, max = MAX_RETRIES))]
    pub max_retries: Option<i64>,
    /// False switches it off and holds its jobs; true does the same as [`Webhooks::activate`] with
    /// `replay`.
    pub active: Option<bool>,
}

impl Webhooks {
    /// Subscriptions, a page at a time. Conditions and orders name `id`, `name`, `url`, `active`,
    /// `disabled_reason`, `failure_count`, `max_retries` and `created_at`.
    pub async fn list(&self, query: &Query) -> Result<Page<Subscription>> {
        let (base, key) = (&self.0.base, |row: &Stored| row.id);
        let page = sql::LIST.page(base, query, Vec::new(), key).await?;
        let ids: Vec<_> = page.data.iter().map(|row| row.id).collect();
        let mut health = sql::health(base.db(), &ids).await?;
        Ok(page.map(|row| {
            let health = health.remove(&row.id).unwrap_or_default();
            to_subscription(row, health)
        }))
    }

    /// One subscription.
    pub async fn get(&self, id: i64) -> Result<Subscription> {
        let db = self.0.base.db();
        let found = sql::get(db, id).await?.ok_or_else(|| not_found(id))?;
        let health = sql::health(db, &[id]).await?.remove(&id).unwrap_or_default();
        Ok(to_subscription(found, health))
    }

    /// Creates a subscription. The secret is returned only here.
    ///
    /// # Errors
    /// `validation_failed` with the fields; `unknown_event`.
    pub async fn create(
        &self,
        change: &mut Change,
        new: NewSubscription,
    ) -> Result<(Subscription, WebhookSecret)> {
        let NewSubscription { name, url, events, custom_headers, max_retries, active } = new;
        let mut row = Stored {
            id: 0,
            name,
            url,
            events: once(events),
            custom_headers: Vec::new(),
            max_retries,
            failure_count: 0,
            active,
            disabled_reason: None,
            created_at: change.now(),
            secret: String::new(),
            old_secret_until: None,
        };
        self.check(change, &row, Some(&custom_headers), COLUMNS).await?;
        row.id = sql::insert(change, &row).await?;
        row.custom_headers = self.sealed(row.id, &custom_headers, &[])?;
        sql::update(change, &row).await?;
        let secret = WebhookSecret::new(self.0.base.random())?;
        sql::set_secret(change, row.id, &self.seal_secret(row.id, &secret)?, None).await?;
        if !active {
            sql::switch_off(change, row.id, PAUSED).await?;
            row.disabled_reason = Some(PAUSED.to_owned());
        }
        change.audit_announced("create", TABLE, row.id, COLUMNS).await?;
        Ok((to_subscription(row, SubscriptionHealth::default()), secret))
    }

    /// Changes a subscription. Waiting jobs go to the new address. When the origin of the address
    /// changes, custom headers are removed, because they may hold credentials of the old receiver;
    /// a warning reports this.
    pub async fn update(
        &self,
        change: &mut Change,
        id: i64,
        patch: SubscriptionPatch,
    ) -> Result<(Subscription, Option<FieldError>)> {
        let mut row = sql::lock(change, id).await?.ok_or_else(|| not_found(id))?;
        let mut columns = Vec::new();
        let moves = patch.url.as_ref().is_some_and(|url| is_elsewhere(&row.url, url));
        let left = if moves { std::mem::take(&mut row.custom_headers) } else { Vec::new() };
        // A name that stays may be older than the rules for names.
        if let Some(name) = patch.name.filter(|name| *name != row.name) {
            row.name = name;
            columns.push("name");
        }
        if let Some(url) = patch.url {
            row.url = url;
            columns.push("url");
        }
        if let Some(events) = patch.events {
            row.events = once(events);
            columns.push("events");
        }
        if let Some(max_retries) = patch.max_retries {
            row.max_retries = max_retries;
            columns.push("max_retries");
        }
        // Checks only the given columns, so a webhook whose address is no longer allowed can still
        // be paused.
        let headers = patch.custom_headers.as_ref();
        self.check(change, &row, headers, &columns).await?;
        if let Some(headers) = headers {
            row.custom_headers = self.sealed(id, headers, &row.custom_headers)?;
        }
        if headers.is_some() || !left.is_empty() {
            columns.push("custom_headers");
        }
        let warning = headers.is_none().then(|| left_behind(&left)).flatten();
        sql::update(change, &row).await?;
        match patch.active {
            Some(false) if row.active => {
                sql::switch_off(change, id, PAUSED).await?;
                sql::hold(change, id).await?;
                (row.active, row.disabled_reason) = (false, Some(PAUSED.to_owned()));
                columns.push("active");
            }
            Some(true) if !row.active => {
                sql::activate(change, id, true).await?;
                change.wake_worker();
                (row.active, row.disabled_reason, row.failure_count) = (true, None, 0);
                columns.push("active");
            }
            _ => {}
        }
        change.audit_announced("update", TABLE, id, &columns).await?;
        Ok((to_subscription(row, sql::health_in(change, id).await?), warning))
    }

    /// Gives the subscription a new secret. The old secret also signs for `grace_s` seconds; 0
    /// ends the old secret and every older one at once. During the grace, `X-Webhook-Signature`,
    /// which holds one signature, is signed with the old secret.
    ///
    /// # Errors
    /// `not_found`; `validation_failed` for a grace beyond seven days; `conflict` for a grace
    /// while the grace of an older secret lasts, because only one old secret is kept.
    pub async fn rotate_secret(
        &self,
        change: &mut Change,
        id: i64,
        grace_s: i64,
    ) -> Result<(Subscription, WebhookSecret)> {
        check_grace(grace_s)?;
        let row = sql::lock(change, id).await?.ok_or_else(|| not_found(id))?;
        let now = change.now();
        if let Some(until) = row.old_secret_until.filter(|until| grace_s > 0 && *until > now) {
            return Err(still_signs(until));
        }
        let secret = WebhookSecret::new(self.0.base.random())?;
        let old = (grace_s > 0).then(|| (row.secret.clone(), now + grace_s * 1000));
        sql::set_secret(change, id, &self.seal_secret(id, &secret)?, old).await?;
        change.audit_announced("rotate", TABLE, id, &[]).await?;
        Ok((to_subscription(row, sql::health_in(change, id).await?), secret))
    }

    /// Switches a subscription on. With `replay`, held jobs are sent now, oldest first; without,
    /// they are cancelled. Returns the number of held jobs.
    pub async fn activate(
        &self,
        change: &mut Change,
        id: i64,
        replay: bool,
    ) -> Result<(Subscription, u64)> {
        let mut row = sql::lock(change, id).await?.ok_or_else(|| not_found(id))?;
        let held = sql::activate(change, id, replay).await?;
        change.wake_worker();
        change.audit_announced("activate", TABLE, id, &["active"]).await?;
        (row.active, row.disabled_reason, row.failure_count) = (true, None, 0);
        Ok((to_subscription(row, sql::health_in(change, id).await?), held))
    }

    /// Deletes a subscription and its jobs. Its log stays for the usual time.
    pub async fn delete(&self, change: &mut Change, id: i64) -> Result<()> {
        // Deleting locks jobs that a worker may be settling, and a worker settles and claims in one
        // change.
        change.lock(CLAIMS).await?;
        sql::lock(change, id).await?.ok_or_else(|| not_found(id))?;
        sql::delete(change, id).await?;
        change.audit_announced("delete", TABLE, id, &[]).await
    }
}

fn to_subscription(row: Stored, health: SubscriptionHealth) -> Subscription {
    Subscription {
        id: row.id,
        name: row.name,
        url: row.url,
        events: row.events,
        custom_headers: row
            .custom_headers
            .into_iter()
            .map(|(name, _)| (name, MASK.to_owned()))
            .collect(),
        max_retries: row.max_retries,
        failure_count: row.failure_count,
        active: row.active,
        disabled_reason: row.disabled_reason,
        created_at: rfc3339(row.created_at),
        health,
    }
}

fn not_found(id: i64) -> Error {
    Error::new(Code::NotFound, format!("There is no webhook with id {id}."))
}

/// A second old secret would replace the first, which receivers may still verify with.
fn still_signs(until: i64) -> Error {
    let until = rfc3339(until);
    let detail = format!(
        "The secret before this one still signs until {until}, and only one old secret is kept: \
         wait until then, or rotate without a grace (grace_s 0), which ends all old secrets at \
         once."
    );
    Error::new(Code::Conflict, detail)
}
