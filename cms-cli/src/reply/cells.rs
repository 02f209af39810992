//! How a column of a row is shown.

use serde::Serialize;

use crate::output::{Done, record::Record};

/// Shows a column of a row; None shows it as the API sent it.
pub(crate) type Cell<T> = fn(&T, &str) -> Option<String>;

/// The cell of every column.
pub(crate) fn plain<T>(_: &T, _: &str) -> Option<String> {
    None
}

/// Columns of a row with their texts: the named ones, or all when none are named.
pub(crate) fn cells<T: Serialize>(
    row: &T,
    columns: &[&str],
    cell: Cell<T>,
) -> Done<Vec<(String, String)>> {
    let record = Record::of(row)?;
    let names: Vec<&str> =
        if columns.is_empty() { record.names().collect() } else { columns.to_vec() };
    let text = |name: &str| cell(row, name).unwrap_or_else(|| record.shown(name));
    Ok(names.into_iter().map(|name| (name.to_owned(), text(name))).collect())
}
