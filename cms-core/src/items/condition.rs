//! Filters that combine: with `and`, `or` and `not`.

use super::{
    compare::Test,
    query::{Filter, Op, Query, bad},
};
use crate::{
    Result,
    ground::filter::{self, MAX_DEPTH, Spelled, deeper},
};

/// What a record must fulfil. Written with [`of`]:
///
/// ```
/// use cms_core::items::{Query, eq, gte, of};
///
/// let paid = of("total", gte(10)).and(of("paid", eq(true)));
/// let query = Query::new().any([of("status", eq("new")), paid]);
/// assert_eq!(query.conditions.len(), 1);
/// ```
#[derive(Clone, Debug, PartialEq)]
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

/// A condition on a column, to combine with others.
#[must_use]
pub fn of(column: &str, Test { op, values }: Test) -> Condition {
    Condition::Is(Filter { column: column.to_owned(), op, values })
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

impl Query {
    /// At least one of these holds, and all conditions beside them. An empty list is refused when
    /// the query is asked: `bad_query`.
    ///
    /// ```
    /// use cms_core::items::{Query, eq, gte, of};
    ///
    /// let query = Query::new()
    ///     .filter("total", gte(10))
    ///     .any([of("status", eq("new")), of("paid", eq(true))]);
    /// assert_eq!((query.filters.len(), query.conditions.len()), (1, 1));
    /// ```
    #[must_use]
    pub fn any(self, conditions: impl IntoIterator<Item = Condition>) -> Self {
        self.matching(Condition::Any(conditions.into_iter().collect()))
    }

    /// One more condition, which must hold too.
    ///
    /// ```
    /// use cms_core::items::{Query, eq, gte, not, of};
    ///
    /// let query = Query::new().matching(not(of("total", gte(10)).and(of("paid", eq(true)))));
    /// assert_eq!(query.conditions.len(), 1);
    /// ```
    #[must_use]
    pub fn matching(mut self, condition: Condition) -> Self {
        self.require(condition);
        self
    }

    /// What holds by itself stands among the filters, where orders and indexes find it.
    pub(super) fn require(&mut self, condition: Condition) {
        match condition {
            Condition::Is(filter) => self.filters.push(filter),
            Condition::All(list) if !list.is_empty() => {
                list.into_iter().for_each(|one| self.require(one));
            }
            other => self.conditions.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::items::{eq, gte, lt, null, one_of};

    fn parsed(filter: &str) -> Query {
        Query::parse([("filter", filter)]).unwrap_or_else(|error| panic!("{filter}: {error:?}"))
    }

    #[test]
    fn programs_say_what_requests_say() {
        let (a, b) = (|| of("a", eq("x")), || of("b", gte(10)));
        for (query, filter) in [
            (Query::new().filter("a", eq("x")), r#"{"a":{"eq":"x"}}"#),
            (
                Query::new().filter("b", gte(10)).filter("b", lt(20)),
                r#"{"and":[{"b":{"gte":10}},{"b":{"lt":20}}]}"#,
            ),
            (Query::new().any([a(), b()]), r#"{"or":[{"a":{"eq":"x"}},{"b":{"gte":10}}]}"#),
            (
                Query::new().filter("a", eq("x")).any([b(), of("c", null(true))]),
                r#"{"or":[{"b":{"gte":10}},{"c":{"null":true}}],"a":{"eq":"x"}}"#,
            ),
            (Query::new().matching(a().and(b())), r#"{"a":{"eq":"x"},"b":{"gte":10}}"#),
            (
                Query::new().matching(not(a().or(b()).or(of("c", one_of([1, 2]))))),
                r#"{"not":{"or":[{"a":{"eq":"x"}},{"b":{"gte":10}},{"c":{"in":[1,2]}}]}}"#,
            ),
            (
                Query::new().any([a(), b().and(not(a())).and(of("c", eq(true)))]),
                r#"{"or":[{"a":{"eq":"x"}},
                    {"b":{"gte":10},"not":{"a":{"eq":"x"}},"c":{"eq":true}}]}"#,
            ),
        ] {
            assert_eq!(query, parsed(filter), "{filter}");
        }
    }

    #[test]
    fn limits_count_every_filter() {
        let some = |count: usize| (0..count).map(|n| of("a", eq(n as i64)));
        let nested =
            |levels: usize| (0..levels).fold(of("a", eq(1)), |one, _| of("a", eq(1)).or(one));
        let mixed = |count: usize| Query::new().filter("a", eq(1)).any(some(count));
        let list = |count: i64| Query::new().matching(not(of("a", one_of(0..count))));
        for (query, hint) in [
            (mixed(49), None),
            (mixed(50), Some("At most 50 filters")),
            (list(500), None),
            (list(501), Some("at most 500 values")),
            (list(0), Some("needs a value")),
            (Query::new().any([]), Some("is empty")),
            (Query::new().matching(Condition::All(Vec::new())), Some("is empty")),
            (Query::new().matching(nested(MAX_DEPTH)), None),
            (Query::new().matching(nested(MAX_DEPTH + 1)), Some("at most 8 deep")),
        ] {
            let refused = query.check().err().map(|error| error.detail().to_owned());
            match (hint, &refused) {
                (None, None) => {}
                (Some(hint), Some(detail)) if detail.contains(hint) => {}
                _ => panic!("{hint:?} but {refused:?}"),
            }
        }
    }
}
