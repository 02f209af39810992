//! JSON as its type. A refusal names the member, in the words of JSON instead of Rust's.

use cms_core::{Code, Error, FieldError, Result};
use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use serde_path_to_error::{Path, Segment};

/// Reads a body, or a part of one. Noting the place of each member takes as long as reading it, so
/// only what does not fit is read again with its places.
pub(super) fn read<T: DeserializeOwned>(json: &Json) -> Result<T> {
    T::deserialize(json).or_else(|_| {
        serde_path_to_error::deserialize(json)
            .map_err(|wrong| refusal(wrong.path(), &wrong.inner().to_string()))
    })
}

/// What is wrong with a member.
struct Fault<'w> {
    code: &'static str,
    /// The member, where serde names it.
    name: Option<&'w str>,
    /// What follows its name in a sentence; None: serde's words are for people already.
    message: Option<String>,
}

fn refusal(path: &Path, why: &str) -> Error {
    let Fault { code, name, message } = fault(why);
    let mut segments: Vec<&Segment> = path.iter().collect();
    // Its last part is the value itself, or is named again by the message.
    let is_twice = match segments.last() {
        Some(Segment::Enum { .. }) => code == "enum",
        Some(Segment::Map { key }) => code == "unexpected" && Some(key.as_str()) == name,
        Some(Segment::Unknown) => true,
        _ => false,
    };
    if is_twice {
        segments.pop();
    }
    let mut field = String::new();
    for segment in segments {
        match segment {
            Segment::Seq { .. } => field.push_str(&segment.to_string()),
            Segment::Map { key } | Segment::Enum { variant: key } => join(&mut field, key),
            Segment::Unknown => {}
        }
    }
    if let Some(name) = name {
        join(&mut field, name);
    }
    let what = match (&message, field.as_str()) {
        (Some(message), "") => format!("a member {message}"),
        (Some(message), field) => format!("{field} {message}"),
        (None, "") => why.to_owned(),
        (None, _) if code == "unexpected" => why.to_owned(),
        (None, field) => format!("{field}: {why}"),
    };
    let error = Error::new(Code::ValidationFailed, format!("The body does not fit: {what}."));
    if field.is_empty() {
        return error;
    }
    let message = message.unwrap_or_else(|| why.to_owned());
    error.with_fields(vec![FieldError::new(field, code, message)])
}

fn join(field: &mut String, name: &str) {
    if !field.is_empty() {
        field.push('.');
    }
    field.push_str(name);
}

/// Reads a message of serde.
fn fault(why: &str) -> Fault<'_> {
    let of = |code, name, message: &str| Fault { code, name, message: Some(message.to_owned()) };
    let quoted = |start: &str| Some(why.strip_prefix(start)?.split('`').next().unwrap_or_default());
    let expected = why.rsplit_once(", expected ").map_or("", |(_, expected)| expected);
    if let Some(name) = quoted("missing field `") {
        return of("required", Some(name), "is required");
    }
    if let Some(name) = quoted("unknown field `") {
        return Fault { code: "unexpected", name: Some(name), message: None };
    }
    if let Some(name) = quoted("duplicate field `") {
        return of("unexpected", Some(name), "is given twice, under two names");
    }
    if why.starts_with("unknown variant `") {
        let names = expected.replace('`', "");
        return of("enum", None, &format!("is unknown; {names} is expected"));
    }
    if why.starts_with("data did not match any variant") {
        return of("type", None, "is of another type than expected");
    }
    for start in ["invalid type: ", "invalid value: "] {
        if let Some(given) = why.strip_prefix(start) {
            let code = match (start, given.as_bytes().first()) {
                ("invalid type: ", _) => "type",
                (_, Some(b'i' | b'f')) => "range",
                _ => "format",
            };
            let (given, wanted) = (type_sent(given), type_wanted(expected));
            return of(code, None, &format!("is {given}; {wanted} is expected"));
        }
    }
    Fault { code: "format", name: None, message: None }
}

/// What was sent. A text may be a secret, so it is not shown.
fn type_sent(given: &str) -> String {
    let value = given.split('`').nth(1).unwrap_or_default();
    let word = given.split([' ', ',']).next().unwrap_or_default();
    match word {
        "integer" | "floating" => format!("the number {value}"),
        "boolean" => value.to_owned(),
        "string" | "character" => "a text".to_owned(),
        "sequence" => "a list".to_owned(),
        "map" => "an object".to_owned(),
        "null" | "unit" => "null".to_owned(),
        _ => "of another type".to_owned(),
    }
}

fn type_wanted(expected: &str) -> &str {
    match expected {
        "f32" | "f64" => "a number",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "usize" => "a whole number from 0",
        // Of an enum, a name is.
        "a string" | "a borrowed string" | "a character" | "string or map" => "a text",
        "a boolean" => "true or false",
        "a sequence" => "a list",
        "a map" => "an object",
        "unit" => "null",
        other if other.starts_with("struct ") => "an object",
        other if other.starts_with("tuple ") || other.starts_with("a tuple ") => "a list",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only read")]
    struct Order {
        form: String,
        #[serde(default, alias = "time")]
        seconds: f64,
        #[serde(default)]
        count: Option<u32>,
        #[serde(default)]
        state: Option<State>,
        #[serde(default)]
        lines: Vec<Line>,
        #[serde(default)]
        answers: BTreeMap<String, bool>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum State {
        Open,
        Done,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only read")]
    struct Line {
        id: i64,
    }

    #[test]
    fn a_refusal_names_the_member() {
        for (body, field, code, message) in [
            (json!({}), "form", "required", "is required"),
            (json!({"form": 5}), "form", "type", "is the number 5; a text is expected"),
            (json!({"form": null}), "form", "type", "is null; a text is expected"),
            (
                json!({"form": "a", "seconds": "5, expected x"}),
                "seconds",
                "type",
                "is a text; a number is expected",
            ),
            (
                json!({"form": "a", "count": -1}),
                "count",
                "range",
                "is the number -1; a whole number from 0 to 4294967295 is expected",
            ),
            (
                json!({"form": "a", "count": 1.5}),
                "count",
                "type",
                "is the number 1.5; a whole number from 0 to 4294967295 is expected",
            ),
            (
                json!({"form": "a", "state": "x"}),
                "state",
                "enum",
                "is unknown; open or done is expected",
            ),
            (
                json!({"form": "a", "state": 1}),
                "state",
                "type",
                "is the number 1; a text is expected",
            ),
            (
                json!({"form": "a", "lines": {}}),
                "lines",
                "type",
                "is an object; a list is expected",
            ),
            (
                json!({"form": "a", "lines": [{"id": 1}, {}]}),
                "lines[1].id",
                "required",
                "is required",
            ),
            (
                json!({"form": "a", "lines": [{"id": true}]}),
                "lines[0].id",
                "type",
                "is true; a whole number is expected",
            ),
            (
                json!({"form": "a", "lines": ["x"]}),
                "lines[0]",
                "type",
                "is a text; an object is expected",
            ),
            (
                json!({"form": "a", "answers": {"b": []}}),
                "answers.b",
                "type",
                "is a list; true or false is expected",
            ),
            (
                json!({"form": "a", "seconds": 1, "time": 2}),
                "seconds",
                "unexpected",
                "is given twice, under two names",
            ),
        ] {
            let error = read::<Order>(&body).expect_err("refused");
            let told = &error.fields()[0];
            assert_eq!((&*told.field, told.code, &*told.message), (field, code, message), "{body}");
            let detail = format!("The body does not fit: {field} {message}.");
            assert_eq!((error.code(), error.detail()), (Code::ValidationFailed, &*detail));
        }
        let error = read::<Order>(&json!({"form": "a", "x": 1})).expect_err("refused");
        let told = &error.fields()[0];
        assert_eq!((&*told.field, told.code), ("x", "unexpected"));
        assert!(error.detail().contains("unknown field `x`, expected one of"), "{error}");
        let any = json!({"any": [1, "a", null]});
        assert_eq!(read::<Json>(&any).expect("read"), any);
        let fits = json!({"form": "a", "time": 2, "state": "done", "lines": [{"id": 7}]});
        let read = read::<Order>(&fits).expect("read");
        assert_eq!((read.form.as_str(), read.lines.len()), ("a", 1));
    }
}
