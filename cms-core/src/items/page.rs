//! Reads a page of records: its statement and order, the bound of its bytes, and the cursor of the
//! next page.

use serde::de::DeserializeOwned;
use serde_json::Value;
use sqlx::AssertSqlSafe;

use super::{
    Filter, List, Op,
    query::Query,
    ranges::{self, Term},
    select::{Conditions, Statement, object},
};
use crate::{
    Code, Error, Result,
    base::Base,
    change::Reader,
    content::{Column, Table, Tables, without_white_space},
    db::{Kind, Lossy, dialect::quote},
    ground::{Cursors, paging::foreign},
};

/// Separates the records of a page. JSON contains no bare control characters.
pub(super) const SEPARATOR: char = '\u{1e}';

/// A page as it was read.
pub(super) struct Page {
    /// JSON objects, with [`SEPARATOR`] between them.
    pub(super) records: String,
    /// Whether the records may have white space between their values.
    pub(super) is_spaced: bool,
    pub(super) limit: u32,
    pub(super) next: Option<String>,
    pub(super) total: Option<i64>,
}

impl Page {
    /// The records joined by commas. In place: a page may be large.
    pub(super) fn list(self) -> Result<List> {
        let Self { records, is_spaced, limit, next, total } = self;
        let mut bytes = records.into_bytes();
        for byte in bytes.iter_mut().filter(|byte| char::from(**byte) == SEPARATOR) {
            *byte = b',';
        }
        let mut records = String::from_utf8(bytes).map_err(Error::internal)?;
        if is_spaced {
            records = without_white_space(&records);
        }
        Ok(List { joined: records, limit, next, total })
    }

    /// The records as values.
    pub(super) fn values<T: DeserializeOwned>(&self) -> serde_json::Result<Vec<T>> {
        let records = self.records.split(SEPARATOR).filter(|record| !record.is_empty());
        records.map(serde_json::from_str).collect()
    }
}

/// How the bytes of a page are bounded.
#[derive(Clone, Copy)]
pub(super) enum Bound {
    /// Leaves out records that are larger than their share of the page: the others fit, whatever
    /// their number. Costs one comparison for each record.
    Share(u64),
    /// Ends the page before the record that exceeds the bound; the first record always fits. Costs
    /// more, because the engine adds up the sizes.
    Sum(u64),
}

impl Bound {
    /// The condition under which the record `r` is part of the page, and the source that `r`
    /// is read from.
    fn applied(self, records: &str, limit: u32) -> (String, String) {
        match self {
            Self::Share(bytes) => {
                let share = bytes / (u64::from(limit) + 1);
                (format!("octet_length(r.j) <= {share}"), format!("({records}) r"))
            }
            Self::Sum(bytes) => (
                format!("(r.upto <= {bytes} or r.upto = octet_length(r.j))"),
                format!(
                    "(select r.j, r.k, sum(octet_length(r.j)) over (rows unbounded preceding) as \
                     upto from ({records}) r) r"
                ),
            ),
        }
    }
}

/// The records joined, their positions joined, the number found, the number that fit, and the
/// number of all matching rows.
type PageRow = (Option<Lossy>, Option<String>, i64, i64, Option<i64>);

/// A page of the rows of a table.
pub(super) async fn read(
    base: &Base,
    (tables, table): (&Tables, &Table),
    query: &Query,
    from: impl Into<Reader<'_>>,
) -> Result<Page> {
    let cursors = base.cursors();
    let most = base.settings().http.page_limit_bytes;
    let statement = |bound| statement(tables, cursors, table, query, bound);
    let mut reader = from.into();
    let Statement { sql, args } = statement(Bound::Share(most))?;
    let mut read: PageRow = reader.one(AssertSqlSafe(sql), args).await?;
    if read.3 < read.2 {
        let Statement { sql, args } = statement(Bound::Sum(most))?;
        read = reader.one(AssertSqlSafe(sql), args).await?;
    }
    let (records, positions, found, fit, total) = read;
    let Lossy(mut records) = records.unwrap_or_default();
    let positions = positions.unwrap_or_default();
    let shown = fit.min(i64::from(query.limit));
    if fit > shown {
        records.truncate(records.rfind(SEPARATOR).unwrap_or(0));
    }
    let shown = u32::try_from(shown).map_err(Error::internal)?;
    let last = (shown as usize).checked_sub(1).filter(|_| found > i64::from(shown));
    let mut next = last.and_then(|last| positions.split(SEPARATOR).nth(last)).map(str::to_owned);
    if let (Some(position), false) = (&mut next, table.writable()) {
        let before = query
            .cursor
            .as_deref()
            .map_or(Ok(query.offset), |cursor| decode_offset(cursors, table, query, cursor))?;
        *position = format!("[{}]", before + shown);
    }
    let next = next.map(|place| encode(cursors, table, query, &place)).transpose()?;
    let is_spaced = tables.is_spaced(table, &query.expand);
    Ok(Page { records, is_spaced, limit: query.limit, next, total })
}

/// The statement that reads a page as one row: the records that fit, the position of each record
/// found, the number found (at most one more than the limit), the number that fit and, if the
/// query counts, the number of all matching rows.
///
/// Both engines aggregate the rows of a sorted subquery in its order: PostgreSQL documents
/// this, and tests show it for SQLite. Sorting again by row numbers would cost more than
/// reading the records.
pub(super) fn statement(
    tables: &Tables,
    cursors: &Cursors,
    table: &Table,
    query: &Query,
    bound: Bound,
) -> Result<Statement> {
    let sort = order(table, query)?;
    let mut conditions = Conditions::new(table);
    conditions.query(query)?;
    let (mut offset, mut place) = (query.offset, None);
    if let Some(cursor) = &query.cursor {
        if table.writable() {
            let values = decode(cursors, table, query, cursor, sort.len())?;
            place = Some(conditions.place(&sort, &values));
        } else {
            offset = decode_offset(cursors, table, query, cursor)?;
        }
    }
    let dialect = table.dialect;
    let positions: Vec<String> =
        sort.iter().map(|(column, _)| dialect.placed("t", column.col())).collect();
    let (source, matching) = (conditions.source(), conditions.sql());
    let object = object(tables, table, &query.fields, &query.expand)?;
    let position = dialect.array(&positions);
    let total = if query.count {
        format!("(select count(*) from {source}{matching})")
    } else {
        "cast(null as bigint)".to_owned()
    };
    // Without the outer limit, the engines would build each record's JSON a second time
    // for its size.
    let found = query.limit + 1;
    let records = format!(
        "select {object} as j, {position} as k from ({}) t limit {found}",
        rows(table, &conditions, &sort, place.as_deref(), found, offset)
    );
    let (fits, records) = bound.applied(&records, query.limit);
    let sql = format!(
        "select string_agg(case when {fits} then r.j end, '{SEPARATOR}'), \
         string_agg(r.k, '{SEPARATOR}'), count(*), count(case when {fits} then 1 end), {total} \
         from {records}"
    );
    Ok(Statement { sql, args: conditions.into_args() })
}

/// SQL for the rows of a page in their order, one range of the list after the other.
///
/// Both engines run the parts of `union all` in turn and stop when the limit is reached; tests show
/// it for both.
fn rows(
    table: &Table,
    conditions: &Conditions,
    sort: &[(&Column, bool)],
    place: Option<&[Option<String>]>,
    found: u32,
    offset: u32,
) -> String {
    let dialect = table.dialect;
    let term = |(column, descending): &(&Column, bool)| Term {
        value: dialect.compared("t", column.col()),
        descending: *descending,
        nullable: column.nullable || !dialect.always_compared(column.col()),
        apart: !dialect.seeks_with_key() && table.key_columns().any(|key| key.name == column.name),
    };
    let order: Vec<Term> = sort.iter().map(term).collect();
    let ranges = place.map_or_else(|| ranges::all(&order), |place| ranges::after(&order, place));
    let source = conditions.source();
    // Not `t.*`: the database user may have rights to single columns of an adopted table.
    let columns: Vec<_> =
        table.columns.iter().map(|column| format!("t.{}", quote(&column.name))).collect();
    let columns = columns.join(", ");
    let read = |range: &ranges::Range, limit: &str| {
        let (filtered, order) = (conditions.sql_and(&range.conditions), &range.order);
        let order = if order.is_empty() { String::new() } else { format!(" order by {order}") };
        format!("select {columns} from {source}{filtered}{order} limit {limit}")
    };
    let page = format!("{found} offset {offset}");
    match ranges.as_slice() {
        [] => format!("select {columns} from {source} where 1 = 0"),
        [range] => read(range, &page),
        ranges => {
            let most = (u64::from(found) + u64::from(offset)).to_string();
            let part = |range| format!("select * from ({}) p", read(range, &most));
            let parts: Vec<_> = ranges.iter().map(part).collect();
            format!("select * from ({}) u limit {page}", parts.join(" union all "))
        }
    }
}

/// The requested order, made total by the key. The key follows in the direction of the last
/// requested column, so that an index on these columns serves the list. Columns with only one
/// value are left out.
///
/// A table without a key is sorted by all of its columns. Equal rows may still occur, so its
/// cursors count rows.
pub(super) fn order<'t>(table: &'t Table, query: &Query) -> Result<Vec<(&'t Column, bool)>> {
    let mut sort: Vec<(&Column, bool)> = Vec::new();
    for (name, descending) in &query.sort {
        let column = table.queried(name)?;
        if column.kind == Kind::Binary {
            return Err(Error::new(
                Code::BadQuery,
                format!("{name} holds bytes: rows cannot be sorted by it."),
            ));
        }
        if !sort.iter().any(|(c, _)| c.name == column.name) {
            sort.push((column, *descending));
        }
    }
    let descending = sort.last().is_some_and(|(_, descending)| *descending);
    let ties: Vec<&Column> = if table.writable() {
        table.key_columns().collect()
    } else {
        table.columns.iter().filter(|c| c.readable()).collect()
    };
    for column in ties {
        if !sort.iter().any(|(c, _)| c.name == column.name) {
            sort.push((column, descending));
        }
    }
    if table.writable() {
        let is_key = |column: &Column| table.key_columns().any(|key| key.name == column.name);
        sort.retain(|(column, _)| is_key(column) || !has_one_value(table, query, column));
        // The key is unique, so columns after it do not change the order.
        let last = sort.iter().rposition(|(column, _)| is_key(column)).unwrap_or_default();
        sort.truncate(last + 1);
    }
    Ok(sort)
}

/// Whether a filter leaves only one value of a column.
fn has_one_value(table: &Table, query: &Query, column: &Column) -> bool {
    let one = |filter: &&Filter| matches!(filter.op, Op::Eq | Op::In) && filter.values.len() == 1;
    (table.multilanguage && query.language.is_some() && column.name == "language_short")
        // A folded value may be stored in several spellings, which have an order.
        || (!column.folded
            && query.filters.iter().filter(one).any(|filter| filter.column == column.name))
}

/// What a cursor is bound to: table, conditions, order and the kinds of the sort columns. Another
/// list refuses the cursor, and so does a table whose sort columns have changed.
fn list_of(table: &Table, query: &Query) -> Result<String> {
    let order = order(table, query)?;
    let order: Vec<_> =
        order.iter().map(|(column, down)| (&column.name, column.kind, *down)).collect();
    let Query { filters, conditions, search, search_in, language, .. } = query;
    let bound = (&table.name, order, filters, conditions, search, search_in, language);
    Ok(format!("items {bound:?}"))
}

/// A cursor. `position` is the JSON array of the last row's sort values.
fn encode(cursors: &Cursors, table: &Table, query: &Query, position: &str) -> Result<String> {
    cursors.seal(&list_of(table, query)?, position.as_bytes())
}

/// The sort values of the last row before the page.
fn decode(
    cursors: &Cursors,
    table: &Table,
    query: &Query,
    cursor: &str,
    columns: usize,
) -> Result<Vec<Value>> {
    let values = parts(cursors, table, query, cursor)?;
    if values.len() == columns { Ok(values) } else { Err(foreign()) }
}

/// Number of rows before the page, for a table without a key.
fn decode_offset(cursors: &Cursors, table: &Table, query: &Query, cursor: &str) -> Result<u32> {
    match parts(cursors, table, query, cursor)?.as_slice() {
        [offset] => offset.as_u64().and_then(|n| n.try_into().ok()).ok_or_else(foreign),
        _ => Err(foreign()),
    }
}

fn parts(cursors: &Cursors, table: &Table, query: &Query, cursor: &str) -> Result<Vec<Value>> {
    let place = cursors.open(&list_of(table, query)?, cursor)?;
    serde_json::from_slice(&place).map_err(|_| foreign())
}
