//! Whether data fits one of our own schemas, judged by the keywords that those schemas use. Pure.

use std::{collections::HashMap, sync::LazyLock};

use regex::Regex;
use serde_json::{Map, Value as Json};

use crate::{FieldError, ground::parse_rfc3339};

/// Most faults that are reported: enough to mend the data, and bounded whatever was sent.
const MAX_FAULTS: usize = 100;

/// The form of a date-time in RFC 3339. Our parser takes other forms too.
static DATE_TIME: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let date = "[0-9]{4}-[0-9]{2}-[0-9]{2}";
    let time = "([01][0-9]|2[0-3]):[0-5][0-9]";
    Regex::new(&format!("^{date}[Tt]{time}:[0-9]{{2}}([.][0-9]+)?([Zz]|[+-]{time})$")).ok()
});

/// A schema, its patterns compiled.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) schema: Json,
    patterns: HashMap<String, Regex>,
}

impl Rules {
    pub(super) fn new(schema: Json) -> Self {
        let mut patterns = HashMap::new();
        compile(&schema, &mut patterns);
        Self { schema, patterns }
    }

    /// The first hundred faults that the schema finds in `data`. A list or text that is too long
    /// has only this fault.
    pub(super) fn faults(&self, data: &Json) -> Vec<FieldError> {
        let mut judge = Judge { patterns: &self.patterns, faults: Vec::new() };
        judge.value(&self.schema, data, "data");
        judge.faults
    }
}

fn compile(schema: &Json, patterns: &mut HashMap<String, Regex>) {
    if let Some(text) = schema["pattern"].as_str()
        && let Ok(pattern) = Regex::new(text)
    {
        patterns.insert(text.to_owned(), pattern);
    }
    match schema {
        Json::Object(words) => words.values().for_each(|value| compile(value, patterns)),
        Json::Array(values) => values.iter().for_each(|value| compile(value, patterns)),
        _ => {}
    }
}

struct Judge<'r> {
    patterns: &'r HashMap<String, Regex>,
    faults: Vec<FieldError>,
}

impl Judge<'_> {
    fn fault(&mut self, at: &str, code: &'static str, message: String) {
        if !self.is_full() {
            self.faults.push(FieldError { field: at.to_owned(), code, message });
        }
    }

    fn is_full(&self) -> bool {
        self.faults.len() >= MAX_FAULTS
    }

    fn value(&mut self, schema: &Json, value: &Json, at: &str) {
        let types = types(schema);
        if !types.is_empty() && !types.iter().any(|kind| is_of(kind, value)) {
            return self.fault(at, "type", format!("{} is expected", types.join(" or ")));
        }
        if let Some(choices) = choices(schema)
            && !choices.contains(&value)
        {
            let texts: Vec<_> = choices.iter().map(ToString::to_string).collect();
            return self.fault(at, "range", format!("{} is expected", texts.join(" or ")));
        }
        match value {
            Json::String(text) => self.text(schema, text, at),
            Json::Number(number) => self.number(schema, number.as_f64().unwrap_or(f64::NAN), at),
            Json::Array(values) => {
                let bounds = ["minItems", "maxItems"];
                if !self.is_length(schema, bounds, values.len(), "entries", at) {
                    return;
                }
                let Some(rule) = schema.get("items") else { return };
                for (index, value) in values.iter().enumerate() {
                    if self.is_full() {
                        return;
                    }
                    self.value(rule, value, &format!("{at}[{index}]"));
                }
            }
            Json::Object(members) => self.members(schema, members, at),
            _ => {}
        }
    }

    fn members(&mut self, schema: &Json, members: &Map<String, Json>, at: &str) {
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str) {
            if !members.contains_key(name) {
                self.fault(&format!("{at}.{name}"), "required", "a value is expected".to_owned());
            }
        }
        for (name, rule) in schema["properties"].as_object().into_iter().flatten() {
            if let Some(value) = members.get(name) {
                self.value(rule, value, &format!("{at}.{name}"));
            }
        }
    }

    fn text(&mut self, schema: &Json, text: &str, at: &str) {
        let bounds = ["minLength", "maxLength"];
        if !self.is_length(schema, bounds, text.chars().count(), "characters", at) {
            return;
        }
        // Our patterns are valid; one that is not would refuse everything.
        if let Some(pattern) = schema["pattern"].as_str()
            && !self.patterns.get(pattern).is_some_and(|pattern| pattern.is_match(text))
        {
            let example = schema["examples"][0].as_str().unwrap_or(pattern);
            self.fault(at, "format", format!("a text such as {example} is expected"));
        }
        if schema["format"] == "date-time" && !is_date_time(text) {
            let message = "a date-time such as 2026-11-21T09:30:00Z is expected";
            self.fault(at, "format", message.to_owned());
        }
    }

    fn number(&mut self, schema: &Json, number: f64, at: &str) {
        if schema["minimum"].as_f64().is_some_and(|least| number < least) {
            self.fault(at, "range", format!("{} or more is expected", schema["minimum"]));
        }
    }

    /// Whether the number `is` keeps the bounds; reports the fault otherwise.
    fn is_length(
        &mut self,
        schema: &Json,
        [least, most]: [&str; 2],
        is: usize,
        of: &str,
        at: &str,
    ) -> bool {
        let bound =
            |name: &str| schema[name].as_u64().and_then(|bound| usize::try_from(bound).ok());
        let (least, most) = (bound(least).unwrap_or(0), bound(most).unwrap_or(usize::MAX));
        if is < least {
            self.fault(at, "range", format!("{least} {of} or more are expected"));
        } else if is > most {
            self.fault(at, "range", format!("{most} {of} at most are expected"));
        }
        (least..=most).contains(&is)
    }
}

fn is_date_time(text: &str) -> bool {
    DATE_TIME.as_ref().is_some_and(|form| form.is_match(text)) && parse_rfc3339(text).is_some()
}

/// The types that a schema allows; none: all.
fn types(schema: &Json) -> Vec<&str> {
    match &schema["type"] {
        Json::String(one) => vec![one],
        Json::Array(several) => several.iter().filter_map(Json::as_str).collect(),
        _ => Vec::new(),
    }
}

/// The only values that a schema allows.
fn choices(schema: &Json) -> Option<Vec<&Json>> {
    let listed = || schema["enum"].as_array().map(|list| list.iter().collect());
    let consts = || schema["oneOf"].as_array()?.iter().map(|one| one.get("const")).collect();
    listed().or_else(consts)
}

fn is_of(kind: &str, value: &Json) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_word_has_its_rule() {
        let name = json!({"type": "string", "minLength": 2, "maxLength": 3});
        let list = json!({"type": "array", "maxItems": 1, "items": {"type": "integer"}});
        for (schema, value, expected) in [
            (json!({"type": "integer"}), json!(1), ""),
            (json!({"type": "integer"}), json!(1.5), "data type"),
            (json!({"type": ["integer", "null"]}), json!(null), ""),
            (json!({"type": ["integer", "null"]}), json!("1"), "data type"),
            (json!({"type": "integer", "minimum": 0}), json!(-1), "data range"),
            (json!({"enum": ["a"]}), json!("a"), ""),
            (json!({"enum": ["a"]}), json!("b"), "data range"),
            (json!({"oneOf": [{"const": "a"}, {"const": "b"}]}), json!("b"), ""),
            (json!({"oneOf": [{"const": "a"}, {"const": "b"}]}), json!("c"), "data range"),
            (name.clone(), json!("äö"), ""),
            (name.clone(), json!("a"), "data range"),
            (name, json!("abcd"), "data range"),
            (json!({"pattern": "^[A-Z]{3}$"}), json!("EUR"), ""),
            (json!({"pattern": "^[A-Z]{3}$"}), json!("EURO"), "data format"),
            (json!({"format": "date-time"}), json!("2026-11-21T09:30:00Z"), ""),
            (json!({"format": "date-time"}), json!("2026-11-21T09:30:00.25+01:00"), ""),
            (json!({"format": "date-time"}), json!("yesterday"), "data format"),
            (json!({"format": "date-time"}), json!("20261121T0930Z"), "data format"),
            (json!({"format": "date-time"}), json!("2026-11-21 09:30:00Z"), "data format"),
            (json!({"format": "date-time"}), json!("2026-11-21T09:30Z"), "data format"),
            (json!({"format": "date-time"}), json!("2026-11-21T09:30:00"), "data format"),
            (json!({"format": "date-time"}), json!("2026-11-21T09:30:00+01"), "data format"),
            (json!({"format": "date-time"}), json!("2026-02-30T09:30:00Z"), "data format"),
            (
                json!({"format": "date-time"}),
                json!("2026-11-21T09:30:00Z[Europe/Berlin]"),
                "data format",
            ),
            (list.clone(), json!([1]), ""),
            (list.clone(), json!(["a"]), "data[0] type"),
            (list.clone(), json!([1, 2]), "data range"),
            // A value that is too long is not judged further.
            (list, json!(["a", "b"]), "data range"),
            (json!({"maxLength": 1, "pattern": "^a$"}), json!("bc"), "data range"),
            (json!({"required": ["a"]}), json!({"b": 1}), "data.a required"),
            (json!({"properties": {"a": {"type": "null"}}}), json!({"a": 1}), "data.a type"),
            (json!({"properties": {"a": {"type": "null"}}}), json!({"b": 1}), ""),
            (json!({}), json!({"anything": [1]}), ""),
            (json!(true), json!({"anything": [1]}), ""),
        ] {
            let found = Rules::new(schema.clone()).faults(&value);
            let told: Vec<_> =
                found.iter().map(|fault| format!("{} {}", fault.field, fault.code)).collect();
            assert_eq!(told.join(", "), expected, "{schema} {value}");
        }
    }

    #[test]
    fn what_is_told_of_bad_data_is_bounded() {
        let rules = Rules::new(json!({"items": {"required": ["a"], "minimum": 1}}));
        for (bad, told) in [(json!({}), 3), (json!(0), 99), (json!({}), MAX_FAULTS)] {
            let data: Json = std::iter::repeat_n(bad, told).collect();
            assert_eq!(rules.faults(&data).len(), told);
        }
        let data: Json = std::iter::repeat_n(json!({}), 500_000).collect();
        assert_eq!(rules.faults(&data).len(), MAX_FAULTS);
    }
}
