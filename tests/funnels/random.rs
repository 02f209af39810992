//! Random graphs saved one over another: ids are mapped, a wrong one leaves all as it was.

use std::collections::{BTreeMap, BTreeSet};

use proptest::{
    prelude::*,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};
use serde_json::{Value as Json, json};

use super::{get, without_ids};
use crate::support::Site;

/// What is done to the funnel: nodes added, of those that are there some kept, ways at random.
#[derive(Clone, Debug)]
struct Edit {
    added: Vec<u8>,
    kept: u16,
    ways: Vec<(prop::sample::Index, prop::sample::Index, u8)>,
    fault: Fault,
}

/// What is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    Back,
    Nowhere,
    Foreign,
    Twice,
    Stale,
    Field,
}

fn edit() -> impl Strategy<Value = Edit> {
    let fault = prop_oneof![
        4 => Just(Fault::None),
        1 => prop::sample::select(vec![
            Fault::Back, Fault::Nowhere, Fault::Foreign, Fault::Twice, Fault::Stale, Fault::Field,
        ]),
    ];
    let index = any::<prop::sample::Index>;
    let ways = proptest::collection::vec((index(), index(), 0..3_u8), 0..12);
    let added = proptest::collection::vec(0..3_u8, 0..5);
    (added, any::<u16>(), ways, fault).prop_map(|(added, kept, ways, fault)| Edit {
        added,
        kept,
        ways,
        fault,
    })
}

fn node(id: i64, kind: u8, label: usize) -> Json {
    let config = match kind {
        0 => json!({"fields": [{"id": format!("f{label}"), "type": "number"}]}),
        1 => json!({"rules": {"rules": [{"field": "f0", "op": "is_empty"}]}}),
        _ => json!({"end_kind": "thank_you"}),
    };
    let kind = ["step", "condition", "end"][usize::from(kind)];
    let name = format!("n{label}");
    json!({"client_id": id, "type": kind, "name": name, "config_json": config})
}

/// The body of a save.
fn body(now: &Json, edit: &Edit, label: &mut usize) -> Json {
    let mut nodes: Vec<Json> = now["nodes"].as_array().unwrap().clone();
    let mut at = 0;
    nodes.retain(|_| {
        at += 1;
        edit.kept & (1 << (at % 16)) != 0
    });
    for (number, kind) in edit.added.iter().enumerate() {
        *label += 1;
        nodes.push(node(-1 - number as i64, *kind, *label));
    }
    let id = |node: &Json| node.get("client_id").unwrap_or(&node["id"]).clone();
    let way = |from: usize, to: usize, branch: usize| {
        let label = ["default", "true", "false"][branch];
        let (from, to) = (id(&nodes[from]), id(&nodes[to]));
        json!({"from_node_id": from, "to_node_id": to, "branch_label": label})
    };
    let mut edges = Vec::new();
    for (from, to, branch) in &edit.ways {
        let places = nodes.len();
        if places < 2 {
            break;
        }
        let (from, to) = (from.index(places), to.index(places));
        let (from, to) = (from.min(to), from.max(to));
        // Onwards only, and never out of an end.
        if from != to && nodes[from]["type"] != "end" {
            edges.push(way(from, to, usize::from(*branch)));
        }
    }
    let mut body = json!({"id": now["id"], "rev": now["rev"], "funnel": {"start_node_id": null}});
    match edit.fault {
        Fault::None => {}
        Fault::Back => {
            nodes.push(node(-50, 0, 100_000));
            nodes.push(node(-51, 0, 100_001));
            edges.push(json!({"from_node_id": -50, "to_node_id": -51}));
            edges.push(json!({"from_node_id": -51, "to_node_id": -50}));
        }
        Fault::Nowhere => edges.push(json!({"from_node_id": -60, "to_node_id": -61})),
        Fault::Foreign => nodes.push(node(1_000_000, 2, 0)),
        Fault::Twice => nodes.extend([node(-50, 2, 0), node(-50, 2, 0)]),
        Fault::Stale => body["rev"] = json!(now["rev"].as_i64().unwrap() - 1),
        Fault::Field => {
            let mut wrong = node(-50, 0, 0);
            wrong["config_json"]["fields"][0]["type"] = json!("x");
            nodes.push(wrong);
        }
    }
    if let Some(step) = nodes.iter().find(|node| node["type"] == "step") {
        body["funnel"]["start_node_id"] = id(step);
    }
    (body["nodes"], body["edges"]) = (nodes.into(), edges.into());
    body
}

/// The codes that tell a fault.
fn told(fault: Fault) -> &'static [&'static str] {
    match fault {
        Fault::None => &[],
        Fault::Back => &["cycle"],
        Fault::Nowhere => &["edge_missing_node"],
        Fault::Foreign => &["foreign_node"],
        Fault::Twice => &["duplicate_id"],
        Fault::Stale => &["rev_conflict"],
        Fault::Field => &["unknown_field_type"],
    }
}

/// Nodes by name with their settings, and ways by the names of their ends.
fn drawing(body: &Json) -> (BTreeMap<String, Json>, Vec<String>, Json) {
    let id = |node: &Json| node.get("client_id").unwrap_or(&node["id"]).to_string();
    let nodes = body["nodes"].as_array().unwrap();
    let text = |json: &Json| json.as_str().unwrap_or_default().to_owned();
    let names: BTreeMap<_, _> = nodes.iter().map(|node| (id(node), text(&node["name"]))).collect();
    let kinds = nodes.iter().map(|node| (text(&node["name"]), node["type"].clone())).collect();
    let name = |id: &Json| names.get(&id.to_string()).cloned().unwrap_or_default();
    let ways = body["edges"].as_array().unwrap().iter().map(|edge| {
        let (from, to) = (name(&edge["from_node_id"]), name(&edge["to_node_id"]));
        format!("{from} {to} {}", text(&edge["branch_label"]))
    });
    let mut ways: Vec<_> = ways.collect();
    ways.sort_unstable();
    let start = body.pointer("/funnel/start_node_id").unwrap_or(&body["start_node_id"]);
    (kinds, ways, name(start).into())
}

#[test]
fn every_save_is_whole_or_nothing() {
    // `.ci/full` asks for more.
    let asked = std::env::var("CMS_TEST_GRAPHS").ok().and_then(|text| text.parse().ok());
    let cases = asked.unwrap_or(5);
    let config = Config { cases, max_shrink_iters: 50, ..Config::default() };
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(config, random);
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let edits = proptest::collection::vec(edit(), 1..12);
    let walked = runner.run(&edits, |edits| {
        runtime.block_on(walk(&edits));
        Ok(())
    });
    walked.unwrap();
}

async fn walk(edits: &[Edit]) {
    let site = Site::open().await;
    site.staff("create", json!({"name": "A"})).expect(201).await;
    let (mut now, mut label) = (get(&site, "1").await, 0);
    for edit in edits {
        let body = body(&now, edit, &mut label);
        let before = (site.traces().await, site.database.dump("cms_formfunnel").await);
        let reply = site.staff("save", body.clone()).send().await;
        let after = get(&site, "1").await;
        match (edit.fault, reply.status.as_u16()) {
            (Fault::None, 200) => {}
            (Fault::Stale, 409) | (_, 422) if edit.fault != Fault::None => {
                // Nothing is written, not a byte.
                let left = (site.traces().await, site.database.dump("cms_formfunnel").await);
                assert_eq!(left, before, "{edit:?}");
                assert_eq!(after, now, "{edit:?}");
                let said = reply.json();
                let faults = said["errors"].as_array().cloned().unwrap_or_default();
                let codes = faults.iter().map(|one| one["code"].as_str().unwrap());
                let codes: BTreeSet<_> = match edit.fault {
                    Fault::Stale => [said["error"].as_str().unwrap()].into(),
                    _ => codes.collect(),
                };
                assert_eq!(codes, told(edit.fault).iter().copied().collect(), "{edit:?} {said}");
                continue;
            }
            other => panic!("{other:?}: {body} {}", reply.text()),
        }
        assert_eq!(drawing(&after), drawing(&body), "{edit:?}");
        let mapped = reply.data()["id_map"].clone();
        let name_of = |funnel: &Json, id: &Json| {
            let nodes = funnel["nodes"].as_array().unwrap();
            nodes.iter().find(|node| node["id"] == *id).map(|node| node["name"].clone())
        };
        let mut new = 0;
        for node in body["nodes"].as_array().unwrap() {
            let id = match &node["client_id"] {
                Json::Null => &node["id"],
                client => {
                    new += 1;
                    let id = &mapped[client.to_string()];
                    assert_eq!(name_of(&now, id), None, "{id} was given before: {mapped}");
                    id
                }
            };
            assert_eq!(name_of(&after, id).as_ref(), Some(&node["name"]), "{id}: {mapped}");
        }
        assert_eq!(mapped.as_object().unwrap().len(), new, "{mapped}");
        assert_eq!(after["rev"].as_i64(), now["rev"].as_i64().map(|rev| rev + 1));
        now = after;
    }
    let copy = site.staff("duplicate", json!({"id": 1}));
    let copy = copy.expect(201).await.data()["id"].to_string();
    assert_eq!(without_ids(get(&site, &copy).await), without_ids(now.clone()), "a copy");
    assert_eq!(get(&site, "1").await, now, "what was copied");
}
