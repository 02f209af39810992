//! Each field type: answers that are accepted and refused, settings that are refused, and
//! readable texts.

mod settings;

use serde_json::{Map, Value as Json, json};

use super::{Context, Field, FieldType, Upload};

/// Noon of 31 May 2026, a Sunday, in Berlin; some files were sent.
fn context() -> Context {
    let zone = jiff::tz::TimeZone::get("Europe/Berlin").expect("a zone");
    let file = |media_type: &str, bytes| Upload { media_type: media_type.to_owned(), bytes };
    Context::at(1_780_221_600_000)
        .zone(zone)
        .upload("pdf", file("application/pdf", 1000))
        .upload("png", file("image/png", 1000))
        .upload("png2", file("image/png", 1000))
        .upload("big", file("image/png", 20 << 20))
        .upload("exe", file("application/x-msdownload", 1000))
        .upload("empty", file("application/octet-stream", 0))
}

fn field(name: &str, config: &Json) -> Field {
    let mut declared = config.as_object().expect("settings").clone();
    declared.extend([("id".to_owned(), json!("f")), ("type".to_owned(), json!(name))]);
    Field::read(&declared.into()).unwrap_or_else(|fault| panic!("{name}: {fault:?}"))
}

/// The stored answer or the code of the refusal.
fn take(field: &Field, given: &Json) -> Result<Json, &'static str> {
    let given = Map::from_iter([("f".to_owned(), given.clone())]);
    match field.take(&given, &context()) {
        Ok(taken) => Ok(taken.into_iter().next().map_or(Json::Null, |(_, answer)| answer)),
        Err(fault) => Err(fault.code),
    }
}

#[test]
fn each_type_takes_and_refuses() {
    let cases: Json = serde_json::from_str(include_str!("cases.json")).expect("JSON");
    for FieldType { name, .. } in FieldType::ALL {
        let groups = cases[name].as_array().unwrap_or_else(|| panic!("{name} has no cases"));
        let mut rows = 0;
        for group in groups {
            let field = field(name, &group["config"]);
            for row in group["take"].as_array().expect("rows") {
                assert_eq!(take(&field, &row[0]), Ok(row[1].clone()), "{name}: {}", row[0]);
                rows += 1;
            }
            for row in group["refuse"].as_array().expect("rows") {
                let code = row[1].as_str().expect("a code");
                assert_eq!(take(&field, &row[0]), Err(code), "{name}: {}", row[0]);
                rows += 1;
            }
        }
        assert!(rows >= 8, "{name} has {rows} cases");
    }
    assert_eq!(cases.as_object().expect("types").len(), FieldType::ALL.len());
}

/// A stored answer must be accepted unchanged, because a funnel checks answers again at its end.
#[test]
fn a_stored_answer_is_taken_as_it_is() {
    let cases: Json = serde_json::from_str(include_str!("cases.json")).expect("JSON");
    for (name, groups) in cases.as_object().expect("types") {
        for group in groups.as_array().expect("groups") {
            let field = field(name, &group["config"]);
            for row in group["take"].as_array().expect("rows") {
                assert_eq!(take(&field, &row[1]), Ok(row[1].clone()), "{name}: {}", row[1]);
            }
        }
    }
}

/// The examples that docs and `field_types` show.
#[test]
fn each_example_is_taken_as_it_is() {
    let options = json!({"options": [{"id": "red"}, {"id": "blue"}]});
    let rows = json!([{"id": "service"}, {"id": "food"}]);
    let matrix = json!({"rows": rows, "columns": [{"id": "good"}, {"id": "bad"}]});
    let item = json!({"id": "item", "type": "short_text"});
    let repeater = json!({"columns": [item, {"id": "count", "type": "number"}]});
    let (none, png) = (json!({}), Upload { media_type: "image/png".to_owned(), bytes: 1000 });
    let sent = context().arriving().upload("7d0c6a9e-2f5b-4c1a-9d3e-8b7f6a5c4d3e", png);
    for FieldType { name, answer, example, .. } in FieldType::ALL {
        let config = match *name {
            "single_choice" | "multiple_choice" | "dropdown" | "picture_choice" | "ranking" => {
                &options
            }
            "matrix" => &matrix,
            "repeater" => &repeater,
            _ => &none,
        };
        let example: Json = serde_json::from_str(example).expect("JSON");
        let given = Map::from_iter([("f".to_owned(), example.clone())]);
        let taken = field(name, config).take(&given, &sent).expect("taken");
        let taken = taken.first().map_or(&Json::Null, |(_, stored)| stored);
        assert_eq!((taken, answer.starts_with("none")), (&example, example.is_null()), "{name}");
    }
}

/// Answers follow the language of the visit; their stored form is the same in all languages.
#[test]
fn answers_are_taken_as_the_language_writes_them() {
    let range = json!({"start": "24.11.2026", "end": "1.12.2026"});
    let stored = json!({"start": "2026-11-24", "end": "2026-12-01"});
    let columns = json!({"columns": [{"id": "n", "type": "number"}]});
    for (name, config, given, expected) in [
        ("number", json!({}), json!("1,5"), Ok(json!(1.5))),
        ("number", json!({}), json!("1.500"), Err("ambiguous")),
        ("number", json!({}), json!(1.5), Ok(json!(1.5))),
        ("number", json!({"max": 1}), json!("1,5"), Err("max")),
        ("number", json!({"decimal_separator": ","}), json!("1.5"), Err("type")),
        ("slider", json!({"step": 0.5}), json!("1,5"), Ok(json!(1.5))),
        ("rating", json!({}), json!("1,5"), Err("type")),
        ("date", json!({}), json!("24.11.2026"), Ok(json!("2026-11-24"))),
        ("date", json!({}), json!("24.11.1826"), Err("format")),
        ("date", json!({"max": "2026-11-23"}), json!("24.11.2026"), Err("max")),
        ("date_range", json!({}), range, Ok(stored)),
        ("datetime", json!({}), json!("24.11.2026 14:30"), Ok(json!("2026-11-24T14:30:00+01:00"))),
        ("datetime", json!({}), json!("29.3.2026 02:30"), Err("no_such_time")),
        ("repeater", columns, json!([{"n": "1,5"}]), Ok(json!([{"n": 1.5}]))),
    ] {
        let field = field(name, &config);
        let given = Map::from_iter([("f".to_owned(), given)]);
        let taken = field.take(&given, &context().language("de"));
        let taken = taken.map(|taken| taken[0].1.clone()).map_err(|fault| fault.code);
        assert_eq!(taken, expected, "{name} {given:?}");
    }
}

/// A limit within the skipped hour must not cause a refusal by itself.
#[test]
fn a_limit_may_stand_where_the_clocks_are_set_forward() {
    let field = field("datetime", &json!({"min": "2026-03-29T02:30"}));
    assert_eq!(take(&field, &json!("2026-03-29T03:00")), Err("min"));
    assert_eq!(take(&field, &json!("2026-03-29T03:30")), Ok(json!("2026-03-29T03:30:00+02:00")));
}

#[test]
fn blank_answers_are_absent_or_missing() {
    let unseen = ["", " \t", "\u{200b}", " \u{feff}\u{200d}"].map(Json::from);
    let others = [json!(null), json!([]), json!({}), json!([{"a": " "}])];
    for blank in unseen.into_iter().chain(others) {
        assert_eq!(take(&field("short_text", &json!({})), &blank), Ok(Json::Null), "{blank}");
        let required = field("short_text", &json!({"required": true}));
        assert_eq!(take(&required, &blank), Err("required"), "{blank}");
    }
}

#[test]
fn what_is_stored_beside_an_answer() {
    let options = json!({"options": [{"id": "a"}], "allow_other": true, "other_max_length": 3});
    let given = |answer: Json, other: Json| {
        Map::from_iter([("f".to_owned(), answer), ("f.other".to_owned(), other)])
    };
    let one = field("single_choice", &options);
    let taken = one.take(&given(json!("other"), json!(" x ")), &context()).expect("taken");
    assert_eq!(taken, [("f".into(), json!("other")), ("f.other".into(), json!("x"))]);
    let taken = one.take(&given(json!("a"), json!("x")), &context()).expect("taken");
    assert_eq!(taken, [("f".into(), json!("a"))]);
    for (other, code) in
        [(json!(""), "required"), (json!("long"), "max_length"), (json!(1), "type")]
    {
        let refused = one.take(&given(json!("other"), other), &context());
        assert_eq!(refused.expect_err("refused").code, code);
    }
    let several = field("multiple_choice", &json!({"options": [{"id": "a"}], "allow_other": true}));
    let taken = several.take(&given(json!(["other", "a"]), json!("x")), &context()).expect("taken");
    assert_eq!(taken, [("f".into(), json!(["a", "other"])), ("f.other".into(), json!("x"))]);
    let consent = field("consent", &json!({"text_version": 3}));
    let taken = consent.take(&given(json!(true), json!(null)), &context()).expect("taken");
    let at = ("f.at".into(), json!("2026-05-31T10:00:00Z"));
    assert_eq!(taken[1..], [at, ("f.version".into(), json!(3))]);
}

#[test]
fn answers_read_as_text() {
    let options = json!([{"id": "a", "label": "Apple"}, {"id": "b"}]);
    for (name, config, answer, text) in [
        ("yes_no", json!({"no_label": "Nein"}), json!(false), "Nein"),
        ("checkbox", json!({}), json!(true), "Yes"),
        ("single_choice", json!({"options": options}), json!("a"), "Apple"),
        ("multiple_choice", json!({"options": options}), json!(["a", "b"]), "Apple, b"),
        ("ranking", json!({"options": options}), json!(["b", "a"]), "1. b, 2. Apple"),
        ("number", json!({"unit": "kWh"}), json!(4.5), "4.5 kWh"),
        ("rating", json!({}), json!(4), "4 / 5"),
        ("full_name", json!({}), json!({"last": "L", "first": "A"}), "A L"),
        (
            "date_range",
            json!({}),
            json!({"start": "2026-05-31", "end": "2026-06-01"}),
            "2026-05-31 to 2026-06-01",
        ),
        (
            "matrix",
            json!({"rows": [{"id": "r", "label": "Row"}], "columns": options}),
            json!({"r": "a"}),
            "Row: Apple",
        ),
        ("repeater", json!({}), json!([{"c1": "x"}, {"c1": "y"}]), "x; y"),
    ] {
        assert_eq!(field(name, &config).text(&answer), text, "{name}");
        let cell = match name {
            "multiple_choice" => "Apple; b",
            "ranking" => "1. b; 2. Apple",
            _ => text,
        };
        assert_eq!(field(name, &config).cell(&answer), cell, "{name}");
    }
}
