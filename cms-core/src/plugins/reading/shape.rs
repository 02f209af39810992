//! Compares JSON with the schema, member by member, and continues after every fault.

use std::collections::BTreeSet;

use jsonc_parser::{
    ast::{Object, Value},
    common::Ranged,
};
use serde_json::{Map, Value as Json};

use super::{
    document::{Document, TOO_DEEP},
    rules,
};
use crate::{
    ground::nearest,
    plugins::{
        Problem,
        problem::{Lines, Place, Places},
    },
};

/// Maximum depth, more than any manifest needs. Levels of JSON within text count too.
pub(super) const MAX_DEPTH: usize = 64;

/// Members of the root with a second spelling: pointers to both.
const SPELLINGS: [(&str, &str); 1] = [("/webhook_events", "/webhookEvents")];

/// A comparison under way.
pub(super) struct Shape {
    pub(super) problems: Vec<Problem>,
    pub(super) faulty: BTreeSet<String>,
    pub(super) places: Places,
}

/// How the places of values are found.
#[derive(Clone, Copy)]
enum Where<'l> {
    Lines(&'l Lines<'l>),
    /// In text that holds JSON: the place of that text.
    Text(Place),
}

impl Where<'_> {
    fn of(self, node: &impl Ranged) -> Place {
        match self {
            Self::Lines(lines) => lines.place(node.range().start),
            Self::Text(place) => place,
        }
    }
}

impl Shape {
    pub(super) fn new() -> Self {
        let (problems, faulty, places) = (Vec::new(), BTreeSet::new(), Places::default());
        Self { problems, faulty, places }
    }

    /// The JSON of a manifest, with neutral values in place of wrong ones.
    pub(super) fn check(&mut self, root: &Value<'_>, lines: &Lines<'_>) -> Option<Json> {
        self.value(root, rules::root(), "", Where::Lines(lines), 0)
    }

    fn fault(&mut self, at: &str, place: Place, remedy: impl Into<String>) {
        self.problems.push(Problem::new(at, remedy).at(place));
        self.faulty.insert(at.to_owned());
    }

    /// The value as the schema wants it; `None`: the whole value is wrong.
    fn value(
        &mut self,
        node: &Value<'_>,
        schema: &'static Json,
        at: &str,
        here: Where<'_>,
        depth: usize,
    ) -> Option<Json> {
        let place = here.of(node);
        self.places.of.insert(at.to_owned(), place);
        if depth > MAX_DEPTH {
            self.fault(at, place, TOO_DEEP);
            return None;
        }
        let kind = kind(node);
        let parts = rules::alternatives(schema);
        let embedded = parts.iter().find_map(|part| part.get("contentSchema"));
        if let (Value::StringLit(text), Some(schema)) = (node, embedded) {
            return self.embedded(&text.value, schema, at, place, depth);
        }
        let Some(part) = parts.iter().copied().find(|part| rules::allows(part, kind)) else {
            self.fault(at, place, mistyped(node, schema));
            return None;
        };
        if let Some(known) = rules::constants(part) {
            let given = self.plain(node, at, here);
            if !known.contains(&&given) {
                self.fault(at, place, not_among(&given, &known));
                return None;
            }
            return Some(given);
        }
        match node {
            Value::Object(object) => match rules::members(part) {
                Some(members) => Some(self.object(object, members, at, here, depth)),
                None => Some(self.plain(node, at, here)),
            },
            Value::Array(array) => {
                let Some(items) = part.get("items") else {
                    return Some(self.plain(node, at, here));
                };
                let elements = array.elements.iter().enumerate().map(|(i, element)| {
                    let at = format!("{at}/{i}");
                    self.value(element, items, &at, here, depth + 1)
                        .unwrap_or_else(|| rules::neutral(items))
                });
                Some(Json::Array(elements.collect()))
            }
            _ => self.single(node, part, at, here),
        }
    }

    /// Checks text, a number, a boolean or null.
    fn single(&mut self, node: &Value<'_>, part: &Json, at: &str, here: Where<'_>) -> Option<Json> {
        let (given, place) = (self.plain(node, at, here), here.of(node));
        let shortest = part["minLength"].as_u64().unwrap_or(0);
        if given.as_str().is_some_and(|text| (text.chars().count() as u64) < shortest) {
            self.fault(at, place, "text that is not empty is expected");
            return None;
        }
        if let Some(number) = given.as_f64() {
            let (least, most) = (part["minimum"].as_f64(), part["maximum"].as_f64());
            if least.is_some_and(|least| number < least) || most.is_some_and(|most| number > most) {
                let least = least.map(|least| format!("at least {least}"));
                let most = most.map(|most| format!("at most {most}"));
                let limits: Vec<_> = least.into_iter().chain(most).collect();
                self.fault(at, place, format!("a number of {} is expected", limits.join(" and ")));
                return None;
            }
        }
        Some(given)
    }

    /// Checks JSON within a text. All its problems have the place of the text.
    fn embedded(
        &mut self,
        text: &str,
        schema: &'static Json,
        at: &str,
        place: Place,
        depth: usize,
    ) -> Option<Json> {
        if text.trim().is_empty() {
            let remedy =
                format!("this text is empty: {} is expected in it", rules::expected(schema));
            self.fault(at, place, remedy);
            return None;
        }
        let document = Document::parse(text, MAX_DEPTH + 1 - depth);
        for (offset, remedy) in &document.faults {
            let inside = Lines::new(text).place(*offset);
            let Place { line, column } = inside;
            let remedy = format!("in this text, at its line {line}, column {column}: {remedy}");
            self.fault(at, place, remedy);
        }
        let root = document.root?;
        self.value(&root, schema, at, Where::Text(place), depth + 1)
    }

    fn object(
        &mut self,
        object: &Object<'_>,
        (members, required): rules::Members,
        at: &str,
        here: Where<'_>,
        depth: usize,
    ) -> Json {
        let mut mended = Map::new();
        for member in &object.properties {
            let (name, place) = (member.name.as_str(), here.of(member));
            let inner = format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"));
            let Some(schema) = members.get(name) else {
                self.fault(&inner, place, unknown(name, members));
                continue;
            };
            let other = SPELLINGS.iter().find(|(_, other)| *other == inner);
            let key = other.map_or(name, |(key, _)| &key[1..]);
            if mended.contains_key(key) || self.faulty.contains(&inner) {
                self.fault(&inner, place, twice(name));
            }
            self.places.spelled.extend(other);
            match self.value(&member.value, schema, &inner, here, depth + 1) {
                Some(Json::Null) | None => {}
                Some(value) => {
                    mended.insert(key.to_owned(), value);
                }
            }
        }
        for name in required {
            if mended.contains_key(name) {
                continue;
            }
            let (inner, schema) = (format!("{at}/{name}"), &members[name]);
            if !self.faulty.contains(&inner) {
                let says = schema["description"].as_str();
                let says = says.or_else(|| rules::resolved(schema)["description"].as_str());
                let says = says.map(|says| format!(": {says}")).unwrap_or_default();
                let says = says.trim_end_matches('.').replace('\n', " ");
                self.fault(&inner, here.of(object), format!("{name:?} is missing{says}"));
            }
            mended.insert(name.to_owned(), rules::neutral(schema));
        }
        Json::Object(mended)
    }

    /// Converts a value that no schema describes. Its faults have the pointer `at`, and places of
    /// their own. [`Document::parse`] limits the recursion.
    fn plain(&mut self, node: &Value<'_>, at: &str, here: Where<'_>) -> Json {
        match node {
            Value::StringLit(text) => text.value.as_ref().into(),
            Value::NumberLit(number) => serde_json::from_str(number.value).unwrap_or_else(|_| {
                self.fault(at, here.of(node), "this number is larger than any that can be kept");
                Json::Null
            }),
            Value::BooleanLit(boolean) => boolean.value.into(),
            Value::NullKeyword(_) => Json::Null,
            Value::Array(array) => {
                array.elements.iter().map(|element| self.plain(element, at, here)).collect()
            }
            Value::Object(object) => {
                let mut members = Map::new();
                for member in &object.properties {
                    let name = member.name.as_str();
                    let value = self.plain(&member.value, at, here);
                    if members.insert(name.to_owned(), value).is_some() {
                        self.fault(at, here.of(member), twice(name));
                    }
                }
                Json::Object(members)
            }
        }
    }
}

fn twice(name: &str) -> String {
    format!("{name:?} is given twice: remove one")
}

fn unknown(name: &str, members: &Map<String, Json>) -> String {
    let known = || members.keys().map(String::as_str).filter(|name| *name != "$schema");
    match nearest(name, known().collect::<Vec<_>>().into_iter()) {
        Some(meant) => format!("{name:?} is unknown; did you mean {meant:?}?"),
        None => {
            let known: Vec<_> = known().collect();
            format!("{name:?} is unknown; the members here are {}", known.join(", "))
        }
    }
}

fn not_among(given: &Json, known: &[&Json]) -> String {
    let words = known.iter().filter_map(|one| one.as_str());
    let meant =
        given.as_str().and_then(|word| nearest(word, words.collect::<Vec<_>>().into_iter()));
    let known: Vec<_> = known.iter().map(ToString::to_string).collect();
    match meant {
        Some(meant) => format!("{given} is unknown; did you mean {meant:?}?"),
        None => format!("{given} is unknown; one of {} is expected", known.join(", ")),
    }
}

fn mistyped(node: &Value<'_>, schema: &'static Json) -> String {
    let expected = rules::expected(schema);
    let allows = |kind: &str| {
        let parts = rules::alternatives(schema);
        parts.into_iter().any(|part| rules::allows(part, kind))
    };
    let bare = |text: &str| match text {
        "true" | "false" => allows("boolean").then(|| text.to_owned()),
        _ => whole(text).filter(|_| allows("integer")),
    };
    if let Value::StringLit(text) = node
        && let Some(bare) = bare(&text.value)
    {
        return format!("{expected} is expected, not text: write {bare} without quotes");
    }
    match node {
        Value::NumberLit(number) if expected == "text" => match rules::begins_with_letter(schema) {
            true => "text is expected, not a number: begin with a letter".to_owned(),
            false => format!("text is expected, not a number: write \"{}\"", number.value),
        },
        Value::NumberLit(number) if allows("integer") => {
            let whole = whole(number.value).map(|whole| format!(": write {whole}"));
            let whole = whole.unwrap_or_default();
            format!("{expected} is expected, not {}{whole}", number.value)
        }
        _ => format!("{expected} is expected, not {}", rules::word(kind(node))),
    }
}

/// A whole number as it is written.
fn whole(text: &str) -> Option<String> {
    let number = text.parse::<f64>().ok().filter(|number| number.fract() == 0.0)?;
    Some(format!("{number:.0}"))
}

/// The type of a value, as JSON Schema names it.
fn kind(node: &Value<'_>) -> &'static str {
    match node {
        Value::StringLit(_) => "string",
        Value::NumberLit(number) => {
            if number.value.bytes().all(|b| b.is_ascii_digit() || b == b'-') {
                "integer"
            } else {
                "number"
            }
        }
        Value::BooleanLit(_) => "boolean",
        Value::Object(_) => "object",
        Value::Array(_) => "array",
        Value::NullKeyword(_) => "null",
    }
}
