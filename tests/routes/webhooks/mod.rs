//! `/api/backend/webhooks/…`, a file for each endpoint below it.

/// What was held is dropped or sent.
mod activate;
/// The log of attempts, and sending again from it.
mod deliveries;
/// Events raised by hand.
mod emit;
/// What an event carries.
mod events;
/// What would be sent of an event.
mod explain;
/// What a webhook's record tells of its deliveries.
mod health;
/// Recorded events, either way.
mod messages;
/// One attempt at once.
mod ping;
/// Jobs retried and cancelled by hand.
mod queue;
/// A new secret, with and without a grace.
mod rotate_secret;
/// Subscriptions made, changed and refused.
mod subscriptions;

use serde_json::{Value as Json, json};

use crate::support::{Site, webhooks::open};

const EMIT: &str = "POST /api/backend/webhooks/emit";

/// A site with a plugin that declares an event.
async fn shop() -> Site {
    let manifest = json!({
        "id": "shop",
        "webhook_events": [{"name": "shop.order_paid", "description": "An order was paid."}],
    });
    Site::builder().await.settings(open).plugin(manifest).open().await
}

/// Makes a webhook with a header of its own; returns its record.
async fn webhook(site: &Site, url: &str, events: &[&str], active: bool) -> Json {
    let body = json!({
        "name": "test", "url": url, "events": events, "active": active,
        "custom_headers": {"authorization": "Bearer sesame"},
    });
    site.admin("POST /api/backend/webhooks").json(body).expect(201).await.data()
}
