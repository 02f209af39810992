//! Conditions on columns, before anybody knows the table. They stand on the ground floor because
//! rights judge their columns too.

use crate::{Code, Error, Result};

/// What a record must fulfil. Written with [`column`](crate::items::column):
///
/// ```
/// use cms_core::items::{Query, column, eq, gte};
///
/// let paid = column("total", gte(10)).and(column("paid", eq(true)));
/// let query = Query::new().any([column("status", eq("new")), paid]);
/// assert_eq!(query.conditions.len(), 1);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Condition {
    /// A column compares so.
    Is(Filter),
    /// All of these hold.
    All(Vec<Condition>),
    /// At least one of these holds.
    Any(Vec<Condition>),
    /// This does not hold: the exact complement, null included.
    Not(Box<Condition>),
}

/// One condition on a column.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    /// The column.
    pub column: String,
    /// How the column is compared.
    pub op: Op,
    /// Values to compare with; several only for `in` and `nin`.
    pub values: Vec<String>,
}

macro_rules! ops {
    ($($(#[$doc:meta])* $name:ident = $text:literal),* $(,)?) => {
        /// A comparison. The negative ones also match null, so `ne` is the complement of `eq`, and
        /// `nin` of `in`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Op { $($(#[$doc])* $name),* }
        impl Op {
            const ALL: &[(&str, Op)] = &[$(($text, Op::$name)),*];

            /// Each with the word that a filter names it by.
            pub fn all() -> impl Iterator<Item = (&'static str, Op)> {
                Self::ALL.iter().copied()
            }

            /// # Errors
            /// `bad_query`, with the words that there are.
            pub(crate) fn named(word: &str) -> Result<Self> {
                Self::all().find(|(text, _)| *text == word).map(|(_, op)| op).ok_or_else(|| {
                    let all: Vec<_> = Self::all().map(|(text, _)| text).collect();
                    let all = all.join(", ");
                    bad(format!("There is no operator {word:?}; there are {all}."))
                })
            }
        }
    };
}
ops! {
    /// Equal.
    Eq = "eq",
    /// Not equal, or null.
    Ne = "ne",
    /// Greater.
    Gt = "gt",
    /// Greater or equal.
    Gte = "gte",
    /// Less.
    Lt = "lt",
    /// Less or equal.
    Lte = "lte",
    /// One of the values; as a parameter, of a comma-separated list.
    In = "in",
    /// None of the list, or null.
    Nin = "nin",
    /// Contains the text, ignoring ASCII case.
    Contains = "contains",
    /// Starts with the text.
    StartsWith = "starts_with",
    /// Ends with the text.
    EndsWith = "ends_with",
    /// `true`: is null; `false`: is not null.
    Null = "null",
}

pub(crate) fn bad(detail: impl Into<String>) -> Error {
    Error::new(Code::BadQuery, detail)
}
