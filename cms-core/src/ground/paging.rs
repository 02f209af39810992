//! Lists are read in pages by key, never by counting rows.

use data_encoding::BASE64URL_NOPAD;

use super::{Code, Error, Result};

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
    /// A page of something that is sorted by an id: `read(after, limit)` gives the rows. `list` is
    /// a letter of its own, so that the cursor of another list is noticed.
    pub(crate) async fn by_id(
        list: u8,
        limit: u32,
        cursor: Option<&str>,
        read: impl AsyncFnOnce(i64, i64) -> Result<Vec<T>>,
        id: impl Fn(&T) -> i64,
    ) -> Result<Self> {
        let parse = |bytes: &[u8]| bytes.try_into().ok().map(i64::from_be_bytes);
        let read = async |after: Option<i64>, limit| read(after.unwrap_or(i64::MIN), limit).await;
        Self::by_key(list, limit, cursor, parse, read, |row| id(row).to_be_bytes().to_vec()).await
    }

    /// As [`Page::by_id`], sorted by something else: `key` writes the place of a row down, `parse`
    /// reads it again; `read` gets None for the first page.
    pub(crate) async fn by_key<K>(
        list: u8,
        limit: u32,
        cursor: Option<&str>,
        parse: impl FnOnce(&[u8]) -> Option<K>,
        read: impl AsyncFnOnce(Option<K>, i64) -> Result<Vec<T>>,
        key: impl Fn(&T) -> Vec<u8>,
    ) -> Result<Self> {
        let place = |cursor: &str| {
            BASE64URL_NOPAD
                .decode(cursor.as_bytes())
                .ok()
                .and_then(|bytes| parse(bytes.strip_prefix(&[list])?))
        };
        let after = cursor.map(|cursor| place(cursor).ok_or_else(foreign_cursor)).transpose()?;
        let mut data = read(after, i64::from(limit) + 1).await?;
        let more = data.len() > limit as usize;
        data.truncate(limit as usize);
        let next = data
            .last()
            .filter(|_| more)
            .map(|last| BASE64URL_NOPAD.encode(&[&[list], key(last).as_slice()].concat()));
        Ok(Self { data, limit, next })
    }

    pub(crate) fn map<U>(self, change: impl FnMut(T) -> U) -> Page<U> {
        Page {
            data: self.data.into_iter().map(change).collect(),
            limit: self.limit,
            next: self.next,
        }
    }
}

pub(crate) fn foreign_cursor() -> Error {
    Error::new(
        Code::BadQuery,
        "This cursor is not from this list: take `meta.next` of a reply with the same sort and filters.",
    )
}
