//! `save`; `email_routings` and `email_routing_save`, which save mail rules alone.

use serde_json::{Value as Json, json};

use crate::{
    funnels::{ACTION, drawn, get, made},
    support::{Site, each, has, with},
};

#[tokio::test]
async fn new_nodes_get_ids_and_all_else_stays() {
    let site = Site::open().await;
    site.staff("create", json!({"name": "A"})).expect(201).await;
    let body = json!({
        "id": 1, "rev": 1,
        "funnel": {"name": "B", "start_node_id": -1, "save_abandoned": true},
        "nodes": [
            {"client_id": -1, "type": "step", "name": "Who", "position_x": 10.5, "config_json": {
                "fields": [{"id": "mail", "type": "email"}]}},
            {"client_id": -2, "type": "condition", "config_json": {"operator": "or", "rules": [
                {"field": "mail", "op": "in", "value": "a@example.org, b@example.org"}]}},
            {"client_id": -3, "type": "end"},
        ],
        "edges": [
            {"from_node_id": -1, "to_node_id": -2},
            {"from_node_id": -2, "to_node_id": -3},
        ],
        "email_routings": [{"recipients": ["a@example.org", "{{ mail }}"], "subject": "Hello"}],
    });
    let saved = site.staff("save", body).expect(200).await.data();
    let id_map = json!({"-1": 1, "-2": 2, "-3": 3});
    assert_eq!(saved, json!({"id": 1, "rev": 2, "id_map": id_map, "warnings": []}));
    let first = get(&site, "1").await;
    has!(first, {"name": "B", "start_node_id": 1, "save_abandoned": 1,
                 "/nodes/0/position_x": 10.5});
    // A condition is stored as it is read: its members together, its list as a list.
    let rule = json!({"field": "mail", "op": "in", "value": ["a@example.org", "b@example.org"]});
    has!(first, {"/nodes/1/config_json": {"rules": {"operator": "OR", "rules": [rule]}},
                 "/email_routings/0/recipients": "a@example.org, {{ mail }}",
                 "/email_routings/0/condition_json": null});

    // The second node goes; the edge that leads as before keeps its id.
    let mut nodes = first["nodes"].clone();
    nodes.as_array_mut().unwrap().remove(1);
    nodes.as_array_mut().unwrap().push(json!({"client_id": -9, "type": "end", "name": "New"}));
    let body = json!({
        "id": 1, "rev": 2, "nodes": nodes,
        "edges": [{"from_node_id": 1, "to_node_id": -9}, {"from_node_id": 1, "to_node_id": 3}],
    });
    let saved = site.staff("save", body).expect(200).await.data();
    has!(saved, {"rev": 3, "id_map": {"-9": 4}});
    let second = get(&site, "1").await;
    assert_eq!(each(&second["nodes"], "id"), [1, 3, 4]);
    assert_eq!(second["email_routings"], first["email_routings"], "what is left out stays");
    let edges = second["edges"].clone();
    site.staff("save", json!({"id": "b", "funnel": {"slug": "b"}})).refused(404, "not_found").await;
    site.post(&format!("{ACTION}=save&id=1"), json!({"funnel": {"slug": "b"}, "rev": 3})).await;
    assert_eq!(get(&site, "b").await["edges"], edges);
}

#[tokio::test]
async fn who_saw_an_older_state_changes_nothing() {
    let site = Site::open().await;
    made(&site, &drawn()).await;
    let rename = |name: &str, rev: Json| {
        site.staff("save", json!({"id": 1, "rev": rev, "funnel": {"name": name}}))
    };
    assert_eq!(rename("A", json!(1)).expect(200).await.data()["rev"], 2);
    rename("B", json!(1)).refused(409, "rev_conflict").await;
    rename("B", json!(3)).refused(409, "rev_conflict").await;
    assert_eq!(get(&site, "1").await["name"], "A");
    // Without a rev the last save counts.
    assert_eq!(rename("C", Json::Null).expect(200).await.data()["rev"], 3);
    // Of two at once one loses.
    let (d, e) = tokio::join!(rename("D", json!(3)).send(), rename("E", json!(3)).send());
    let mut statuses = [d.status.as_u16(), e.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409]);
    assert_eq!(get(&site, "1").await["rev"], 4);
}

#[tokio::test]
async fn every_problem_is_told_and_nothing_is_written() {
    let site = Site::open().await;
    let funnel = made(&site, &drawn()).await;
    let other = made(&site, &with(drawn(), json!({"slug": "other"}))).await;
    let before = (get(&site, "1").await, site.traces().await);
    let step = |id: i64| json!({"client_id": id, "type": "step"});
    let mut nodes = funnel["nodes"].as_array().unwrap().clone();
    nodes.extend([other["nodes"][0].clone(), step(0), json!({"client_id": -5, "type": "loop"})]);
    nodes[0]["config_json"] = json!({"fields": [{"id": "a", "type": "x"}], "rules": "{}"});
    let mut edges = funnel["edges"].as_array().unwrap().clone();
    let (first, second) = (&nodes[0]["id"], &nodes[1]["id"]);
    edges.push(json!({"from_node_id": second, "to_node_id": first}));
    edges.push(json!({"from_node_id": first, "to_node_id": 777}));
    edges.push(json!({"id": other["edges"][0]["id"], "from_node_id": first, "to_node_id": second}));
    let rule = json!({"id": other["email_routings"][0]["id"]});
    let body = json!({
        "id": 1, "rev": 1, "funnel": {"slug": "7", "status": "open"},
        "nodes": nodes, "edges": edges, "email_routings": [rule],
    });
    let told = site.staff("save", body).refused(422, "validation_failed").await.json();
    let codes = each(&told["errors"], "code");
    let expected = "bad_condition bad_id bad_status condition_is_string cycle edge_missing_node \
                    foreign_node format unknown_field_type unknown_node_type";
    for expected in expected.split(' ') {
        assert!(codes.iter().any(|code| code == expected), "{expected}: {codes:?}");
    }
    let messages = each(&told["errors"], "message");
    assert!(messages.iter().all(|one| !one.as_str().unwrap().is_empty()), "{messages:?}");
    assert_eq!((get(&site, "1").await, site.traces().await), before);
    // A slug that another has.
    let body = json!({"id": 1, "funnel": {"slug": "other", "name": "Other"}});
    site.staff("save", body).refused(409, "conflict").await;
    assert_eq!((get(&site, "1").await, site.traces().await), before);
}

#[tokio::test]
async fn warnings_refuse_only_who_asks_for_that() {
    let site = Site::open().await;
    made(&site, &drawn()).await;
    let mut nodes = get(&site, "1").await["nodes"].as_array().unwrap().clone();
    nodes.push(json!({"client_id": -1, "type": "end", "name": "Lost"}));
    let body = json!({"id": 1, "nodes": nodes, "strict": true});
    let told = site.staff("save", body.clone()).refused(422, "validation_failed").await.json();
    assert_eq!(told["errors"][0]["code"], "unreachable_node");
    let mut tried = body;
    (tried["strict"], tried["dry_run"]) = (json!(false), json!(true));
    let saved = site.staff("save", tried.clone()).expect(200).await.data();
    has!(saved, {"rev": 1, "id_map": {}});
    assert_eq!(get(&site, "1").await["rev"], 1, "only tried");
    tried["dry_run"] = json!(false);
    let saved = site.staff("save", tried).expect(200).await.data();
    let warning = &saved["warnings"][0];
    has!(warning, {"code": "unreachable_node", "node": saved["id_map"]["-1"]});
    assert!(warning["message"].as_str().unwrap().contains("Lost"), "{warning}");
}

#[tokio::test]
async fn all_rules_are_replaced_at_once() {
    let site = Site::open().await;
    let funnel = made(&site, &drawn()).await;
    let list = async || site.get(&format!("{ACTION}=email_routings&funnel_id=leads")).await;
    assert_eq!(list().await, funnel["email_routings"]);
    let kept = list().await[0]["id"].clone();
    let rules = json!([
        {"recipients": "b@example.org", "subject": "New", "sort_order": 5, "is_active": 0,
         "condition_json": {"rules": [{"field": "budget", "op": "is_empty"}]},
         "trigger_event": "abandoned"},
        {"id": kept, "recipients": "a@example.org", "sort_order": 1},
    ]);
    let saved = site
        .staff("email_routing_save", json!({"funnel_id": 1, "rev": 1, "email_routings": rules}));
    let saved = saved.expect(200).await.data();
    has!(saved, {"rev": 2, "warnings": []});
    assert_eq!(saved["email_routings"], list().await);
    let found = list().await;
    has!(found[0], {"id": kept, "recipients": "a@example.org"});
    has!(found[1], {"subject": "New", "trigger_event": "abandoned", "is_active": 0,
                    "auto_reply_enabled": 0, "body_html": ""});
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
        site.staff("email_routing_save", body).refused(status, code).await;
    }
    assert_eq!((get(&site, "1").await, site.traces().await), before);
    let none = json!({"email_routings": []});
    site.post(&format!("{ACTION}=email_routing_save&funnel_id=1"), none).await;
    assert_eq!(list().await, json!([]));
}
