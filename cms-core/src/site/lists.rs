//! The columns of the service's own lists, for descriptions of the API.

use super::Cms;
use crate::{accounts, content::Column, funnels, items, keys, traffic::origins, webhooks};

impl Cms {
    /// The columns by which callers can filter and sort the rows of a list; empty: there is no
    /// such list.
    #[doc(hidden)]
    #[must_use]
    pub fn list_columns(&self, list: &str) -> Vec<Column> {
        items::columns(match list {
            "assignable" => accounts::users::sql::NAMED.columns,
            "events" => webhooks::EVENTS.columns,
            "funnels" => funnels::FUNNELS.columns,
            "inbox" => &funnels::INBOX,
            "keys" => keys::sql::LIST.columns,
            "origins" => origins::sql::LIST.columns,
            "user_groups" => accounts::groups::sql::LIST.columns,
            "users" => accounts::users::sql::LIST.columns,
            "webhooks" => webhooks::SUBSCRIPTIONS.columns,
            table => {
                let table = self.tables().find(table);
                return table.map(|table| table.columns.clone()).unwrap_or_default();
            }
        })
    }
}
