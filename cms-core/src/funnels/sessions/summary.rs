//! What lists show of a submission. Pure.

use super::sql::SubmissionSummary;
use crate::fields::{Answer, summary};

/// What lists show of the answers.
pub(super) fn of(answers: &[Answer]) -> SubmissionSummary {
    let first = |fits: &dyn Fn(&Answer) -> bool| {
        answers.iter().find(|answer| fits(answer)).map(|answer| answer.text.clone())
    };
    let of_type = |name: &str| first(&|answer| answer.field_type == name);
    let of_id = |ids: &[&str]| first(&|answer| ids.contains(&answer.field.as_str()));
    let score = answers.iter().find(|answer| answer.field == "score");
    SubmissionSummary {
        name: of_type("full_name").or_else(|| of_id(&["name", "full_name"])),
        email: of_type("email"),
        phone: of_type("phone"),
        company: of_id(&["company", "company_name", "organisation", "organization"]),
        summary: summary(answers),
        score: score.and_then(|answer| answer.value.as_f64()),
        ..SubmissionSummary::default()
    }
}
