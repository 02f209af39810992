//! The position in a sorted list where the next page starts.

use serde_json::Value;

use super::{order, query::Query};
use crate::{
    Result,
    content::Table,
    ground::{Cursors, paging::foreign},
};

/// What a cursor is bound to: table, conditions, order and the kinds of the sort columns. Another
/// list refuses the cursor, and so does a table whose sort columns have changed.
fn list_of(table: &Table, query: &Query) -> Result<String> {
    let order = order::of(table, query)?;
    let order: Vec<_> =
        order.iter().map(|(column, down)| (&column.name, column.kind, *down)).collect();
    let Query { filters, conditions, search, search_in, language, .. } = query;
    let bound = (&table.name, order, filters, conditions, search, search_in, language);
    Ok(format!("items {bound:?}"))
}

/// `position` is the JSON array of the last row's sort values.
pub(super) fn encode(
    cursors: &Cursors,
    table: &Table,
    query: &Query,
    position: &str,
) -> Result<String> {
    cursors.seal(&list_of(table, query)?, position.as_bytes())
}

/// The sort values of the last row before the page.
pub(super) fn decode(
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
pub(super) fn decode_offset(
    cursors: &Cursors,
    table: &Table,
    query: &Query,
    cursor: &str,
) -> Result<u32> {
    match parts(cursors, table, query, cursor)?.as_slice() {
        [offset] => offset.as_u64().and_then(|n| n.try_into().ok()).ok_or_else(foreign),
        _ => Err(foreign()),
    }
}

fn parts(cursors: &Cursors, table: &Table, query: &Query, cursor: &str) -> Result<Vec<Value>> {
    let place = cursors.open(&list_of(table, query)?, cursor)?;
    serde_json::from_slice(&place).map_err(|_| foreign())
}
