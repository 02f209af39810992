//! One funnel for each code.

use serde_json::{Value as Json, json};

use super::{Findings, check};
use crate::funnels::{
    graph::{Drawn, read},
    rules,
};

fn judge(start: Option<i64>, nodes: &[Json], edges: &[Json], rules: &[Json]) -> Findings {
    let (graph, mut faults) = read(Drawn { start, nodes, edges });
    let (rules, wrong) = rules::read(rules, "email_routings");
    faults.extend(wrong);
    check(&graph, &rules, false, faults)
}

fn step(id: i64, fields: Json) -> Json {
    json!({"client_id": id, "type": "step", "config_json": {"fields": fields}})
}

fn mail(id: i64) -> Json {
    step(id, json!([{"id": "mail", "type": "email"}]))
}

fn condition(id: i64, rules: Json) -> Json {
    json!({"client_id": id, "type": "condition", "config_json": {"rules": rules}})
}

fn end(id: i64) -> Json {
    json!({"client_id": id, "type": "end"})
}

fn way(from: i64, to: i64) -> Json {
    json!({"from_node_id": from, "to_node_id": to})
}

fn branch(from: i64, to: i64, label: &str) -> Json {
    json!({"from_node_id": from, "to_node_id": to, "branch_label": label})
}

/// A good funnel with a condition: 1 asks, 2 decides, 3 asks more, 4 ends.
fn good() -> (Vec<Json>, Vec<Json>) {
    let rule = json!({"rules": [{"field": "mail", "op": "is_empty"}]});
    let more = step(3, json!([{"id": "why", "type": "long_text"}]));
    (
        vec![mail(1), condition(2, rule), more, end(4)],
        vec![way(1, 2), branch(2, 3, "true"), branch(2, 4, "false"), way(3, 4)],
    )
}

fn codes(problems: &[crate::funnels::problem::Problem]) -> Vec<&str> {
    problems.iter().map(|one| one.code).collect()
}

#[test]
fn a_good_funnel_has_no_problem() {
    let (nodes, edges) = good();
    let rule = json!({
        "recipients": "sales@example.org, {{ mail }}", "subject": "{{ why | nothing }}",
        "condition_json": {"rules": [{"field": "_utm.source", "op": "equals", "value": "x"}]},
        "body_html": "{{*:table}} {{ label:mail }} {{ _funnel.name }} \\{{ text }}",
        "auto_reply_enabled": 1, "auto_reply_subject": "Thanks, {{ mail }}",
        "auto_reply_body_html": "<p>You are asked: {{ label:why }}</p>",
    });
    let found = judge(Some(1), &nodes, &edges, &[rule, json!({})]);
    assert_eq!((found.errors, found.blockers, found.warnings), (vec![], vec![], vec![]));
}

/// What is done to the good funnel: its nodes, edges, mail rules, start.
type Change = fn(&mut Vec<Json>, &mut Vec<Json>, &mut Vec<Json>, &mut Option<i64>);

#[test]
fn each_error_is_found() {
    let cases: [(Change, &[&str]); 12] = [
        (|_, _, _, start| *start = Some(9), &["start_missing"]),
        (|_, _, _, start| *start = Some(2), &["start_not_step"]),
        (|_, edges, _, _| edges.push(way(4, 3)), &["edge_from_end", "cycle"]),
        (|_, edges, _, _| edges.push(way(3, 1)), &["cycle"]),
        (|nodes, _, _, _| nodes[2] = mail(3), &["duplicate_field"]),
        (
            |nodes, edges, _, _| {
                nodes.push(step(5, json!([{"id": "why", "type": "nps"}])));
                edges[2] = branch(2, 5, "false");
                edges.push(way(5, 4));
            },
            &["duplicate_field"],
        ),
        (
            |nodes, _, _, _| {
                nodes[1] = condition(2, json!({"rules": [{"field": "mail", "op": "equals"}]}));
            },
            &["bad_condition", "value_required"],
        ),
        (
            |nodes, _, _, _| nodes[1] = condition(2, json!("{\"rules\":[]}")),
            &["bad_condition", "condition_is_string"],
        ),
        (
            |_, _, rules, _| {
                rules.push(json!({"condition_json": {"operator": "XOR", "rules": []}}))
            },
            &["bad_condition", "unknown_group_operator"],
        ),
        (|_, _, rules, _| rules.push(json!({"recipients": "x, {{ why }}"})), &["bad_recipient"; 2]),
        (|_, _, rules, _| rules.push(json!({"cc": "{{ mail }}"})), &["bad_recipient"]),
        (
            |_, _, rules, _| rules.push(json!({"colour": 1, "trigger_event": "x", "is_active": 7})),
            &["unknown", "bad_config", "bad_config"],
        ),
    ];
    for (at, (change, expected)) in cases.into_iter().enumerate() {
        let (mut nodes, mut edges) = good();
        let (mut rules, mut start) = (Vec::new(), Some(1));
        change(&mut nodes, &mut edges, &mut rules, &mut start);
        let found = judge(start, &nodes, &edges, &rules);
        assert_eq!(codes(&found.errors), expected, "case {at}: {:?}", found.errors);
    }
}

#[test]
fn each_blocker_is_found() {
    let cases: [(Change, &[&str]); 5] = [
        (|nodes, edges, _, _| (nodes.clear(), edges.clear()).1, &["no_step", "no_end"]),
        (|_, _, _, start| *start = None, &["no_start"]),
        (|nodes, edges, _, _| (nodes.pop(), edges.truncate(2)).1, &["no_end", "missing_branch"]),
        (|_, edges, _, _| drop(edges.remove(2)), &["missing_branch"]),
        (|_, edges, _, _| edges[2] = branch(2, 4, "default"), &[]),
    ];
    for (at, (change, expected)) in cases.into_iter().enumerate() {
        let (mut nodes, mut edges) = good();
        let (mut rules, mut start) = (Vec::new(), Some(1));
        change(&mut nodes, &mut edges, &mut rules, &mut start);
        let found = judge(start, &nodes, &edges, &rules);
        assert_eq!(codes(&found.blockers), expected, "case {at}: {:?}", found.blockers);
    }
}

#[test]
fn each_warning_is_found() {
    let cases: [(Change, &[&str]); 20] = [
        (
            |nodes, _, _, _| {
                let rule = json!({"field": "_utm.sorce", "op": "is_empty"});
                nodes[1] = condition(2, json!({"rules": [rule]}));
            },
            &["unknown_field"],
        ),
        (
            // What came with the visitor or is computed does not wait for its step.
            |nodes, _, _, _| {
                let own = json!([{"id": "from", "type": "hidden"},
                                 {"id": "sum", "type": "calculated", "expression": "1 + 1"}]);
                nodes[2] = step(3, own);
                let rules = json!([{"field": "from", "op": "is_empty"},
                                   {"field": "sum", "op": "equals", "value": 2}]);
                nodes[1] = condition(2, json!({"rules": rules}));
            },
            &[],
        ),
        (|nodes, _, _, _| nodes.push(end(5)), &["unreachable_node"]),
        (|_, edges, _, _| drop(edges.remove(3)), &["dead_end_step"]),
        (
            |_, edges, _, _| *edges = vec![way(1, 2), branch(2, 3, "default")],
            &["dead_end_step", "unreachable_node", "end_not_reachable"],
        ),
        (|_, edges, _, _| edges.push(branch(2, 4, "true")), &["shadowed_edge"]),
        (
            |nodes, _, _, _| {
                nodes[1] = condition(2, json!({"rules": [{"field": "Mail", "op": "is_empty"}]}));
            },
            &["unknown_field"],
        ),
        (
            |nodes, _, _, _| {
                nodes[1] = condition(2, json!({"rules": [{"field": "why.x", "op": "is_empty"}]}));
            },
            &["reads_unanswered_field"],
        ),
        (|nodes, _, _, _| nodes[1] = condition(2, json!(null)), &["constant_condition"]),
        (
            |nodes, _, _, _| {
                let differs = |value| json!({"field": "mail", "op": "not_equals", "value": value});
                let rules = json!({"operator": "OR", "rules": [differs("a"), differs("b")]});
                nodes[1] = condition(2, rules);
            },
            &["constant_condition"],
        ),
        (|_, _, rules, _| rules.extend([json!({}), json!({})]), &["mail_rule_after_catch_all"]),
        (
            |nodes, edges, rules, _| {
                nodes[0] = step(1, json!([]));
                nodes[1] = condition(2, json!(null));
                *edges = vec![way(1, 2), way(2, 3), way(3, 4)];
                rules.push(json!({"auto_reply_enabled": true}));
            },
            &["auto_reply_without_email_field"],
        ),
        (|_, _, rules, _| rules.push(json!({"subject": "{{ who }}"})), &["unknown_token"]),
        (
            |_, _, rules, _| rules.push(json!({"auto_reply_enabled": 1})),
            &["auto_reply_echoes_text"],
        ),
        (
            |_, _, rules, _| {
                rules.push(json!({
                    "auto_reply_enabled": 1, "auto_reply_subject": "{{ why | you }}",
                    "auto_reply_body_html": "{{*:table}}",
                }));
            },
            &["auto_reply_echoes_text", "auto_reply_echoes_text"],
        ),
        (
            |_, _, rules, _| {
                rules.push(json!({"auto_reply_enabled": 0, "auto_reply_subject": "{{ why }}"}));
            },
            &[],
        ),
        (|_, _, rules, _| rules.push(json!({"subject": "{{_resume_url}}"})), &["unknown_token"]),
        (
            |_, _, rules, _| {
                let body = "{{_resume_url}} {{_submission.reference}}";
                rules.push(json!({"trigger_event": "abandoned", "body_html": body}));
            },
            &["unknown_token", "unknown_token"],
        ),
        (
            |nodes, _, _, _| nodes[2] = step(3, json!([{"id": "keywords", "type": "long_text"}])),
            &["field_id_stripped_by_webhook_filter"],
        ),
        (
            |_, _, rules, _| {
                let rule = json!({"rules": [{"field": "who", "op": "is_empty"}]});
                rules.push(json!({"condition_json": rule}));
            },
            &["unknown_field"],
        ),
    ];
    for (at, (change, expected)) in cases.into_iter().enumerate() {
        let (mut nodes, mut edges) = good();
        let (mut rules, mut start) = (Vec::new(), Some(1));
        change(&mut nodes, &mut edges, &mut rules, &mut start);
        let found = judge(start, &nodes, &edges, &rules);
        let mut told = codes(&found.warnings);
        let mut expected = expected.to_vec();
        told.sort_unstable();
        expected.sort_unstable();
        assert_eq!(told, expected, "case {at}: {:?}", found.warnings);
        assert_eq!(codes(&found.errors), Vec::<&str>::new(), "case {at}");
    }
}
