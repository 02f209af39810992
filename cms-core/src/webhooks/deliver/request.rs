//! Headers and body of an attempt. Each attempt is signed with its own time.

use bytes::Bytes;

use super::{claimed::Target, sql::queue::Claimed};
use crate::{
    base::Base,
    webhooks::rules::sign::{hex_signature, standard_signature},
};

/// Headers in the order in which they are sent, and the body as it was queued.
pub(in crate::webhooks) struct Request {
    pub(in crate::webhooks) headers: Vec<(String, String)>,
    pub(in crate::webhooks) body: Bytes,
}

pub(in crate::webhooks) fn build(base: &Base, target: &Target, job: &Claimed) -> Request {
    let now = base.clock().now();
    let (seconds, body) = (now / 1000, &job.event.body);
    let old =
        target.old_secret.as_ref().filter(|(_, until)| *until > now).map(|(secret, _)| secret);
    // During the grace after a rotation the receiver may have either secret. `webhook-signature`
    // carries both, `X-Webhook-Signature` only one: the one that the receiver knows already.
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

/// Event names may contain names of adopted tables, so characters that no header can carry are
/// percent-encoded.
fn header_value(name: &str) -> String {
    percent_encoding::utf8_percent_encode(name, percent_encoding::CONTROLS).to_string()
}
