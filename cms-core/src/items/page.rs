//! Reads a page of records, and builds its statement.

use serde::de::DeserializeOwned;

use super::{
    List,
    bound::Bound,
    cursor, order,
    query::Query,
    ranges::{self, Term},
    reader::Reader,
    select::{Conditions, Statement, object},
};
use crate::{
    Error, Result,
    base::Base,
    content::{Column, Table, Tables, without_white_space},
    db::{Lossy, dialect::quote},
    ground::Cursors,
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

/// The records joined, their positions joined, the number found, the number that fit, and the
/// number of all matching rows.
type PageRow = (Option<Lossy>, Option<String>, i64, i64, Option<i64>);

/// A page of the rows of a table.
pub(super) async fn read(
    base: &Base,
    (tables, table): (&Tables, &Table),
    query: &Query,
    mut reader: Reader<'_>,
) -> Result<Page> {
    let cursors = base.cursors();
    let most = base.settings().http.page_limit_bytes;
    let statement = |bound| statement(tables, cursors, table, query, bound);
    let mut read: PageRow = reader.one(statement(Bound::Share(most))?).await?;
    if read.3 < read.2 {
        read = reader.one(statement(Bound::Sum(most))?).await?;
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
        let before = query.cursor.as_deref().map_or(Ok(query.offset), |cursor| {
            cursor::decode_offset(cursors, table, query, cursor)
        })?;
        *position = format!("[{}]", before + shown);
    }
    let next = next.map(|place| cursor::encode(cursors, table, query, &place)).transpose()?;
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
    let sort = order::of(table, query)?;
    let mut conditions = Conditions::new(table);
    conditions.query(query)?;
    let (mut offset, mut place) = (query.offset, None);
    if let Some(cursor) = &query.cursor {
        if table.writable() {
            let values = cursor::decode(cursors, table, query, cursor, sort.len())?;
            place = Some(conditions.place(&sort, &values));
        } else {
            offset = cursor::decode_offset(cursors, table, query, cursor)?;
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
