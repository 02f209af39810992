//! Filters that combine: with `and`, `or` and `not`.

use crate::{
    Result,
    db::Kind,
    ground::filter::{Condition, Filter, MAX_DEPTH, Op, bad, deeper},
};

impl Op {
    /// Whether columns of this kind can be compared in this way.
    #[must_use]
    pub fn compares(self, kind: Kind) -> bool {
        match self {
            Op::Null => true,
            Op::Contains | Op::StartsWith | Op::EndsWith => {
                matches!(kind, Kind::Text | Kind::Json)
            }
            _ => kind != Kind::Binary,
        }
    }
}

/// Holds where the condition does not hold, including where null leaves it open.
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

    /// All filters in it.
    ///
    /// # Errors
    /// `bad_query` for an empty list, and for conditions that are nested too deep.
    pub(super) fn filters(&self) -> Result<Vec<&Filter>> {
        let mut found = Vec::new();
        self.collect(MAX_DEPTH, &mut found)?;
        Ok(found)
    }

    /// Changes each filter. [`Condition::filters`] bounds how deep this goes.
    pub(super) fn each_filter(
        &mut self,
        change: &impl Fn(&mut Filter) -> Result<()>,
    ) -> Result<()> {
        match self {
            Self::Is(filter) => change(filter),
            Self::Not(one) => one.each_filter(change),
            Self::All(list) | Self::Any(list) => {
                list.iter_mut().try_for_each(|one| one.each_filter(change))
            }
        }
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
