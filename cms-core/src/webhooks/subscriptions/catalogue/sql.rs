//! Statements of the catalogue of events.

use super::RegisteredEvent;
use crate::{
    Change, Result,
    db::{Db, args, record, statements},
    events::is_name,
};

record! { RegisteredEvent: event_columns {
    id: "id",
    plugin_id: "plugin_id",
    event_name: "event_name",
    event_type: "event_type",
    content_table: "content_table",
    description: "description",
} }

statements! {
    REGISTER = "insert into cms_webhook_events \
                (plugin_id, event_name, event_type, content_table, description) \
                values ($1, $2, $3, $4, $5) on conflict (plugin_id, event_name) do nothing";
    LIST = concat!(
        "select ", event_columns!(), " from cms_webhook_events where id > $1 order by id limit $2"
    );
    NAMED = concat!(
        "select ", event_columns!(), " from cms_webhook_events where event_name = $1 order by id"
    );
}

pub(in crate::webhooks) async fn register(
    change: &mut Change,
    event: &RegisteredEvent,
) -> Result<bool> {
    let args = args![
        &event.plugin_id,
        &event.event_name,
        &event.event_type,
        event.content_table.clone(),
        &event.description
    ];
    Ok(change.run(REGISTER, args).await? > 0)
}

pub(in crate::webhooks) async fn list(
    db: &Db,
    after: i64,
    limit: i64,
) -> Result<Vec<RegisteredEvent>> {
    db.all(LIST, args![after, limit]).await
}

/// Entries with this name: several plugins may raise the same event.
pub(in crate::webhooks) async fn named(db: &Db, name: &str) -> Result<Vec<RegisteredEvent>> {
    // No engine stores other names, and PostgreSQL refuses to compare with them.
    if !is_name(name) {
        return Ok(Vec::new());
    }
    db.all(NAMED, args![name]).await
}

/// As [`named`], on the connection of a change: changes that wait for a second connection could
/// wait for each other.
pub(in crate::webhooks) async fn named_in(
    change: &mut Change,
    name: &str,
) -> Result<Vec<RegisteredEvent>> {
    if !is_name(name) {
        return Ok(Vec::new());
    }
    change.all(NAMED, args![name]).await
}
