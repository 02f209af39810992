//! A query of a table, read from query parameters, and filters that combine: with `and`, `or` and
//! `not`.

use super::{Condition, Filter, Op};
use crate::{
    DEFAULT_LIMIT, MAX_LIMIT, Result,
    db::Kind,
    ground::filter::{self, MAX_DEPTH, bad, deeper},
};

/// Maximum number of filters in one request, and of values in one `in` list.
const MAX_FILTERS: usize = 50;
const MAX_VALUES: usize = 500;
/// Maximum characters of a search.
const MAX_SEARCH: usize = 200;

/// Selects rows and columns of a table, and their order.
///
/// ```
/// use cms_core::items::Query;
/// let filter = ("filter[status][eq]", "new");
/// let query = Query::parse([("sort", "-created,title"), filter, ("limit", "20")])?;
/// assert_eq!(query.limit, 20);
/// # Ok::<(), cms_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Query {
    /// Only versions in this language.
    pub language: Option<String>,
    /// Rows of a page, 1 to 500.
    pub limit: u32,
    /// Position where the page starts: `meta.next` of the page before.
    pub cursor: Option<String>,
    /// Rows to skip. Slow for large numbers; a cursor is not.
    pub offset: u32,
    /// Columns to sort by; true means descending. The primary key follows in the direction of the
    /// last one.
    pub sort: Vec<(String, bool)>,
    /// Columns to show; empty means all.
    pub fields: Vec<String>,
    /// Conditions that must all hold.
    pub filters: Vec<Filter>,
    /// Combined conditions, each of which must hold too.
    pub conditions: Vec<Condition>,
    /// Text that at least one text column must contain, ignoring ASCII case.
    pub search: Option<String>,
    /// Columns that `search` looks in; empty means all text columns.
    pub search_in: Vec<String>,
    /// Also count all matching rows.
    pub count: bool,
    /// References to replace by the record they name.
    pub expand: Vec<String>,
    /// Only some of the rows, by their key: those that an index elsewhere has found. Cursors are
    /// not bound to this.
    pub within: Option<Within>,
}

/// Some rows of a table whose key is one whole number.
#[derive(Clone, Debug, PartialEq)]
pub enum Within {
    /// Rows with these keys.
    Keys(Vec<i64>),
    /// Rows from this key on.
    From(i64),
}

impl Default for Query {
    fn default() -> Self {
        Self {
            language: None,
            limit: DEFAULT_LIMIT,
            cursor: None,
            offset: 0,
            sort: Vec::new(),
            fields: Vec::new(),
            filters: Vec::new(),
            conditions: Vec::new(),
            search: None,
            search_in: Vec::new(),
            count: false,
            expand: Vec::new(),
            within: None,
        }
    }
}

impl Query {
    /// Parses decoded query parameters. Skips `table` and `id`, because they select the table
    /// and the record.
    ///
    /// # Errors
    /// `bad_query` for unknown or unreadable parameters.
    pub fn parse<'a>(parameters: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Self> {
        let mut query = Self::default();
        for (name, value) in parameters {
            match name {
                "table" | "id" => {}
                "language" => query.language = Some(value.to_owned()),
                "limit" => query.limit = number(name, value, 1, MAX_LIMIT)?,
                "offset" => query.offset = number(name, value, 0, i32::MAX as u32)?,
                "cursor" => query.cursor = Some(value.to_owned()),
                "sort" => {
                    query.sort = list(value)
                        .map(|c| {
                            c.strip_prefix('-')
                                .map_or((c.to_owned(), false), |c| (c.to_owned(), true))
                        })
                        .collect()
                }
                "fields" => query.fields = list(value).map(str::to_owned).collect(),
                "expand" => query.expand = list(value).map(str::to_owned).collect(),
                "count" => query.count = truth(name, value)?,
                "search" => query.search = Some(value.to_owned()).filter(|text| !text.is_empty()),
                "filter" => query.require(filter::read(value)?),
                _ => query.filters.push(filter(name, value)?),
            }
        }
        query.check()?;
        query.searched()?;
        Ok(query)
    }

    /// Adds a condition that must hold. Filters that must hold by themselves join `filters`, where
    /// orders and indexes find them.
    pub(super) fn require(&mut self, condition: Condition) {
        match condition {
            Condition::Is(filter) => self.filters.push(filter),
            Condition::All(list) if !list.is_empty() => {
                list.into_iter().for_each(|one| self.require(one));
            }
            other => self.conditions.push(other),
        }
    }

    /// Checks the limits, which are the same for programs and for requests.
    pub(super) fn check(&self) -> Result<()> {
        let mut filters: Vec<&Filter> = self.filters.iter().collect();
        for condition in &self.conditions {
            filters.extend(condition.filters()?);
        }
        if filters.len() > MAX_FILTERS {
            return Err(bad(format!("At most {MAX_FILTERS} filters.")));
        }
        if let Some(filter) = filters.iter().find(|filter| filter.values.is_empty()) {
            return Err(bad(format!("filter[{}] needs a value.", filter.column)));
        }
        if filters.iter().any(|filter| filter.values.len() > MAX_VALUES) {
            return Err(bad(format!("A list holds at most {MAX_VALUES} values.")));
        }
        if !(1..=MAX_LIMIT).contains(&self.limit) {
            return Err(bad(format!("limit must be a whole number from 1 to {MAX_LIMIT}.")));
        }
        if self.cursor.is_some() && self.offset > 0 {
            return Err(bad("Send either cursor or offset."));
        }
        Ok(())
    }

    /// The text that is searched for, within its limits.
    ///
    /// # Errors
    /// `bad_query` for more than 200 characters, and for U+0000.
    pub(crate) fn searched(&self) -> Result<Option<&str>> {
        match self.search.as_deref() {
            Some(text) if text.chars().count() > MAX_SEARCH => {
                Err(bad(format!("search takes at most {MAX_SEARCH} characters.")))
            }
            Some(text) if text.contains('\0') => {
                Err(bad("search cannot hold the character U+0000."))
            }
            text => Ok(text),
        }
    }
}

fn list(value: &str) -> impl Iterator<Item = &str> {
    value.split(',').map(str::trim).filter(|part| !part.is_empty())
}

fn number(name: &str, value: &str, from: u32, to: u32) -> Result<u32> {
    value
        .parse()
        .ok()
        .filter(|n| (from..=to).contains(n))
        .ok_or_else(|| bad(format!("{name} must be a whole number from {from} to {to}.")))
}

fn truth(name: &str, value: &str) -> Result<bool> {
    match value {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err(bad(format!("{name} must be true or false."))),
    }
}

/// `filter[column][op]=value` or `filter[column]=value`.
fn filter(name: &str, value: &str) -> Result<Filter> {
    let known = "table, id, language, limit, offset, cursor, sort, fields, expand, count, search, \
                 filter, filter[column][op]";
    let inside = name.strip_prefix("filter[").and_then(|rest| rest.strip_suffix(']'));
    let inside =
        inside.ok_or_else(|| bad(format!("There is no parameter {name:?}; there are {known}.")))?;
    let (column, op) = inside.rsplit_once("][").unwrap_or((inside, "eq"));
    let op = Op::named(op)?;
    let values = match op {
        Op::In | Op::Nin => value.split(',').map(str::to_owned).collect(),
        _ => vec![value.to_owned()],
    };
    Ok(Filter { column: column.to_owned(), op, values })
}

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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Code;

    #[test]
    fn parameters_are_read_or_refused() {
        let query = Query::parse([
            ("filter[a b][in]", "x,y"),
            ("filter[n]", "1"),
            ("sort", "-a, b"),
            ("count", "true"),
        ])
        .expect("query");
        assert_eq!(
            query.filters[0],
            Filter { column: "a b".into(), op: Op::In, values: vec!["x".into(), "y".into()] }
        );
        assert_eq!(query.filters[1].op, Op::Eq);
        assert_eq!(query.sort, [("a".to_owned(), true), ("b".to_owned(), false)]);
        for bad in [
            ("limit", "0"),
            ("limit", "501"),
            ("limit", "x"),
            ("offset", "-1"),
            ("count", "maybe"),
            ("limt", "5"),
            ("filter[a][like]", "x"),
            ("filter[a", "x"),
        ] {
            assert_eq!(Query::parse([bad]).map_err(|e| e.code()), Err(Code::BadQuery), "{bad:?}");
        }
        assert!(Query::parse([("cursor", "x"), ("offset", "3")]).is_err());
    }

    proptest! {
        #[test]
        fn nothing_panics(name in "\\PC{0,40}", value in "\\PC{0,40}") {
            let _ = Query::parse([(name.as_str(), value.as_str())]);
            let _ = Query::parse([("filter", value.as_str())]);
            let _ = Query::parse([(format!("filter[{name}][in]").as_str(), value.as_str())]);
        }
    }
}
