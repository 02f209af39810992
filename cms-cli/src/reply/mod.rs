//! Calls the site and prints the reply.
//!
//! ```text
//! call      an operation: its reply as text and as its type
//! cells     how a column of a row is shown
//! shapes    replies that hold one thing, and those that hold a page
//! query     parameters of most lists
//! list      one page, or all pages
//! choose    flags that choose and sort rows
//! single    one record
//! several   one act for several things
//! search    rows on any page, the first match
//! named     ids from names
//! acts      entries of the audit log
//! codes     new recovery codes, shown once
//! streamed  large replies, written as they come
//! draft     drafts of pages, changed only as they were seen
//! ```

pub(crate) mod acts;
mod call;
mod cells;
mod choose;
pub(crate) mod codes;
pub(crate) mod draft;
mod list;
pub(crate) mod named;
mod query;
mod search;
mod several;
mod shapes;
mod single;
pub(crate) mod streamed;

pub(crate) use call::{call, call_once, data};
pub(crate) use cells::plain;
pub(crate) use choose::Choose;
pub(crate) use list::{Chosen, LARGEST_PAGE, Paging, chosen, list, list_as, records};
pub(crate) use query::{by_id, list_query, listing, one};
pub(crate) use search::first;
pub(crate) use several::{change, several};
pub(crate) use single::{record, record_as, show};
