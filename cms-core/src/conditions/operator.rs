//! The fifteen operators.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a rule asks of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ConditionOperator")]
pub enum Operator {
    /// Answer and value say the same.
    Equals,
    /// The complement of `equals`.
    NotEquals,
    /// The answer comes after the value.
    GreaterThan,
    /// The answer comes before the value.
    LessThan,
    /// The answer comes after the value, or ranks equal to it.
    GreaterOrEqual,
    /// The answer comes before the value, or ranks equal to it.
    LessOrEqual,
    /// A text holds the value, a list holds it as an element; all of them for a list of values.
    Contains,
    /// The complement of `contains`.
    NotContains,
    /// A text begins with the value, or with one of a list.
    StartsWith,
    /// A text ends with the value, or with one of a list.
    EndsWith,
    /// A regular expression finds something in the text.
    RegexMatch,
    /// The answer is one of a list; one element is enough for an answer that is a list.
    In,
    /// The complement of `in`.
    NotIn,
    /// The answer is blank.
    IsEmpty,
    /// The complement of `is_empty`.
    IsNotEmpty,
}

impl Operator {
    /// Every operator.
    pub const ALL: [Self; 15] = [
        Self::Equals,
        Self::NotEquals,
        Self::GreaterThan,
        Self::LessThan,
        Self::GreaterOrEqual,
        Self::LessOrEqual,
        Self::Contains,
        Self::NotContains,
        Self::StartsWith,
        Self::EndsWith,
        Self::RegexMatch,
        Self::In,
        Self::NotIn,
        Self::IsEmpty,
        Self::IsNotEmpty,
    ];

    /// Its name in rules.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Equals => "equals",
            Self::NotEquals => "not_equals",
            Self::GreaterThan => "greater_than",
            Self::LessThan => "less_than",
            Self::GreaterOrEqual => "greater_or_equal",
            Self::LessOrEqual => "less_or_equal",
            Self::Contains => "contains",
            Self::NotContains => "not_contains",
            Self::StartsWith => "starts_with",
            Self::EndsWith => "ends_with",
            Self::RegexMatch => "regex_match",
            Self::In => "in",
            Self::NotIn => "not_in",
            Self::IsEmpty => "is_empty",
            Self::IsNotEmpty => "is_not_empty",
        }
    }

    /// The operator of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operator| operator.name() == name)
    }

    /// Whether it is the complement of another.
    pub(super) fn is_complement(self) -> bool {
        matches!(self, Self::NotEquals | Self::NotContains | Self::NotIn | Self::IsNotEmpty)
    }
}
