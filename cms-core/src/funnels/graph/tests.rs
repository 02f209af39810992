//! Graphs, drawn and at random.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;
use crate::funnels::record::Problem;

fn drawn(nodes: &Json, edges: &Json) -> (Graph, Vec<Problem>) {
    let list = |json: &Json| json.as_array().expect("a list").clone();
    let (nodes, edges) = (list(nodes), list(edges));
    let start = nodes.first().and_then(|node| node["client_id"].as_i64());
    read(GraphInput { start, nodes: &nodes, edges: &edges })
}

/// Steps 1 to `number`, with these ways between them.
fn steps(number: i64, ways: &[(i64, i64)]) -> Graph {
    let nodes: Vec<_> = (1..=number).map(|id| json!({"client_id": id, "type": "step"})).collect();
    let way = |(from, to): &(i64, i64)| json!({"from_node_id": from, "to_node_id": to});
    let edges: Vec<_> = ways.iter().map(way).collect();
    let (graph, _) = drawn(&nodes.into(), &edges.into());
    graph
}

#[test]
fn a_graph_is_read_with_its_orders_and_settings() {
    let (graph, problems) = drawn(
        &json!([
            {"client_id": 5, "type": "step", "name": "A", "config_json": {"fields": [
                {"id": "mail", "type": "email", "blocked_domains": ["x.example"]}]}},
            {"client_id": -1, "type": "condition", "config_json": {
                "operator": "or", "rules": [{"field": "mail", "op": "is_empty"}]}},
            {"id": 9, "type": "end", "sort_order": -1, "config_json": {
                "end_kind": "redirect", "redirect_url": "/x", "title": "Bye"}},
        ]),
        &json!([
            {"from_node_id": 5, "to_node_id": -1},
            {"from_node_id": -1, "to_node_id": 9, "branch_label": "true", "sort_order": 2},
            {"from_node_id": -1, "to_node_id": 9, "branch_label": "true", "sort_order": 1, "id": 4},
        ]),
    );
    assert_eq!(problems, []);
    assert_eq!(graph.nodes().iter().map(|node| node.id).collect::<Vec<_>>(), [9, 5, -1]);
    assert_eq!(graph.start().map(|node| node.id), Some(5));
    assert_eq!(graph.edge(-1, Branch::True).map(|edge| edge.id), Some(4));
    assert_eq!((graph.branches(5), graph.branches(-1)), (false, true));
    let condition = graph.node(-1).expect("a node").condition();
    assert_eq!(condition["operator"], "or");
    assert_eq!(condition["rules"][0]["field"], "mail");
    let end = graph.node(9).and_then(|node| node.end()).expect("an end");
    assert_eq!((end.kind, end.redirect_url.as_deref()), (EndKind::Redirect, Some("/x")));
    let (node, field) = graph.field("mail").expect("a field");
    assert_eq!((node.id, field.type_name()), (5, "email"));
    let shown = &node.shown;
    let field = &shown["config"]["fields"][0];
    assert_eq!(
        (&shown["id"], &shown["type"], &field["max_length"]),
        (&json!(5), &json!("step"), &json!(254))
    );
    assert_eq!(field.get("blocked_domains"), None);
    let shown = &graph.node(-1).expect("a node").shown;
    assert_eq!(shown["config"], json!({}));
}

#[test]
fn every_fault_is_told_with_its_place() {
    let step = |id: i64| json!({"client_id": id, "type": "step"});
    for (nodes, edges, told) in [
        (json!([{"type": "step"}]), json!([]), vec![("bad_id", "nodes[0].client_id")]),
        (json!([step(0)]), json!([]), vec![("bad_id", "nodes[0].client_id")]),
        (json!([7]), json!([]), vec![("bad_config", "nodes[0]")]),
        (json!([step(1), step(1)]), json!([]), vec![("duplicate_id", "nodes[1].client_id")]),
        (
            json!([{"client_id": 1, "type": "loop"}]),
            json!([{"from_node_id": 1, "to_node_id": 1}]),
            vec![("unknown_node_type", "nodes[0].type"), ("self_loop", "edges[0]")],
        ),
        (
            json!([{"client_id": 1, "type": "step", "config_json": "{}", "name": 7,
                    "position_x": "left", "sort_order": 1.5}]),
            json!([]),
            vec![
                ("bad_config", "nodes[0].name"),
                ("bad_config", "nodes[0].position_x"),
                ("bad_config", "nodes[0].sort_order"),
                ("bad_config", "nodes[0].config_json"),
            ],
        ),
        (
            json!([{"client_id": 1, "type": "step", "config_json": {"fields": [
                {"id": "a", "type": "nps"}, {"id": "a", "type": "nps"}, {"id": "b", "type": "x"},
                {"id": "c d", "type": "nps"}, {"id": "e", "type": "nps", "colour": 1}]}}]),
            json!([]),
            vec![
                ("duplicate_field", "nodes[0].config_json.fields[1]"),
                ("unknown_field_type", "nodes[0].config_json.fields[2]"),
                ("bad_id", "nodes[0].config_json.fields[3]"),
                ("bad_config", "nodes[0].config_json.fields[4]"),
            ],
        ),
        (
            json!([{"client_id": 1, "type": "step", "config_json": {"fields": {}}}]),
            json!([]),
            vec![("bad_config", "nodes[0].config_json.fields")],
        ),
        (
            json!([{"client_id": 1, "type": "end", "config_json": {
                "end_kind": "explode", "redirect_url": "javascript:alert(1)"}}]),
            json!([]),
            vec![
                ("bad_config", "nodes[0].config_json.end_kind"),
                ("bad_config", "nodes[0].config_json.redirect_url"),
            ],
        ),
        (
            json!([step(1), step(2)]),
            json!([
                {"from_node_id": 1, "to_node_id": 3},
                {"to_node_id": 2},
                {"from_node_id": 1, "to_node_id": 2, "branch_label": "maybe"},
                {"from_node_id": 1, "to_node_id": 2, "id": 7},
                {"from_node_id": 1, "to_node_id": 2, "id": 7},
                {"from_node_id": 1, "to_node_id": 2, "id": 0},
                7,
            ]),
            vec![
                ("edge_missing_node", "edges[0].to_node_id"),
                ("edge_missing_node", "edges[1].from_node_id"),
                ("bad_label", "edges[2].branch_label"),
                ("duplicate_id", "edges[4].client_id"),
                ("bad_id", "edges[5].client_id"),
                ("bad_config", "edges[6]"),
            ],
        ),
        (json!(vec![step(1); 501]), json!([]), vec![("too_large", "nodes")]),
        (json!([]), json!(vec![json!({}); 2001]), vec![("too_large", "edges")]),
        (
            json!([{"client_id": 1, "type": "step", "config_json": {
                "fields": vec![json!({"id": "a", "type": "nps"}); 101]}}]),
            json!([]),
            vec![("too_large", "nodes[0].config_json.fields")],
        ),
    ] {
        let (_, problems) = drawn(&nodes, &edges);
        let found: Vec<_> = problems.iter().map(|one| (one.code, one.path.as_str())).collect();
        assert_eq!(found, told);
    }
}

#[test]
fn longest_ways_count_steps() {
    // 1 → 2 → 3 → 4, and 1 → 4.
    let graph = steps(4, &[(1, 2), (2, 3), (3, 4), (1, 4)]);
    assert_eq!([1, 2, 3, 4, 7].map(|id| graph.steps_after(id)), [3, 2, 1, 0, 0]);
    assert_eq!(graph.depths(), [Some(0), Some(1), Some(2), Some(3)]);
    let apart = steps(3, &[(2, 3)]);
    assert_eq!(apart.depths(), [Some(0), None, None]);
}

/// A graph of `number` steps with ways at random, as its ways without doubles and loops.
fn ways() -> impl Strategy<Value = (i64, BTreeSet<(i64, i64)>)> {
    (1..12_i64).prop_flat_map(|number| {
        let way = (1..=number, 1..=number).prop_filter("no loop", |(from, to)| from != to);
        let most = if number > 1 { 20 } else { 0 };
        (Just(number), proptest::collection::btree_set(way, 0..=most).no_shrink())
    })
}

/// Whether nodes are left after nodes without an edge to them were removed again and again.
fn has_cycle(number: i64, ways: &BTreeSet<(i64, i64)>) -> bool {
    let (mut nodes, mut ways) = ((1..=number).collect::<BTreeSet<_>>(), ways.clone());
    loop {
        let free = nodes.iter().find(|node| !ways.iter().any(|(_, to)| to == *node)).copied();
        let Some(free) = free else { return !nodes.is_empty() };
        nodes.remove(&free);
        ways.retain(|(from, _)| *from != free);
    }
}

/// JSON at random, with the members that graphs have.
fn anything() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        (-3..4_i64).prop_map(Json::from),
        any::<f64>().prop_map(Json::from),
        "[a-z{}|.]{0,6}".prop_map(Json::from),
        prop_oneof!["step", "condition", "end", "email", "true", "default"].prop_map(Json::from),
    ];
    let name = prop_oneof![
        "client_id|id|type|name|config_json|fields|rules|groups|operator|end_kind",
        "from_node_id|to_node_id|branch_label|sort_order|position_x|field|op|value|[a-z]{1,3}",
    ];
    leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Json::from),
            proptest::collection::btree_map(name.clone(), inner, 0..6)
                .prop_map(|members| Json::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn cycles_are_found_and_are_cycles((number, ways) in ways()) {
        let graph = steps(number, &ways.iter().copied().collect::<Vec<_>>());
        let cycles = graph.cycles(20);
        prop_assert_eq!(!cycles.is_empty(), has_cycle(number, &ways));
        for cycle in cycles {
            let next = cycle.iter().cycle().skip(1);
            for (from, to) in cycle.iter().zip(next) {
                prop_assert!(ways.contains(&(*from, *to)), "{cycle:?}");
            }
        }
    }

    #[test]
    fn what_lies_beyond_is_what_is_reached((number, ways) in ways()) {
        let onwards: Vec<_> = ways.iter().copied().filter(|(from, to)| from < to).collect();
        let graph = steps(number, &onwards);
        let beyond = graph.beyond();
        let mut longest: BTreeMap<i64, usize> = BTreeMap::new();
        for place in (0..graph.nodes().len()).rev() {
            let id = graph.nodes()[place].id;
            let reached = graph.reached(&[id], |_| false);
            for (other, is_reached) in reached.into_iter().enumerate() {
                prop_assert_eq!(is_reached, other == place || beyond[place].has(other));
            }
            let after = onwards.iter().filter(|(from, _)| *from == id);
            let after = after.map(|(_, to)| longest[to] + 1);
            longest.insert(id, after.max().unwrap_or_default());
            prop_assert_eq!(graph.steps_after(id), longest[&id]);
        }
    }

    #[test]
    fn nothing_that_is_sent_panics(
        nodes in proptest::collection::vec(anything(), 0..6),
        edges in proptest::collection::vec(anything(), 0..6),
        start in proptest::option::of(-3..4_i64),
    ) {
        let (graph, _) = read(GraphInput { start, nodes: &nodes, edges: &edges });
        let (settings, _) = crate::funnels::settings::FunnelSettings::read(&serde_json::Map::new());
        let found = crate::funnels::checks::check(&graph, &[], &settings, Vec::new());
        prop_assert!(graph.nodes().len() <= nodes.len());
        prop_assert!(found.blockers.len() <= 3 + nodes.len());
    }
}
