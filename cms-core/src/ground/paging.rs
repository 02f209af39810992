//! Pages of lists, read by key. Rows are never counted.

use data_encoding::BASE64URL_NOPAD;

use super::{Code, Error, Result};

/// Rows of a page by default.
pub const DEFAULT_LIMIT: u32 = 50;
/// Rows of a page at most.
pub const MAX_LIMIT: u32 = 500;

/// One page of a list, and the cursor of the next.
#[derive(Clone, Debug)]
pub struct Page<T> {
    /// The rows.
    pub data: Vec<T>,
    /// The number of rows asked for.
    pub limit: u32,
    /// The cursor of the next page, an opaque text; `None` at the end.
    pub next: Option<String>,
}

/// Which page of a list is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paging {
    /// Rows of the page, 1 to [`MAX_LIMIT`].
    pub limit: u32,
    /// `next` of the previous page; `None` for the first page.
    pub cursor: Option<String>,
    /// The order.
    pub direction: Direction,
}

impl Paging {
    /// The first page, in the list's own order.
    #[must_use]
    pub fn first(limit: u32) -> Self {
        Self { limit, cursor: None, direction: Direction::default() }
    }
}

impl Default for Paging {
    fn default() -> Self {
        Self::first(DEFAULT_LIMIT)
    }
}

/// The order of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// The list's own order: by id, or newest first.
    #[default]
    Forward,
    /// The reverse order, which few lists have.
    Backward,
}

/// The lists with cursors of this module. A cursor begins with the letter of its list, so every
/// other list refuses it. The compiler refuses a repeated letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum ListName {
    Audit = b'a',
    Deliveries = b'd',
    Events = b'e',
    Groups = b'g',
    Jobs = b'j',
    Keys = b'k',
    LoginAttempts = b't',
    Messages = b'n',
    Origins = b'o',
    Sessions = b's',
    Subscriptions = b'w',
    Users = b'u',
}

impl ListName {
    /// The first byte of the list's cursors: a capital letter when the list is read backward.
    fn letter(self, direction: Direction) -> u8 {
        match direction {
            Direction::Forward => self as u8,
            Direction::Backward => (self as u8).to_ascii_uppercase(),
        }
    }
}

impl<T> Page<T> {
    /// A page of a list sorted by id, ascending. `read(after, limit)` returns the rows.
    ///
    /// # Errors
    /// `bad_query` for a cursor of another list, or for backward order.
    pub(crate) async fn by_id(
        list: ListName,
        paging: &Paging,
        read: impl AsyncFnOnce(i64, i64) -> Result<Vec<T>>,
        id: impl Fn(&T) -> i64,
    ) -> Result<Self> {
        Self::from_id(list, paging, i64::MIN, read, id).await
    }

    /// As [`Page::by_id`], descending. `read(before, limit)` returns the rows.
    ///
    /// # Errors
    /// As [`Page::by_id`].
    pub(crate) async fn newest_first(
        list: ListName,
        paging: &Paging,
        read: impl AsyncFnOnce(i64, i64) -> Result<Vec<T>>,
        id: impl Fn(&T) -> i64,
    ) -> Result<Self> {
        Self::from_id(list, paging, i64::MAX, read, id).await
    }

    async fn from_id(
        list: ListName,
        paging: &Paging,
        start: i64,
        read: impl AsyncFnOnce(i64, i64) -> Result<Vec<T>>,
        id: impl Fn(&T) -> i64,
    ) -> Result<Self> {
        if paging.direction == Direction::Backward {
            return Err(Error::new(Code::BadQuery, "This list has only one order."));
        }
        let parse = |bytes: &[u8]| bytes.try_into().ok().map(i64::from_be_bytes);
        let read = async |last: Option<i64>, limit| read(last.unwrap_or(start), limit).await;
        Self::by_key(list, paging, parse, read, |row| id(row).to_be_bytes().to_vec()).await
    }

    /// As [`Page::by_id`], sorted by another key, in both directions. `key` encodes where a row
    /// stands and `parse` decodes it. `read` gets `None` for the first page.
    ///
    /// # Errors
    /// `bad_query` for a cursor of another list or direction.
    pub(crate) async fn by_key<K>(
        list: ListName,
        paging: &Paging,
        parse: impl FnOnce(&[u8]) -> Option<K>,
        read: impl AsyncFnOnce(Option<K>, i64) -> Result<Vec<T>>,
        key: impl Fn(&T) -> Vec<u8>,
    ) -> Result<Self> {
        let (letter, limit) = (list.letter(paging.direction), paging.limit);
        let decode = |cursor: &String| {
            BASE64URL_NOPAD
                .decode(cursor.as_bytes())
                .ok()
                .and_then(|bytes| parse(bytes.strip_prefix(&[letter])?))
                .ok_or_else(foreign_cursor)
        };
        let last = paging.cursor.as_ref().map(decode).transpose()?;
        let mut data = read(last, i64::from(limit) + 1).await?;
        let more = data.len() > limit as usize;
        data.truncate(limit as usize);
        let next = data
            .last()
            .filter(|_| more)
            .map(|last| BASE64URL_NOPAD.encode(&[&[letter], key(last).as_slice()].concat()));
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
        "This cursor is not from this list: take `meta.next` of a reply with the same sort and \
         filters.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn page(list: ListName, paging: &Paging) -> Result<Page<i64>> {
        let read = async |after: i64, limit: i64| {
            Ok((1..=5).filter(|id| *id > after).take(limit as usize).collect())
        };
        Page::by_id(list, paging, read, |id| *id).await
    }

    #[tokio::test]
    async fn a_cursor_of_one_list_is_refused_by_another() {
        let mut paging = Paging::first(2);
        let first = page(ListName::Keys, &paging).await.expect("a page");
        assert_eq!(first.data, [1, 2]);
        paging.cursor = first.next;
        let second = page(ListName::Keys, &paging).await.expect("a page");
        assert_eq!(second.data, [3, 4]);
        for list in [ListName::Origins, ListName::Messages, ListName::Users] {
            let refused = page(list, &paging).await.expect_err("of another list");
            assert_eq!(refused.code(), Code::BadQuery, "{list:?}");
        }
        paging.direction = Direction::Backward;
        assert!(page(ListName::Keys, &paging).await.is_err(), "the list has only one order");
    }

    #[tokio::test]
    async fn a_cursor_of_one_direction_is_refused_by_the_other() {
        let page = async |paging: &Paging| {
            let read = async |_: Option<()>, _| Ok(vec![1, 2]);
            Page::by_key(ListName::Messages, paging, |_| Some(()), read, |_| Vec::new()).await
        };
        let mut paging = Paging { direction: Direction::Backward, ..Paging::first(1) };
        paging.cursor = page(&paging).await.expect("a page").next;
        assert!(page(&paging).await.is_ok());
        paging.direction = Direction::Forward;
        assert!(page(&paging).await.is_err());
    }
}
