//! The order of a list.

use super::query::Query;
use crate::{
    Code, Error, Result,
    content::{Column, Table},
    db::dialect::Kind,
};

/// The requested order, made total by the key. Without a key all columns follow; equal rows may
/// still occur, so there a cursor counts rows.
pub(super) fn of<'t>(table: &'t Table, query: &Query) -> Result<Vec<(&'t Column, bool)>> {
    let mut sort: Vec<(&Column, bool)> = Vec::new();
    for (name, descending) in &query.sort {
        let column = table.readable(name)?;
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
    let ties: Vec<&Column> = if table.writable() {
        table.key_columns().collect()
    } else {
        table.columns.iter().filter(|c| c.readable()).collect()
    };
    for column in ties {
        if !sort.iter().any(|(c, _)| c.name == column.name) {
            sort.push((column, false));
        }
    }
    Ok(sort)
}
