//! `/api/backend/webhooks/ping`.

use serde_json::{Value as Json, json};

use crate::support::{Receiver, webhooks::site};

#[tokio::test]
async fn a_ping_tells_at_once_how_it_went() {
    let (site, good, bad) = (site().await, Receiver::start(204).await, Receiver::start(500).await);
    let first = site.webhook(&good.url, &["*"]).await;
    let second = site.webhook(&bad.url, &["*"]).await;
    let ping = async |id: &Json| {
        site.admin(&format!("POST /api/backend/webhooks/ping?id={id}")).expect(200).await.data()
    };
    assert_eq!(ping(&first["id"]).await["status"], "delivered");
    let failed = ping(&second["id"]).await;
    assert_eq!((&failed["status"], &failed["response_code"]), (&json!("status"), &json!(500)));
    assert_eq!(site.subscription(&second["id"]).await["failure_count"], 0);
    assert_eq!(good.deliveries()[0].json()["event"], "webhook.ping");
}
