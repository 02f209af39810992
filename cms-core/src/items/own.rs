//! Lists of the service's own rows that callers may filter, sort and search by any column, as they
//! do with records. They are no content tables: no address names them.

use std::sync::OnceLock;

use serde_json::{Map, Value as Json};
use sqlx::AssertSqlSafe;

use super::{
    Filter, Op,
    query::Query,
    read_page,
    reader::Reader,
    select::{Conditions, Statement},
};
use crate::{
    Change, Error, Result,
    base::Base,
    content::{Column, Table, Tables},
    db::{Dialect, Kind, Statement as Fixed, Value},
};

/// A view with a key, as a list.
pub(crate) struct OwnList(Table);

/// A column of such a list.
#[derive(Clone, Copy)]
pub(crate) struct OwnColumn {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) nullable: bool,
}

impl OwnList {
    /// The first column is the key. `name` stands in errors.
    pub(crate) fn new(name: &str, view: &str, dialect: Dialect, columns: &[OwnColumn]) -> Self {
        let cast = |kind| if kind == Kind::Boolean { "boolean" } else { "" };
        let column = |one: &OwnColumn| Column {
            nullable: one.nullable,
            cast: cast(one.kind).to_owned(),
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

    /// A page: its rows, and the cursor of the next.
    pub(crate) async fn page(
        &self,
        base: &Base,
        query: &Query,
    ) -> Result<(Vec<Map<String, Json>>, Option<String>)> {
        let reader = Reader::Pool(base.db());
        let page = read_page(base, (&Tables::default(), &self.0), query, reader).await?;
        Ok((page.values().map_err(Error::internal)?, page.next))
    }

    /// How the database would read a page: the lines of the engine's plan.
    pub(crate) async fn plan(&self, base: &Base, query: &Query) -> Result<Vec<String>> {
        let bound = super::Bound::Share(base.settings().http.page_limit_bytes);
        let Statement { sql, args } =
            super::page::page(&Tables::default(), base.cursors(), &self.0, query, bound)?;
        base.db().plan(&sql, args).await
    }

    /// How many rows match, by their value of a column of text; it reads `most` of them at most.
    pub(crate) async fn count_by(
        &self,
        base: &Base,
        query: &Query,
        column: &str,
        most: i64,
    ) -> Result<Vec<(String, i64)>> {
        self.count(base, Conditions::new(&self.0), query, column, most).await
    }

    /// The same of all rows that match, among those whose keys a statement finds as its column
    /// `id`. `args` are its values.
    pub(crate) async fn count_found_by(
        &self,
        base: &Base,
        (found, args): (&str, Vec<Value>),
        query: &Query,
        column: &str,
    ) -> Result<Vec<(String, i64)>> {
        let mut conditions = Conditions::after(&self.0, args);
        conditions.found(found);
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

    /// Whether the conditions and the order can be composed.
    ///
    /// # Errors
    /// `bad_query`.
    pub(crate) fn check(&self, query: &Query) -> Result<()> {
        super::order::of(&self.0, query)?;
        Conditions::new(&self.0).query(query)
    }

    /// Runs a fixed statement that ends with `in (`, over the keys of all rows that match. `args`
    /// are its own values. Returns the number of rows that it wrote.
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

    /// The query of these keys alone.
    pub(crate) fn keyed(&self, keys: impl IntoIterator<Item = i64>) -> Query {
        let column = self.0.key_columns().next().map(|key| key.name.clone()).unwrap_or_default();
        let values = keys.into_iter().map(|key| key.to_string()).collect();
        Query { filters: vec![Filter { column, op: Op::In, values }], ..Query::default() }
    }
}
