//! Events: their names, the filter of their payloads, and the outbox that queues their jobs.

mod filter;
mod outbox;

use serde_json::{Value as Json, json};

pub(crate) use filter::is_removed;
pub(crate) use outbox::{Outbox, family, sql};

use crate::ground::{Millis, clock};

/// A change that takes this long moves its events to its end. `cms events tail` and others who ask
/// for messages `since` a moment look back a few seconds only. Streams follow rows, not time.
pub(crate) const LATE_AFTER: Millis = 500;

/// The body that deliveries of an event send, and the paths of the members that the payload filter
/// removed.
pub(crate) fn body(id: &str, event: &str, now: Millis, data: Json) -> (String, Vec<String>) {
    let (data, removed) = filter::filter(data);
    let created_at = clock::rfc3339(now);
    let body = json!({"id": id, "event": event, "created_at": created_at, "data": data});
    (body.to_string(), removed)
}

/// Whether a text can be an event name. Event names contain names of adopted tables, so almost any
/// text is allowed.
pub(crate) fn is_name(name: &str) -> bool {
    (1..=300).contains(&name.len()) && !name.contains(char::is_control)
}
