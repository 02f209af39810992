//! `preview`.

use serde_json::{Value as Json, json};

use crate::{
    funnels::{ACTION, drawn, made},
    support::{Ask, Site},
};

fn preview(site: &Site, body: Json) -> Ask {
    site.admin(&format!("POST {ACTION}=preview")).json(body)
}

#[tokio::test]
async fn a_step_is_shown_with_where_answers_lead_and_why() {
    let site = Site::open().await;
    made(&site, &drawn()).await;
    let before = site.traces().await;
    let look = async |answers: Json| {
        let asked = json!({"funnel_id": "leads", "answers": answers});
        preview(&site, asked).expect(200).await.data()
    };
    let rich = look(json!({"mail": " A@Example.ORG ", "budget": "5000"})).await;
    assert_eq!((&rich["node"]["id"], &rich["node_type"]), (&json!(1), &json!("step")));
    assert_eq!(rich["node"]["config"]["fields"][0]["max_length"], 254);
    assert_eq!((&rich["next"]["name"], &rich["next_type"]), (&json!("Call"), &json!("end")));
    assert_eq!((&rich["can_complete"], &rich["errors"]), (&json!(true), &json!([])));
    let trace = rich["trace"].as_array().unwrap();
    let taken: Vec<_> = trace.iter().map(|one| (&one["branch_label"], &one["result"])).collect();
    assert_eq!(taken, [(&json!("default"), &Json::Null), (&json!("true"), &json!(true))]);
    let rule = &trace[1]["rules"][0];
    assert_eq!(
        (&rule["field"], &rule["answer"], &rule["result"]),
        (&json!("budget"), &json!(5000), &json!(true))
    );
    let poor = look(json!({"mail": "a@example.org"})).await;
    assert_eq!(
        (&poor["next"]["name"], &poor["trace"][1]["result"]),
        (&json!("Sorry"), &json!(false))
    );
    let wrong = look(json!({"budget": "much"})).await;
    let codes: Vec<_> =
        wrong["errors"].as_array().unwrap().iter().map(|one| &one["field"]).collect();
    assert_eq!(codes, [&json!("mail"), &json!("budget")]);
    assert_eq!((&wrong["next"], &wrong["can_complete"]), (&Json::Null, &json!(false)));
    let end = preview(&site, json!({"funnel_id": 1, "node_id": 4})).expect(200).await.data();
    assert_eq!(
        (&end["node_type"], &end["can_complete"], &end["next"]),
        (&json!("end"), &json!(true), &Json::Null)
    );
    assert_eq!(site.traces().await, before, "nothing is stored");
}

#[tokio::test]
async fn what_is_only_drawn_is_shown_too() {
    let site = Site::open().await;
    let asked = |node: i64| json!({"definition": drawn(), "node_id": node});
    let shown = preview(&site, asked(-2)).expect(200).await.data();
    assert_eq!((&shown["node"]["config"], &shown["next"]["name"]), (&json!({}), &json!("Sorry")));
    let mut half = asked(-1);
    half["definition"]["edges"] = json!([]);
    half["answers"] = json!({"mail": "a@example.org"});
    let shown = preview(&site, half.clone()).expect(200).await.data();
    assert_eq!((&shown["next"], &shown["can_complete"]), (&Json::Null, &json!(true)));
    half["definition"]["nodes"][0]["type"] = json!("loop");
    for (body, status, code) in [
        (half, 422, "validation_failed"),
        (asked(-77), 422, "validation_failed"),
        (json!({"node_id": 1}), 422, "validation_failed"),
        (json!({"funnel_id": 99}), 404, "not_found"),
        (json!({"funnel_id": 1, "colour": 1}), 422, "validation_failed"),
        (json!([]), 400, "bad_json"),
    ] {
        preview(&site, body).refused(status, code).await;
    }
}

#[tokio::test]
async fn who_may_only_see_funnels_tries_stored_ones() {
    let site = Site::open().await;
    made(&site, &drawn()).await;
    let viewer = site.person("viewer", json!(["formfunnel_funnels_view"])).await;
    let ask = |action: &str, body: Json| {
        site.ask(&format!("POST {ACTION}={action}")).bearer(&viewer.token).json(body)
    };
    for (action, body) in [
        ("preview", json!({"funnel_id": 1})),
        ("test", json!({"id": 1})),
        ("routing_test", json!({"funnel_id": 1})),
        ("publish", json!({"id": 1, "dry_run": true})),
    ] {
        ask(action, body).expect(200).await;
    }
    for (action, body) in [
        ("preview", json!({"definition": drawn(), "node_id": -1})),
        ("explain", json!({"condition": null})),
        ("publish", json!({"id": 1, "dry_run": false})),
        ("publish", json!({"id": 1})),
        ("save", json!({"id": 1, "dry_run": true})),
    ] {
        ask(action, body).refused(403, "permission_denied").await;
    }
}
