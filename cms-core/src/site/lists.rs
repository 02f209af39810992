//! The columns of the service's own lists, for descriptions of the API.

use super::Cms;
use crate::{
    accounts,
    content::Column,
    funnels,
    items::{self, OwnColumn},
    keys,
    traffic::origins,
    webhooks,
};

/// The declared columns of a list; None: the service has no such list.
fn declared(list: &str) -> Option<&'static [OwnColumn]> {
    let columns: &'static [OwnColumn] = match list {
        "assignable" => accounts::users::sql::NAMED.columns,
        "events" => webhooks::EVENTS.columns,
        "funnels" => funnels::FUNNELS.columns,
        "inbox" => &funnels::INBOX,
        "keys" => keys::row::LIST.columns,
        "origins" => origins::LIST.columns,
        "user_groups" => accounts::groups::sql::LIST.columns,
        "users" => accounts::users::sql::LIST.columns,
        "webhooks" => webhooks::SUBSCRIPTIONS.columns,
        _ => return None,
    };
    Some(columns)
}

impl Cms {
    /// The columns by which callers can filter and sort the rows of a list; empty: there is no
    /// such list.
    #[doc(hidden)]
    #[must_use]
    pub fn list_columns(&self, list: &str) -> Vec<Column> {
        if let Some(columns) = declared(list) {
            return items::columns(columns);
        }
        self.tables().find(list).map(|table| table.columns.clone()).unwrap_or_default()
    }

    /// The columns by which callers can sort one of the service's own lists.
    #[doc(hidden)]
    #[must_use]
    pub fn sorted_columns(list: &str) -> Vec<String> {
        declared(list).unwrap_or_default().iter().map(|one| one.name.to_owned()).collect()
    }

    /// The columns that a search in one of the service's own lists looks in.
    #[cfg(feature = "testing")]
    #[doc(hidden)]
    #[must_use]
    pub fn searched_columns(list: &str) -> Vec<String> {
        items::searched(declared(list).unwrap_or_default())
    }
}
