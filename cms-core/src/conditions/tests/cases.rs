//! Every case of `cases.json`, which other evaluators may use too.

use serde_json::{Map, Value as Json, json};

use crate::conditions::{Condition, Severity, Surroundings, check};

fn all(name: &str) -> Vec<Json> {
    let cases: Json = serde_json::from_str(include_str!("cases.json")).expect("JSON");
    let cases = cases[name].as_array().expect("cases").clone();
    assert!(cases.len() > 10, "{name}");
    cases
}

fn shared() -> Map<String, Json> {
    let cases: Json = serde_json::from_str(include_str!("cases.json")).expect("JSON");
    cases["shared_answers"].as_object().expect("answers").clone()
}

/// What the evaluator says, with and without a trace.
fn evaluate(condition: &Json, answers: &Map<String, Json>) -> bool {
    let (condition, around) = (Condition::read(condition), Surroundings::at(0));
    let result = condition.evaluate(answers, &around);
    assert_eq!(condition.trace(answers, &around).0, result);
    result
}

#[test]
fn every_case_of_a_rule() {
    for case in all("cases") {
        let mut rule = Map::from_iter([("field".to_owned(), json!("f"))]);
        let given = ["op", "value", "ci"].map(|name| (name, case.get(name)));
        let given = given.into_iter().filter_map(|(name, value)| Some((name, value?.clone())));
        rule.extend(given.map(|(name, value)| (name.to_owned(), value)));
        let answers = case.get("answer").map(|answer| ("f".to_owned(), answer.clone()));
        let found = evaluate(&json!({"rules": [rule]}), &answers.into_iter().collect());
        assert_eq!(json!(found), case["expected"], "{case:#}");
    }
}

#[test]
fn every_case_of_a_condition() {
    for case in all("condition_cases") {
        let answers = case.get("answers").and_then(Json::as_object).cloned();
        let found = evaluate(&case["condition"], &answers.unwrap_or_else(shared));
        assert_eq!(json!(found), case["expected"], "{case:#}");
    }
}

#[test]
fn every_case_of_a_save() {
    for case in all("save_cases") {
        let conditions = match (case.get("condition"), case.get("rule")) {
            (Some(condition), _) => vec![condition.clone()],
            (None, Some(rule)) => vec![json!({"rules": [rule]})],
            (None, None) => too_large(),
        };
        for condition in conditions {
            let checked = check(&condition);
            let (outcome, code) = match checked.problems.first() {
                None => ("accept", String::new()),
                Some(problem) if problem.severity == Severity::Warning => {
                    ("warn", problem.code.clone())
                }
                Some(problem) => ("reject", problem.code.clone()),
            };
            assert_eq!(json!(outcome), case["outcome"], "{case:#} {:?}", checked.problems);
            if outcome == "accept" {
                continue;
            }
            let expected = case["code"].as_str().expect("a code");
            let (expected, told) = expected.split_once(": ").unwrap_or((expected, ""));
            assert_eq!(code, expected, "{case:#}");
            assert!(checked.problems[0].message.contains(told), "{:?}", checked.problems);
            assert_eq!(checked.is_good(), outcome == "warn");
        }
    }
}

/// Levels, rules, bytes and patterns too many.
fn too_large() -> Vec<Json> {
    let rule = json!({"field": "a", "op": "is_empty"});
    let deep = (0..8).fold(json!({"rules": [rule]}), |nested, _| json!({"groups": [nested]}));
    let long = json!({"field": "a", "op": "equals", "value": "x".repeat(32 << 10)});
    let pattern = json!({"field": "a", "op": "regex_match", "value": "x"});
    let commas = json!({"field": "a", "op": "in", "value": "a,".repeat(15 << 10)});
    vec![
        deep,
        json!({"rules": vec![rule; 101]}),
        json!({"rules": [long]}),
        json!({"rules": [commas]}),
        json!({"rules": vec![pattern; 21]}),
    ]
}

#[test]
fn as_much_as_is_allowed_is_saved() {
    let rule = json!({"field": "a", "op": "is_empty"});
    let deep = (0..7).fold(json!({"rules": [rule]}), |nested, _| json!({"groups": [nested]}));
    for condition in [deep, json!({"rules": vec![rule; 100]})] {
        assert_eq!(check(&condition).problems, []);
    }
}

#[test]
fn patterns_that_cost_too_much_together_are_refused() {
    let told = |most: usize| {
        let rule = |last: char| {
            let pattern = format!("[ab]{{0,{most}}}{last}$|{last}x");
            json!({"field": "a", "op": "regex_match", "value": pattern})
        };
        let condition = json!({"rules": ('c'..='v').map(rule).collect::<Vec<_>>()});
        check(&condition).problems.into_iter().map(|one| one.code).collect::<Vec<_>>()
    };
    assert_eq!(told(40), Vec::<&str>::new());
    assert_eq!(told(60), ["condition_too_large"]);
    assert_eq!(told(2000), ["regex_too_large"; 20]);
}

#[test]
fn conditions_are_stored_tidied() {
    for (condition, stored) in [
        (json!(null), json!(null)),
        (json!({}), json!(null)),
        (json!([]), json!(null)),
        (json!({"operator": "or", "groups": [{}, {"groups": [null]}]}), json!(null)),
        (
            json!({"operator": "or", "rules": [{"field": "a", "op": "is_empty", "value": "x"}],
                   "groups": [{}, {"rules": [{"field": "b", "op": "in", "value": "x, y"}]}]}),
            json!({"operator": "OR", "rules": [{"field": "a", "op": "is_empty"}],
                   "groups": [{"operator": "AND", "rules": [
                       {"field": "b", "op": "in", "value": ["x", "y"]}]}]}),
        ),
        (
            json!({"rules": [{"field": "a", "op": "not_in", "value": 7, "ci": true}]}),
            json!({"operator": "AND", "rules": [
                {"field": "a", "op": "not_in", "value": [7], "ci": true}]}),
        ),
    ] {
        let checked = check(&condition);
        assert_eq!((checked.problems, checked.stored), (Vec::new(), stored), "{condition}");
    }
}

#[test]
fn all_problems_are_told_with_their_places() {
    let checked = check(&json!({"operator": "OR", "rules": [
        7,
        {"op": "equals", "value": "x"},
        {"field": "a", "op": "matches", "ci": 1},
        {"field": "a", "op": "not_equals", "value": "x"},
        {"field": "a", "op": "not_equals", "value": "y"},
    ], "groups": [{"rules": {}}, "x", {"groups": [{"operator": "NOT"}], "rules": [
        {"field": "a", "op": "less_than", "value": "soon"},
        {"field": "a", "op": "less_than", "value": "@today-18y"},
        {"field": "a", "op": "regex_match", "value": "("},
        {"field": "a", "op": "regex_match", "value": 5},
        {"field": "a", "op": "in", "value": ["", null]},
        {"field": "a", "op": "starts_with", "value": [["x"]]},
        {"field": "a", "op": "ends_with"},
        {"field": "a", "op": "equals", "value": null},
    ]}]}));
    let told: Vec<_> =
        checked.problems.iter().map(|problem| (&*problem.path, &*problem.code)).collect();
    assert_eq!(
        told,
        [
            ("rules[0]", "rule_shape"),
            ("rules[1].field", "field_required"),
            ("rules[2].ci", "ci_shape"),
            ("rules[2].op", "unknown_operator"),
            ("", "constant_condition"),
            ("groups[0].rules", "condition_shape"),
            ("groups[1]", "condition_is_string"),
            ("groups[2].rules[0].value", "value_not_orderable"),
            ("groups[2].rules[2].value", "regex_invalid"),
            ("groups[2].rules[3].value", "value_shape"),
            ("groups[2].rules[4].value", "value_blank"),
            ("groups[2].rules[5].value", "value_shape"),
            ("groups[2].rules[6].value", "value_required"),
            ("groups[2].rules[7].value", "use_is_empty"),
            ("groups[2].groups[0].operator", "unknown_group_operator"),
        ]
    );
}

#[test]
fn what_cannot_be_read_never_holds() {
    for condition in [
        json!("{}"),
        json!(""),
        json!(true),
        json!([{}]),
        json!({"operator": "XOR"}),
        json!({"operator": 1}),
        json!({"rules": {}}),
        json!({"rules": [7]}),
        json!({"rules": [{}]}),
        json!({"groups": ["x"]}),
    ] {
        assert!(!evaluate(&condition, &Map::new()), "{condition}");
        assert!(!check(&condition).is_good(), "{condition}");
    }
}

#[test]
fn a_trace_names_every_rule_with_its_answer() {
    let condition = json!({"operator": "OR", "rules": [
        {"field": "country", "op": "equals", "value": "DE"},
        {"field": "gone", "op": "is_empty"},
    ], "groups": [{"rules": [{"field": "topics", "op": "in", "value": ["print"], "ci": true}]}]});
    let (result, trace) = Condition::read(&condition).trace(&shared(), &Surroundings::at(0));
    assert!(result);
    let expected = json!([
        {"path": "rules[0]", "field": "country", "op": "equals", "value": "DE", "answer": "DE",
         "result": true},
        {"path": "rules[1]", "field": "gone", "op": "is_empty", "answer": null, "result": true},
        {"path": "groups[0]", "operator": "AND", "result": false},
        {"path": "groups[0].rules[0]", "field": "topics", "op": "in", "value": ["print"],
         "answer": ["seo", "ads"], "result": false},
    ]);
    assert_eq!(serde_json::to_value(trace).expect("JSON"), expected);
}

#[test]
fn days_begin_in_the_zone_of_the_funnel() {
    // 2026-01-04T23:30:00Z is half past midnight on the 5th in Vienna.
    let vienna = jiff::tz::TimeZone::get("Europe/Vienna").expect("known");
    let around = Surroundings::at(1_767_569_400_000).zone(vienna);
    let answers = json!({
        "day": "2026-01-04", "local": "2026-01-05T00:45:00", "born": "2008-01-04", "late": "23:30",
    });
    for (field, op, value, expected) in [
        ("day", "less_than", "@today", true),
        ("day", "equals", "@today", false),
        ("day", "greater_or_equal", "@today-1d", true),
        ("born", "less_or_equal", "@today-18y", true),
        ("born", "less_or_equal", "@today-18y-1d", false),
        ("local", "greater_than", "@now", true),
        ("local", "less_than", "@now+1h", true),
        ("local", "greater_or_equal", "2026-01-05", true),
        ("local", "greater_or_equal", "2026-01-04T23:45:00Z", true),
        ("local", "greater_than", "2026-01-04T23:45:00Z", false),
        ("late", "less_than", "@now", false),
        ("late", "greater_than", "23:29", true),
    ] {
        let condition = json!({"rules": [{"field": field, "op": op, "value": value}]});
        let answers = answers.as_object().expect("answers");
        let found = Condition::read(&condition).evaluate(answers, &around);
        assert_eq!(found, expected, "{field} {op} {value}");
    }
}
