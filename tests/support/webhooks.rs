//! A site that may send to loopback, and what its webhooks are doing.

use cms_core::{
    Outcomes,
    settings::Settings,
    webhooks::{SignedHeaders, VerifyError, Worker, verify},
};
use serde_json::{Value as Json, json};

use super::{Delivery, Receiver, Site};

pub const WEBHOOKS: &str = "/api/backend/webhooks";

/// What [`Site::write`] raises.
pub const CREATED: &str = "item.settings.created";

/// Loopback and http are open, as they must be for a test.
pub fn open(settings: &mut Settings) {
    settings.webhooks.allow_http = true;
    settings.webhooks.allow_cidrs = vec!["127.0.0.1/32".parse().unwrap()];
}

pub async fn site() -> Site {
    Site::with(open).await
}

/// A site with one webhook for new settings, whose receiver answers so; and its record.
pub async fn subscribed(status: u16) -> (Site, Receiver, Json) {
    let (site, receiver) = (site().await, Receiver::start(status).await);
    let made = site.webhook(&receiver.url, &[CREATED]).await;
    (site, receiver, made)
}

/// Whether this secret signed what was delivered, by the clock of the receiver.
pub fn is_signed(secret: &str, delivery: &Delivery, now_s: i64) -> Result<(), VerifyError> {
    let received = SignedHeaders {
        id: &delivery.headers["webhook-id"],
        timestamp: &delivery.headers["webhook-timestamp"],
        signature: &delivery.headers["webhook-signature"],
    };
    verify(secret, &received, &delivery.body, now_s)
}

impl Site {
    /// Makes a webhook for these events; returns its record, secret included.
    pub async fn webhook(&self, url: &str, events: &[&str]) -> Json {
        let body = json!({"name": "test", "url": url, "events": events});
        self.create(WEBHOOKS, body).await
    }

    /// Raises an event by a write; returns the setting's name.
    pub async fn write(&self, name: &str) {
        self.create("/api/backend/item?table=settings", json!({"name": name, "value": 1})).await;
    }

    /// How many jobs have each status.
    pub async fn statuses(&self) -> Json {
        self.get("/api/backend/webhooks/queue/stats").await["by_status"].take()
    }

    pub fn worker(&self) -> Worker {
        self.cms.webhooks().worker()
    }

    /// What one step of a new worker has settled.
    pub async fn step(&self) -> Outcomes {
        self.worker().step().await.unwrap()
    }

    pub async fn subscription(&self, id: &Json) -> Json {
        self.get(&format!("{WEBHOOKS}?id={id}")).await
    }
}
