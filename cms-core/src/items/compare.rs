//! Conditions and orders of a query that a program writes, with the grammar of the REST API.

use super::query::{Op, Query};

/// What a column is compared with: made by [`eq`], [`gte`], [`one_of`] and the like.
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

/// An order by a column: made by [`asc`] and [`desc`].
#[derive(Clone, Debug, PartialEq)]
pub struct Order(pub(super) String, pub(super) bool);

/// From the least value.
#[must_use]
pub fn asc(column: &str) -> Order {
    Order(column.to_owned(), false)
}

/// From the greatest value.
#[must_use]
pub fn desc(column: &str) -> Order {
    Order(column.to_owned(), true)
}

impl Query {
    /// All records, 50 a page, in the order of the key. Limits and columns are checked when it is
    /// asked: `bad_query`.
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

    /// One more condition, which must hold too.
    #[must_use]
    pub fn filter(mut self, column: &str, Test { op, values }: Test) -> Self {
        self.filters.push(super::Filter { column: column.to_owned(), op, values });
        self
    }

    /// One more order, among what the orders before leave equal.
    #[must_use]
    pub fn sort(mut self, Order(column, is_descending): Order) -> Self {
        self.sort.push((column, is_descending));
        self
    }

    /// Records of a page, 1 to 500.
    #[must_use]
    pub fn limit(self, limit: u32) -> Self {
        Self { limit, ..self }
    }

    /// Begins after a page: at its `next`.
    #[must_use]
    pub fn after(self, cursor: impl Into<String>) -> Self {
        Self { cursor: Some(cursor.into()), ..self }
    }

    /// Only versions in this language.
    #[must_use]
    pub fn language(self, language: &str) -> Self {
        Self { language: Some(language.to_owned()), ..self }
    }

    /// Text that at least one text column contains, ignoring ASCII case.
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
