//! Rules, and groups of them, read leniently.

use std::borrow::Cow;

use serde_json::{Map, Value as Json};

use super::{Operator, Surroundings, answers::find, operand::Operand};

/// Characters of an unknown operator that are logged.
const SHOWN: usize = 40;

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
    fn read(declared: &Json) -> Self {
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
    fn is_unknown(&self) -> bool {
        self.operator.is_none()
    }

    /// Whether it searches for a pattern.
    fn searches(&self) -> bool {
        matches!(self.operand, Operand::Pattern(_))
    }

    /// Makes it fit no answer.
    fn switch_off(&mut self) {
        self.operand = Operand::Never;
    }

    /// False for an unknown operator.
    pub(super) fn holds(&self, answer: &Json, around: &Surroundings) -> bool {
        let Some(operator) = self.operator else { return false };
        self.operand.fits(answer, self.ci, around) != operator.is_complement()
    }
}

/// A group, or an unreadable value in its place.
#[derive(Clone, Debug)]
pub(super) enum Part {
    Group(Group),
    /// It cannot be read, so it never holds.
    Unreadable,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Group {
    pub(super) is_any: bool,
    /// None: it cannot be read, so it never holds.
    pub(super) rules: Vec<Option<Rule>>,
    pub(super) groups: Vec<Part>,
}

/// How much more of a condition may be read.
#[derive(Debug)]
pub(super) struct Budget {
    /// Rules and groups.
    pub(super) members: usize,
    pub(super) patterns: usize,
    /// The first unknown operator.
    pub(super) unknown: Option<String>,
}

impl Budget {
    fn take(&mut self) -> bool {
        self.members = self.members.saturating_sub(1);
        self.members > 0
    }

    /// Patterns cost memory: those beyond the limit match nothing.
    fn judge(&mut self, rule: &mut Rule) {
        if rule.is_unknown() && self.unknown.is_none() {
            self.unknown = Some(rule.name.chars().take(SHOWN).collect());
        }
        if rule.searches() {
            match self.patterns.checked_sub(1) {
                Some(left) => self.patterns = left,
                None => rule.switch_off(),
            }
        }
    }
}

impl Part {
    /// Reads any JSON as a group.
    pub(super) fn read(declared: &Json, levels: usize, budget: &mut Budget) -> Self {
        let members = match declared {
            Json::Null => return Self::Group(Group::default()),
            // An empty object, as PHP writes it.
            Json::Array(items) if items.is_empty() => return Self::Group(Group::default()),
            Json::Object(members) if levels > 0 => members,
            _ => return Self::Unreadable,
        };
        let is_any = match members.get("operator") {
            None | Some(Json::Null) => false,
            Some(Json::String(name)) if name.eq_ignore_ascii_case("and") => false,
            Some(Json::String(name)) if name.eq_ignore_ascii_case("or") => true,
            Some(_) => return Self::Unreadable,
        };
        let list = |name: &str| match members.get(name) {
            None | Some(Json::Null) => Some(&[][..]),
            Some(Json::Array(items)) => Some(items.as_slice()),
            Some(_) => None,
        };
        let (Some(rules), Some(groups)) = (list("rules"), list("groups")) else {
            return Self::Unreadable;
        };
        let mut group = Group { is_any, ..Group::default() };
        for rule in rules {
            if !budget.take() {
                return Self::Unreadable;
            }
            let mut rule = rule.is_object().then(|| Rule::read(rule));
            if let Some(rule) = rule.as_mut() {
                budget.judge(rule);
            }
            group.rules.push(rule);
        }
        for nested in groups {
            if !budget.take() {
                return Self::Unreadable;
            }
            group.groups.push(Self::read(nested, levels - 1, budget));
        }
        Self::Group(group)
    }

    pub(super) fn holds(&self, answers: &Map<String, Json>, around: &Surroundings) -> bool {
        let Self::Group(group) = self else { return false };
        let rules = group.rules.iter().map(|rule| {
            rule.as_ref().is_some_and(|rule| rule.holds(&rule.answer(answers, around), around))
        });
        let groups = group.groups.iter().map(|nested| nested.holds(answers, around));
        group.joins(rules.chain(groups))
    }

    pub(super) fn fields<'a>(&'a self, names: &mut Vec<&'a str>) {
        let Self::Group(group) = self else { return };
        for rule in group.rules.iter().flatten() {
            if !names.contains(&rule.field.as_str()) {
                names.push(&rule.field);
            }
        }
        for nested in &group.groups {
            nested.fields(names);
        }
    }
}

impl Group {
    /// The result of the group, from the results of its members.
    pub(super) fn joins(&self, mut members: impl Iterator<Item = bool>) -> bool {
        if self.rules.is_empty() && self.groups.is_empty() {
            return true;
        }
        if self.is_any { members.any(|holds| holds) } else { members.all(|holds| holds) }
    }
}
