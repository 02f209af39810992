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
    assert_eq!(event("order.created").await["example"]["order"]["total"], "249.90");
    let of_data = |described: &Json| described["schema"]["properties"]["data"].clone();
    let (new, set) = (of_data(&created), of_data(&event("item.orders.updated").await));
    assert_eq!(new["properties"]["table"], json!({"const": "orders"}));
    assert_eq!(
        names(&json!({"record": new["properties"]["record"]["properties"]})),
        names(&payload)
    );
    let required = |data: &Json| data["required"].as_array().unwrap().contains(&json!("changed"));
    assert_eq!((required(&new), required(&set)), (false, true));
    // The list refers to what describes each of them.
    let list = site.admin("GET /api/backend/webhooks/events?limit=500").expect(200).await.data();
    for row in list.as_array().unwrap() {
        let reference = row["schema"]["$ref"].as_str().unwrap();
        let (address, place) = reference.split_once('#').unwrap();
        let described = site.admin(&format!("GET {address}")).expect(200).await.json();
        let schema = described.pointer(place).unwrap();
        assert_eq!(schema["properties"]["event"], json!({"const": row["event_name"]}));
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    }
    for name in ["order.creatd", "", "a%07b", "item.*"] {
        site.admin(&format!("GET /api/backend/webhooks/events?name={name}"))
            .refused(404, "not_found")
            .await;
    }
}
