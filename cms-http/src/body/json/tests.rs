use proptest::prelude::*;

use super::*;

fn measured(text: &str) -> Measure {
    let mut measure = Measure::default();
    measure.run(text.as_bytes(), usize::MAX).expect("within its bounds");
    measure
}

fn refusal(text: &str, most: usize) -> String {
    let refused = Unparsed::new(Bytes::copy_from_slice(text.as_bytes()), most).expect_err(text);
    assert_eq!(refused.code(), Code::ValidationFailed, "{text}");
    refused.fields()[0].message.clone()
}

#[test]
fn nul_is_found_wherever_it_stands() {
    for (text, expected) in [
        (r#"{"a":"x\u0000"}"#, Some("a")),
        (r#"{"a":[{"b":"\u0000"}]}"#, Some("a[0].b")),
        (r#"[{"a":""},{"b":"\u0000"}]"#, Some("[1].b")),
        (r#"{"a":{"x\u0000":1}}"#, Some("a.x\\u0000")),
        (r#""\u0000""#, Some("body")),
        (r#"{"a":"\\u0000"}"#, None),
        (r#"{"a":"\u00000"}"#, Some("a")),
        (r#"{"a":0}"#, None),
    ] {
        let json = serde_json::from_str(text).expect("JSON");
        assert_eq!(with_nul(&json).as_deref(), expected, "{text}");
        assert_eq!(measured(text).may_hold_nul, expected.is_some(), "{text}");
    }
}

#[test]
fn a_number_keeps_its_digits_or_is_refused() {
    for (number, is_kept) in [
        ("0", true),
        ("-12345678901234567", true),
        ("0.00012345678901234567", true),
        ("123456789012345670000000000", true),
        ("18446744073709551615", true),
        ("18446744073709551616", false),
        ("0.123456789012345678", false),
        ("1.2345678901234567e300", true),
        ("5e-324", true),
        ("0e-400", true),
        ("1e-400", false),
    ] {
        assert_eq!(super::is_kept(number.as_bytes()), is_kept, "{number}");
        assert_eq!(
            measured(&format!("[\"99999999999999999999\",{number}]")).rounded.is_none(),
            is_kept
        );
    }
}

#[test]
fn values_and_levels_are_bounded() {
    let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    assert!(Unparsed::new(nested(MOST_DEPTH).into(), 64).is_ok());
    assert!(refusal(&nested(MOST_DEPTH + 1), 1000).contains("64 levels"));
    assert!(refusal(&"{\"a\":".repeat(100_000), 20_000).contains("64 levels"));
    assert!(Unparsed::new("[1,2,{\"a\":\",,[[{{\"}]".into(), 5).is_ok());
    assert!(refusal("[1,2,{\"a\":3}]", 4).contains("more than 4 values"));
    let maps = "{\"a\":1},".repeat(120_000);
    assert!(refusal(&format!("{{\"answers\":[{maps}0]}}"), 5000).contains("5000 values"));
}

/// What a tree takes at least: a leaf for each seven members of an object, the places of a vector.
fn tree(json: &Json) -> (usize, usize, u64) {
    let inside = |(nodes, depth, memory): (usize, usize, u64), one: &Json| {
        let (more, deep, bytes) = tree(one);
        (nodes + more, depth.max(deep), memory + bytes)
    };
    match json {
        Json::Array(values) => {
            let (nodes, depth, memory) = values.iter().fold((1, 0, 0), inside);
            (nodes, depth + 1, memory + 32 * values.len() as u64)
        }
        Json::Object(members) => {
            let (nodes, depth, memory) = members.values().fold((1, 0, 0), inside);
            let names: usize = members.keys().map(String::len).sum();
            let leaves = members.len().div_ceil(7) as u64;
            (nodes, depth + 1, memory + 632 * leaves + names as u64)
        }
        Json::String(text) => (1, 0, text.len() as u64),
        _ => (1, 0, 0),
    }
}

fn json() -> impl Strategy<Value = Json> {
    let number = prop_oneof![
        any::<i64>().prop_map(Json::from),
        any::<u64>().prop_map(Json::from),
        any::<f64>().prop_map(Json::from),
    ];
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        number,
        ".*".prop_map(Json::from),
        "[\"\\\\,{}\\[\\]:\u{0}]{0,6}".prop_map(Json::from),
    ];
    leaf.prop_recursive(6, 80, 12, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..12).prop_map(Json::from),
            prop::collection::btree_map(".{0,4}", inner, 0..12)
                .prop_map(|members| Json::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    /// Every JSON is counted exactly, and charged no less than it takes.
    #[test]
    fn a_text_is_measured_as_it_is_parsed(json in json(), pretty in any::<bool>()) {
        let text = match pretty {
            true => serde_json::to_string_pretty(&json).expect("JSON"),
            false => json.to_string(),
        };
        let (nodes, depth, memory) = tree(&json);
        let mut found = Measure::default();
        found.run(text.as_bytes(), nodes).expect("within its bounds");
        prop_assert_eq!(found.nodes, nodes, "{}", text);
        prop_assert_eq!(found.depth, 0);
        prop_assert!(found.memory >= memory, "{} < {memory}: {text}", found.memory);
        prop_assert!(Measure::default().run(text.as_bytes(), nodes - 1).is_err());
        let most = Measure::default();
        prop_assert!(depth <= MOST_DEPTH && most.rounded.is_none());
    }

    /// What is cut, changed or no JSON at all is accepted and refused as serde_json does.
    #[test]
    fn only_what_is_json_is_accepted(
        json in json(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cut in any::<bool>(),
    ) {
        let mut text = json.to_string().into_bytes();
        let at = at.index(text.len());
        text[at] = byte;
        if cut {
            text.truncate(at);
        }
        let plain = serde_json::from_slice::<Json>(&text);
        match Unparsed::new(text.clone().into(), usize::MAX).and_then(Unparsed::parse) {
            Ok(parsed) => prop_assert_eq!(parsed, plain.expect("JSON too")),
            Err(error) if error.code() == Code::BadJson => prop_assert!(plain.is_err()),
            Err(error) => prop_assert_eq!(error.code(), Code::ValidationFailed),
        }
    }

    /// Names that come twice count twice; the last of them stays.
    #[test]
    fn names_may_come_twice(names in prop::collection::vec("[ab]", 1..20)) {
        let members = names.iter().enumerate().map(|(n, name)| format!("{name:?}:{n}"));
        let text = format!("{{{}}}", members.collect::<Vec<_>>().join(","));
        prop_assert_eq!(measured(&text).nodes, 1 + names.len());
        let parsed = Unparsed::new(text.clone().into(), 100).and_then(Unparsed::parse);
        prop_assert_eq!(parsed.expect("JSON"), serde_json::from_str::<Json>(&text).expect("JSON"));
    }
}
