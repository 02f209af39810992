//! Declarations of fields, and what is wrong with some.

use serde_json::{Value as Json, json};

use crate::fields::{Field, FieldType};

#[test]
fn every_default_is_a_declaration() {
    assert_eq!(FieldType::ALL.len(), 33);
    for one in FieldType::ALL {
        let mut declared = one.default_config();
        declared["id"] = json!("f");
        declared["type"] = json!(one.name);
        let field = Field::read(&declared).unwrap_or_else(|fault| panic!("{fault:?}"));
        assert_eq!((field.type_name(), field.id()), (one.name, "f"));
        assert!(FieldType::ALL.iter().filter(|other| other.name == one.name).count() == 1);
        let schema = one.config_schema();
        let members = schema["properties"].as_object().expect("members");
        let config = one.default_config();
        for name in members.keys() {
            assert!(config.get(name).is_some(), "{}: {name}", one.name);
        }
        assert_eq!(config.as_object().expect("settings").len(), members.len() + 6, "{}", one.name);
        let whole = one.declaration_schema();
        let members = whole["properties"].as_object().expect("members");
        assert_eq!(members.len(), declared.as_object().expect("settings").len(), "{}", one.name);
        assert!(!whole.to_string().contains("$ref"), "{}: {whole}", one.name);
    }
}

fn code(declared: &Json) -> &'static str {
    Field::read(declared).map_or_else(|fault| fault.code, |_| "none")
}

#[test]
fn ids_and_types_are_checked() {
    for id in [json!(null), json!(""), json!("a b"), json!("a.b"), json!("ä"), json!(7)] {
        assert_eq!(code(&json!({"id": id, "type": "nps"})), "bad_id", "{id}");
    }
    assert_eq!(code(&json!({"id": "x".repeat(65), "type": "nps"})), "bad_id");
    assert_eq!(code(&json!("nps")), "bad_config");
    for name in [json!("password"), json!("captcha"), json!(null), json!("Email")] {
        assert_eq!(code(&json!({"id": "f", "type": name})), "unknown_field_type", "{name}");
    }
}

#[test]
fn settings_that_cannot_be_are_refused() {
    let options = json!([{"id": "a"}, {"id": "a"}]);
    for (name, config) in [
        ("short_text", json!({"min_length": 3, "max_length": 2})),
        ("short_text", json!({"pattern": "("})),
        ("short_text", json!({"pattern": "(a{1000}){1000}"})),
        ("short_text", json!({"lable": "typo"})),
        ("short_text", json!({"width": "wide"})),
        ("number", json!({"min": 2, "max": 1})),
        ("number", json!({"step": 0})),
        ("number", json!({"decimal_separator": ";"})),
        ("url", json!({"schemes": []})),
        ("url", json!({"schemes": ["javascript"]})),
        ("phone", json!({"default_country": "XX"})),
        ("full_name", json!({"parts": ["first", "nick"]})),
        ("full_name", json!({"parts": ["first"], "required_parts": ["last"]})),
        ("address", json!({"allowed_countries": ["Germany"]})),
        ("country", json!({"default": "??"})),
        ("hidden", json!({"default": "a\nb"})),
        ("hidden", json!({"default": "long", "max_length": 3})),
        ("single_choice", json!({"options": options})),
        ("single_choice", json!({"options": [{"id": " "}]})),
        ("multiple_choice", json!({"min": 2, "max": 1})),
        ("multiple_choice", json!({"exclusive_option": "none"})),
        ("ranking", json!({"options": [{"id": "a"}], "top_n": 2})),
        ("matrix", json!({"rows": options})),
        ("repeater", json!({"columns": [{"id": "c", "type": "file_upload"}]})),
        ("repeater", json!({"columns": [{"id": "c", "type": "repeater"}]})),
        ("repeater", json!({"columns": []})),
        ("repeater", json!({"min_rows": 3, "max_rows": 2})),
        ("rating", json!({"max": 11})),
        ("opinion_scale", json!({"min": 1, "max": 20})),
        ("slider", json!({"min": 10, "max": 1})),
        ("slider", json!({"step": -1})),
        ("date", json!({"min": "@today+1x"})),
        ("date", json!({"min": "2026-02-30"})),
        ("date", json!({"disabled_weekdays": [0]})),
        ("time", json!({"min": "25:00"})),
        ("time", json!({"step_minutes": 0})),
        ("datetime", json!({"min": "soon"})),
        ("date_range", json!({"min_days": 3, "max_days": 2})),
        ("file_upload", json!({"max_files": 0})),
        ("payment", json!({"currency": "euro"})),
    ] {
        let mut declared = config.clone();
        declared["id"] = json!("f");
        declared["type"] = json!(name);
        assert_eq!(code(&declared), "bad_config", "{name}: {config}");
    }
}
