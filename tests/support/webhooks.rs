//! A site that may send to loopback, and what its webhooks are doing.

use cms_core::{settings::Settings, webhooks::Worker};
use serde_json::{Value as Json, json};

use super::Site;

/// Loopback and http are open, as they must be for a test.
pub fn open(settings: &mut Settings) {
    settings.webhooks.allow_http = true;
    settings.webhooks.allow_cidrs = vec!["127.0.0.1/32".parse().unwrap()];
}

pub async fn site() -> Site {
    Site::builder().await.settings(open).open().await
}

impl Site {
    /// Makes a webhook for these events; returns its record, secret included.
    pub async fn webhook(&self, url: &str, events: &[&str]) -> Json {
        let body = json!({"name": "test", "url": url, "events": events});
        self.admin("POST /api/backend/webhooks").json(body).expect(201).await.data()
    }

    /// Raises an event by a write; returns the setting's name.
    pub async fn write(&self, name: &str) {
        self.admin("POST /api/backend/item?table=settings")
            .json(json!({"name": name, "value": 1}))
            .expect(201)
            .await;
    }

    pub async fn statuses(&self) -> Vec<(String, i64)> {
        let stats = self.admin("GET /api/backend/webhooks/queue/stats").expect(200).await.data();
        let by_status = stats["by_status"].as_object().unwrap();
        by_status.iter().map(|(status, count)| (status.clone(), count.as_i64().unwrap())).collect()
    }

    pub fn worker(&self) -> Worker {
        self.cms.webhooks().worker()
    }

    pub async fn subscription(&self, id: &Json) -> Json {
        self.admin(&format!("GET /api/backend/webhooks?id={id}")).expect(200).await.data()
    }
}
