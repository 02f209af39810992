//! `/api/backend/webhooks/activate`: what was held is dropped or sent.

use serde_json::json;

use crate::support::{Receiver, webhooks::site};

#[tokio::test]
async fn held_jobs_can_be_dropped() {
    let (site, receiver) = (site().await, Receiver::start(200).await);
    let made = site.webhook(&receiver.url, &["item.settings.created"]).await;
    let path = format!("/api/backend/webhooks?id={}", made["id"]);
    let paused = site
        .admin(&format!("PATCH {path}"))
        .json(json!({"active": false}))
        .expect(200)
        .await
        .data();
    assert_eq!(paused["disabled_reason"], "paused");
    site.write("a").await;
    site.worker().step().await.unwrap();
    let drop = json!({"held": "drop"});
    site.admin(&format!("POST /api/backend/webhooks/activate?id={}", made["id"]))
        .json(drop)
        .expect(200)
        .await;
    site.write("b").await;
    site.worker().step().await.unwrap();
    assert_eq!(receiver.count(), 1);
    assert_eq!(site.statuses().await, [("cancelled".to_owned(), 1), ("delivered".to_owned(), 1)]);
}
