//! Calls the site and prints the reply.
//!
//! ```text
//! call      an operation: its parameters, its reply as text and as its type
//! list      one page, or all pages; flags that choose rows; the first match
//! record    one record; one act for several
//! named     rows with names: ids from names, and the plain verbs
//! streamed  large replies, written as they come
//! draft     drafts of pages, changed only as they were seen
//! ```

mod call;
pub(crate) mod draft;
mod list;
pub(crate) mod named;
mod record;
pub(crate) mod streamed;

pub(crate) use call::{by_id, call, call_once, data, given, list_query, listing, one, renew_codes};
pub(crate) use list::{
    Choose, Chosen, LARGEST_PAGE, Paging, acts, chosen, first, list, list_as, records,
};
pub(crate) use named::{Noun, WEBHOOKS};
pub(crate) use record::{
    Saved, act, change, delete, plain, printed, record, record_as, several, show, shown,
};
