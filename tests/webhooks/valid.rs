//! A judge of JSON by JSON Schema, written for tests apart from the one of the service. It refuses
//! to judge by words that it does not know.

use serde_json::Value as Json;

/// What is wrong, each with its place.
pub(super) fn faults(schema: &Json, value: &Json) -> Vec<String> {
    judge(schema, value, "$")
}

fn judge(schema: &Json, value: &Json, at: &str) -> Vec<String> {
    let Some(words) = schema.as_object() else {
        assert_eq!(schema, true, "{at}");
        return Vec::new();
    };
    words.iter().flat_map(|(word, rule)| by_word(schema, word, rule, value, at)).collect()
}

fn by_word(schema: &Json, word: &str, rule: &Json, value: &Json, at: &str) -> Vec<String> {
    let unless =
        |is_good: bool| if is_good { vec![] } else { vec![format!("{at}: {word} {rule}")] };
    let each = |rule: &Json, entries: Vec<(String, &Json)>| -> Vec<String> {
        entries.iter().flat_map(|(at, entry)| judge(rule, entry, at)).collect()
    };
    let bound = rule.as_f64();
    match (word, value) {
        ("$schema" | "title" | "description" | "examples" | "contentEncoding", _) => vec![],
        ("format", Json::String(text)) if rule == "date-time" => {
            let form = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$";
            unless(regex::Regex::new(form).unwrap().is_match(text))
        }
        ("format", Json::String(text)) if rule == "date" => {
            unless(regex::Regex::new(r"^\d{4}-\d\d-\d\d$").unwrap().is_match(text))
        }
        ("format", _) => vec![],
        ("type", _) => {
            let kinds = rule.as_array().cloned().unwrap_or_else(|| vec![rule.clone()]);
            unless(kinds.iter().any(|kind| is_of(kind.as_str().unwrap(), value)))
        }
        ("const", _) => unless(rule == value),
        ("enum", _) => unless(rule.as_array().unwrap().contains(value)),
        ("oneOf", _) => {
            let fits = |one: &&Json| judge(one, value, at).is_empty();
            unless(rule.as_array().unwrap().iter().filter(fits).count() == 1)
        }
        ("required", Json::Object(members)) => {
            let mut names = rule.as_array().unwrap().iter().map(|name| name.as_str().unwrap());
            unless(names.all(|name| members.contains_key(name)))
        }
        ("properties", Json::Object(members)) => {
            let known =
                members.iter().filter_map(|(name, value)| Some((rule.get(name)?, name, value)));
            known
                .flat_map(|(rule, name, value)| judge(rule, value, &format!("{at}.{name}")))
                .collect()
        }
        ("additionalProperties", Json::Object(members)) => {
            let is_known = |name: &str| schema["properties"].get(name).is_some();
            let others = members.iter().filter(|(name, _)| !is_known(name));
            each(rule, others.map(|(name, value)| (format!("{at}.{name}"), value)).collect())
        }
        ("items", Json::Array(values)) => {
            let at = |index: usize| format!("{at}[{index}]");
            each(rule, values.iter().enumerate().map(|(i, value)| (at(i), value)).collect())
        }
        ("maxItems", Json::Array(values)) => unless(values.len() as f64 <= bound.unwrap()),
        ("minLength", Json::String(text)) => unless(text.chars().count() as f64 >= bound.unwrap()),
        ("maxLength", Json::String(text)) => unless(text.chars().count() as f64 <= bound.unwrap()),
        ("minimum", Json::Number(number)) => unless(number.as_f64() >= bound),
        ("pattern", Json::String(text)) => {
            unless(regex::Regex::new(rule.as_str().unwrap()).unwrap().is_match(text))
        }
        (
            "required"
            | "properties"
            | "additionalProperties"
            | "items"
            | "maxItems"
            | "minLength"
            | "maxLength"
            | "minimum"
            | "pattern",
            _,
        ) => vec![],
        _ => panic!("{at}: nobody judges {word}"),
    }
}

fn is_of(kind: &str, value: &Json) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => panic!("there is no type {kind}"),
    }
}
