//! Computed fields: at the server alone, from the answers that count.

use serde_json::{Value as Json, json};

use crate::support::{Published, Site, Visit, each, has, with};

/// How many seats, of which kind; the price decides who calls. `price` counts on `each`, which is
/// declared behind it.
fn priced() -> Json {
    let computed = |id: &str, expression: &str| {
        json!({"id": id, "type": "calculated", "label": id,
               "expression": expression})
    };
    json!({
        "name": "Seats", "slug": "seats", "start_node_id": -1,
        "nodes": [
            {"client_id": -1, "type": "step", "name": "seats", "config_json": {"fields": [
                {"id": "seats", "type": "number", "required": true},
                computed("price", "seats * each + extra"),
            ]}},
            {"client_id": -2, "type": "step", "name": "kind", "config_json": {"fields": [
                {"id": "kind", "type": "single_choice", "options": [
                    {"id": "plain", "label": "Plain"}, {"id": "soft", "label": "Soft"}]},
                {"id": "divisor", "type": "number"},
                computed("each", "if(kind = \"soft\", 250, 99.5)"),
                computed("extra", "sum(10 / divisor)"),
            ]}},
            {"client_id": -3, "type": "condition", "name": "much?", "config_json": {"rules": {
                "rules": [{"field": "price", "op": "greater_than", "value": 1000}]}}},
            {"client_id": -4, "type": "end", "name": "we call"},
            {"client_id": -5, "type": "end", "name": "we write"},
        ],
        "edges": [
            {"from_node_id": -1, "to_node_id": -2},
            {"from_node_id": -2, "to_node_id": -3},
            {"from_node_id": -3, "to_node_id": -4, "branch_label": "true"},
            {"from_node_id": -3, "to_node_id": -5, "branch_label": "false"},
        ],
        "email_routings": [{
            "recipients": "sales@example.org", "subject": "{{ label:price }}: {{ price }}",
            "condition_json": {"rules": [{"field": "price", "op": "is_not_empty"}]},
        }],
    })
}

async fn stored(visit: &Visit<'_>, member: &str, value: &str) -> bool {
    visit.holds(&format!("\"{member}\":{value}")).await
}

#[tokio::test]
async fn conditions_and_mails_see_what_the_service_computed() {
    let site = Site::open().await;
    site.funnel(priced()).await;
    for (kind, end, price) in [("soft", "we call", "1260"), ("plain", "we write", "507.5")] {
        let visit = site.visit("seats").await;
        // What a page sends for it says nothing, neither here nor later.
        let step = visit.answers(json!({"seats": 5, "price": 1_000_000})).await;
        has!(step, {"ignored": ["price"], "/node/name": "kind"});
        let shown = step["node"]["config"]["fields"].to_string();
        assert!(!shown.contains("99.5"), "expressions stay here: {shown}");
        let reached = visit.answers(json!({"kind": kind, "divisor": 1, "each": 7})).await;
        assert_eq!(reached["node"]["name"], end);
        visit.complete(None).expect(200).await;
        let mail = format!("cms_mails where subject = 'price: {price}'");
        assert_eq!(site.database.rows(&mail).await, 1, "{kind}");
        assert!(stored(&visit, "price", price).await, "{kind}");
        assert_eq!(visit.is("summary like '%1260%'").await, kind == "soft");
    }
}

/// The price follows when the visitor goes back; an answer that lacks leaves it absent.
#[tokio::test]
async fn what_is_computed_follows_the_answers_that_count() {
    let site = Site::open().await;
    let funnel = site.funnel(priced()).await;
    let visit = site.visit("seats").await;
    visit.answers(json!({"seats": 5})).await;
    visit.answers(json!({"kind": "soft", "divisor": 1})).await;
    assert!(stored(&visit, "price", "1260").await);
    let back = visit.step(Some(funnel.node("seats")), json!({"seats": 1})).expect(200).await;
    assert_eq!(back.json()["node"]["name"], "kind");
    // The kind was answered on the way that was left: 1 * 99.5 + 0.
    assert!(stored(&visit, "price", "99.5").await);
    let end = visit.answers(json!({"kind": "soft", "divisor": 0})).await;
    assert_eq!(end["node"]["name"], "we write");
    assert!(stored(&visit, "extra", "0").await, "a division by 0 is absent, their sum is 0");
    visit.complete(None).expect(200).await;
    assert!(stored(&visit, "price", "250").await);
}

/// Publishing, trying and previewing agree with what visits do.
#[tokio::test]
async fn authors_see_the_same_and_bad_expressions_are_refused() {
    let site = Site::open().await;
    let Published { id, nodes } = site.funnel(priced()).await;
    let answers = json!({"seats": 5, "kind": "soft", "divisor": 1, "price": 3});
    let tried = site.staff("test", json!({"id": id, "answers": answers})).expect(200).await.data();
    assert_eq!(each(&tried["path"], "name").last().unwrap(), "we call");
    assert_eq!(tried["ignored"], json!(["price"]));
    let asked = json!({"funnel_id": id, "node_id": nodes["kind"], "answers": answers});
    let shown = site.staff("preview", asked).expect(200).await.data();
    assert_eq!(shown["next"]["name"], "we call");
    let before = site.traces().await;
    for (expression, told) in [
        ("nobody + 1", "no step asks for \"nobody\""),
        ("price + 1", "counts on itself"),
        ("each + 1", "counts on itself"),
        ("1 +", "at 4"),
    ] {
        let mut funnel = with(priced(), json!({"slug": "other"}));
        let fields = &mut funnel["nodes"][0]["config_json"]["fields"];
        fields[1]["expression"] = expression.into();
        if expression.starts_with("each") {
            funnel["nodes"][1]["config_json"]["fields"][2]["expression"] = "price * 2".into();
        }
        let refused = site.staff("create", funnel).refused(422, "validation_failed").await.json();
        let fault = &refused["errors"][0];
        assert_eq!(fault["code"], "bad_config");
        assert!(fault["message"].as_str().unwrap().contains(told), "{refused}");
        let place = "nodes[0].config_json.fields[1]";
        assert!(fault["field"].as_str().unwrap().starts_with(place), "{refused}");
    }
    assert_eq!(site.traces().await, before);
}
