//! One rule: a field, an operator, a value.

use std::borrow::Cow;

use serde_json::{Map, Value as Json};

use super::{Operator, Surroundings, answers::find, operand::Operand};

/// A rule, read as far as possible: a missing or unknown part fits no answer.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub(super) field: String,
    /// The operator as it was given.
    pub(super) name: String,
    pub(super) value: Option<Json>,
    operator: Option<Operator>,
    ci: bool,
    operand: Operand,
}

impl Rule {
    pub(super) fn read(declared: &Json) -> Self {
        let text = |name: &str| declared.get(name).and_then(Json::as_str).unwrap_or_default();
        let (name, value) = (text("op"), declared.get("value"));
        let operator = Operator::find(name);
        let ci = declared.get("ci").and_then(Json::as_bool).unwrap_or(false);
        let read = |operator| Operand::read(operator, value.unwrap_or(&Json::Null), ci);
        Self {
            field: text("field").to_owned(),
            name: name.to_owned(),
            value: value.cloned(),
            operator,
            ci,
            operand: operator.map_or(Operand::Never, read),
        }
    }

    pub(super) fn answer<'a>(
        &self,
        answers: &'a Map<String, Json>,
        around: &'a Surroundings,
    ) -> Cow<'a, Json> {
        find(&self.field, answers, around)
    }

    /// Whether the operator is unknown.
    pub(super) fn is_unknown(&self) -> bool {
        self.operator.is_none()
    }

    /// Whether it searches for a pattern.
    pub(super) fn searches(&self) -> bool {
        matches!(self.operand, Operand::Pattern(_))
    }

    /// Makes it fit no answer.
    pub(super) fn switch_off(&mut self) {
        self.operand = Operand::Never;
    }

    /// False for an unknown operator.
    pub(super) fn holds(&self, answer: &Json, around: &Surroundings) -> bool {
        let Some(operator) = self.operator else { return false };
        self.operand.fits(answer, self.ci, around) != operator.is_complement()
    }
}
