//! A test delivery: sent at once, outside the queue, with the usual signatures and the usual guard.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tracing::Instrument;

use super::{
    claim, request,
    sql::queue::{self, Claimed, Event},
};
use crate::{Code, Error, Result, ground::clock, webhooks::Webhooks};

/// The name of a test delivery's event.
pub const PING: &str = "webhook.ping";

/// The outcome of a test delivery.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Pinged {
    /// `delivered`, or the code of the failure.
    pub status: String,
    /// Status code of the reply.
    pub response_code: Option<u16>,
    /// The failure as a sentence.
    pub error_message: Option<String>,
    /// The beginning of the reply's body, up to 4 KiB.
    pub response: Option<String>,
    /// Duration in milliseconds.
    pub duration_ms: i64,
}

impl Webhooks {
    /// Sends a test event to a subscription, active or not. The subscription's counters do not
    /// change.
    ///
    /// # Errors
    /// `not_found`. A failed delivery is no error.
    pub async fn ping(&self, id: i64) -> Result<Pinged> {
        let missing = || Error::new(Code::NotFound, format!("There is no webhook with id {id}."));
        let lane = queue::lane(self.0.base.db(), id).await?.ok_or_else(missing)?;
        let target = claim::open(&self.0.base, lane)?;
        let event_id = self.0.base.random().uuid_v7(self.0.base.clock())?;
        let data = serde_json::json!({"subscription": {"id": id}});
        let created_at = clock::rfc3339(self.0.base.clock().now());
        let body = serde_json::json!({
            "id": event_id, "event": PING, "created_at": created_at, "data": data,
        });
        let body = body.to_string().into();
        let event = Event { id: event_id, name: PING.to_owned(), body, unread: false };
        let job = Claimed { id: 0, retry_count: 0, lease_token: 0, event: event.into() };
        let request = request::build(&self.0.base, &target, &job);
        let span = tracing::debug_span!("delivery", job = job.id, subscription = id);
        let sent = self.0.http.post(&target.url, request.headers, request.body);
        let attempt = sent.instrument(span).await;
        Ok(Pinged {
            status: attempt.code().to_owned(),
            response_code: attempt.status,
            error_message: (!attempt.is_success()).then(|| attempt.message()),
            response: attempt.response.clone(),
            duration_ms: attempt.duration_ms,
        })
    }
}
