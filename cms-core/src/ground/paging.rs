//! Pages of lists, read by key. Rows are never counted.

use super::{
    Code, Error, Result,
    cursor::{Cursors, foreign},
};

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
    /// All rows that match, when the query counts them.
    pub total: Option<i64>,
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

/// The lists with cursors of this module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListName {
    Assignable,
    Audit,
    Deliveries,
    Events,
    Funnels,
    Jobs,
    LoginAttempts,
    Mails,
    Messages,
    PageLinks,
    PagePlans,
    Revisions,
    Sessions,
    Submissions,
    TaskRuns,
}

/// A list as its cursors name it.
pub(crate) struct List<'a> {
    cursors: &'a Cursors,
    name: ListName,
    of: String,
}

impl<'a> List<'a> {
    pub(crate) fn new(cursors: &'a Cursors, name: ListName) -> Self {
        Self { cursors, name, of: String::new() }
    }

    /// Only the rows that this selects: another selection refuses the cursors.
    pub(crate) fn of(self, selection: impl std::fmt::Debug) -> Self {
        Self { of: format!("{selection:?}"), ..self }
    }

    fn named(&self, direction: Direction) -> String {
        format!("{:?} {direction:?} {}", self.name, self.of)
    }
}

impl<T> Page<T> {
    /// A page of a list sorted by id, ascending. `read(after, limit)` returns the rows.
    ///
    /// # Errors
    /// `bad_query` for a cursor of another list, or for backward order.
    pub(crate) async fn by_id(
        list: List<'_>,
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
        list: List<'_>,
        paging: &Paging,
        read: impl AsyncFnOnce(i64, i64) -> Result<Vec<T>>,
        id: impl Fn(&T) -> i64,
    ) -> Result<Self> {
        Self::from_id(list, paging, i64::MAX, read, id).await
    }

    async fn from_id(
        list: List<'_>,
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
        list: List<'_>,
        paging: &Paging,
        parse: impl FnOnce(&[u8]) -> Option<K>,
        read: impl AsyncFnOnce(Option<K>, i64) -> Result<Vec<T>>,
        key: impl Fn(&T) -> Vec<u8>,
    ) -> Result<Self> {
        let (named, limit) = (list.named(paging.direction), paging.limit);
        let place =
            |cursor: &String| parse(&list.cursors.open(&named, cursor)?).ok_or_else(foreign);
        let last = paging.cursor.as_ref().map(place).transpose()?;
        let mut data = read(last, i64::from(limit) + 1).await?;
        let more = data.len() > limit as usize;
        data.truncate(limit as usize);
        let last = data.last().filter(|_| more);
        let next = last.map(|last| list.cursors.seal(&named, &key(last))).transpose()?;
        Ok(Self { data, limit, next, total: None })
    }

    pub(crate) fn map<U>(self, change: impl FnMut(T) -> U) -> Page<U> {
        Page {
            data: self.data.into_iter().map(change).collect(),
            limit: self.limit,
            next: self.next,
            total: self.total,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Random;

    fn cursors() -> Cursors {
        Cursors::new(["secret"], &Random::seeded(1)).expect("keys")
    }

    async fn page(list: ListName, paging: &Paging) -> Result<Page<i64>> {
        let read = async |after: i64, limit: i64| {
            Ok((1..=5).filter(|id| *id > after).take(limit as usize).collect())
        };
        Page::by_id(List::new(&cursors(), list), paging, read, |id| *id).await
    }

    #[tokio::test]
    async fn a_cursor_of_one_list_is_refused_by_another() {
        let mut paging = Paging::first(2);
        let first = page(ListName::Mails, &paging).await.expect("a page");
        assert_eq!(first.data, [1, 2]);
        paging.cursor = first.next;
        let second = page(ListName::Mails, &paging).await.expect("a page");
        assert_eq!(second.data, [3, 4]);
        for list in [ListName::Jobs, ListName::Messages, ListName::Sessions] {
            let refused = page(list, &paging).await.expect_err("of another list");
            assert_eq!(refused.code(), Code::BadQuery, "{list:?}");
        }
        paging.direction = Direction::Backward;
        assert!(page(ListName::Mails, &paging).await.is_err(), "the list has only one order");
    }

    #[tokio::test]
    async fn a_cursor_of_one_direction_is_refused_by_the_other() {
        let page = async |paging: &Paging| {
            let read = async |_: Option<()>, _| Ok(vec![1, 2]);
            let cursors = cursors();
            let list = List::new(&cursors, ListName::Messages).of("a");
            Page::by_key(list, paging, |_| Some(()), read, |_| Vec::new()).await
        };
        let mut paging = Paging { direction: Direction::Backward, ..Paging::first(1) };
        paging.cursor = page(&paging).await.expect("a page").next;
        assert!(page(&paging).await.is_ok());
        paging.direction = Direction::Forward;
        assert!(page(&paging).await.is_err());
    }
}
