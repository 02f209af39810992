//! The order of a list.

use super::{Filter, Op, query::Query};
use crate::{
    Code, Error, Result,
    content::{Column, Table},
    db::dialect::Kind,
};

/// The requested order, made total by the key, which follows in the direction of the last requested
/// column: so an index on these columns serves the list. Columns with one value are left out.
///
/// Without a key all columns follow; equal rows may still occur, so there a cursor counts rows.
pub(super) fn of<'t>(table: &'t Table, query: &Query) -> Result<Vec<(&'t Column, bool)>> {
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
        // Rows are told apart by their key: nothing after it changes the order.
        let last = sort.iter().rposition(|(column, _)| is_key(column)).unwrap_or_default();
        sort.truncate(last + 1);
    }
    Ok(sort)
}

/// Whether a filter leaves only one value of a column.
fn has_one_value(table: &Table, query: &Query, column: &Column) -> bool {
    let one = |filter: &&Filter| matches!(filter.op, Op::Eq | Op::In) && filter.values.len() == 1;
    (table.multilanguage && query.language.is_some() && column.name == "language_short")
        // A folded value is stored in several ways, and those are sorted.
        || (!column.folded
            && query.filters.iter().filter(one).any(|filter| filter.column == column.name))
}
