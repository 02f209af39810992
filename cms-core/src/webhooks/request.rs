//! What an attempt sends. Signed anew at every attempt, with the time of the attempt.

use super::{
    claim::Target,
    sign::{hex_signature, standard_signature},
    sql::queue::Claimed,
};
use crate::Cms;

/// Headers in the order in which they are written, and the body as it was queued.
pub(super) struct Request {
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
}

pub(super) fn build(cms: &Cms, target: &Target, row: &Claimed) -> Request {
    let now = cms.clock().now();
    let (seconds, body) = (now / 1000, row.body.as_bytes());
    let old = target.old_secret.as_ref().filter(|(_, until)| *until > now).map(|(secret, _)| secret);
    // During a grace the receiver may have either secret.
    let standard: Vec<_> = [Some(&target.secret), old]
        .into_iter()
        .flatten()
        .filter_map(|secret| standard_signature(secret.expose(), &row.event_id, seconds, body))
        .collect();
    let mut headers = vec![
        ("content-type".to_owned(), "application/json".to_owned()),
        ("user-agent".to_owned(), format!("{}-CMS/3.0 Webhook", cms.settings().product)),
        ("x-webhook-event".to_owned(), header_value(&row.event)),
        ("x-webhook-signature".to_owned(), hex_signature(target.secret.expose(), body)),
        ("x-delivery-id".to_owned(), row.id.to_string()),
        ("webhook-id".to_owned(), row.event_id.clone()),
        ("webhook-timestamp".to_owned(), seconds.to_string()),
        ("webhook-signature".to_owned(), standard.join(" ")),
    ];
    headers.extend(target.custom_headers.iter().map(|(name, value)| (name.clone(), value.to_string())));
    Request { headers, body: row.body.clone() }
}

/// Names of events may hold the names of adopted tables: what no header can carry is percent-encoded.
fn header_value(name: &str) -> String {
    percent_encoding::utf8_percent_encode(name, percent_encoding::CONTROLS).to_string()
}
