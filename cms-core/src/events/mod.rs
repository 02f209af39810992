//! Events: their names, the filter of their payloads, and the outbox that queues their jobs.

mod filter;
mod outbox;

use serde_json::{Value as Json, json};

pub(crate) use filter::is_removed;
pub(crate) use outbox::{Outbox, family, sql};

use crate::ground::{Millis, clock, plain};

/// How old an event is when it can be followed: changes overlap, and none may commit an event that
/// is older than one already seen. A change that takes half of it moves its events to its end.
pub(crate) const SETTLED_AFTER: Millis = 1_000;

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
    (1..=300).contains(&name.len()) && !name.contains(plain::is_hidden)
}
