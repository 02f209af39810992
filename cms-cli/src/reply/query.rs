//! Parameters of most lists.

use cms_http::wire::parameters::{ById, Limit, Listing, OneOrList};

/// A page of a list.
pub(crate) fn list_query(limit: Limit, cursor: Option<String>) -> OneOrList {
    OneOrList::page(limit, cursor)
}

/// A page of a list whose rows have no id.
pub(crate) fn listing(limit: Limit, cursor: Option<String>) -> Listing {
    Listing { limit, cursor }
}

/// One row of a list.
pub(crate) fn one(id: i64) -> OneOrList {
    OneOrList { id: Some(id), ..OneOrList::default() }
}

/// The row to act on.
pub(crate) fn by_id(id: i64) -> ById {
    ById { id }
}
