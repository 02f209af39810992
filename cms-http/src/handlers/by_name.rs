//! Pages of lists that lie in memory, sorted by a name.

use cms_core::Result;
use data_encoding::BASE64URL_NOPAD;

use crate::{
    request::bad,
    wire::{Page, envelope::Meta, parameters::Limit},
};

/// The page after `cursor`. A name is a place in the list, so the cursor is a name.
pub(super) fn page<T>(
    rows: impl Iterator<Item = T>,
    name: impl Fn(&T) -> String,
    limit: Limit,
    cursor: Option<&str>,
) -> Result<Page<T>> {
    let after = cursor.map(place).transpose()?;
    let mut rest = rows.filter(|row| after.as_ref().is_none_or(|after| name(row) > *after));
    let data: Vec<T> = rest.by_ref().take(limit.0 as usize).collect();
    let last = rest.next().and(data.last()).map(name);
    let next = last.map(|last| BASE64URL_NOPAD.encode(last.as_bytes()));
    Ok(Page { data, meta: Meta { limit: limit.0, next, total: None } })
}

fn place(cursor: &str) -> Result<String> {
    let name = BASE64URL_NOPAD.decode(cursor.as_bytes()).ok();
    name.and_then(|name| String::from_utf8(name).ok())
        .ok_or_else(|| bad("This cursor is not from this list: take `meta.next` of its reply."))
}
