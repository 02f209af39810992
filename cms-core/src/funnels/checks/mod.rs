//! Finds everything that is wrong with a funnel, at once. Pure.
//!
//! ```text
//! drawing     faults that prevent storing or strand visitors, ways that lead nowhere
//! fields      fields that are asked twice, and what they are computed from
//! conditions  conditions, the fields that they read, and when these are asked
//! mails       mail rules against the fields of the funnel
//! ```

mod conditions;
mod drawing;
mod fields;
mod mails;
#[cfg(test)]
mod tests;

use super::{graph::Graph, problem::Problem, rules::Rule, settings::FunnelSettings};

/// Findings, grouped by their effect.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// The funnel cannot be stored.
    pub(super) errors: Vec<Problem>,
    /// The funnel can be stored but not published.
    pub(super) blockers: Vec<Problem>,
    /// Hints for the author. Only `strict` refuses a funnel for them.
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
    drawing::structure(graph, &mut found);
    fields::check(graph, &mut found);
    fields::computed(graph, &mut found);
    conditions::check(graph, rules, &mut found);
    drawing::publish(graph, &mut found);
    drawing::ways(graph, &mut found);
    conditions::reads(graph, rules, &mut found);
    mails::check(graph, rules, settings.page_url.is_some(), &mut found);
    found
}
