//! The last call that a key was refused, and the right for exactly this call.

use cms_http::wire::{
    keys::{LastDenied, Read, Update},
    parameters::OneOrList,
};
use serde_json::{Value as Json, json};

use super::{KEY, right_text};
use crate::{
    calls::Fault,
    moment,
    screens::acts::{self, by_id, id, name},
    step::{Calling, Confirm, Step, get},
    text::safe,
    theme::Role,
};

pub(super) fn last(key: &Json) -> Result<Calling, Fault> {
    get::<LastDenied>(&by_id(key))
}

/// A line about it; None when no call was refused that a right could allow.
pub(super) fn line(denied: &Json, now: i64) -> Option<(Role, String)> {
    let at = moment::age(denied["at"].as_str()?, now);
    let text =
        format!("Last denied ({at}): {}; D grants exactly this.", right_text(&denied["right"]));
    Some((Role::Key, safe(&text).into_owned()))
}

/// Reads what was refused last, asks, and grants it.
pub(super) fn grant(key: Json) -> Step {
    let call = last(&key).map(|call| {
        call.then(move |reply| {
            let right = reply.data["right"].clone();
            if right.is_null() {
                let say = format!("{} was refused no call that a right could allow.", name(&key));
                return Step::Tell(say);
            }
            let text = format!("Grant {} exactly this: {}?", name(&key), right_text(&right));
            Step::Confirm(Confirm::new(text, move || add(&key, right)))
        })
    });
    call.into()
}

/// Adds a right to those that the key has now.
fn add(key: &Json, right: Json) -> Step {
    let call = get::<Read>(&OneOrList { id: Some(id(key)), ..OneOrList::default() });
    let call = call.map(|call| {
        call.then(move |reply| {
            let done = format!("may {}", right_text(&right));
            let rights = with(&reply.data["rights"], right);
            acts::change::<Update>(&KEY, &reply.data, json!({"rights": rights}), &done)
        })
    });
    call.into()
}

/// The rows with this one more; a row for the same calls gets its methods.
fn with(rows: &Json, right: Json) -> Vec<Json> {
    let mut rows = rows.as_array().cloned().unwrap_or_default();
    let same =
        |row: &&mut Json| row["endpoint"] == right["endpoint"] && row["query"] == right["query"];
    match rows.iter_mut().find(same) {
        Some(row) => {
            let mut methods = row["methods"].as_array().cloned().unwrap_or_default();
            let more = right["methods"].as_array().into_iter().flatten();
            methods.extend(more.filter(|one| !methods.contains(one)).cloned().collect::<Vec<_>>());
            row["methods"] = methods.into();
        }
        None => rows.push(right),
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_right_joins_the_row_for_the_same_calls() {
        let row = |query: Json, methods: Json| {
            let endpoint = "/api/backend/item";
            json!({"endpoint": endpoint, "query": query, "methods": methods})
        };
        let posts = || json!({"table": "posts"});
        let held = json!([row(posts(), json!(["GET"]))]);
        let joined = with(&held, row(posts(), json!(["POST"])));
        assert_eq!(joined, [row(posts(), json!(["GET", "POST"]))]);
        assert_eq!(
            with(&held, row(posts(), json!(["GET"]))),
            held.as_array().cloned().unwrap_or_default()
        );
        assert_eq!(with(&held, row(json!({}), json!(["GET"]))).len(), 2);
    }
}
