//! What is wrong with a funnel, all of it at once. Pure.
//!
//! ```text
//! structure   what no funnel may be stored with
//! publish     what visitors would be stranded by
//! fields      fields that are asked twice, and addresses in their settings
//! computed    what fields are computed from
//! conditions  conditions, as JSON
//! reads       what conditions read, and when that is asked
//! ways        nodes that no visit comes to, ways that end nowhere
//! mails       mail rules against the fields of the funnel
//! ```

mod computed;
mod conditions;
mod fields;
mod mails;
mod publish;
mod reads;
mod structure;
#[cfg(test)]
mod tests;
mod ways;

use super::{graph::Graph, problem::Problem, rules::Rule, settings::FunnelSettings};

/// What was found, by what it forbids.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// The funnel is not stored.
    pub(super) errors: Vec<Problem>,
    /// It is stored but not published.
    pub(super) blockers: Vec<Problem>,
    /// Its author should know.
    pub(super) warnings: Vec<Problem>,
}

/// Checks a funnel that was read with the faults `errors`.
pub(super) fn check(
    graph: &Graph,
    rules: &[Rule],
    settings: &FunnelSettings,
    errors: Vec<Problem>,
) -> Findings {
    let mut found = Findings { errors, ..Findings::default() };
    found.warnings.extend(settings.misspelt());
    structure::check(graph, &mut found);
    fields::check(graph, &mut found);
    computed::check(graph, &mut found);
    conditions::check(graph, rules, &mut found);
    publish::check(graph, &mut found);
    ways::check(graph, &mut found);
    reads::check(graph, rules, &mut found);
    mails::check(graph, rules, settings.page_url.is_some(), &mut found);
    found
}
