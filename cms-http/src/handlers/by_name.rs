//! Pages of lists that are held in memory, sorted by a name.

use cms_core::Result;

use crate::{
    call::Call,
    request::bad,
    wire::{Page, envelope::Meta, parameters::Listing},
};

/// A page of rows. The cursor holds a name, and is valid for the path of the request only.
pub(super) fn page<T>(
    call: &Call<'_>,
    rows: Vec<T>,
    name: impl Fn(&T) -> String,
    Listing { limit, cursor, count }: Listing,
) -> Result<Page<T>> {
    let (cursors, list) = (call.cms.cursors(), call.request.path.as_str());
    let place = |cursor: &str| {
        String::from_utf8(cursors.open(list, cursor)?).map_err(|_| bad("This cursor is no name."))
    };
    let after = cursor.as_deref().map(place).transpose()?;
    let total = (count == Some(true)).then_some(rows.len() as i64);
    let is_after = |row: &T| after.as_ref().is_none_or(|after| name(row) > *after);
    let mut rest = rows.into_iter().filter(is_after);
    let data: Vec<T> = rest.by_ref().take(limit.0 as usize).collect();
    let last = rest.next().and(data.last()).map(&name);
    let next = last.map(|last| cursors.seal(list, last.as_bytes())).transpose()?;
    Ok(Page { data, meta: Meta { limit: limit.0, next, total } })
}
