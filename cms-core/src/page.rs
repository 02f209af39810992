//! Lists are read in pages by key, never by counting rows.

use data_encoding::BASE64URL_NOPAD;

use crate::{Code, Error, Result};

/// Rows of a list when the caller does not say.
pub const DEFAULT_LIMIT: u32 = 50;
/// Rows of a list at most.
pub const MAX_LIMIT: u32 = 500;

/// A part of a list and the cursor for the next one.
#[derive(Clone, Debug)]
pub struct Page<T> {
    /// The rows.
    pub data: Vec<T>,
    /// How many were asked for.
    pub limit: u32,
    /// Opaque; None at the end.
    pub next: Option<String>,
}

impl<T> Page<T> {
    /// A page of something that is sorted by an id: `read(after, limit)` gives the rows. `list` is a letter of its own, so that the
    /// cursor of another list is noticed.
    pub(crate) async fn by_id(
        list: u8,
        limit: u32,
        cursor: Option<&str>,
        read: impl AsyncFnOnce(i64, i64) -> Result<Vec<T>>,
        id: impl Fn(&T) -> i64,
    ) -> Result<Self> {
        let after = cursor.map_or(Ok(i64::MIN), |cursor| id_of(list, cursor))?;
        let mut data = read(after, i64::from(limit) + 1).await?;
        let more = data.len() > limit as usize;
        data.truncate(limit as usize);
        let next =
            data.last().filter(|_| more).map(|last| BASE64URL_NOPAD.encode(&[&[list][..], &id(last).to_be_bytes()].concat()));
        Ok(Self { data, limit, next })
    }

    pub(crate) fn map<U>(self, change: impl FnMut(T) -> U) -> Page<U> {
        Page { data: self.data.into_iter().map(change).collect(), limit: self.limit, next: self.next }
    }
}

fn id_of(list: u8, cursor: &str) -> Result<i64> {
    let bytes = BASE64URL_NOPAD.decode(cursor.as_bytes()).ok();
    let id = bytes.as_deref().and_then(|bytes| bytes.strip_prefix(&[list])).and_then(|id| id.try_into().ok());
    id.map(i64::from_be_bytes).ok_or_else(foreign_cursor)
}

pub(crate) fn foreign_cursor() -> Error {
    Error::new(Code::BadQuery, "This cursor is not from this list: take `meta.next` of a reply with the same sort and filters.")
}
