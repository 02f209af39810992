//! Interprets the parts of a schema. Supports as much of JSON Schema as the types of
//! manifests use.

use std::sync::OnceLock;

use serde_json::{Map, Value as Json};

use crate::plugins;

/// The schema of manifests.
pub(super) fn root() -> &'static Json {
    static ROOT: OnceLock<Json> = OnceLock::new();
    ROOT.get_or_init(|| plugins::schema().to_value())
}

/// The schema that a reference names, or the schema itself.
pub(super) fn resolved(schema: &'static Json) -> &'static Json {
    let name = schema["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/"));
    name.and_then(|name| root()["$defs"].get(name)).map_or(schema, resolved)
}

/// The alternatives of a schema; itself when it has none.
pub(super) fn alternatives(schema: &'static Json) -> Vec<&'static Json> {
    let schema = resolved(schema);
    match schema["anyOf"].as_array() {
        Some(list) => list.iter().flat_map(alternatives).collect(),
        None => vec![schema],
    }
}

/// The only values that a schema allows; None when it does not list them.
pub(super) fn constants(schema: &'static Json) -> Option<Vec<&'static Json>> {
    if let Some(list) = schema["enum"].as_array() {
        return Some(list.iter().collect());
    }
    if let Some(one) = schema.get("const") {
        return Some(vec![one]);
    }
    let list = schema["oneOf"].as_array()?;
    list.iter().map(constants).collect::<Option<Vec<_>>>().map(|lists| lists.concat())
}

/// Whether a schema allows values of a type, as JSON Schema names types.
pub(super) fn allows(schema: &Json, kind: &str) -> bool {
    let is = |name: &Json| name == kind || (name == "number" && kind == "integer");
    match &schema["type"] {
        Json::Array(names) => names.iter().any(is),
        Json::Null => true,
        name => is(name),
    }
}

const WORDS: [(&str, &str); 7] = [
    ("object", "an object"),
    ("array", "an array"),
    ("string", "text"),
    ("integer", "a whole number"),
    ("number", "a number"),
    ("boolean", "true or false"),
    ("null", "null"),
];

/// The name of a type in messages.
pub(super) fn word(kind: &str) -> &'static str {
    WORDS.iter().find(|(name, _)| *name == kind).map_or("this", |(_, word)| word)
}

/// The types that a schema allows, for messages.
pub(super) fn expected(schema: &'static Json) -> String {
    let mut words = Vec::new();
    for part in alternatives(schema) {
        for (name, word) in WORDS {
            let known = name == "null" || (name == "integer" && part["type"] == "number");
            if part.get("type").is_some() && allows(part, name) && !known && !words.contains(&word)
            {
                words.push(word);
            }
        }
    }
    words.join(" or ")
}

/// Whether a schema allows only texts that begin with a letter, so that no such text is a
/// quoted number.
pub(super) fn begins_with_letter(schema: &'static Json) -> bool {
    let pattern = |part: &'static Json| part["pattern"].as_str();
    let mut patterns = alternatives(schema).into_iter().filter_map(pattern);
    patterns.any(|pattern| pattern.starts_with("^[a-z]"))
}

/// The members of an object, and the names of the required ones.
pub(super) type Members = (&'static Map<String, Json>, Vec<&'static str>);

/// The members of an object; None when its schema names none.
pub(super) fn members(schema: &'static Json) -> Option<Members> {
    let members = schema["properties"].as_object()?;
    let required = schema["required"].as_array();
    let required = required.into_iter().flatten().filter_map(Json::as_str).collect();
    Some((members, required))
}

/// A neutral value that a schema allows.
pub(super) fn neutral(schema: &'static Json) -> Json {
    let schema = alternatives(schema).into_iter().next().unwrap_or(schema);
    if let Some(first) = constants(schema).and_then(|list| list.into_iter().next()) {
        return first.clone();
    }
    if let Some((members, required)) = members(schema) {
        let members = required.into_iter().filter_map(|name| {
            members.get_key_value(name).map(|(name, schema)| (name.clone(), neutral(schema)))
        });
        return Json::Object(members.collect());
    }
    match schema["type"].as_str() {
        Some("array") => Json::Array(Vec::new()),
        Some("boolean") => false.into(),
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or_else(|| 0.into()),
        _ => "".into(),
    }
}
