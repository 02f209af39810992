//! What completed visits answered, field by field. Pure.

use std::collections::{BTreeMap, HashMap};

use super::{
    shape::{AnalyticsField, AnalyticsValue},
    sql::Tally,
};
use crate::funnels::{
    counters::{
        answers::{is_counted, options},
        sql::AnswerCounts,
    },
    definitions::versions::Version,
};

/// Maximum number of answers that are shown for a field.
const TOP: usize = 10;

#[derive(Default)]
struct FieldFigures<'a> {
    answered: i64,
    blank: i64,
    values: BTreeMap<&'a str, i64>,
}

/// The fields of the newest version in their order, then fields that only older versions have.
pub(super) fn fields(
    tally: &[Tally],
    counted: &AnswerCounts,
    newest: Option<&Version>,
) -> Vec<AnalyticsField> {
    let mut found: BTreeMap<&str, FieldFigures<'_>> = BTreeMap::new();
    let mut add = |what: &str, field, value, visits| {
        match what {
            "answered" => found.entry(field).or_default().answered += visits,
            "blank" => found.entry(field).or_default().blank += visits,
            "value" => *found.entry(field).or_default().values.entry(value).or_default() += visits,
            _ => {}
        };
    };
    for one in tally {
        add(&one.what, one.name.as_str(), one.value.as_str(), one.visits);
    }
    for ((.., what, field, value), visits) in counted {
        add(what, field.as_str(), value.as_str(), *visits);
    }
    let mut told = Vec::new();
    let nodes = newest.into_iter().flat_map(|version| version.graph.nodes());
    let asked = nodes.flat_map(|node| node.fields().map(move |field| (node, field)));
    let asked: Vec<_> = asked.collect();
    // Steps that exclude each other may ask for one field, each with options of its own.
    let mut labels: HashMap<&str, HashMap<String, String>> = HashMap::new();
    for (node, field) in &asked {
        let labels = labels.entry(field.id()).or_default();
        for (id, label) in options(node, field) {
            labels.entry(id).or_insert(label);
        }
    }
    for (_, field) in asked {
        if !is_counted(field) || told.iter().any(|one: &AnalyticsField| one.field == field.id()) {
            continue;
        }
        let label = Some(field.common().label.clone()).filter(|label| !label.is_empty());
        let found = found.remove(field.id()).unwrap_or_default();
        let labels = labels.remove(field.id()).unwrap_or_default();
        told.push(field_of(field.id(), Some(field.type_name()), label, found, &labels));
    }
    let gone =
        found.into_iter().map(|(id, found)| field_of(id, None, None, found, &HashMap::new()));
    told.extend(gone);
    told
}

fn field_of(
    id: &str,
    field_type: Option<&str>,
    label: Option<String>,
    found: FieldFigures<'_>,
    labels: &HashMap<String, String>,
) -> AnalyticsField {
    let mut top: Vec<_> = found.values.into_iter().collect();
    top.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let told = |(value, count): (&str, i64)| {
        let label = labels.get(value).filter(|label| !label.is_empty()).cloned();
        AnalyticsValue { value: value.to_owned(), label, count }
    };
    AnalyticsField {
        field: id.to_owned(),
        field_type: field_type.map(str::to_owned),
        label,
        answered: found.answered,
        blank: found.blank,
        top: top.into_iter().take(TOP).map(told).collect(),
    }
}
