//! The options of a choice.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::kind::{Refusal, refuse, text_of};

/// A choice: its id is stored, its label is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Choice {
    /// Stays the same when the label changes.
    pub(super) id: String,
    /// What people see.
    #[serde(default)]
    pub(super) label: String,
    /// The picture, where choices have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) media_id: Option<i64>,
}

/// The id of the option for the visitor's own text.
pub(crate) const OTHER: &str = "other";
/// The separator of several values in a cell of a table.
pub(super) const CELL: &str = "; ";
/// Maximum length of the visitor's own text in characters, if no setting limits it.
pub(super) const OTHER_LENGTH: usize = 255;

/// Checks that no id occurs twice.
pub(super) fn check(options: &[Choice], member: &str) -> Result<(), Refusal> {
    let mut ids = BTreeSet::new();
    for Choice { id, .. } in options {
        if id.trim().is_empty() || id.chars().any(char::is_control) {
            return refuse("bad_config", format!("{member}: every id needs a text"));
        }
        if !ids.insert(id) {
            return refuse("bad_config", format!("{member}: {id:?} occurs twice"));
        }
    }
    Ok(())
}

/// The problem when fewer options exist than must be chosen.
pub(super) fn lack(options: usize, least: usize) -> Option<&'static str> {
    match options {
        0 => Some("options: at least one is expected"),
        few if few < least => Some("min: there are fewer options"),
        _ => None,
    }
}

pub(super) fn ids(options: &[Choice]) -> Vec<&str> {
    options.iter().map(|option| option.id.as_str()).collect()
}

/// The option of this id.
pub(super) fn find<'a>(options: &'a [Choice], given: &Json) -> Result<&'a Choice, Refusal> {
    let id = text_of(given)?;
    match options.iter().find(|option| option.id == id) {
        Some(option) => Ok(option),
        None => refuse("unknown_option", "one of the options is expected, by its id"),
    }
}

/// The given ids without duplicates, in the order of the options.
pub(super) fn several(options: &[Choice], given: &Json) -> Result<Vec<String>, Refusal> {
    let chosen: Vec<_> =
        list(given)?.iter().map(|one| find(options, one)).collect::<Result<_, _>>()?;
    let is_chosen = |option: &&Choice| chosen.iter().any(|one| one.id == option.id);
    Ok(options.iter().filter(is_chosen).map(|option| option.id.clone()).collect())
}

pub(super) fn list(given: &Json) -> Result<&Vec<Json>, Refusal> {
    match given.as_array() {
        Some(items) => Ok(items),
        None => refuse("type", "a list is expected"),
    }
}

/// Checks the number of chosen options.
pub(super) fn count(chosen: usize, min: usize, max: Option<usize>) -> Result<(), Refusal> {
    if chosen < min {
        return refuse("min", format!("at least {min} choices are expected"));
    }
    match max.filter(|max| chosen > *max) {
        Some(max) => refuse("max", format!("at most {max} choices are expected")),
        None => Ok(()),
    }
}

/// Labels for the ids of an answer; an id without a label is shown itself.
pub(super) fn labels(options: &[Choice], answer: &Json) -> String {
    joined(options, answer, ", ")
}

/// The same in a cell of a table.
pub(super) fn cell(options: &[Choice], answer: &Json) -> String {
    joined(options, answer, CELL)
}

fn joined(options: &[Choice], answer: &Json, separator: &str) -> String {
    match answer {
        Json::Array(ids) => {
            let labels: Vec<_> = ids.iter().map(|id| joined(options, id, separator)).collect();
            labels.join(separator)
        }
        Json::String(id) => {
            let label = options.iter().find(|option| option.id == *id).map(|one| &one.label);
            label.filter(|label| !label.is_empty()).unwrap_or(id).clone()
        }
        _ => String::new(),
    }
}
