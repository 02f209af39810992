//! Explains which subscriptions would get an event, and the delivery that they would get. Nothing
//! is written or sent.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::{
    Page, Paging, Result,
    events::{body, is_reserved, judge},
    items::Query,
    webhooks::{
        Webhooks,
        deliver::request::{AttemptHeaders, headers},
        rules::form::matches,
        subscriptions::{
            Subscription,
            catalogue::{sql, unknown_event},
        },
    },
};

/// The delivery that would be sent.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Explained {
    /// The event.
    pub event: String,
    /// The exact body, except `id` and `created_at`, which differ for each event.
    pub body: String,
    /// The headers; `<…>` describes values that differ for each delivery. Custom headers come
    /// after these.
    pub headers: BTreeMap<String, String>,
    /// Paths in `data` that the payload filter removes.
    pub removed: Vec<String>,
}

/// A subscription, and what would happen to the event there.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Considered {
    /// The subscription.
    #[serde(flatten)]
    pub subscription: Subscription,
    /// `sent`, `held` or `not_matched`.
    pub outcome: String,
    /// The reason as a sentence.
    pub reason: String,
}

impl Webhooks {
    /// The delivery that this event would cause, and the subscriptions that would get it: by id, a
    /// page at a time.
    ///
    /// Signs nothing: the caller must not get signatures for events that never happened.
    ///
    /// # Errors
    /// `unknown_event`; as [`Webhooks::emit`] for data that does not fit, except that missing data
    /// asks only for the subscriptions; `bad_query` for a cursor of another list.
    pub async fn explain(
        &self,
        event: &str,
        data: Map<String, Json>,
        paging: &Paging,
    ) -> Result<(Explained, Page<Considered>)> {
        if sql::named(self.0.base.db(), event).await?.is_empty() {
            return Err(unknown_event("event".to_owned(), event));
        }
        let mut data = Json::Object(data);
        // Events that the service itself raises have no outside data that could be wrong.
        if !is_reserved(event) && data != serde_json::json!({}) {
            data = judge(event, data)?.data;
        }
        let Paging { limit, cursor, count, .. } = paging.clone();
        let subscriptions = self
            .list(&Query { limit, cursor, count, ..Query::default() })
            .await?
            .map(|subscription| considered(subscription, event));
        let id = self.0.base.random().uuid_v7(self.0.base.clock())?;
        let (body, removed) = body(&id, event, self.0.base.clock().now(), data);
        let attempt = AttemptHeaders {
            delivery: "<id of the job>",
            id: &id,
            timestamp: "<seconds at the attempt>",
            simple: "<lower-case hex HMAC-SHA256 of the body, keyed with the secret as it was \
                     shown>",
            standard: "<v1,base64 HMAC-SHA256 of id.timestamp.body, keyed with the decoded secret>",
        };
        let headers = headers(&self.0.base, event, &attempt).into_iter().collect();
        Ok((Explained { event: event.to_owned(), body, headers, removed }, subscriptions))
    }
}

fn considered(subscription: Subscription, event: &str) -> Considered {
    let entry = subscription.events.iter().find(|entry| matches(entry, event));
    let (outcome, reason) = match (entry, subscription.active) {
        (None, _) => {
            ("not_matched", format!("no entry matches: {}", subscription.events.join(", ")))
        }
        (Some(entry), true) => ("sent", format!("{entry} matches")),
        (Some(entry), false) => {
            let why = subscription.disabled_reason.as_deref().unwrap_or("switched off");
            ("held", format!("{entry} matches; not active ({why}): held until it is activated"))
        }
    };
    Considered { subscription, outcome: outcome.to_owned(), reason }
}
