//! The position in a sorted list where the next page starts.

use data_encoding::BASE64URL_NOPAD;
use serde_json::Value;

use super::query::Query;
use crate::{
    Result,
    content::Table,
    ground::{crypto, paging::foreign_cursor},
};

/// A short digest of the table, order and conditions. A cursor is valid only for the same list.
fn list_of(table: &Table, query: &Query) -> String {
    let parts =
        format!("{:?}", (&table.name, &query.sort, &query.filters, &query.search, &query.language));
    crypto::sha256_hex(parts.as_bytes())[..12].to_owned()
}

/// `position` is the JSON array of the last row's sort values.
pub(super) fn encode(table: &Table, query: &Query, position: &str) -> String {
    BASE64URL_NOPAD.encode(format!("{}{position}", list_of(table, query)).as_bytes())
}

/// The sort values of the last row before the page.
pub(super) fn decode(
    table: &Table,
    query: &Query,
    cursor: &str,
    columns: usize,
) -> Result<Vec<Value>> {
    let values = parts(table, query, cursor)?;
    let scalar = |value: &Value| {
        !value.is_array() && !value.is_object() && !value.as_str().is_some_and(|s| s.contains('\0'))
    };
    if values.len() == columns && values.iter().all(scalar) {
        Ok(values)
    } else {
        Err(foreign_cursor())
    }
}

/// Number of rows before the page, for a table without a key.
pub(super) fn decode_offset(table: &Table, query: &Query, cursor: &str) -> Result<u32> {
    match parts(table, query, cursor)?.as_slice() {
        [offset] => offset.as_u64().and_then(|n| n.try_into().ok()).ok_or_else(foreign_cursor),
        _ => Err(foreign_cursor()),
    }
}

fn parts(table: &Table, query: &Query, cursor: &str) -> Result<Vec<Value>> {
    let bytes = BASE64URL_NOPAD.decode(cursor.as_bytes()).map_err(|_| foreign_cursor())?;
    let text = String::from_utf8(bytes).map_err(|_| foreign_cursor())?;
    let position = text.strip_prefix(&list_of(table, query)).ok_or_else(foreign_cursor)?;
    serde_json::from_str(position).map_err(|_| foreign_cursor())
}
