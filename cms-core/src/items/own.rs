//! Lists of the service's own rows. Callers filter, sort and search them by any column, as they do
//! with records. The lists are not content tables, so their rows are not items.

use std::{collections::HashMap, sync::OnceLock};

use serde::Deserialize;
use serde_json::{Map, Value as Json};
use sqlx::AssertSqlSafe;

use super::{
    Filter, Op, Test, page,
    query::Query,
    select::{Conditions, Statement},
};
use crate::{
    Change, Error, Page, Result,
    base::Base,
    content::{Column, Table, Tables},
    db::{Dialect, FromRow, Kind, PerEngine, Statement as Fixed, Value},
    ground::filter::bad,
    parse_rfc3339,
};

/// A column of a list.
#[derive(Clone, Copy)]
pub(crate) struct OwnColumn {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    is_nullable: bool,
    is_time: bool,
    is_searched: bool,
    is_folded: bool,
    /// The only values; empty: any value.
    pub(crate) choices: &'static [&'static str],
}

impl OwnColumn {
    const fn new(name: &'static str, kind: Kind) -> Self {
        let (is_nullable, is_time, is_searched, is_folded) = (false, false, false, false);
        Self { name, kind, is_nullable, is_time, is_searched, is_folded, choices: &[] }
    }

    /// A text column that holds only these values.
    pub(crate) const fn choice(name: &'static str, choices: &'static [&'static str]) -> Self {
        Self { choices, ..Self::text(name) }
    }

    pub(crate) const fn integer(name: &'static str) -> Self {
        Self::new(name, Kind::Integer)
    }

    pub(crate) const fn double(name: &'static str) -> Self {
        Self::new(name, Kind::Double)
    }

    pub(crate) const fn text(name: &'static str) -> Self {
        Self::new(name, Kind::Text)
    }

    pub(crate) const fn boolean(name: &'static str) -> Self {
        Self::new(name, Kind::Boolean)
    }

    /// Milliseconds in the database; RFC 3339 in conditions.
    pub(crate) const fn time(name: &'static str) -> Self {
        Self { is_time: true, ..Self::new(name, Kind::Integer) }
    }

    pub(crate) const fn nullable(self) -> Self {
        Self { is_nullable: true, ..self }
    }

    /// Lets searches look in this column.
    pub(crate) const fn searched(self) -> Self {
        Self { is_searched: true, ..self }
    }

    /// Makes values equal that differ only in the case of ASCII letters.
    pub(crate) const fn folded(self) -> Self {
        Self { is_folded: true, ..self }
    }

    pub(crate) const fn is_time(&self) -> bool {
        self.is_time
    }
}

/// The columns that a search looks in.
pub(crate) fn searched(columns: &[OwnColumn]) -> Vec<String> {
    columns.iter().filter(|one| one.is_searched).map(|one| one.name.to_owned()).collect()
}

/// The columns as callers write them: times are date-times.
pub(crate) fn columns(of: &[OwnColumn]) -> Vec<Column> {
    let kind = |one: &OwnColumn| if one.is_time { Kind::DateTime } else { one.kind };
    let allowed = |one: &OwnColumn| {
        (!one.choices.is_empty())
            .then(|| one.choices.iter().map(|choice| (*choice).into()).collect())
    };
    of.iter()
        .map(|one| Column { allowed: allowed(one), ..Column::declared(one.name, kind(one)) })
        .collect()
}

/// Turns the times in conditions into milliseconds, as the database holds them.
///
/// # Errors
/// `bad_query` for a text that is not a time.
pub(crate) fn read_times(columns: &[OwnColumn], query: &mut Query) -> Result<()> {
    let time = |filter: &mut Filter| {
        let is_time = columns.iter().any(|one| one.is_time && one.name == filter.column);
        if is_time && filter.op != Op::Null {
            for value in &mut filter.values {
                let expected = "a date-time such as 2026-11-21T09:30:00Z is expected";
                let time = parse_rfc3339(value)
                    .ok_or_else(|| bad(format!("filter[{}]: {expected}.", filter.column)))?;
                *value = time.to_string();
            }
        }
        Ok(())
    };
    query.filters.iter_mut().try_for_each(time)?;
    query.conditions.iter_mut().try_for_each(|one| one.each_filter(&time))
}

/// Declares a list whose rows a room reads by itself: the columns of one table that callers may
/// filter and sort by.
pub(crate) struct RowList {
    /// Its name in errors.
    pub(crate) name: &'static str,
    pub(crate) table: &'static str,
    /// The first one is the key, `id`.
    pub(crate) columns: &'static [OwnColumn],
    /// Reads rows by their keys: its text ends with `in`.
    pub(crate) rows: Fixed,
    pub(crate) made: Made,
}

/// A list as each engine reads it, made at its first use.
pub(crate) struct Made(PerEngine<OnceLock<OwnList>>);

impl Made {
    pub(crate) const fn new() -> Self {
        Self(PerEngine { sqlite: OnceLock::new(), postgres: OnceLock::new() })
    }

    fn get(&self, dialect: Dialect, make: impl FnOnce() -> OwnList) -> &OwnList {
        let PerEngine { sqlite, postgres } = &self.0;
        dialect.of(&PerEngine { sqlite, postgres }).get_or_init(make)
    }
}

impl RowList {
    /// A page of rows. `args`: the values of the statement `rows`. `key` returns the key of a row.
    pub(crate) async fn page<T: FromRow>(
        &self,
        base: &Base,
        query: &Query,
        args: Vec<Value>,
        key: impl Fn(&T) -> i64,
    ) -> Result<Page<T>> {
        self.page_where(base, query, [], args, key).await
    }

    /// As [`RowList::page`], of rows that also meet the conditions `own`. These do not count
    /// towards the caller's 50 filters.
    pub(crate) async fn page_where<T: FromRow>(
        &self,
        base: &Base,
        query: &Query,
        own: impl IntoIterator<Item = (&'static str, Test)>,
        args: Vec<Value>,
        key: impl Fn(&T) -> i64,
    ) -> Result<Page<T>> {
        let dialect = base.db().dialect();
        let make = || OwnList::new(self.name, self.table, dialect, self.columns);
        let list = self.made.get(dialect, make);
        let asked = own
            .into_iter()
            .fold(self.prepared(query)?, |asked, (column, test)| asked.filter(column, test));
        let (keys, next, total) = list.keys(base, &asked).await?;
        let mut data: Vec<T> = match keys.as_slice() {
            [] => Vec::new(),
            keys => base.db().among(self.rows, args, keys).await?,
        };
        let places: HashMap<_, _> = keys.iter().zip(0..).collect();
        data.sort_by_key(|row| places.get(&key(row)).copied().unwrap_or(i32::MAX));
        Ok(Page { data, limit: query.limit, next, total })
    }

    fn prepared(&self, query: &Query) -> Result<Query> {
        let Query { language, fields, expand, .. } = query;
        if language.is_some() || !fields.is_empty() || !expand.is_empty() {
            let hint = "leave language, fields and expand out";
            return Err(bad(format!("{} shows whole rows: {hint}.", self.name)));
        }
        query.check()?;
        let mut asked = query.clone();
        read_times(self.columns, &mut asked)?;
        if asked.search_in.is_empty() {
            asked.search_in = searched(self.columns);
        }
        Ok(asked)
    }
}

/// A table or a view with a key, as a list.
pub(crate) struct OwnList(Table);

impl OwnList {
    /// The first column is the key. `name`: the name of the list in errors.
    pub(crate) fn new(name: &str, view: &str, dialect: Dialect, columns: &[OwnColumn]) -> Self {
        let cast = |kind| if kind == Kind::Boolean { "boolean" } else { "" };
        let column = |one: &OwnColumn| Column {
            nullable: one.is_nullable,
            cast: cast(one.kind).to_owned(),
            folded: one.is_folded,
            ..Column::declared(one.name, one.kind)
        };
        Self(Table {
            name: name.to_owned(),
            source: view.to_owned(),
            plugin: String::new(),
            columns: columns.iter().map(column).collect(),
            key: vec![0],
            multilanguage: false,
            adopted: false,
            silent: true,
            require_if_match: false,
            dialect,
            object: OnceLock::new(),
        })
    }

    /// The rows of a page, and the cursor of the next page.
    pub(crate) async fn page(
        &self,
        base: &Base,
        query: &Query,
    ) -> Result<(Vec<Map<String, Json>>, Option<String>)> {
        let page = page::read(base, (&Tables::default(), &self.0), query, base.db()).await?;
        Ok((page.values().map_err(Error::internal)?, page.next))
    }

    /// The keys of a page, the cursor of the next, and the number of all rows when the query
    /// counts them.
    async fn keys(
        &self,
        base: &Base,
        query: &Query,
    ) -> Result<(Vec<i64>, Option<String>, Option<i64>)> {
        #[derive(Deserialize)]
        struct Row {
            id: i64,
        }
        let asked = Query { fields: vec!["id".to_owned()], ..query.clone() };
        let page = page::read(base, (&Tables::default(), &self.0), &asked, base.db()).await?;
        let rows: Vec<Row> = page.values().map_err(Error::internal)?;
        Ok((rows.iter().map(|row| row.id).collect(), page.next, page.total))
    }

    /// How the database would read a page: the lines of the engine's plan.
    pub(crate) async fn plan(&self, base: &Base, query: &Query) -> Result<Vec<String>> {
        let bound = page::Bound::Share(base.settings().http.page_limit_bytes);
        let Statement { sql, args } =
            page::statement(&Tables::default(), base.cursors(), &self.0, query, bound)?;
        base.db().plan(&sql, args).await
    }

    /// The number of matching rows for each value of a text column; reads at most `most` rows.
    pub(crate) async fn count_by(
        &self,
        base: &Base,
        query: &Query,
        column: &str,
        most: i64,
    ) -> Result<Vec<(String, i64)>> {
        self.count(base, Conditions::new(&self.0), query, column, most).await
    }

    /// As [`OwnList::count_by`], of all matching rows among those whose keys the statement `found`
    /// returns as its column `id`. `args`: the values of that statement.
    pub(crate) async fn count_found_by(
        &self,
        base: &Base,
        (found, args): (&str, Vec<Value>),
        query: &Query,
        column: &str,
    ) -> Result<Vec<(String, i64)>> {
        let mut conditions = Conditions::after(&self.0, args);
        conditions.among_found(found);
        self.count(base, conditions, query, column, i64::MAX).await
    }

    async fn count(
        &self,
        base: &Base,
        mut conditions: Conditions<'_>,
        query: &Query,
        column: &str,
        most: i64,
    ) -> Result<Vec<(String, i64)>> {
        conditions.query(query)?;
        let column = self.0.dialect.compared("t", self.0.readable(column)?.col());
        let (source, matching) = (conditions.source(), conditions.sql());
        let sql = format!(
            "select found.one, count(*) from (select {column} as one from {source}{matching} \
             limit {most}) found group by found.one"
        );
        base.db().all(AssertSqlSafe(sql), conditions.into_args()).await
    }

    /// Checks that the conditions and the order can be composed.
    pub(crate) fn check(&self, query: &Query) -> Result<()> {
        page::order(&self.0, query)?;
        Conditions::new(&self.0).query(query)
    }

    /// Runs a fixed statement that ends with `in`, over the keys of all matching rows. `args`: the
    /// values of that statement. Returns the number of rows that it wrote.
    pub(crate) async fn write_matching(
        &self,
        change: &mut Change,
        fixed: Fixed,
        args: Vec<Value>,
        query: &Query,
    ) -> Result<u64> {
        let mut conditions = Conditions::after(&self.0, args);
        conditions.query(query)?;
        let key = self.0.key_columns().next().map(|key| crate::db::dialect::quote(&key.name));
        let (source, matching) = (conditions.source(), conditions.sql());
        let sql = format!(
            "{} (select t.{} from {source}{matching})",
            fixed.sql(),
            key.unwrap_or_default()
        );
        change.run(AssertSqlSafe(sql), conditions.into_args()).await
    }

    /// A query for the rows with these keys.
    pub(crate) fn keyed(&self, keys: impl IntoIterator<Item = i64>) -> Query {
        let column = self.0.key_columns().next().map(|key| key.name.clone()).unwrap_or_default();
        let values = keys.into_iter().map(|key| key.to_string()).collect();
        Query { filters: vec![Filter { column, op: Op::In, values }], ..Query::default() }
    }
}
