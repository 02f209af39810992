//! Raising an event through the API: by hand, or from a program without a plugin.

use serde_json::{Map, Value as Json};

use super::{RegisteredEvent, sql, unknown_event};
use crate::{AuditEntry, Change, Emitted, Error, Result, webhooks::Webhooks};

/// Events of the core that only other programs can know of.
const FROM_OUTSIDE: [&str; 4] =
    ["order.created", "user.registered", "emailmarketing.subscribed", "deployment.completed"];

impl Webhooks {
    /// Raises a registered event. Events that the service itself observes are refused: those of
    /// items, pages, media, forms, funnels and logins.
    ///
    /// # Errors
    /// `unknown_event`; `validation_failed` for an event that the service raises itself.
    pub async fn emit(
        &self,
        change: &mut Change,
        event: &str,
        data: Map<String, Json>,
    ) -> Result<Emitted> {
        let entries = sql::named_in(change, event).await?;
        if entries.is_empty() {
            return Err(unknown_event("event".to_owned(), event));
        }
        if !by_hand(&entries) {
            let message = format!(
                "the service raises {event} itself; you can raise events of plugins, and {}",
                FROM_OUTSIDE.join(", ")
            );
            return Err(Error::invalid_field("event", "reserved", message));
        }
        let emitted = change.emit(event, data.into()).await?;
        change
            .audit(AuditEntry { action: "emit", table: "events", id: &emitted.id, columns: &[] })
            .await?;
        Ok(emitted)
    }
}

/// Whether [`Webhooks::emit`] raises an event with these entries in the registry.
pub(in crate::webhooks) fn by_hand(entries: &[RegisteredEvent]) -> bool {
    let theirs = |entry: &RegisteredEvent| {
        let is_ours = entry.plugin_id == "core" || entry.event_name.starts_with("formfunnel.");
        !is_ours || FROM_OUTSIDE.contains(&entry.event_name.as_str())
    };
    !entries.is_empty() && entries.iter().all(|entry| entry.event_type == "manual" && theirs(entry))
}
