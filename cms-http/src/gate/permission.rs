//! What backend users may call: their permissions, held against the table of routes.

use std::collections::BTreeMap;

use cms_core::{
    Cms,
    accounts::{Rights, area_of},
    keys::Right,
};

use super::Caller;
use crate::routes::{self, Access, Route};

const ITEM: &str = "/api/backend/item";

/// Whether a user with these rights may call the route; `table` is the one that the call names, in
/// its query or its body.
pub(super) fn allows(
    cms: &Cms,
    rights: &Rights,
    access: Access,
    method: &str,
    table: Option<&str>,
) -> bool {
    match access {
        Access::Open | Access::Public | Access::Login | Access::Session => true,
        Access::Admin => *rights == Rights::Admin,
        Access::Area(area) => rights.may(&permission(area, method)),
        Access::Table => {
            *rights == Rights::Admin
                || table.is_some_and(|table| allows_table(cms, rights, method, table))
        }
        Access::Operator => false,
    }
}

fn permission(area: &str, method: &str) -> String {
    format!("{area}_{}", if is_read(method) { "view" } else { "edit" })
}

fn is_read(method: &str) -> bool {
    method == "GET" || method == "HEAD"
}

/// The core's tables belong to areas. A plugin's are read by whoever may see some button of that
/// plugin; its buttons say who may change them.
fn allows_table(cms: &Cms, rights: &Rights, method: &str, table: &str) -> bool {
    let (Some(table), Rights::Only(keys)) = (cms.tables().find(table), rights) else {
        return false;
    };
    if table.plugin == "core" {
        return area_of(&table.name).is_some_and(|area| rights.may(&permission(area, method)));
    }
    is_read(method)
        && keys.iter().any(|key| {
            key.ends_with("_view") && plugin_of(cms, key).as_deref() == Some(table.plugin.as_str())
        })
}

/// The plugin that a permission key belongs to. Ids may begin like others: the longest counts.
fn plugin_of(cms: &Cms, key: &str) -> Option<String> {
    let stem = key.strip_suffix("_view").unwrap_or(key);
    // A button's id stands behind the plugin's.
    let begins = |id: &str| {
        stem.strip_prefix(id)
            .and_then(|rest| rest.strip_prefix('_'))
            .is_some_and(|button| !button.is_empty())
    };
    let states = cms.plugins().states();
    let named = states.iter().map(|plugin| &plugin.id).filter(|id| begins(id));
    named.max_by_key(|id| id.len()).cloned()
}

impl Caller {
    /// Whether the caller may read a content table; handlers ask this for tables that the address
    /// does not name.
    pub(crate) fn may_read(&self, cms: &Cms, table: &str) -> bool {
        let query = [("table".to_owned(), table.to_owned())];
        let call =
            cms_core::keys::Call { method: "GET", path: ITEM, query: &query, body_table: None };
        match self {
            Self::Anonymous => false,
            Self::Operator => true,
            Self::Key(key) => key.rights.iter().any(|right| right.allows(&call)),
            Self::User { user, .. } => allows(cms, &user.rights, Access::Table, "GET", Some(table)),
        }
    }

    /// Whether the caller may subscribe to anything, and so may see what is sent: it holds records
    /// of every table.
    pub(crate) fn may_see_payloads(&self) -> bool {
        const WEBHOOKS: &str = "/api/backend/webhooks";
        let call =
            cms_core::keys::Call { method: "POST", path: WEBHOOKS, query: &[], body_table: None };
        match self {
            Self::Anonymous => false,
            Self::Operator => true,
            Self::Key(key) => key.rights.iter().any(|right| right.allows(&call)),
            Self::User { user, .. } => user.rights.may("webhooks_subscriptions_edit"),
        }
    }

    /// The rows of a key's rights that the caller may pass on.
    pub(crate) fn rights(&self, cms: &Cms) -> Vec<Right> {
        match self {
            Self::Anonymous => Vec::new(),
            Self::Operator => vec![Right::everything()],
            Self::Key(key) => key.rights.clone(),
            Self::User { user, .. } if user.rights == Rights::Admin => vec![Right::everything()],
            Self::User { user, .. } => rows(cms, &user.rights),
        }
    }
}

/// What a user may call, as rows: a key made of them can do no more than he.
fn rows(cms: &Cms, rights: &Rights) -> Vec<Right> {
    let tables = cms.tables();
    let mut rows = Vec::new();
    for route in routes::all().iter().filter(|route| route.is_for_keys()) {
        let row = |query: BTreeMap<String, String>, table: Option<&str>| {
            let methods = route.methods.iter().map(|(method, _)| *method);
            let methods = methods
                .filter(|method| allows(cms, rights, route.access, method, table))
                .map(str::to_owned)
                .collect();
            Right { endpoint: route.path.to_owned(), query, methods }
        };
        if route.access == Access::Table {
            let of_table = |name: &str| {
                row(BTreeMap::from([("table".to_owned(), name.to_owned())]), Some(name))
            };
            rows.extend(tables.iter().map(|table| of_table(&table.name)));
        } else {
            rows.push(row(BTreeMap::new(), None));
        }
    }
    rows.retain(|row| !row.methods.is_empty());
    rows
}

impl Route {
    /// Whether an API key can reach it.
    pub(crate) fn is_for_keys(&self) -> bool {
        !matches!(self.access, Access::Open | Access::Login | Access::Session | Access::Operator)
    }
}
