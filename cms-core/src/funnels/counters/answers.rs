//! Which answers are counted. Pure.

use serde_json::{Map, Value as Json};

use super::sql::{AnswerCounts, Answered};
use crate::{
    Error, Result,
    fields::{Field, OTHER, is_blank},
    funnels::{
        definitions::versions::Version,
        graph::{Node, is_asked},
    },
};

/// Adds the answers of a completed visit. For each field on its path, counts whether it was
/// answered and, if the possible answers are known, what was answered.
pub(in crate::funnels) fn count(
    version: &Version,
    visit: &Answered,
    counted: &mut AnswerCounts,
) -> Result<()> {
    let (_, funnel, number, day, path, answers, _) = visit;
    let Some(answers) = answers else { return Ok(()) };
    let path: Vec<i64> = serde_json::from_str(path).map_err(Error::internal)?;
    let answers: Map<String, Json> = serde_json::from_str(answers).map_err(Error::internal)?;
    let mut add = |what, field: &Field, value: String| {
        let key = (*funnel, *number, day.clone(), what, field.id().to_owned(), value);
        *counted.entry(key).or_default() += 1;
    };
    for node in path.iter().filter_map(|id| version.graph.node(*id)) {
        for field in node.fields().filter(|field| is_counted(field)) {
            match answers.get(field.id()).filter(|answer| !is_blank(answer)) {
                None => add("blank", field, String::new()),
                Some(answer) => {
                    add("answered", field, String::new());
                    for value in values(node, field, answer) {
                        add("value", field, value);
                    }
                }
            }
        }
    }
    Ok(())
}

/// Whether visitors answer the field.
pub(in crate::funnels) fn is_counted(field: &Field) -> bool {
    is_asked(field) && !field.names().is_empty()
}

/// The ids of the options that a field offers, with their labels.
pub(in crate::funnels) fn options(node: &Node, field: &Field) -> Vec<(String, String)> {
    let fields = node.config.get("fields").and_then(Json::as_array);
    let declared = fields.into_iter().flatten().find(|one| one["id"] == field.id());
    let options = declared.and_then(|one| one["options"].as_array()).into_iter().flatten();
    let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
    options.map(|one| (text(&one["id"]), text(&one["label"]))).collect()
}

/// The values that an answer is counted as. Free texts are not counted, because they may identify
/// their writers.
fn values(node: &Node, field: &Field, answer: &Json) -> Vec<String> {
    let given: Vec<&Json> = match answer {
        Json::Array(values) => values.iter().collect(),
        one => vec![one],
    };
    match field.type_name() {
        "yes_no" | "checkbox" | "consent" | "rating" | "nps" | "opinion_scale" => {
            given.into_iter().map(Json::to_string).collect()
        }
        "country" => given.into_iter().filter_map(Json::as_str).map(str::to_owned).collect(),
        "single_choice" | "multiple_choice" | "dropdown" | "picture_choice" => {
            let options = options(node, field);
            let is_offered = |value: &&str| options.iter().any(|(id, _)| id == value);
            let known =
                |value: &Json| value.as_str().filter(is_offered).unwrap_or(OTHER).to_owned();
            let mut values: Vec<_> = given.into_iter().map(known).collect();
            values.sort();
            values.dedup();
            values
        }
        _ => Vec::new(),
    }
}
