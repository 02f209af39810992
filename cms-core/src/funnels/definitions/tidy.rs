//! What is stored of what was sent: conditions tidied, HTML without what runs.

use serde_json::{Map, Value as Json};

use crate::{conditions::check, funnels::rules::Rule, ground::html::sanitize};

/// The settings of a node. Operators of its condition are in upper case, lists are lists, nothing
/// is empty.
pub(super) fn config(config: &Map<String, Json>, condition: &Json) -> Map<String, Json> {
    let mut config = config.clone();
    if !condition.is_null() || config.contains_key("rules") {
        for beside in ["operator", "groups"] {
            config.remove(beside);
        }
        config.insert("rules".to_owned(), check(condition).stored);
    }
    let fields = config.get_mut("fields").and_then(Json::as_array_mut);
    for field in fields.into_iter().flatten().filter(|field| field["type"] == "statement") {
        if let Some(Json::String(html)) = field.get_mut("html") {
            *html = sanitize(html);
        }
    }
    config
}

/// A mail rule; its HTML was made harmless when it was read.
pub(super) fn rule(rule: &Rule) -> Rule {
    let condition = rule.condition.as_ref().map(|one| check(one).stored);
    Rule { condition: condition.filter(|one| !one.is_null()), ..rule.clone() }
}
