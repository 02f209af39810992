//! Asks the site and prints the reply.
//!
//! ```text
//! list      a page, or all pages
//! single    one record
//! search    the first match on any page
//! acts      entries of the audit log
//! envelope  `data` and `meta` around the records
//! ```

pub(crate) mod acts;
mod envelope;
mod list;
mod search;
mod single;

pub(crate) use envelope::{Many, Meta, One};
pub(crate) use list::{LARGEST_PAGE, Paging, print, print_as};
pub(crate) use search::first;
pub(crate) use single::{body, record, record_as};
