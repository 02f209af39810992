//! What is true of every condition.

use proptest::{collection::vec, prelude::*};
use serde_json::{Map, Value as Json, json};

use crate::conditions::{Condition, Operator, Surroundings, check};

/// Values that mean much to some operator, and others.
fn scalars() -> impl Strategy<Value = Json> {
    let telling = [
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(1),
        json!(-1.5),
        json!(9_007_199_254_740_993_i64),
        json!(1e300),
        json!(""),
        json!(" "),
        json!("0"),
        json!("1"),
        json!("1.0"),
        json!("-0"),
        json!("true"),
        json!("a"),
        json!("A"),
        json!("ab"),
        json!("a,b"),
        json!("Cafe\u{301}"),
        json!("CAF\u{c9}"),
        json!("2024-05-01"),
        json!("2024-05-01T00:00:00Z"),
        json!("2024-02-30"),
        json!("09:30"),
        json!("@today"),
        json!("@now-1h"),
        json!("^a"),
        json!("/A/i"),
        json!("("),
        json!("a+"),
    ];
    prop_oneof![
        4 => proptest::sample::select(telling.to_vec()),
        1 => any::<i64>().prop_map(Json::from),
        1 => any::<f64>().prop_map(Json::from),
        1 => "\\PC{0,8}".prop_map(Json::from),
    ]
}

fn values() -> impl Strategy<Value = Json> {
    scalars().prop_recursive(2, 12, 4, |inner| {
        prop_oneof![
            3 => vec(inner.clone(), 0..4).prop_map(Json::from),
            1 => vec(("[ab]", inner), 0..3).prop_map(|members| {
                Json::Object(members.into_iter().collect())
            }),
        ]
    })
}

fn rules() -> impl Strategy<Value = Json> {
    let names: Vec<_> = Operator::ALL.iter().map(|operator| operator.name()).collect();
    let fields = ["a", "a.b", "a.0", "a.length", "b", "_hour", ""];
    let parts = (
        proptest::sample::select(fields.to_vec()),
        proptest::sample::select(names),
        proptest::option::of(values()),
        any::<bool>(),
    );
    parts.prop_map(|(field, op, value, ci)| match value {
        Some(value) => json!({"field": field, "op": op, "value": value, "ci": ci}),
        None => json!({"field": field, "op": op, "ci": ci}),
    })
}

fn conditions() -> impl Strategy<Value = Json> {
    let operators = proptest::sample::select(vec![json!("AND"), json!("or"), json!(null)]);
    let leaf = (operators.clone(), vec(rules(), 0..4))
        .prop_map(|(operator, rules)| json!({"operator": operator, "rules": rules}));
    leaf.prop_recursive(6, 20, 3, move |inner| {
        (operators.clone(), vec(rules(), 0..3), vec(inner, 0..3)).prop_map(
            |(operator, rules, groups)| {
                json!({"operator": operator, "rules": rules, "groups": groups})
            },
        )
    })
}

fn answers() -> impl Strategy<Value = Map<String, Json>> {
    vec((proptest::sample::select(vec!["a", "b", "a.b"]), values()), 0..4)
        .prop_map(|given| given.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
}

fn holds(condition: &Json, answers: &Map<String, Json>) -> bool {
    let (condition, around) = (Condition::read(condition), Surroundings::at(1_714_564_800_000));
    let result = condition.evaluate(answers, &around);
    assert_eq!(condition.trace(answers, &around).0, result, "as traced");
    result
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn complements_differ_always(rule in rules(), given in answers()) {
        let with = |op: &str| {
            let mut rule = rule.clone();
            rule["op"] = op.into();
            holds(&json!({"rules": [rule]}), &given)
        };
        for (op, complement) in [
            ("equals", "not_equals"),
            ("contains", "not_contains"),
            ("in", "not_in"),
            ("is_empty", "is_not_empty"),
        ] {
            prop_assert_ne!(with(op), with(complement), "{}", op);
        }
        // An order is one of three, or none.
        let orders = ["greater_than", "less_than"].map(with);
        prop_assert!(orders != [true, true]);
        if with("greater_than") {
            prop_assert!(with("greater_or_equal") && !with("less_or_equal"));
        }
        if with("less_than") {
            prop_assert!(with("less_or_equal") && !with("greater_or_equal"));
        }
    }

    #[test]
    fn groups_join_what_their_members_say(condition in conditions(), given in answers()) {
        let members = |name: &str| condition[name].as_array().cloned().unwrap_or_default();
        let rules = members("rules").into_iter().map(|rule| json!({"rules": [rule]}));
        let said: Vec<_> =
            rules.chain(members("groups")).map(|member| holds(&member, &given)).collect();
        let expected = match condition["operator"].as_str() {
            _ if said.is_empty() => true,
            Some("or") => said.contains(&true),
            _ => !said.contains(&false),
        };
        prop_assert_eq!(holds(&condition, &given), expected);
    }

    #[test]
    fn what_is_stored_says_the_same(condition in conditions(), given in answers()) {
        let checked = check(&condition);
        let again = check(&checked.stored);
        if checked.is_good() {
            prop_assert_eq!(&again.stored, &checked.stored, "tidied once");
            prop_assert!(again.is_good());
            // An empty group holds, and is left out.
            if !condition.to_string().contains("\"rules\":[]") {
                prop_assert_eq!(holds(&checked.stored, &given), holds(&condition, &given));
            }
        }
    }

    #[test]
    fn equality_goes_both_ways(one in values(), two in values(), ci in any::<bool>()) {
        let equal = |answer: &Json, value: &Json| {
            let rule = json!({"field": "a", "op": "equals", "value": value, "ci": ci});
            holds(&json!({"rules": [rule]}), &Map::from_iter([("a".to_owned(), answer.clone())]))
        };
        prop_assert_eq!(equal(&one, &two), equal(&two, &one));
        prop_assert!(equal(&one, &one), "{}", one);
    }

    #[test]
    fn any_json_is_a_condition(whatever in values(), given in answers()) {
        holds(&whatever, &given);
        let _ = check(&whatever);
        let part = json!({"operator": whatever, "rules": whatever, "groups": whatever});
        holds(&part, &given);
        let _ = check(&part);
        let rule = json!({"field": whatever, "op": whatever, "value": whatever, "ci": whatever});
        let condition = json!({"rules": [rule], "groups": [whatever]});
        holds(&condition, &given);
        let _ = check(&condition);
    }
}

#[test]
fn levels_and_rules_without_end_are_survived() {
    let rule = json!({"field": "a", "op": "is_empty"});
    let nested = |levels| {
        (0..levels).fold(json!({"rules": [rule]}), |nested, _| json!({"groups": [nested]}))
    };
    assert!(holds(&nested(100), &Map::new()));
    assert!(!holds(&nested(200), &Map::new()));
    assert!(!check(&nested(200)).is_good());
    let wide = |rules| json!({"operator": "OR", "rules": vec![rule.clone(); rules]});
    assert!(holds(&wide(900), &Map::new()));
    assert!(!holds(&wide(1_000_000), &Map::new()));
    assert!(!check(&wide(1_000_000)).is_good());
}
