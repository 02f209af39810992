//! Builds the headers and body of an attempt and signs each attempt with its own time. Also sends
//! test deliveries: at once, outside the queue, with the usual signatures and the usual guard.

use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tracing::Instrument;

use super::{
    claim::{self, Target},
    queue::{self, Claimed, Event},
};
use crate::{
    Code, Error, Result,
    base::Base,
    db::args,
    events::body_text,
    webhooks::{
        Webhooks,
        sign::{hex_signature, standard_signature},
    },
};

/// Headers in the order in which they are sent, and the body as it was queued.
pub(super) struct Request {
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Bytes,
}

pub(super) fn build(base: &Base, target: &Target, job: &Claimed) -> Request {
    let now = base.clock().now();
    let (seconds, body) = (now / 1000, &job.event.body);
    let old =
        target.old_secret.as_ref().filter(|(_, until)| *until > now).map(|(secret, _)| secret);
    // During the grace after a rotation the receiver may have either secret. `webhook-signature`
    // carries signatures of both; `X-Webhook-Signature` carries only that of the old secret, which
    // the receiver already has.
    let standard: Vec<_> = [Some(&target.secret), old]
        .into_iter()
        .flatten()
        .filter_map(|secret| standard_signature(secret.expose(), &job.event.id, seconds, body))
        .collect();
    let attempt = AttemptHeaders {
        delivery: &job.id.to_string(),
        id: &job.event.id,
        timestamp: &seconds.to_string(),
        simple: &hex_signature(old.unwrap_or(&target.secret).expose(), body),
        standard: &standard.join(" "),
    };
    let mut headers = headers(base, &job.event.name, &attempt);
    headers.extend(
        target.custom_headers.iter().map(|(name, value)| (name.clone(), value.to_string())),
    );
    Request { headers, body: body.clone() }
}

/// Header values that differ from attempt to attempt.
pub(in crate::webhooks) struct AttemptHeaders<'a> {
    pub(in crate::webhooks) delivery: &'a str,
    pub(in crate::webhooks) id: &'a str,
    pub(in crate::webhooks) timestamp: &'a str,
    pub(in crate::webhooks) simple: &'a str,
    pub(in crate::webhooks) standard: &'a str,
}

/// The headers of every delivery. Custom headers come after these.
pub(in crate::webhooks) fn headers(
    base: &Base,
    event: &str,
    attempt: &AttemptHeaders<'_>,
) -> Vec<(String, String)> {
    let (agent, event) =
        (format!("{}-CMS/3.0 Webhook", base.settings().product), header_value(event));
    let headers = [
        ("content-type", "application/json"),
        ("user-agent", &agent),
        ("x-webhook-event", &event),
        ("x-webhook-signature", attempt.simple),
        ("x-delivery-id", attempt.delivery),
        ("webhook-id", attempt.id),
        ("webhook-timestamp", attempt.timestamp),
        ("webhook-signature", attempt.standard),
    ];
    headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

/// Event names may contain names of adopted tables, so characters that a header cannot
/// carry are percent-encoded.
fn header_value(name: &str) -> String {
    percent_encoding::utf8_percent_encode(name, percent_encoding::CONTROLS).to_string()
}

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
        let lane = self.0.base.db().optional(queue::LANE, args![id]).await?;
        let target = claim::open(&self.0.base, lane.ok_or_else(missing)?)?;
        let event_id = self.0.base.random().uuid_v7(self.0.base.clock())?;
        let data = serde_json::json!({"subscription": {"id": id}});
        let body = body_text(&event_id, PING, self.0.base.clock().now(), &data).into();
        let event = Event { id: event_id, name: PING.to_owned(), body, unread: false };
        let job = Claimed { id: 0, retry_count: 0, lease_token: 0, event: event.into() };
        let request = build(&self.0.base, &target, &job);
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
