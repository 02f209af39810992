//! Conditions: rules over answers, in groups. Funnels choose their way and their mails by
//! conditions. One evaluator serves all, pure and total: every condition has a result, and
//! nothing panics.
//!
//! ```
//! use cms_core::conditions::{Condition, Surroundings};
//! use serde_json::json;
//!
//! let condition = Condition::read(&json!({"operator": "OR", "rules": [
//!     {"field": "budget", "op": "greater_or_equal", "value": 5000},
//!     {"field": "address.country", "op": "in", "value": ["DE", "AT"]},
//! ]}));
//! let answers = json!({"budget": "1200", "address": {"country": "AT"}});
//! let answers = answers.as_object().unwrap();
//! assert!(condition.evaluate(answers, &Surroundings::at(0)));
//! ```
//!
//! ```text
//! condition  read, evaluated, with reasons   group       rules and groups of them
//! operand    operators and their values      answers     what a rule's field names
//! scalar     equality of two values          membership  the same against many
//! exact      numbers of any length           moment      dates and times, and their order
//! texts      texts searched for in texts     pattern     regular expressions
//! check      what may be saved
//! ```

mod answers;
mod check;
mod condition;
mod exact;
mod group;
mod membership;
mod moment;
mod operand;
mod pattern;
mod scalar;
mod texts;

pub use answers::Surroundings;
pub(crate) use answers::{AROUND, find};
pub(crate) use check::costly;
pub use check::{CheckedConditions, Problem, Severity, check};
pub use condition::{Condition, Traced};
pub use operand::Operator;
pub(crate) use pattern::MOST_STATES;

#[cfg(test)]
mod tests {
    mod cases;
    mod laws;
}
