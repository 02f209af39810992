//! Filters that combine: with `and`, `or` and `not`.

use super::filter::{Filter, Op, bad};
use crate::{
    Result,
    ground::filter::{self, MAX_DEPTH, Spelled, deeper},
};

/// What a record must fulfil. Written with [`column`](super::column):
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

/// Holds where the condition does not, null included.
#[must_use]
pub fn not(condition: Condition) -> Condition {
    match condition {
        Condition::Not(one) => *one,
        one => Condition::Not(Box::new(one)),
    }
}

impl Condition {
    /// Holds where both hold.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match self {
            Self::All(mut all) => {
                all.push(other);
                Self::All(all)
            }
            one => Self::All(vec![one, other]),
        }
    }

    /// Holds where at least one of them holds.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        match self {
            Self::Any(mut any) => {
                any.push(other);
                Self::Any(any)
            }
            one => Self::Any(vec![one, other]),
        }
    }

    /// Reads the JSON of the parameter `filter`.
    ///
    /// # Errors
    /// `bad_query`.
    pub(super) fn read(text: &str) -> Result<Self> {
        Self::spelled(filter::read(text)?)
    }

    /// As deep as reading let it become.
    fn spelled(spelled: Spelled) -> Result<Self> {
        let all = |list: Vec<Spelled>| list.into_iter().map(Self::spelled).collect::<Result<_>>();
        Ok(match spelled {
            Spelled::Is { column, op, values } => {
                Self::Is(Filter { column, op: Op::named(&op)?, values })
            }
            Spelled::All(list) => Self::All(all(list)?),
            Spelled::Any(list) => Self::Any(all(list)?),
            Spelled::Not(one) => Self::Not(Box::new(Self::spelled(*one)?)),
        })
    }

    /// All filters in it.
    ///
    /// # Errors
    /// `bad_query` for an empty list, and for what nests too deep.
    pub(super) fn filters(&self) -> Result<Vec<&Filter>> {
        let mut found = Vec::new();
        self.collect(MAX_DEPTH, &mut found)?;
        Ok(found)
    }

    fn collect<'c>(&'c self, left: usize, found: &mut Vec<&'c Filter>) -> Result<()> {
        match self {
            Self::Is(filter) => found.push(filter),
            Self::Not(one) => one.collect(deeper(left)?, found)?,
            Self::All(list) | Self::Any(list) => {
                if list.is_empty() {
                    return Err(bad(
                        "A list of conditions is empty: give it one, or leave it out.",
                    ));
                }
                let left = deeper(left)?;
                list.iter().try_for_each(|one| one.collect(left, found))?;
            }
        }
        Ok(())
    }
}
