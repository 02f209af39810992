//! `email_routings`, `email_routing_save`.

use serde_json::{Value as Json, json};

use crate::{
    funnels::{ACTION, drawn, get, made},
    support::{Ask, Site},
};

fn put(site: &Site, body: Json) -> Ask {
    site.admin(&format!("POST {ACTION}=email_routing_save")).json(body)
}

#[tokio::test]
async fn all_rules_are_replaced_at_once() {
    let site = Site::open().await;
    let funnel = made(&site, &drawn()).await;
    let list = async || {
        let line = format!("GET {ACTION}=email_routings&funnel_id=leads");
        site.admin(&line).expect(200).await.data()
    };
    assert_eq!(list().await, funnel["email_routings"]);
    let kept = list().await[0]["id"].clone();
    let rules = json!([
        {"recipients": "b@example.org", "subject": "New", "sort_order": 5, "is_active": 0,
         "condition_json": {"rules": [{"field": "budget", "op": "is_empty"}]},
         "trigger_event": "abandoned"},
        {"id": kept, "recipients": "a@example.org", "sort_order": 1},
    ]);
    let saved = put(&site, json!({"funnel_id": 1, "rev": 1, "email_routings": rules}));
    let saved = saved.expect(200).await.data();
    assert_eq!((&saved["rev"], &saved["warnings"]), (&json!(2), &json!([])));
    assert_eq!(saved["email_routings"], list().await);
    let found = list().await;
    assert_eq!((&found[0]["id"], &found[0]["recipients"]), (&kept, &json!("a@example.org")));
    for (member, expected) in [
        ("subject", json!("New")),
        ("trigger_event", json!("abandoned")),
        ("is_active", json!(0)),
        ("auto_reply_enabled", json!(0)),
        ("body_html", json!("")),
    ] {
        assert_eq!(found[1][member], expected, "{member}");
    }
    let before = (get(&site, "1").await, site.traces().await);
    for (body, status, code) in [
        (json!({"funnel_id": 1, "rev": 1, "email_routings": []}), 409, "rev_conflict"),
        (json!({"funnel_id": 99, "email_routings": []}), 404, "not_found"),
        (json!({"email_routings": []}), 422, "validation_failed"),
        (json!({"funnel_id": 1}), 422, "validation_failed"),
        (json!({"funnel_id": 1, "email_routings": [7]}), 422, "validation_failed"),
        (json!({"funnel_id": 1, "email_routings": [{"id": 999}]}), 422, "validation_failed"),
        (
            json!({"funnel_id": 1, "email_routings": [{"recipients": "a@b.example\r\nBcc: x"}]}),
            422,
            "validation_failed",
        ),
        (
            json!({"funnel_id": 1, "email_routings": [{"subject": "a\nb"}]}),
            422,
            "validation_failed",
        ),
    ] {
        put(&site, body).refused(status, code).await;
    }
    assert_eq!((get(&site, "1").await, site.traces().await), before);
    let none = json!({"email_routings": []});
    site.admin(&format!("POST {ACTION}=email_routing_save&funnel_id=1"))
        .json(none)
        .expect(200)
        .await;
    assert_eq!(list().await, json!([]));
}
