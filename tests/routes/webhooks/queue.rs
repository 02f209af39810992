//! `/api/backend/webhooks/queue`: retried and cancelled by hand.

use serde_json::json;

use crate::support::{Receiver, webhooks::site};

#[tokio::test]
async fn jobs_are_retried_and_cancelled_by_hand() {
    let (site, receiver) = (site().await, Receiver::start(500).await);
    site.webhook(&receiver.url, &["item.settings.created"]).await;
    site.write("a").await;
    site.worker().step().await.unwrap();
    let job =
        site.admin("GET /api/backend/webhooks/queue").expect(200).await.data()[0]["id"].clone();
    let act =
        |action: &str| site.admin(&format!("POST /api/backend/webhooks/queue/{action}?id={job}"));
    let due = act("retry").expect(200).await.data();
    assert_eq!(
        (&due["id"], &due["status"], &due["next_retry_at"]),
        (&job, &json!("retry"), &json!("2026-11-21T09:30:00Z"))
    );
    assert_eq!(act("cancel").expect(200).await.data()["status"], "cancelled");
    act("retry").refused(409, "conflict").await;
    site.admin("POST /api/backend/webhooks/queue/cancel?id=99").refused(404, "not_found").await;
}
