//! Whether data fits a schema: one of our own, or that of a plugin's endpoint. Data is judged by
//! the keywords of JSON Schema that our own schemas use and a few more; a schema with others is
//! refused. Pure. The file is long because what a schema may say stands beside how data is judged
//! by it; our own schemas and those of plugins are checked alike.

use std::{borrow::Cow, collections::HashMap, io, sync::LazyLock};

use regex::{Regex, RegexBuilder};
use serde_json::{Map, Value as Json};

use crate::{FieldError, ground::parse_rfc3339};

/// Most faults that are reported: enough to mend the data, and bounded whatever was sent.
const MAX_FAULTS: usize = 100;

/// Most characters of a path, and of a message, in a fault.
const MAX_TOLD: usize = 300;

/// Most choices that a fault names.
const MAX_CHOICES: usize = 20;

/// Most bytes of a plugin's schema as JSON.
const MAX_SCHEMA: usize = 1 << 16;

/// How deep the lists and objects of a plugin's schema may nest.
const MAX_SCHEMA_DEPTH: usize = 32;

/// Most bytes of a compiled pattern, and of a text that is judged by one: together they bound the
/// time that a sender can cost.
const MAX_PATTERN: usize = 1 << 20;
const MAX_MATCHED: usize = 10_000;

/// The keywords that data is judged by.
const WORDS: [&str; 15] = [
    "type", "enum", "const", "oneOf", "properties", "required", "additionalProperties", "items",
    "minItems", "maxItems", "minLength", "maxLength", "pattern", "minimum", "maximum",
];

const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];

/// The form of a date-time in RFC 3339. Our parser takes other forms too.
static DATE_TIME: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let date = "[0-9]{4}-[0-9]{2}-[0-9]{2}";
    let time = "([01][0-9]|2[0-3]):[0-5][0-9]";
    Regex::new(&format!("^{date}[Tt]{time}:[0-9]{{2}}([.][0-9]+)?([Zz]|[+-]{time})$")).ok()
});

/// A schema, its patterns compiled.
#[derive(Debug)]
pub(crate) struct Rules {
    pub(super) schema: Json,
    patterns: HashMap<String, Regex>,
}

impl Rules {
    pub(crate) fn new(schema: Json) -> Self {
        let mut patterns = HashMap::new();
        compile(&schema, &mut patterns);
        Self { schema, patterns }
    }

    /// The first hundred faults that the schema finds in `data`. A list or text that is too long
    /// has only this fault. `at` is the name of the data; empty: the data is the whole body.
    pub(crate) fn faults(&self, data: &Json, at: &str) -> Vec<FieldError> {
        let mut judge = Judge { patterns: &self.patterns, faults: Vec::new() };
        judge.value(&self.schema, data, at);
        judge.faults
    }
}

/// Faults of a plugin's schema, each with its JSON Pointer and a remedy.
pub(crate) fn schema_faults(schema: &Json) -> Vec<(String, String)> {
    let mut faults = Vec::new();
    if !is_shallow(schema, MAX_SCHEMA_DEPTH) {
        faults.push((String::new(), format!("{MAX_SCHEMA_DEPTH} levels at most are expected")));
    } else if serde_json::to_writer(SizeLimit(MAX_SCHEMA), schema).is_err() {
        faults.push((String::new(), format!("{MAX_SCHEMA} bytes at most are expected")));
    } else {
        check(schema, "", &mut faults);
    }
    faults
}

fn check(schema: &Json, at: &str, faults: &mut Vec<(String, String)>) {
    let Some(words) = schema.as_object() else {
        let remedy = "a schema is an object; write {} for any value";
        return faults.push((at.to_owned(), remedy.to_owned()));
    };
    for (word, value) in words {
        let at = pointer(at, word);
        let (fits, expected) = match word.as_str() {
            "additionalProperties" if value.is_boolean() => continue,
            "items" | "additionalProperties" => {
                check(value, &at, faults);
                continue;
            }
            "properties" => {
                for (name, rule) in value.as_object().into_iter().flatten() {
                    check(rule, &pointer(&at, name), faults);
                }
                (value.is_object(), "an object of schemas")
            }
            "type" => (is_type(value) || is_list(value, is_type), "a type, or a list of types,"),
            "enum" => (is_list(value, |_| true), "a list of values"),
            "oneOf" => {
                for (index, one) in value.as_array().into_iter().flatten().enumerate() {
                    check(one, &pointer(&at, &index.to_string()), faults);
                }
                (is_list(value, |one| one.get("const").is_some()), "a list of {\"const\": value}")
            }
            "required" => {
                let names = value.as_array();
                (names.is_some_and(|all| all.iter().all(Json::is_string)), "a list of names")
            }
            "pattern" => match value.as_str().map(regex) {
                Some(Ok(_)) => continue,
                Some(Err(why)) => {
                    faults.push((at, format!("a regular expression is expected: {why}")));
                    continue;
                }
                None => (false, "text"),
            },
            "minLength" | "maxLength" | "minItems" | "maxItems" => {
                (value.is_u64(), "a whole number of 0 or more")
            }
            "minimum" | "maximum" => (value.is_number(), "a number"),
            "examples" => (value.is_array(), "a list"),
            "$schema" | "title" | "description" | "format" => (value.is_string(), "text"),
            "const" | "default" => continue,
            _ => {
                let known = WORDS.join(", ");
                let remedy = format!("{word:?} is not judged: leave it out; {known} are judged");
                faults.push((at, remedy));
                continue;
            }
        };
        if !fits {
            faults.push((at, format!("{expected} is expected")));
        }
    }
}

/// A pattern, or why it is none.
fn regex(text: &str) -> Result<Regex, String> {
    RegexBuilder::new(text).size_limit(MAX_PATTERN).build().map_err(|why| match why {
        regex::Error::CompiledTooBig(_) => {
            "this one is too large: write [0-9A-Za-z_] for \\w, and maxLength for a length"
                .to_owned()
        }
        why => why.to_string().lines().last().unwrap_or_default().to_owned(),
    })
}

/// The JSON Pointer of a member.
fn pointer(at: &str, name: &str) -> String {
    format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"))
}

fn is_type(value: &Json) -> bool {
    value.as_str().is_some_and(|name| TYPES.contains(&name))
}

/// Whether a value is a list with at least one element, and all of them fit.
fn is_list(value: &Json, fits: fn(&Json) -> bool) -> bool {
    value.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(fits))
}

pub(super) fn is_shallow(data: &Json, levels: usize) -> bool {
    match (data, levels.checked_sub(1)) {
        (Json::Array(values), Some(left)) => values.iter().all(|value| is_shallow(value, left)),
        (Json::Object(members), Some(left)) => {
            members.values().all(|value| is_shallow(value, left))
        }
        (Json::Array(_) | Json::Object(_), None) => false,
        _ => true,
    }
}

/// Counts down the bytes that it may take, and keeps none.
pub(super) struct SizeLimit(pub(super) usize);

impl io::Write for SizeLimit {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn compile(schema: &Json, patterns: &mut HashMap<String, Regex>) {
    if let Some(text) = schema["pattern"].as_str()
        && let Ok(pattern) = regex(text)
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
            let field = if at.is_empty() { "body" } else { at }.to_owned();
            let message = cut(&message).into_owned();
            self.faults.push(FieldError { field, code, message });
        }
    }

    fn is_full(&self) -> bool {
        self.faults.len() >= MAX_FAULTS
    }

    fn value(&mut self, schema: &Json, value: &Json, at: &str) {
        if !schema.is_object() {
            return;
        }
        let types = types(schema);
        if !types.is_empty() && !types.iter().any(|kind| is_of(kind, value)) {
            return self.fault(at, "type", format!("{} is expected", types.join(" or ")));
        }
        if let Some(choices) = choices(schema)
            && !choices.contains(&value)
        {
            let mut texts: Vec<_> =
                choices.iter().take(MAX_CHOICES).map(ToString::to_string).collect();
            if choices.len() > MAX_CHOICES {
                texts.push(format!("one of {} more", choices.len() - MAX_CHOICES));
            }
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
                    self.value(rule, value, &cut(&format!("{at}[{index}]")));
                }
            }
            Json::Object(members) => self.members(schema, members, at),
            _ => {}
        }
    }

    fn members(&mut self, schema: &Json, members: &Map<String, Json>, at: &str) {
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str) {
            if !members.contains_key(name) {
                self.fault(&below(at, name), "required", "a value is expected".to_owned());
            }
        }
        let others = &schema["additionalProperties"];
        for (name, value) in members {
            match schema["properties"].get(name) {
                Some(rule) => self.value(rule, value, &below(at, name)),
                None if *others == false => {
                    let message = "no member of this name is expected";
                    self.fault(&below(at, name), "unexpected", message.to_owned());
                }
                None if others.is_object() => self.value(others, value, &below(at, name)),
                None => {}
            }
        }
    }

    fn text(&mut self, schema: &Json, text: &str, at: &str) {
        let bounds = ["minLength", "maxLength"];
        if !self.is_length(schema, bounds, text.chars().count(), "characters", at) {
            return;
        }
        let pattern = schema["pattern"].as_str();
        if pattern.is_some() && text.len() > MAX_MATCHED {
            return self.fault(at, "range", format!("{MAX_MATCHED} bytes at most are expected"));
        }
        // All patterns are valid; one that is not would refuse everything.
        if let Some(pattern) = pattern
            && !self.patterns.get(pattern).is_some_and(|pattern| pattern.is_match(text))
        {
            let message = match schema["examples"][0].as_str() {
                Some(example) => format!("a text such as {example} is expected"),
                None => format!("a text that fits {pattern} is expected"),
            };
            self.fault(at, "format", message);
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
        if schema["maximum"].as_f64().is_some_and(|most| number > most) {
            self.fault(at, "range", format!("{} or less is expected", schema["maximum"]));
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

/// The name of a member in a fault.
fn below(at: &str, name: &str) -> String {
    let name = cut(name);
    if at.is_empty() { name.into_owned() } else { cut(&format!("{at}.{name}")).into_owned() }
}

/// A text of the sender or of a schema, which may be as long as the whole.
fn cut(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(MAX_TOLD) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
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
    schema.get("const").map(|only| vec![only]).or_else(listed).or_else(consts)
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
        let closed = json!({"properties": {"a": {}}, "additionalProperties": false});
        let mapped = json!({"additionalProperties": {"type": "integer"}});
        for (schema, value, expected) in [
            (json!({"type": "integer"}), json!(1), ""),
            (json!({"type": "integer"}), json!(1.5), "data type"),
            (json!({"type": ["integer", "null"]}), json!(null), ""),
            (json!({"type": ["integer", "null"]}), json!("1"), "data type"),
            (json!({"type": "integer", "minimum": 0}), json!(-1), "data range"),
            (json!({"type": "number", "maximum": 1.5}), json!(1.5), ""),
            (json!({"type": "number", "maximum": 1.5}), json!(2), "data range"),
            (json!({"const": "a"}), json!("a"), ""),
            (json!({"const": "a"}), json!("b"), "data range"),
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
            (closed.clone(), json!({"a": 1}), ""),
            (closed, json!({"a": 1, "b": 1}), "data.b unexpected"),
            (mapped.clone(), json!({"a": 1}), ""),
            (mapped, json!({"a": "1"}), "data.a type"),
            (json!({}), json!({"anything": [1]}), ""),
            (json!(true), json!({"anything": [1]}), ""),
        ] {
            let found = Rules::new(schema.clone()).faults(&value, "data");
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
            assert_eq!(rules.faults(&data, "data").len(), told);
        }
        let data: Json = std::iter::repeat_n(json!({}), 500_000).collect();
        assert_eq!(rules.faults(&data, "data").len(), MAX_FAULTS);
        // Names are as long as the sender likes, and a schema may hold long texts.
        let numbers = json!({"additionalProperties": {"items": {"type": "integer"}}});
        let name = "é".repeat(1_000_000);
        let told = Rules::new(numbers).faults(&json!({name: vec![""; 200]}), "");
        assert!(told.len() == MAX_FAULTS && told.iter().all(|one| one.field.len() < 700));
        let long = "x".repeat(60_000);
        for schema in [json!({"const": long}), json!({"pattern": long, "type": "string"})] {
            assert!(Rules::new(schema).faults(&json!("a"), "data")[0].message.len() < 400);
        }
        let text = json!("a".repeat(MAX_MATCHED + 1));
        let told = Rules::new(json!({"pattern": "^a*$"})).faults(&text, "data");
        assert_eq!(told[0].message, "10000 bytes at most are expected");
        let choice = |number: usize| json!({"const": number});
        for (choices, end) in [
            (MAX_CHOICES, " or 18 or 19 is expected"),
            (500, " or 18 or 19 or one of 480 more is expected"),
        ] {
            let listed: Json = (0..choices).collect::<Vec<_>>().into();
            let each: Json = (0..choices).map(choice).collect();
            for schema in [json!({"enum": listed}), json!({"oneOf": each})] {
                let told = &Rules::new(schema).faults(&json!("a"), "data")[0].message;
                assert!(told.starts_with("0 or 1 or 2 or ") && told.ends_with(end), "{told}");
            }
        }
    }

    #[test]
    fn a_schema_has_only_words_that_are_judged() {
        let nested = |levels: usize| (1..levels).fold(json!({}), |inner, _| json!({"a": inner}));
        let named = |rule: Json| json!({"properties": {"a/b": rule}});
        for (schema, expected) in [
            (json!({}), ""),
            (json!({"$schema": "s", "title": "t", "format": "uuid", "default": 1}), ""),
            (json!({"type": ["string", "null"], "pattern": "^a$", "examples": ["a"]}), ""),
            (json!({"additionalProperties": false, "required": []}), ""),
            (json!({"oneOf": [{"const": 1, "description": "One."}]}), ""),
            (json!({"default": nested(MAX_SCHEMA_DEPTH - 1)}), ""),
            (json!({"default": nested(MAX_SCHEMA_DEPTH)}), " 32 levels"),
            (json!({"title": "x".repeat(MAX_SCHEMA)}), " 65536 bytes"),
            (json!({"anyOf": []}), "/anyOf \"anyOf\" is not judged"),
            (named(json!({"$ref": "#"})), "/properties/a~1b/$ref \"$ref\" is not judged"),
            (named(json!(true)), "/properties/a~1b a schema is an object"),
            (json!({"items": false}), "/items a schema is an object"),
            (json!({"additionalProperties": {"type": 1}}), "/additionalProperties/type a type"),
            (json!({"type": "text"}), "/type a type"),
            (json!({"type": []}), "/type a type"),
            (json!({"enum": []}), "/enum a list of values"),
            (json!({"oneOf": [{"type": "string"}]}), "/oneOf a list of {"),
            (json!({"properties": []}), "/properties an object"),
            (json!({"required": [1]}), "/required a list of names"),
            (json!({"oneOf": [{"const": 1, "$ref": "#"}]}), "/oneOf/0/$ref \"$ref\" is not"),
            (
                json!({"pattern": "(?=a)"}),
                "/pattern a regular expression is expected: error: look-",
            ),
            (json!({"pattern": r"\w{500}"}), "/pattern a regular expression is expected: this one"),
            (json!({"pattern": 1}), "/pattern text"),
            (json!({"maxLength": -1}), "/maxLength a whole number"),
            (json!({"maximum": "1"}), "/maximum a number"),
            (json!({"examples": {}}), "/examples a list"),
            (json!({"description": 1}), "/description text"),
        ] {
            let found = schema_faults(&schema).into_iter().next();
            let told = found.map(|(at, remedy)| format!("{at} {remedy}")).unwrap_or_default();
            let is_told = told.starts_with(expected) && told.is_empty() == expected.is_empty();
            assert!(is_told, "{schema}: {told}");
        }
        for word in WORDS {
            let found = schema_faults(&json!({word: null}));
            assert!(found.iter().all(|(_, remedy)| !remedy.contains("judged")), "{word}");
        }
    }
}
