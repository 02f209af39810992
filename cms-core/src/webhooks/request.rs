//! What an attempt sends. Signed anew at every attempt, with the time of the attempt.

use bytes::Bytes;

use super::{
    claim::Target,
    sign::{hex_signature, standard_signature},
    sql::queue::Claimed,
};
use crate::Cms;

/// Headers in the order in which they are written, and the body as it was queued.
pub(super) struct Request {
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Bytes,
}

pub(super) fn build(cms: &Cms, target: &Target, row: &Claimed) -> Request {
    let now = cms.clock().now();
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
    let mut headers = headers(cms, &row.event.name, &marks);
    headers.extend(
        target.custom_headers.iter().map(|(name, value)| (name.clone(), value.to_string())),
    );
    Request { headers, body: body.clone() }
}

/// What differs from attempt to attempt.
pub(super) struct Marks<'a> {
    pub(super) delivery: &'a str,
    pub(super) id: &'a str,
    pub(super) timestamp: &'a str,
    pub(super) simple: &'a str,
    pub(super) standard: &'a str,
}

/// The headers of every delivery of an event; custom ones come after.
pub(super) fn headers(cms: &Cms, event: &str, marks: &Marks<'_>) -> Vec<(String, String)> {
    let (agent, event) =
        (format!("{}-CMS/3.0 Webhook", cms.settings().product), header_value(event));
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
