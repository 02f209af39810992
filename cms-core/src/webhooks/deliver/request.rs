//! What an attempt sends. Signed anew at every attempt, with the time of the attempt.

use bytes::Bytes;

use super::{sql::queue::Claimed, task::Target};
use crate::{
    base::Base,
    webhooks::rules::sign::{hex_signature, standard_signature},
};

/// Headers in the order in which they are written, and the body as it was queued.
pub(in crate::webhooks) struct Request {
    pub(in crate::webhooks) headers: Vec<(String, String)>,
    pub(in crate::webhooks) body: Bytes,
}

pub(in crate::webhooks) fn build(base: &Base, target: &Target, row: &Claimed) -> Request {
    let now = base.clock().now();
    let (seconds, body) = (now / 1000, &row.event.body);
    let old =
        target.old_secret.as_ref().filter(|(_, until)| *until > now).map(|(secret, _)| secret);
    // During a grace the receiver may have either secret.
    let standard: Vec<_> = [Some(&target.secret), old]
        .into_iter()
        .flatten()
        .filter_map(|secret| standard_signature(secret.expose(), &row.event.id, seconds, body))
        .collect();
    let marks = Marks {
        delivery: &row.id.to_string(),
        id: &row.event.id,
        timestamp: &seconds.to_string(),
        simple: &hex_signature(target.secret.expose(), body),
        standard: &standard.join(" "),
    };
    let mut headers = headers(base, &row.event.name, &marks);
    headers.extend(
        target.custom_headers.iter().map(|(name, value)| (name.clone(), value.to_string())),
    );
    Request { headers, body: body.clone() }
}

/// What differs from attempt to attempt.
pub(in crate::webhooks) struct Marks<'a> {
    pub(in crate::webhooks) delivery: &'a str,
    pub(in crate::webhooks) id: &'a str,
    pub(in crate::webhooks) timestamp: &'a str,
    pub(in crate::webhooks) simple: &'a str,
    pub(in crate::webhooks) standard: &'a str,
}

/// The headers of every delivery of an event; custom ones come after.
pub(in crate::webhooks) fn headers(
    base: &Base,
    event: &str,
    marks: &Marks<'_>,
) -> Vec<(String, String)> {
    let (agent, event) =
        (format!("{}-CMS/3.0 Webhook", base.settings().product), header_value(event));
    let headers = [
        ("content-type", "application/json"),
        ("user-agent", &agent),
        ("x-webhook-event", &event),
        ("x-webhook-signature", marks.simple),
        ("x-delivery-id", marks.delivery),
        ("webhook-id", marks.id),
        ("webhook-timestamp", marks.timestamp),
        ("webhook-signature", marks.standard),
    ];
    headers.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

/// Names of events may hold the names of adopted tables: what no header can carry is
/// percent-encoded.
fn header_value(name: &str) -> String {
    percent_encoding::utf8_percent_encode(name, percent_encoding::CONTROLS).to_string()
}
