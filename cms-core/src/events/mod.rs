//! What happened, recorded by the change that made it happen.

mod filter;

pub(crate) use filter::is_removed;
use serde_json::{Value as Json, json};

use crate::clock::{self, Millis};

/// What deliveries of an event send, without members that look like secrets, and the paths of
/// those.
pub(crate) fn body(id: &str, event: &str, now: Millis, data: Json) -> (String, Vec<String>) {
    let (data, removed) = filter::filter(data);
    (
        json!({"id": id, "event": event, "created_at": clock::rfc3339(now), "data": data})
            .to_string(),
        removed,
    )
}

/// Whether an event may be called so. Names of adopted tables are in names of events, so much is
/// allowed.
pub(crate) fn is_name(name: &str) -> bool {
    (1..=300).contains(&name.len()) && !name.chars().any(char::is_control)
}
