//! `/api/backend/webhooks` and what is below it.

mod deliveries;
mod emit;
mod explain;
mod health;
mod messages;
mod subscriptions;

use serde_json::{Value as Json, json};

use crate::support::{
    Site,
    webhooks::{WEBHOOKS, open},
};

const EMIT: &str = "POST /api/backend/webhooks/emit";

/// Inserts 20,000 rows by each of these statements.
async fn fill(site: &Site, inserts: &[&str]) {
    for insert in inserts {
        site.database.fill(insert, 20_000).await;
    }
}

/// A job for each number, of the subscription and in the status that are told.
fn jobs(subscription: &str, status: &str) -> String {
    format!(
        "insert into cms_webhook_queue (event_id, subscription_id, status, next_retry_at, \
         created_at) select 'e' || i, {subscription}, {status}, i, i"
    )
}

/// An attempt for each number, of the job, the event and the subscription that are told.
fn attempts(job: &str, event: &str, subscription: &str) -> String {
    format!(
        "insert into cms_webhook_deliveries (queue_id, event_id, event_name, subscription_id, \
         attempt, outcome, duration_ms, created_at) select {job}, 'e' || {event}, 'a', \
         {subscription}, 1, 'delivered', 1, i"
    )
}

/// The plan reads by each of these indexes, and no table from its beginning.
fn assert_by_index(about: &str, plan: &[String], indexes: &[&str], worse: &[&str]) {
    let plan = plan.join("\n");
    for index in indexes {
        assert!(plan.contains(index), "{about}, {index}: {plan}");
    }
    for worse in worse {
        assert!(!plan.contains(worse), "{about}, {worse}: {plan}");
    }
}

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
    site.create(WEBHOOKS, body).await
}
