//! `save`.

use serde_json::{Value as Json, json};

use crate::{
    funnels::{ACTION, drawn, get, made},
    support::{Ask, Site},
};

fn save(site: &Site, body: Json) -> Ask {
    site.admin(&format!("POST {ACTION}=save")).json(body)
}

#[tokio::test]
async fn new_nodes_get_ids_and_all_else_stays() {
    let site = Site::open().await;
    site.admin(&format!("POST {ACTION}=create")).json(json!({"name": "A"})).expect(201).await;
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
    let saved = save(&site, body).expect(200).await.data();
    assert_eq!(
        saved,
        json!({
            "id": 1, "rev": 2, "id_map": {"-1": 1, "-2": 2, "-3": 3}, "warnings": [],
        })
    );
    let first = get(&site, "1").await;
    assert_eq!((&first["name"], &first["start_node_id"]), (&json!("B"), &json!(1)));
    assert_eq!(first["save_abandoned"], 1);
    assert_eq!(first["nodes"][0]["position_x"], 10.5);
    // A condition is stored as it is read: its members together, its list as a list.
    let rule = json!({"field": "mail", "op": "in", "value": ["a@example.org", "b@example.org"]});
    assert_eq!(
        first["nodes"][1]["config_json"],
        json!({"rules": {"operator": "OR", "rules": [rule]}})
    );
    assert_eq!(first["email_routings"][0]["recipients"], "a@example.org, {{ mail }}");
    assert_eq!(first["email_routings"][0]["condition_json"], Json::Null);

    // The second node goes; the edge that leads as before keeps its id.
    let mut nodes = first["nodes"].clone();
    nodes.as_array_mut().unwrap().remove(1);
    nodes.as_array_mut().unwrap().push(json!({"client_id": -9, "type": "end", "name": "New"}));
    let body = json!({
        "id": 1, "rev": 2, "nodes": nodes,
        "edges": [{"from_node_id": 1, "to_node_id": -9}, {"from_node_id": 1, "to_node_id": 3}],
    });
    let saved = save(&site, body).expect(200).await.data();
    assert_eq!((&saved["rev"], &saved["id_map"]), (&json!(3), &json!({"-9": 4})));
    let second = get(&site, "1").await;
    let ids: Vec<_> = second["nodes"].as_array().unwrap().iter().map(|one| &one["id"]).collect();
    assert_eq!(ids, [&json!(1), &json!(3), &json!(4)]);
    assert_eq!(second["email_routings"], first["email_routings"], "what is left out stays");
    let edges = second["edges"].clone();
    let body = json!({"id": "b", "funnel": {"slug": "b"}});
    save(&site, body).refused(404, "not_found").await;
    let body = json!({"funnel": {"slug": "b"}, "rev": 3});
    site.admin(&format!("POST {ACTION}=save&id=1")).json(body).expect(200).await;
    assert_eq!(get(&site, "b").await["edges"], edges);
}

#[tokio::test]
async fn who_saw_an_older_state_changes_nothing() {
    let site = Site::open().await;
    made(&site, &drawn()).await;
    let rename =
        |name: &str, rev: Json| save(&site, json!({"id": 1, "rev": rev, "funnel": {"name": name}}));
    assert_eq!(rename("A", json!(1)).expect(200).await.data()["rev"], 2);
    rename("B", json!(1)).refused(409, "rev_conflict").await;
    rename("B", json!(3)).refused(409, "rev_conflict").await;
    assert_eq!(get(&site, "1").await["name"], "A");
    // Without a rev the last save counts.
    assert_eq!(rename("C", Json::Null).expect(200).await.data()["rev"], 3);
    // Of two at once one loses.
    let both =
        futures_util::future::join(rename("D", json!(3)).send(), rename("E", json!(3)).send())
            .await;
    let mut statuses = [both.0.status.as_u16(), both.1.status.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409]);
    assert_eq!(get(&site, "1").await["rev"], 4);
}

#[tokio::test]
async fn every_problem_is_told_and_nothing_is_written() {
    let site = Site::open().await;
    let funnel = made(&site, &drawn()).await;
    let mut other = drawn();
    other["slug"] = json!("other");
    let other = made(&site, &other).await;
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
    let told = save(&site, body).refused(422, "validation_failed").await.json();
    let told = told["errors"].as_array().unwrap();
    let mut codes: Vec<_> = told.iter().map(|one| one["code"].as_str().unwrap()).collect();
    codes.sort_unstable();
    codes.dedup();
    for expected in [
        "bad_condition",
        "bad_id",
        "bad_status",
        "condition_is_string",
        "cycle",
        "edge_missing_node",
        "foreign_node",
        "format",
        "unknown_field_type",
        "unknown_node_type",
    ] {
        assert!(codes.contains(&expected), "{expected}: {codes:?}");
    }
    assert!(told.iter().all(|one| !one["message"].as_str().unwrap().is_empty()));
    assert_eq!((get(&site, "1").await, site.traces().await), before);
    // A slug that another has.
    let body = json!({"id": 1, "funnel": {"slug": "other", "name": "Other"}});
    save(&site, body).refused(409, "conflict").await;
    assert_eq!((get(&site, "1").await, site.traces().await), before);
}

#[tokio::test]
async fn warnings_refuse_only_who_asks_for_that() {
    let site = Site::open().await;
    made(&site, &drawn()).await;
    let mut nodes = get(&site, "1").await["nodes"].as_array().unwrap().clone();
    nodes.push(json!({"client_id": -1, "type": "end", "name": "Lost"}));
    let body = json!({"id": 1, "nodes": nodes, "strict": true});
    let told = save(&site, body.clone()).refused(422, "validation_failed").await.json();
    assert_eq!(told["errors"][0]["code"], "unreachable_node");
    let mut tried = body;
    (tried["strict"], tried["dry_run"]) = (json!(false), json!(true));
    let saved = save(&site, tried.clone()).expect(200).await.data();
    assert_eq!((&saved["rev"], &saved["id_map"]), (&json!(1), &json!({})));
    assert_eq!(get(&site, "1").await["rev"], 1, "only tried");
    tried["dry_run"] = json!(false);
    let saved = save(&site, tried).expect(200).await.data();
    let warning = &saved["warnings"][0];
    let placed = &saved["id_map"]["-1"];
    assert_eq!((&warning["code"], &warning["node"]), (&json!("unreachable_node"), placed));
    assert!(warning["message"].as_str().unwrap().contains("Lost"));
}
