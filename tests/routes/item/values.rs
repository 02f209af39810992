//! Values of every type go in and come out alike on both engines.

use serde_json::{Value as Json, json};

use crate::support::{Site, each};

fn plugin() -> Json {
    let types = "text textarea richtext_editor code_editor select image color checkbox boolean \
                 number integer decimal date time datetime json password";
    let columns: Vec<_> =
        types.split(' ').map(|t| json!({"name": format!("c_{t}"), "type": t})).collect();
    json!({"id": "types", "tables": [{"name": "types", "columns": columns}]})
}

const POST: &str = "POST /api/backend/item?table=types";

/// The record as text, without its id.
async fn round_trip(site: &Site, column: &str, value: Json) -> String {
    let created = site.insert("types", json!({column: value})).await;
    let one = format!("GET /api/backend/item?table=types&id={}&fields={column}", created["id"]);
    let read = site.admin(&one).expect(200).await.text();
    let text = read.strip_prefix(&format!("{{\"data\":{{\"{column}\":"));
    let text = text.and_then(|t| t.strip_suffix("}}")).expect("one member");
    assert_eq!(created[column], serde_json::from_str::<Json>(text).unwrap());
    text.to_owned()
}

#[tokio::test]
async fn each_type_has_one_form() {
    let site = Site::builder().await.plugin(plugin()).open().await;
    let mut wrong = Vec::new();
    for (column, sent, expected) in [
        (
            "c_text",
            json!("a \"b\" \\ \n\t\u{1}\u{7f} ü 😀 '; drop table x"),
            "\"a \\\"b\\\" \\\\ \\n\\t\\u0001\u{7f} ü 😀 '; drop table x\"",
        ),
        ("c_text", json!(""), "\"\""),
        ("c_text", json!("null"), "\"null\""),
        ("c_text", json!("12.50"), "\"12.50\""),
        ("c_textarea", json!(null), "null"),
        ("c_checkbox", json!(true), "true"),
        ("c_boolean", json!("0"), "false"),
        ("c_integer", json!(i64::MAX), "9223372036854775807"),
        ("c_integer", json!(i64::MIN), "-9223372036854775808"),
        ("c_number", json!(0.1), "0.1"),
        ("c_number", json!(0.1 + 0.2), "0.30000000000000004"),
        ("c_number", json!(2.0), "2"),
        ("c_number", json!(-0.0), "0"),
        ("c_number", json!(123_456_789.123_456_79), "123456789.12345679"),
        ("c_number", json!(1e-7), "1e-07"),
        ("c_number", json!(1.5e300), "1.5e+300"),
        ("c_number", json!(1e15), "1e+15"),
        ("c_number", json!(999_999_999_999_999.0), "999999999999999"),
        ("c_number", json!(-1.797_693_134_862_315_7e308), "-1.7976931348623157e+308"),
        ("c_number", json!(5e-324), "5e-324"),
        ("c_decimal", json!("12.50"), "12.5"),
        ("c_decimal", json!(19.99), "19.99"),
        ("c_decimal", json!("100"), "100"),
        ("c_decimal", json!("0.00001"), "0.00001"),
        ("c_decimal", json!("-0.000123"), "-0.000123"),
        ("c_decimal", json!("8.7"), "8.7"),
        ("c_decimal", json!("123456789012345"), "123456789012345"),
        ("c_decimal", json!("1234567890.12345"), "1234567890.12345"),
        ("c_decimal", json!("0.00"), "0"),
        ("c_decimal", json!("0.00000000000000000012"), "0.00000000000000000012"),
        ("c_decimal", json!(format!("1.{}", "0".repeat(40))), "1"),
        ("c_date", json!("2024-02-29"), "\"2024-02-29\""),
        ("c_time", json!("09:30"), "\"09:30:00\""),
        ("c_time", json!("23:59:59.5"), "\"23:59:59.5\""),
        ("c_time", json!("23:59:59.9999999"), "\"23:59:59.999999\""),
        ("c_datetime", json!("2026-11-21T10:30:00+01:00"), "\"2026-11-21T09:30:00Z\""),
        ("c_datetime", json!("2026-11-21T09:30:10.250Z"), "\"2026-11-21T09:30:10.25Z\""),
        ("c_datetime", json!("0001-01-01T00:00:00Z"), "\"0001-01-01T00:00:00Z\""),
        (
            "c_json",
            json!({"b": [1, null, {"c": "x y"}], "a": 1.5}),
            r#"{"a":1.5,"b":[1,null,{"c":"x y"}]}"#,
        ),
        ("c_json", json!("text"), "\"text\""),
        ("c_json", json!(false), "false"),
        ("c_json", json!([]), "[]"),
    ] {
        let found = round_trip(&site, column, sent.clone()).await;
        if found != expected {
            wrong.push(format!("{column} {sent}: {found} instead of {expected}"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[tokio::test]
async fn text_has_the_form_of_its_field_type() {
    let site = Site::builder().await.plugin(plugin()).open().await;
    for (column, good, bad) in [
        ("c_code_editor", "@a: 2px; h1 { margin: (@a * 2); }", "h1 { margin: (@a * 2; }"),
        ("c_color", "#1e90ff", "blue"),
        ("c_image", "/media/logo.png", "https://example.org/logo.png"),
    ] {
        for (value, status) in [(good, 201), ("", 201), (bad, 422)] {
            let reply = site.admin(POST).json(json!({column: value})).expect(status).await;
            if status == 422 {
                let fault = &reply.json()["errors"][0];
                assert_eq!((&fault["field"], &fault["code"]), (&json!(column), &json!("format")));
            }
        }
    }
}

#[tokio::test]
async fn numbers_that_would_become_others_are_refused() {
    let site = Site::builder().await.plugin(plugin()).open().await;
    for (column, value) in [
        ("c_decimal", r#""0.000000000000000000001""#),
        ("c_decimal", r#""1234567890123456""#),
        ("c_json", "12345678901234567890123"),
        ("c_json", r#"{"a \" 1": [1, {"b": 18446744073709551616}]}"#),
        ("c_json", "-9223372036854775809"),
        ("c_json", "[0.1234567890123456789]"),
        ("c_number", "123456789.123456789012e3"),
    ] {
        let body = format!("{{\"c_text\":\"12345678901234567890123\",\"{column}\":{value}}}");
        let refused = site.admin(POST).body(body).refused(422, "validation_failed").await;
        assert_eq!(refused.json()["errors"][0]["code"], "range", "{value}");
    }
    for value in [
        "18446744073709551615",
        "-9223372036854775808",
        "100000000000000000000",
        "\"a \\\" 12345678901234567890123\"",
        "[1e300,0.00000000000000000000000012345678901234567]",
    ] {
        let body = format!("{{\"c_json\":{value}}}");
        site.admin(POST).body(body).expect(201).await;
    }
}

#[tokio::test]
async fn passwords_go_in_and_never_come_out() {
    let site = Site::builder().await.plugin(plugin()).open().await;
    let created = site.insert("types", json!({"c_text": "a", "c_password": "correct horse"})).await;
    assert!(created.get("c_password").is_none() && !created.to_string().contains("horse"));
    for parameter in ["fields=c_password", "sort=c_password", "filter[c_password][null]=true"] {
        let line = format!("GET /api/backend/item?table=types&{parameter}");
        site.admin(&line).refused(400, "bad_query").await;
    }
    assert_eq!(site.database.rows("types where c_password like 'v1.%'").await, 1);
    assert_eq!(site.database.rows("cms_events where body like '%horse%'").await, 0);
}

#[tokio::test]
async fn defaults_fill_what_is_left_out() {
    let columns = json!([
        {"name": "a", "type": "text", "required": true, "default": "it's"},
        {"name": "b", "type": "checkbox", "required": true, "default": false},
        {"name": "c", "type": "decimal", "default": 1.5},
        {"name": "d", "type": "json", "default": ["x"]},
        {"name": "e", "type": "datetime", "default": "2026-01-01T00:00:00Z"},
        {"name": "f", "type": "text", "required": true},
    ]);
    let declared = json!({"id": "d", "tables": [{"name": "d", "columns": columns}]});
    let site = Site::builder().await.plugin(declared).open().await;
    let d = |body: Json| site.admin("POST /api/backend/item?table=d").json(body);
    assert_eq!(
        d(json!({"f": "x"})).expect(201).await.text(),
        concat!(
            r#"{"data":{"id":1,"a":"it's","b":false,"c":1.5,"d":["x"],"#,
            r#""e":"2026-01-01T00:00:00Z","f":"x"}}"#
        )
    );
    let refused = d(json!({"a": null})).refused(422, "validation_failed").await.json();
    assert_eq!(each(&refused["errors"], "field"), ["a", "f"]);
}
