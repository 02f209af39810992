//! Conditions on columns, before the table is known, and their JSON: the parameter `filter`. They
//! stand on the ground floor because rights judge their columns too.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

use crate::{Code, Error, Result};

/// How deep conditions nest at most.
pub(crate) const MAX_DEPTH: usize = 8;

/// What a record must fulfil. Written with [`column`](crate::items::column):
///
/// ```
/// use cms_core::items::{Query, column, eq, gte};
///
/// let paid = column("total", gte(10)).and(column("paid", eq(true)));
/// let query = Query::new().any([column("status", eq("new")), paid]);
/// assert_eq!(query.conditions.len(), 1);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Condition {
    /// One column compares as the filter says.
    Is(Filter),
    /// All of these hold.
    All(Vec<Condition>),
    /// At least one of these holds.
    Any(Vec<Condition>),
    /// This does not hold: the exact complement, null included.
    Not(Box<Condition>),
}

/// One condition on a column.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Filter {
    /// The column.
    pub column: String,
    /// How the column is compared.
    pub op: Op,
    /// Values to compare with; several only for `in` and `nin`.
    pub values: Vec<String>,
}

macro_rules! ops {
    ($($(#[$doc:meta])* $name:ident = $text:literal),* $(,)?) => {
        /// A comparison. The negative ones also match null, so `ne` is the complement of `eq`, and
        /// `nin` of `in`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Op { $($(#[$doc])* $name),* }
        impl Op {
            const ALL: &[(&str, Op)] = &[$(($text, Op::$name)),*];

            /// Every operator, with its name in filters.
            pub fn all() -> impl Iterator<Item = (&'static str, Op)> {
                Self::ALL.iter().copied()
            }

            /// # Errors
            /// `bad_query`, with the words that there are.
            pub(crate) fn named(word: &str) -> Result<Self> {
                Self::all().find(|(text, _)| *text == word).map(|(_, op)| op).ok_or_else(|| {
                    let all: Vec<_> = Self::all().map(|(text, _)| text).collect();
                    let all = all.join(", ");
                    bad(format!("There is no operator {word:?}; there are {all}."))
                })
            }
        }
    };
}
ops! {
    /// Equal.
    Eq = "eq",
    /// Not equal, or null.
    Ne = "ne",
    /// Greater.
    Gt = "gt",
    /// Greater or equal.
    Gte = "gte",
    /// Less.
    Lt = "lt",
    /// Less or equal.
    Lte = "lte",
    /// One of the values; as a parameter, of a comma-separated list.
    In = "in",
    /// None of the list, or null.
    Nin = "nin",
    /// Contains the text, ignoring ASCII case.
    Contains = "contains",
    /// Starts with the text.
    StartsWith = "starts_with",
    /// Ends with the text.
    EndsWith = "ends_with",
    /// `true`: is null; `false`: is not null.
    Null = "null",
}

pub(crate) fn bad(detail: impl Into<String>) -> Error {
    Error::new(Code::BadQuery, detail)
}

/// Reads the value of the parameter.
///
/// # Errors
/// `bad_query` for text that cannot be read to its end: a lost condition would show more.
pub(crate) fn read(text: &str) -> Result<Condition> {
    object(text, MAX_DEPTH)
}

/// Whether `holds` is true of all columns that the parameter names. Text that cannot be read
/// names no column; reading it for the query refuses it.
pub(crate) fn names_only(text: &str, holds: impl Fn(&str) -> bool) -> bool {
    read(text).map_or(true, |condition| names(&condition, &holds))
}

/// How many levels are left one level further down.
///
/// # Errors
/// `bad_query` when no level is left.
pub(crate) fn deeper(left: usize) -> Result<usize> {
    left.checked_sub(1).ok_or_else(|| {
        bad(format!("Conditions nest at most {MAX_DEPTH} deep: write fewer and, or, not."))
    })
}

fn names(condition: &Condition, holds: &impl Fn(&str) -> bool) -> bool {
    match condition {
        Condition::Is(filter) => holds(&filter.column),
        Condition::All(list) | Condition::Any(list) => list.iter().all(|one| names(one, holds)),
        Condition::Not(one) => names(one, holds),
    }
}

/// The members of an object as they are written, numbers to the last digit.
struct Members<'j>(Vec<(String, &'j RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct MembersVisitor;

        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        from.deserialize_map(MembersVisitor)
    }
}

fn members(text: &str) -> Result<Vec<(String, &RawValue)>> {
    let read = serde_json::from_str(text);
    let Members(members) = read.map_err(|why| {
        let example = r#"{"or":[{"status":{"eq":"new"}},{"total":{"gte":10}}]}"#;
        bad(format!("filter is not read as JSON conditions ({why}): write it like {example}."))
    })?;
    for (at, (name, _)) in members.iter().enumerate() {
        // JSON readers keep one of two members with the same name, and not all keep the same one.
        if members[..at].iter().any(|(other, _)| other == name) {
            return Err(bad(format!(
                "filter has {name:?} twice in one object: put both into a list, {{\"and\":[…]}}."
            )));
        }
    }
    Ok(members)
}

/// One object: all of its members hold. `left` levels may follow.
fn object(text: &str, left: usize) -> Result<Condition> {
    let mut all = Vec::new();
    for (name, value) in members(text)? {
        match name.as_str() {
            "and" => all.extend(list(&name, value, left)?),
            "or" => all.push(Condition::Any(list(&name, value, left)?)),
            "not" => all.push(Condition::Not(Box::new(object(value.get(), deeper(left)?)?))),
            column => tests(column, value, &mut all)?,
        }
    }
    match (all.pop(), all.is_empty()) {
        (None, _) => Err(bad(
            "filter has an empty object: name a column, such as {\"status\":{\"eq\":\"new\"}}, or \
             leave the object out.",
        )),
        (Some(one), true) => Ok(one),
        (Some(last), false) => {
            all.push(last);
            Ok(Condition::All(all))
        }
    }
}

/// The conditions of `and` and `or`.
fn list(word: &str, value: &RawValue, left: usize) -> Result<Vec<Condition>> {
    let left = deeper(left)?;
    let conditions: Vec<&RawValue> = serde_json::from_str(value.get()).map_err(|_| {
        bad(format!("{word} takes a list of objects: {{\"{word}\":[{{…}},{{…}}]}}."))
    })?;
    if conditions.is_empty() {
        return Err(bad(format!(
            "{word} has an empty list: give it a condition, or leave it out."
        )));
    }
    conditions.into_iter().map(|one| object(one.get(), left)).collect()
}

/// The conditions on one column.
fn tests(column: &str, value: &RawValue, all: &mut Vec<Condition>) -> Result<()> {
    if !value.get().starts_with('{') {
        let test = if value.get() == "null" { "\"null\":true" } else { "\"eq\":…" };
        return Err(bad(format!(
            "filter compares {column:?} without an operator: write {{{column:?}:{{{test}}}}}."
        )));
    }
    let tests = members(value.get())?;
    if tests.is_empty() {
        return Err(bad(format!(
            "filter asks nothing of {column:?}: write {{{column:?}:{{\"eq\":…}}}}, or \
             leave it out."
        )));
    }
    for (op, value) in tests {
        let values = values(column, &op, value)?;
        let (column, op) = (column.to_owned(), Op::named(&op)?);
        all.push(Condition::Is(Filter { column, op, values }));
    }
    Ok(())
}

fn values(column: &str, op: &str, value: &RawValue) -> Result<Vec<String>> {
    let at = format!("filter, {column:?}, {op:?}");
    match (value.get().starts_with('['), matches!(op, "in" | "nin")) {
        (true, true) => {
            let values: Vec<&RawValue> = serde_json::from_str(value.get())
                .map_err(|why| bad(format!("{at}: the list is not read ({why}).")))?;
            if values.is_empty() {
                return Err(bad(format!("{at}: the list is empty: name a value.")));
            }
            values.into_iter().map(|one| scalar(column, &at, one)).collect()
        }
        (false, true) => Err(bad(format!("{at}: a list is expected, such as [\"a\",\"b\"]."))),
        (true, false) => {
            Err(bad(format!("{at}: one value is expected; lists go with in and nin.")))
        }
        (false, false) => Ok(vec![scalar(column, &at, value)?]),
    }
}

/// One value as the text that filters take.
fn scalar(column: &str, at: &str, value: &RawValue) -> Result<String> {
    let text = value.get();
    match text.as_bytes().first() {
        Some(b'"') => serde_json::from_str(text)
            .map_err(|why| bad(format!("{at}: the text is not read ({why})."))),
        Some(b'n') => Err(bad(format!(
            "{at}: null is no value; rows without one are {{{column:?}:{{\"null\":true}}}}."
        ))),
        Some(b'{' | b'[') => {
            Err(bad(format!("{at}: a text, a number, true or false is expected.")))
        }
        _ => Ok(text.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn nested(levels: usize) -> String {
        format!("{}{{\"a\":{{\"eq\":1}}}}{}", "{\"not\":".repeat(levels), "}".repeat(levels))
    }

    #[test]
    fn conditions_are_read() {
        let is = |column: &str, op: &str, values: &[&str]| {
            let values = values.iter().map(|value| (*value).to_owned()).collect();
            let (column, op) = (column.to_owned(), Op::named(op).expect("an operator"));
            Condition::Is(Filter { column, op, values })
        };
        let not = |one| Condition::Not(Box::new(one));
        for (text, expected) in [
            (r#"{"a":{"eq":"x\u00fc"}}"#, is("a", "eq", &["xü"])),
            // As written: a double would lose digits.
            (
                r#"{"a":{"gt":12345678901234567890.10}}"#,
                is("a", "gt", &["12345678901234567890.10"]),
            ),
            (r#" { "a" : { "null" : true } } "#, is("a", "null", &["true"])),
            (r#"{"a":{"in":["x,y",2,false]}}"#, is("a", "in", &["x,y", "2", "false"])),
            (
                r#"{"a":{"gte":1,"lt":5},"b":{"eq":""}}"#,
                Condition::All(vec![
                    is("a", "gte", &["1"]),
                    is("a", "lt", &["5"]),
                    is("b", "eq", &[""]),
                ]),
            ),
            (
                r#"{"or":[{"a":{"eq":1}},{"not":{"b":{"eq":2}}}]}"#,
                Condition::Any(vec![is("a", "eq", &["1"]), not(is("b", "eq", &["2"]))]),
            ),
            (
                r#"{"and":[{"a":{"eq":1}},{"and":[{"b":{"eq":2}}]}]}"#,
                Condition::All(vec![is("a", "eq", &["1"]), is("b", "eq", &["2"])]),
            ),
            (r#"{"and":[{"a":{"eq":1}}]}"#, is("a", "eq", &["1"])),
            // Only the table knows its columns.
            (r#"{"A.B":{"ne":1}}"#, is("A.B", "ne", &["1"])),
        ] {
            assert_eq!(read(text).expect(text), expected, "{text}");
        }
        assert!(read(&nested(MAX_DEPTH)).is_ok());
    }

    #[test]
    fn whatever_cannot_be_read_is_refused_with_a_hint() {
        let deep = nested(MAX_DEPTH + 1);
        let deepest = nested(100_000);
        let lists = "{\"and\":[".repeat(9) + "{\"a\":{\"eq\":1}}" + &"]}".repeat(9);
        for (text, hint) in [
            ("", "write it like"),
            ("x", "write it like"),
            ("[]", "write it like"),
            ("null", "write it like"),
            (r#"{"a":{"eq":1}} x"#, "write it like"),
            (r#"{"a":{"eq":1}"#, "write it like"),
            ("{}", "name a column"),
            (r#"{"or":[]}"#, "leave it out"),
            (r#"{"and":[]}"#, "leave it out"),
            (r#"{"or":[{}]}"#, "leave the object out"),
            (r#"{"not":{}}"#, "leave the object out"),
            (r#"{"not":[{"a":{"eq":1}}]}"#, "write it like"),
            (r#"{"or":{"a":{"eq":1}}}"#, "a list of objects"),
            (r#"{"or":[1]}"#, "write it like"),
            (r#"{"a":1}"#, r#"{"a":{"eq":…}}"#),
            (r#"{"a":null}"#, r#"{"a":{"null":true}}"#),
            (r#"{"a":{}}"#, "asks nothing"),
            (r#"{"a":{"eq":null}}"#, r#"{"a":{"null":true}}"#),
            (r#"{"a":{"in":[1,null]}}"#, r#"{"a":{"null":true}}"#),
            (r#"{"a":{"in":[]}}"#, "name a value"),
            (r#"{"a":{"in":"x,y"}}"#, "a list is expected"),
            (r#"{"a":{"nin":[[1]]}}"#, "a number"),
            (r#"{"a":{"eq":[1]}}"#, "in and nin"),
            (r#"{"a":{"eq":{"b":1}}}"#, "a number"),
            (r#"{"a":{"eq":1},"a":{"eq":2}}"#, "twice"),
            (r#"{"a":{"gt":1,"gt":2}}"#, "twice"),
            (r#"{"or":[{"a":{"eq":1}}],"or":[{"b":{"eq":1}}]}"#, "twice"),
            (r#"{"a":{"eq":"\ud800"}}"#, "not read"),
            (r#"{"a":{"like":1}}"#, "there are eq"),
            (&deep, "at most 8 deep"),
            (&deepest, "at most 8 deep"),
            (&lists, "at most 8 deep"),
        ] {
            let shown: String = text.chars().take(60).collect();
            let refused = read(text).expect_err(&shown);
            assert_eq!(refused.code(), Code::BadQuery, "{shown}");
            assert!(refused.detail().contains(hint), "{shown}: {}", refused.detail());
        }
    }

    #[test]
    fn every_column_is_judged() {
        for (text, expected) in [
            (r#"{"a":{"eq":1}}"#, true),
            (r#"{"b":{"eq":1}}"#, false),
            (r#"{"a":{"eq":1},"or":[{"a":{"eq":1}},{"not":{"and":[{"b":{"eq":1}}]}}]}"#, false),
            (r#"{"\u0062":{"eq":1}}"#, false),
            ("no JSON", true),
        ] {
            assert_eq!(names_only(text, |column| column == "a"), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(
            text in "\\PC{0,40}",
            parts in "([{}\\[\\]\":,1]|and|or|not|null|a){0,40}",
        ) {
            let _ = read(&text);
            let _ = read(&parts);
            let _ = read(&format!("{{\"a\":{{\"eq\":{parts}}}}}"));
            let _ = read(&format!("{{\"or\":[{parts}]}}"));
        }
    }
}
