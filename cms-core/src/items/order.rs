//! The order of a list.

use super::{Filter, Op, query::Query};
use crate::{
    Code, Error, Result,
    content::{Column, Table},
    db::dialect::Kind,
};

/// The requested order, made total by the key. The key follows in the direction of the last
/// requested column, so that an index on these columns serves the list. Columns with only one
/// value are left out.
///
/// A table without a key is sorted by all of its columns. Equal rows may still occur, so its
/// cursors count rows.
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
