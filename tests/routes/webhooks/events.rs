//! `/api/backend/webhooks/events`: an event is described by what it carries.

use serde_json::{Value as Json, json};

use crate::support::Site;

#[tokio::test]
async fn an_event_is_described_by_what_it_carries() {
    let columns = json!([
        {"name": "title", "type": "text"}, {"name": "n", "type": "integer"},
        {"name": "price", "type": "decimal"},
        {"name": "paid", "type": "boolean"}, {"name": "at", "type": "datetime"},
        {"name": "extra", "type": "json"},
        {"name": "pin", "type": "password"}, {"name": "api_key", "type": "text"},
    ]);
    let manifest = json!({"id": "p", "tables": [{"name": "orders", "columns": columns}]});
    let site = Site::builder().await.plugin(manifest).open().await;
    let event = async |name: &str| {
        site.admin(&format!("GET /api/backend/webhooks/events?name={name}"))
            .expect(200)
            .await
            .data()
    };
    let created = event("item.orders.created").await;
    let record = json!({
        "id": 1, "title": "Text", "n": 1, "price": 1.5, "paid": true, "at": "2026-11-21T09:30:00Z",
        "extra": [],
    });
    assert_eq!(
        created["example"],
        json!({"table": "orders", "id": 1, "language": null, "record": record})
    );
    assert_eq!(
        (&created["plugin_id"], &created["event_type"], &created["emit"]),
        (&json!("p"), &json!("auto"), &json!(false))
    );
    // A record that is written has the same members.
    let written = json!({"title": "a", "pin": "1234", "api_key": "x"});
    site.admin("POST /api/backend/item?table=orders").json(written).expect(201).await;
    let raised = site
        .admin("GET /api/backend/webhooks/messages?event=item.orders.*")
        .expect(200)
        .await
        .data();
    let path =
        format!("GET /api/backend/webhooks/messages?id={}", raised[0]["id"].as_str().unwrap());
    let payload = site.admin(&path).expect(200).await.data()["payload"]["data"].clone();
    let names =
        |data: &Json| data["record"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&payload), names(&created["example"]));

    assert_eq!(event("item.orders.updated").await["example"]["changed"], json!(["extra"]));
    assert_eq!(event("item.pages.created").await["example"]["language"], "en");
    assert_eq!(event("auth.login").await["example"], json!({"user": {"id": 1, "username": "ana"}}));
    assert_eq!(event("order.created").await["example"], Json::Null);
    for name in ["order.creatd", "", "a%07b", "item.*"] {
        site.admin(&format!("GET /api/backend/webhooks/events?name={name}"))
            .refused(404, "not_found")
            .await;
    }
}
