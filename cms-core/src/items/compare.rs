//! Conditions and orders of a query that a program writes, with the grammar of the REST API.

use super::{Condition, Filter, Op, query::Query};

/// A comparison for a column: made by [`eq`], [`gte`], [`one_of`] and the like.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    pub(super) op: Op,
    pub(super) values: Vec<String>,
}

/// A value that a column is compared with, as the REST API writes it.
pub trait Operand {
    /// Its text.
    fn text(&self) -> String;
}

macro_rules! operands {
    ($($name:ty),*) => {$(
        impl Operand for $name {
            fn text(&self) -> String {
                self.to_string()
            }
        }
    )*};
}
operands!(str, String, i64, i32, u32, f64, bool);

impl<T: Operand + ?Sized> Operand for &T {
    fn text(&self) -> String {
        (**self).text()
    }
}

macro_rules! tests {
    ($($(#[$doc:meta])* $name:ident = $op:ident;)*) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $name(value: impl Operand) -> Test {
            Test { op: Op::$op, values: vec![value.text()] }
        }
    )*};
}
tests! {
    /// Equal.
    eq = Eq;
    /// Not equal, or null.
    ne = Ne;
    /// Greater.
    gt = Gt;
    /// Greater or equal.
    gte = Gte;
    /// Less.
    lt = Lt;
    /// Less or equal.
    lte = Lte;
    /// Contains the text, ignoring ASCII case.
    contains = Contains;
    /// Starts with the text.
    starts_with = StartsWith;
    /// Ends with the text.
    ends_with = EndsWith;
}

/// One of these values, of which there are 1 to 500.
#[must_use]
pub fn one_of(values: impl IntoIterator<Item = impl Operand>) -> Test {
    Test { op: Op::In, values: values.into_iter().map(|value| value.text()).collect() }
}

/// None of these values, or null.
#[must_use]
pub fn none_of(values: impl IntoIterator<Item = impl Operand>) -> Test {
    Test { op: Op::Nin, values: values.into_iter().map(|value| value.text()).collect() }
}

/// Null, or with `false` not null.
#[must_use]
pub fn null(is_null: bool) -> Test {
    Test { op: Op::Null, values: vec![is_null.to_string()] }
}

/// A condition on a column, to combine with others.
#[must_use]
pub fn column(name: &str, Test { op, values }: Test) -> Condition {
    Condition::Is(Filter { column: name.to_owned(), op, values })
}

/// An order by a column: made by [`asc`] and [`desc`].
#[derive(Clone, Debug, PartialEq)]
pub struct Sort(pub(super) String, pub(super) bool);

/// From the least value.
#[must_use]
pub fn asc(column: &str) -> Sort {
    Sort(column.to_owned(), false)
}

/// From the greatest value.
#[must_use]
pub fn desc(column: &str) -> Sort {
    Sort(column.to_owned(), true)
}

impl Query {
    /// Selects all records, 50 a page, in the order of the key. Limits and columns are checked
    /// when the query runs: `bad_query`.
    ///
    /// ```
    /// use cms_core::items::{Query, desc, gte, one_of};
    ///
    /// let query = Query::new()
    ///     .filter("total", gte(10))
    ///     .filter("status", one_of(["open", "paid"]))
    ///     .sort(desc("id"))
    ///     .limit(20);
    /// assert_eq!(query.filters.len(), 2);
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a condition on a column. All conditions of a query must hold.
    #[must_use]
    pub fn filter(mut self, column: &str, Test { op, values }: Test) -> Self {
        self.filters.push(Filter { column: column.to_owned(), op, values });
        self
    }

    /// Adds a condition that holds when at least one of these holds. An empty list is refused when
    /// the query runs: `bad_query`.
    ///
    /// ```
    /// use cms_core::items::{Query, column, eq, gte};
    ///
    /// let query = Query::new()
    ///     .filter("total", gte(10))
    ///     .any([column("status", eq("new")), column("paid", eq(true))]);
    /// assert_eq!((query.filters.len(), query.conditions.len()), (1, 1));
    /// ```
    #[must_use]
    pub fn any(self, conditions: impl IntoIterator<Item = Condition>) -> Self {
        self.matching(Condition::Any(conditions.into_iter().collect()))
    }

    /// Adds a combined condition. All conditions of a query must hold.
    ///
    /// ```
    /// use cms_core::items::{Query, column, eq, gte, not};
    ///
    /// let paid = column("total", gte(10)).and(column("paid", eq(true)));
    /// let query = Query::new().matching(not(paid));
    /// assert_eq!(query.conditions.len(), 1);
    /// ```
    #[must_use]
    pub fn matching(mut self, condition: Condition) -> Self {
        self.require(condition);
        self
    }

    /// Adds an order for records that the earlier orders leave equal.
    #[must_use]
    pub fn sort(mut self, Sort(column, is_descending): Sort) -> Self {
        self.sort.push((column, is_descending));
        self
    }

    /// Records of a page, 1 to 500.
    #[must_use]
    pub fn limit(self, limit: u32) -> Self {
        Self { limit, ..self }
    }

    /// Begins after a page. `cursor` is the `next` of that page.
    #[must_use]
    pub fn after(self, cursor: impl Into<String>) -> Self {
        Self { cursor: Some(cursor.into()), ..self }
    }

    /// Only versions in this language.
    #[must_use]
    pub fn language(self, language: &str) -> Self {
        Self { language: Some(language.to_owned()), ..self }
    }

    /// Only records with this text in at least one text column, ignoring ASCII case.
    #[must_use]
    pub fn search(self, text: &str) -> Self {
        Self { search: Some(text.to_owned()), ..self }
    }

    /// Only these columns.
    #[must_use]
    pub fn fields<'n>(self, columns: impl IntoIterator<Item = &'n str>) -> Self {
        Self { fields: columns.into_iter().map(str::to_owned).collect(), ..self }
    }

    /// Replaces a reference by the record that it names.
    #[must_use]
    pub fn expand(mut self, column: &str) -> Self {
        self.expand.push(column.to_owned());
        self
    }

    /// Also counts all matching records.
    #[must_use]
    pub fn count(self) -> Self {
        Self { count: true, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ground::filter::MAX_DEPTH, items::not};

    fn parsed(filter: &str) -> Query {
        Query::parse([("filter", filter)]).unwrap_or_else(|error| panic!("{filter}: {error:?}"))
    }

    #[test]
    fn programs_say_what_requests_say() {
        let (a, b) = (|| column("a", eq("x")), || column("b", gte(10)));
        for (query, filter) in [
            (Query::new().filter("a", eq("x")), r#"{"a":{"eq":"x"}}"#),
            (
                Query::new().filter("b", gte(10)).filter("b", lt(20)),
                r#"{"and":[{"b":{"gte":10}},{"b":{"lt":20}}]}"#,
            ),
            (Query::new().any([a(), b()]), r#"{"or":[{"a":{"eq":"x"}},{"b":{"gte":10}}]}"#),
            (
                Query::new().filter("a", eq("x")).any([b(), column("c", null(true))]),
                r#"{"or":[{"b":{"gte":10}},{"c":{"null":true}}],"a":{"eq":"x"}}"#,
            ),
            (Query::new().matching(a().and(b())), r#"{"a":{"eq":"x"},"b":{"gte":10}}"#),
            (
                Query::new().matching(not(a().or(b()).or(column("c", one_of([1, 2]))))),
                r#"{"not":{"or":[{"a":{"eq":"x"}},{"b":{"gte":10}},{"c":{"in":[1,2]}}]}}"#,
            ),
            (
                Query::new().any([a(), b().and(not(a())).and(column("c", eq(true)))]),
                r#"{"or":[{"a":{"eq":"x"}},
                    {"b":{"gte":10},"not":{"a":{"eq":"x"}},"c":{"eq":true}}]}"#,
            ),
        ] {
            assert_eq!(query, parsed(filter), "{filter}");
        }
    }

    #[test]
    fn limits_count_every_filter() {
        let some = |count: usize| (0..count).map(|n| column("a", eq(n as i64)));
        let nested = |levels: usize| {
            (0..levels).fold(column("a", eq(1)), |one, _| column("a", eq(1)).or(one))
        };
        let mixed = |count: usize| Query::new().filter("a", eq(1)).any(some(count));
        let list = |count: i64| Query::new().matching(not(column("a", one_of(0..count))));
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
