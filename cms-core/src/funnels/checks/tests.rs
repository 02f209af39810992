//! One funnel for each code.

use serde_json::{Map, Value as Json, json};

use super::{Findings, check};
use crate::funnels::{
    graph::{GraphInput, read},
    rules,
    settings::FunnelSettings,
};

fn judge(start: Option<i64>, nodes: &[Json], edges: &[Json], rules: &[Json]) -> Findings {
    let (graph, mut faults) = read(GraphInput { start, nodes, edges });
    let (rules, wrong) = rules::read(rules, "email_routings");
    faults.extend(wrong);
    let (settings, _) = FunnelSettings::read(&Map::new());
    check(&graph, &rules, &settings, faults)
}

fn step(id: i64, fields: Json) -> Json {
    json!({"client_id": id, "type": "step", "config_json": {"fields": fields}})
}

fn mail(id: i64) -> Json {
    step(id, json!([{"id": "mail", "type": "email"}]))
}

fn choice(rules: Json) -> Json {
    condition(2, json!({"rules": [rules]}))
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

fn codes(problems: &[crate::funnels::record::Problem]) -> Vec<&str> {
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

fn judged(change: Change) -> Findings {
    let (mut nodes, mut edges) = good();
    let (mut rules, mut start) = (Vec::new(), Some(1));
    change(&mut nodes, &mut edges, &mut rules, &mut start);
    judge(start, &nodes, &edges, &rules)
}

#[test]
fn each_error_is_found() {
    let cases: [(Change, &[&str]); 16] = [
        (|_, _, _, start| *start = Some(9), &["start_missing"]),
        (|_, _, _, start| *start = Some(2), &["start_not_step"]),
        (|_, edges, _, _| edges.push(way(4, 3)), &["edge_from_end", "cycle"]),
        (|_, edges, _, _| edges.push(way(3, 1)), &["cycle"]),
        // No step is on it: a visit would not stop anywhere.
        (
            |nodes, edges, _, _| {
                let rule = json!({"rules": [{"field": "mail", "op": "is_not_empty"}]});
                nodes[2] = condition(3, rule);
                edges.push(branch(3, 2, "true"));
            },
            &["cycle"],
        ),
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
            |nodes, _, _, _| nodes[1] = choice(json!({"field": "mail", "op": "equals"})),
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
        // A bad field hides neither the faults of other fields nor its own id.
        (
            |nodes, _, _, _| {
                let fields = json!([{"id": "n", "type": "number", "min": "x"},
                                    {"id": "mail", "type": "email"}]);
                nodes[2] = step(3, fields);
            },
            &["bad_config", "duplicate_field"],
        ),
        (
            |nodes, _, _, _| {
                let fields = json!([{"id": "mail", "type": "email", "colour": 1}]);
                nodes[2] = step(3, fields);
            },
            &["bad_config", "duplicate_field"],
        ),
        (
            |nodes, _, rules, _| {
                let fields = json!([{"id": "x", "type": "colour"}, {"id": "to", "type": "email"}]);
                nodes[2] = step(3, fields);
                rules.push(json!({"recipients": "{{ to }}, {{ x }}"}));
            },
            &["unknown_field_type", "bad_recipient"],
        ),
    ];
    for (at, (change, expected)) in cases.into_iter().enumerate() {
        let found = judged(change);
        assert_eq!(codes(&found.errors), expected, "case {at}: {:?}", found.errors);
    }
}

/// The places of fields are those of the list that was sent.
#[test]
fn problems_behind_a_bad_field_have_their_place() {
    let (mut nodes, edges) = good();
    let fields = json!([{"id": "x", "type": "colour"}, {"id": "keywords", "type": "nps"},
                        {"id": "pay", "type": "payment"}, {"id": "mail", "type": "email"}]);
    nodes[2] = step(3, fields);
    let found = judge(Some(1), &nodes, &edges, &[]);
    let places = |problems: &[crate::funnels::record::Problem]| {
        let place = |one: &crate::funnels::record::Problem| (one.code, one.path.clone());
        problems.iter().map(place).collect::<Vec<_>>()
    };
    let at = |rest: &str| format!("nodes[2].config_json.fields{rest}");
    let bad = [("unknown_field_type", at("[0]")), ("duplicate_field", at("[3]"))];
    assert_eq!(places(&found.errors), bad);
    assert_eq!(places(&found.blockers), [("unknown_field_type", at("[2]"))]);
    let stripped = "field_id_stripped_by_webhook_filter";
    assert_eq!(places(&found.warnings), [(stripped, at("[1].id"))]);
}

/// Conditions over choices: a value that no option has is never the answer.
#[test]
fn values_that_are_no_option_are_told() {
    let options = json!([{"id": "red"}, {"id": "blue"}, {"id": "7"}]);
    let fields = json!([
        {"id": "one", "type": "single_choice", "options": options},
        {"id": "own", "type": "single_choice", "options": options, "allow_other": true},
        {"id": "many", "type": "multiple_choice", "options": options},
        {"id": "free", "type": "dropdown", "options": options, "allow_create": true},
        {"id": "grid", "type": "matrix", "rows": [{"id": "a"}], "columns": options},
        {"id": "text", "type": "short_text"},
        {"id": "bad", "type": "single_choice", "options": [{"id": ""}]},
    ]);
    for (field, op, value, told) in [
        ("one", "equals", json!("red"), 0),
        ("one", "equals", json!("rde"), 1),
        ("one", "not_equals", json!("Red"), 1),
        ("one", "in", json!(["red", "green", "pink"]), 2),
        ("one", "in", json!("red, blue"), 0),
        ("one", "not_in", json!("red, green"), 1),
        ("one", "equals", json!(7), 0),
        ("one", "equals", json!(8), 1),
        ("one", "starts_with", json!("r"), 0),
        ("one.other", "equals", json!("x"), 0),
        ("own", "equals", json!("other"), 0),
        ("own", "equals", json!("green"), 1),
        ("own.other", "equals", json!("green"), 0),
        ("many", "equals", json!(["red", "green"]), 1),
        ("free", "equals", json!("green"), 0),
        ("grid.a", "equals", json!("green"), 1),
        ("grid.a", "equals", json!("blue"), 0),
        ("text", "equals", json!("green"), 0),
        // Its options are not known.
        ("bad", "equals", json!("green"), 0),
    ] {
        let (mut nodes, edges) = good();
        nodes[0] = step(1, fields.clone());
        let rules = json!({"groups": [{"rules": [{"field": field, "op": op, "value": value}]}]});
        nodes[1] = condition(2, rules.clone());
        let mail = json!({"condition_json": rules});
        let found = judge(Some(1), &nodes, &edges, &[mail]);
        let unknown = found.warnings.iter().filter(|one| one.code == "unknown_option").count();
        assert_eq!(unknown, 2 * told, "{field} {op} {value}: {:?}", found.warnings);
    }
    let rule = json!({"rules": [{"field": "one", "op": "equals", "value": "Red", "ci": true}]});
    let (mut nodes, edges) = good();
    (nodes[0], nodes[1]) = (step(1, fields), condition(2, rule));
    assert!(!codes(&judge(Some(1), &nodes, &edges, &[]).warnings).contains(&"unknown_option"));
}

/// A pattern of 1612 states.
const LARGE: &str = "(?:x?){400}y";
/// One of 2415.
const LARGER: &str = "(?:x?){600}y";
type Patterns = &'static [&'static str];

/// With such patterns, an author could make every answer of a visitor slow.
#[test]
fn patterns_that_cost_too_much_are_not_stored() {
    let rules = |patterns: &[&str]| {
        let rule = |pattern| json!({"field": "mail", "op": "regex_match", "value": pattern});
        json!({"rules": patterns.iter().map(rule).collect::<Vec<_>>()})
    };
    // Patterns of a condition node, of a step, of two mail rules.
    let cases: [(Patterns, Patterns, [Patterns; 2], Patterns); 7] = [
        (&[LARGE, "^[a-z]{1,400}@"], &[], [&[LARGE], &[]], &[]),
        (&["[a-z]+@[a-z]+"; 20], &["^\\d{5}$"; 20], [&[], &[]], &[]),
        (&[LARGER], &[], [&[], &[]], &["bad_condition", "regex_too_large"]),
        (&[LARGE, LARGE], &[], [&[], &[]], &["bad_condition", "condition_too_large"]),
        (&[LARGE], &[LARGE], [&[], &[]], &["too_large"]),
        (&[], &[], [&[LARGE], &[LARGE]], &["too_large"]),
        (&[], &[], [&[], &[LARGER]], &["bad_condition", "regex_too_large"]),
    ];
    for (own, of_step, of_mails, expected) in cases {
        let (mut nodes, edges) = good();
        nodes[1] = condition(2, rules(own));
        nodes[2]["config_json"]["rules"] = rules(of_step);
        let mails = of_mails.map(|patterns| json!({"condition_json": rules(patterns)}));
        let found = judge(Some(1), &nodes, &edges, &mails);
        assert_eq!(codes(&found.errors), expected, "{own:?}: {:?}", found.errors);
        if let Some(last) = found.errors.last() {
            assert!(last.message.contains("smaller numbers in {m,n}"), "{}", last.message);
        }
    }
}

#[test]
fn what_nobody_can_answer_is_not_published() {
    for (field, refused) in [
        (json!({"type": "single_choice"}), true),
        (json!({"type": "single_choice", "allow_other": true}), false),
        (json!({"type": "single_choice", "options": [{"id": "a"}]}), false),
        // Nobody could tell the option from an answer of one's own.
        (json!({"type": "single_choice", "options": [{"id": "other"}], "allow_other": true}), true),
        (
            json!({"type": "multiple_choice", "options": [{"id": "other"}], "allow_other": true}),
            true,
        ),
        (json!({"type": "single_choice", "options": [{"id": "other"}]}), false),
        (json!({"type": "single_choice", "required": false}), false),
        (json!({"type": "multiple_choice"}), true),
        (json!({"type": "multiple_choice", "options": [{"id": "a"}], "min": 2}), true),
        (
            json!({"type": "multiple_choice", "options": [{"id": "a"}, {"id": "b"}], "min": 2}),
            false,
        ),
        (json!({"type": "dropdown"}), true),
        (json!({"type": "dropdown", "allow_create": true}), false),
        (json!({"type": "picture_choice"}), true),
        (
            json!({"type": "picture_choice", "multiple": true, "min": 3, "options": [{"id": "a"}]}),
            true,
        ),
        (json!({"type": "ranking"}), true),
        (json!({"type": "matrix", "rows": [{"id": "a"}]}), true),
        (json!({"type": "short_text"}), false),
    ] {
        let (mut nodes, edges) = good();
        let mut one = json!({"id": "one", "required": true});
        one.as_object_mut().unwrap().extend(field.as_object().unwrap().clone());
        nodes[2] = step(3, json!([{"id": "why", "type": "long_text"}, one]));
        let found = judge(Some(1), &nodes, &edges, &[]);
        let expected = if refused { vec!["bad_config"] } else { vec![] };
        assert_eq!(codes(&found.blockers), expected, "{field}: {:?}", found.blockers);
        assert_eq!(codes(&found.errors), Vec::<&str>::new(), "{field}");
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
        let found = judged(change);
        assert_eq!(codes(&found.blockers), expected, "case {at}: {:?}", found.blockers);
    }
}

#[test]
fn each_warning_is_found() {
    let cases: [(Change, &[&str]); 23] = [
        (
            |nodes, _, _, _| nodes[1] = choice(json!({"field": "_utm.sorce", "op": "is_empty"})),
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
            |nodes, _, _, _| nodes[3]["config_json"] = json!({"end_kind": "redirect"}),
            &["redirect_without_url"],
        ),
        (|nodes, _, _, _| nodes[3]["config_json"] = json!({"kind": "redirect", "url": "/x"}), &[]),
        (
            |nodes, _, _, _| nodes[1] = choice(json!({"field": "Mail", "op": "is_empty"})),
            &["unknown_field"],
        ),
        (
            |nodes, _, _, _| nodes[1] = choice(json!({"field": "why.x", "op": "is_empty"})),
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
            |_, _, rules, _| rules.push(json!({"subject": "{{}} {{{why}}} {{ {{ a{b }} \\{{}}"})),
            &["unknown_token", "unknown_token"],
        ),
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
        let found = judged(change);
        let mut told = codes(&found.warnings);
        let mut expected = expected.to_vec();
        told.sort_unstable();
        expected.sort_unstable();
        assert_eq!(told, expected, "case {at}: {:?}", found.warnings);
        assert_eq!(codes(&found.errors), Vec::<&str>::new(), "case {at}");
    }
}

#[test]
fn what_stands_in_the_place_of_a_token_is_said() {
    let (nodes, edges) = good();
    for (subject, ends) in [
        ("{{ who }}", "it is left blank"),
        ("{{ who | you }}", "it shows only its fallback"),
        ("{{ }}", "is left blank; a backslash before the braces makes text"),
        ("{{ | you }}", "shows only its fallback; a backslash before the braces makes text"),
    ] {
        let found = judge(Some(1), &nodes, &edges, &[json!({"subject": subject})]);
        let told: Vec<_> = found.warnings.iter().map(|one| one.message.as_str()).collect();
        assert!(matches!(told[..], [one] if one.ends_with(ends)), "{subject}: {told:?}");
    }
}
