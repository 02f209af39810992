//! A test delivery: at once, outside the queue, with the same signatures and the same guard.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    claim, request,
    sql::queue::{self, Claimed, Event},
};
use crate::{Code, Error, Result, ground::clock, webhooks::Webhooks};

/// The event of a test delivery.
pub const PING: &str = "webhook.ping";

/// How a test delivery went.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Pinged {
    /// `delivered`, or what went wrong.
    pub status: String,
    /// Status of the reply.
    pub response_code: Option<u16>,
    /// What went wrong, for people.
    pub error_message: Option<String>,
    /// The beginning of the reply's body.
    pub response: Option<String>,
    /// How long it took.
    pub duration_ms: i64,
}

impl Webhooks {
    /// Sends a test event to a subscription, active or not. Its counters stay as they are.
    ///
    /// # Errors
    /// `not_found`; a delivery that fails is no error.
    pub async fn ping(&self, id: i64) -> Result<Pinged> {
        let missing = || Error::new(Code::NotFound, format!("There is no webhook with id {id}."));
        let lane = queue::lane(self.0.base.db(), id).await?.ok_or_else(missing)?;
        let target = claim::open(&self.0.base, lane)?;
        let event_id = self.0.base.random().uuid_v7(self.0.base.clock())?;
        let data = serde_json::json!({"subscription": {"id": id}});
        let created_at = clock::rfc3339(self.0.base.clock().now());
        let body = serde_json::json!({"id": event_id, "event": PING, "created_at": created_at, "data": data}).to_string();
        let event = Event { id: event_id, name: PING.to_owned(), body: body.into() };
        let row = Claimed { id: 0, retry_count: 0, lease_token: 0, event: event.into() };
        let request = request::build(&self.0.base, &target, &row);
        let attempt = self.0.http.post(&target.url, request.headers, request.body).await;
        Ok(Pinged {
            status: attempt.code().to_owned(),
            response_code: attempt.status,
            error_message: (!attempt.is_success()).then(|| attempt.message()),
            response: attempt.response.clone(),
            duration_ms: attempt.duration_ms,
        })
    }
}
