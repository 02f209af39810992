//! Whether a user's permissions open an endpoint, and the same rights as rows of a key.

use std::collections::BTreeMap;

use super::{
    Access, CORE, Endpoint, HeldPermissions, Owner, RecordAct, Right, permissions::area_of,
};

/// Whether a user with these rights may call an endpoint. `owner` is the table named in the query
/// or the body; None when the call names no existing table.
#[must_use]
pub fn allows(
    rights: &HeldPermissions,
    access: Access,
    method: &str,
    owner: Option<Owner>,
) -> bool {
    match access {
        Access::Open | Access::Public | Access::Login => true,
        Access::Session | Access::User | Access::Buttons => true,
        // `Button`: the body names it, so the code that reads the body checks its permission.
        Access::Admin | Access::Button | Access::Plugin(_) => *rights == HeldPermissions::Admin,
        Access::Area(area) => rights.may(&permission(area, method)),
        Access::Read(area) => rights.may(&permission(area, "GET")),
        Access::Table => {
            *rights == HeldPermissions::Admin
                || owner.is_some_and(|owner| allows_table(rights, method, owner))
        }
        Access::Checklist => {
            *rights == HeldPermissions::Admin
                || owner.is_some_and(|owner| {
                    allows_all(rights, "PATCH", owner) || owner.may_write(rights, RecordAct::Check)
                })
        }
        Access::Operator => false,
    }
}

/// Whether these rights leave all columns open to an act.
#[must_use]
pub(crate) fn allows_columns(rights: &HeldPermissions, act: RecordAct, owner: Owner) -> bool {
    let method = match act {
        RecordAct::Create => "POST",
        RecordAct::Update | RecordAct::Check => "PATCH",
        RecordAct::Delete => "DELETE",
    };
    allows_all(rights, method, owner)
}

fn permission(area: &str, method: &str) -> String {
    format!("{area}_{}", if is_read(method) { "view" } else { "edit" })
}

fn is_read(method: &str) -> bool {
    method == "GET" || method == "HEAD"
}

/// Whether the method is open on the table. A button opens it for what the button writes.
fn allows_table(rights: &HeldPermissions, method: &str, owner: Owner) -> bool {
    let by_button = RecordAct::of(method).is_some_and(|act| owner.may_write(rights, act));
    by_button || allows_all(rights, method, owner)
}

/// Whether the method is open on all columns. Access to the core's tables follows their areas.
/// Any `_view` permission of a plugin allows reading that plugin's tables.
pub(super) fn allows_all(rights: &HeldPermissions, method: &str, owner: Owner) -> bool {
    if *rights == HeldPermissions::Admin {
        return true;
    }
    if owner.plugin == CORE {
        return area_of(owner.table).is_some_and(|area| rights.may(&permission(area, method)));
    }
    let mut views = owner.permissions.iter().filter(|key| key.ends_with("_view"));
    is_read(method) && views.any(|key| rights.may_use(owner.plugin, key))
}

/// Whether a key may get a row for the call. Rows cannot name the columns that a button writes,
/// so they grant only what is open as a whole.
fn allows_row(
    rights: &HeldPermissions,
    access: Access,
    method: &str,
    owner: Option<Owner>,
) -> bool {
    match access {
        Access::Table => owner.is_some_and(|owner| allows_all(rights, method, owner)),
        Access::Checklist => owner.is_some_and(|owner| allows_all(rights, "PATCH", owner)),
        Access::Buttons => *rights == HeldPermissions::Admin,
        _ => allows(rights, access, method, owner),
    }
}

/// What a user may call, as rows of a key. A key with these rows can do no more than the user.
#[must_use]
pub fn rows(rights: &HeldPermissions, endpoints: &[Endpoint], tables: &[Owner]) -> Vec<Right> {
    if *rights == HeldPermissions::Admin {
        return vec![Right::everything()];
    }
    let mut rows = Vec::new();
    for endpoint in endpoints.iter().filter(|endpoint| endpoint.access.is_for_keys()) {
        let row = |mut query: BTreeMap<String, String>, owner: Option<Owner>| {
            query.extend(endpoint.action.map(|name| ("action".to_owned(), name.to_owned())));
            let methods = endpoint.methods.iter().copied();
            let methods = methods
                .filter(|method| allows_row(rights, endpoint.access, method, owner))
                .map(str::to_owned)
                .collect();
            Right { endpoint: endpoint.path.clone(), query, methods }
        };
        if matches!(endpoint.access, Access::Table | Access::Checklist) {
            rows.extend(tables.iter().map(|owner| {
                row(BTreeMap::from([("table".to_owned(), owner.table.to_owned())]), Some(*owner))
            }));
        } else {
            rows.push(row(BTreeMap::new(), None));
        }
    }
    rows.retain(|row| !row.methods.is_empty());
    rows
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::access::{Permissions, Writer};

    /// Each key belongs to the first of these plugins whose id it begins with.
    fn rights(keys: &[&str]) -> HeldPermissions {
        let keys: Permissions = keys.iter().map(|key| (*key).to_owned()).collect();
        let owner = |key: &str, held: &str| {
            let plugins = ["shop_orders", "shop"].into_iter();
            let plugin = plugins.clone().find(|plugin| key.starts_with(&format!("{plugin}_list")));
            let plugin = plugin.or_else(|| plugins.clone().find(|id| key.starts_with(*id)));
            Some(plugin.unwrap_or(held).to_owned())
        };
        HeldPermissions::Only(keys.owned_by(owner))
    }

    fn endpoint(path: &str, methods: &[&'static str], access: Access) -> Endpoint {
        Endpoint { path: path.to_owned(), action: None, methods: methods.to_vec(), access }
    }

    fn shown(rows: &[Right]) -> Vec<String> {
        let shown =
            |row: &Right| format!("{} {} {:?}", row.methods.join(","), row.endpoint, row.query);
        rows.iter().map(shown).collect()
    }

    /// A button that writes the titles of `goods`.
    fn writer(name: &str, act: RecordAct) -> Writer {
        Writer {
            plugin: "shop".to_owned(),
            permission: format!("shop_{name}_edit"),
            act,
            columns: BTreeSet::from(["title".to_owned()]),
            version: false,
        }
    }

    #[test]
    fn permissions_open_areas_and_tables() {
        let keys = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect();
        let (none, of_shop, of_orders): (_, BTreeSet<String>, BTreeSet<String>) = (
            BTreeSet::new(),
            keys(&["shop_list_view", "shop_list_edit"]),
            keys(&["shop_orders_list_view", "shop_orders_list_edit"]),
        );
        let core = Owner { table: "pages", plugin: "core", permissions: &none, writers: &[] };
        let orders =
            Owner { table: "orders", plugin: "shop_orders", permissions: &of_orders, writers: &[] };
        let shop = Owner { table: "goods", plugin: "shop", permissions: &of_shop, writers: &[] };
        // A button `orders_list` of shop: the same key, of another plugin.
        let stranger =
            Owner { table: "goods", plugin: "shop", permissions: &of_orders, writers: &[] };
        for (keys, access, method, owner, expected) in [
            (&["keys_keys_view"][..], Access::Area("keys_keys"), "HEAD", None, true),
            (&["keys_keys_view"], Access::Area("keys_keys"), "POST", None, false),
            (&["keys_keys_edit"], Access::Area("keys_keys"), "POST", None, true),
            (&["keys_keys_view"], Access::Read("keys_keys"), "POST", None, true),
            (&["keys_keys_edit"], Access::Read("keys_keys"), "POST", None, false),
            (&["keys_keys_edit"], Access::Admin, "GET", None, false),
            (&["pages_pages_edit"], Access::Table, "PATCH", Some(core), true),
            (&["pages_pages_edit"], Access::Table, "GET", Some(core), false),
            (&["pages_pages_view"], Access::Table, "GET", None, false),
            (&["shop_list_view"], Access::Table, "GET", Some(shop), true),
            (&["shop_list_edit"], Access::Table, "POST", Some(shop), false),
            (&["shop_orders_list_view"], Access::Table, "GET", Some(orders), true),
            (&["shop_orders_list_view"], Access::Table, "GET", Some(shop), false),
            (&["shop_orders_list_view"], Access::Table, "GET", Some(stranger), false),
            (&["shop_orders_view"], Access::Table, "GET", Some(shop), false),
            (&[], Access::Operator, "GET", None, false),
            (&[], Access::Session, "POST", None, true),
            (&[], Access::User, "GET", None, true),
        ] {
            let found = allows(&rights(keys), access, method, owner);
            assert_eq!(found, expected, "{keys:?} {access:?} {method} {owner:?}");
        }
    }

    #[test]
    fn buttons_and_checklists_open_what_they_write() {
        let permissions = BTreeSet::from(["shop_list_view".to_owned()]);
        let writers = [
            writer("new", RecordAct::Create),
            writer("edit", RecordAct::Update),
            writer("delete", RecordAct::Delete),
            writer("tags", RecordAct::Check),
        ];
        let shop =
            Owner { table: "goods", plugin: "shop", permissions: &permissions, writers: &writers };
        let none = BTreeSet::new();
        let core = Owner { table: "pages", plugin: "core", permissions: &none, writers: &[] };
        for (keys, access, method, owner, expected) in [
            (&["shop_new_edit"][..], Access::Table, "POST", Some(shop), true),
            (&["shop_new_edit"], Access::Table, "PATCH", Some(shop), false),
            (&["shop_edit_edit"], Access::Table, "PATCH", Some(shop), true),
            (&["shop_edit_edit"], Access::Table, "DELETE", Some(shop), false),
            (&["shop_delete_edit"], Access::Table, "DELETE", Some(shop), true),
            (&["shop_delete_edit"], Access::Table, "GET", Some(shop), false),
            (&["shop_tags_edit"], Access::Checklist, "POST", Some(shop), true),
            (&["shop_tags_edit"], Access::Table, "PATCH", Some(shop), false),
            (&["shop_edit_edit"], Access::Checklist, "POST", Some(shop), false),
            (&["pages_pages_edit"], Access::Checklist, "POST", Some(core), true),
            (&["pages_pages_view"], Access::Checklist, "POST", Some(core), false),
            (&["pages_pages_edit"], Access::Checklist, "POST", None, false),
        ] {
            let found = allows(&rights(keys), access, method, owner);
            assert_eq!(found, expected, "{keys:?} {access:?} {method}");
        }
        for access in [Access::Table, Access::Checklist] {
            assert!(allows(&HeldPermissions::Admin, access, "POST", None), "{access:?}");
        }
        for (rights, owner, expected) in [
            (HeldPermissions::Admin, shop, true),
            (rights(&["shop_new_edit", "shop_edit_edit", "shop_delete_edit"]), shop, false),
            (rights(&["pages_pages_edit"]), core, true),
            (rights(&["pages_pages_view"]), core, false),
        ] {
            for act in [RecordAct::Create, RecordAct::Update, RecordAct::Delete, RecordAct::Check] {
                assert_eq!(allows_columns(&rights, act, owner), expected, "{rights:?} {act:?}");
            }
        }
    }

    #[test]
    fn rows_name_tables_that_are_open_as_a_whole() {
        let endpoints = [
            endpoint("/api/backend/item", &["GET", "PATCH"], Access::Table),
            endpoint("/api/backend/item/checklist", &["POST"], Access::Checklist),
        ];
        let permissions = BTreeSet::from(["shop_list_view".to_owned()]);
        let writers = [RecordAct::Update, RecordAct::Check].map(|act| writer("edit", act));
        let none = BTreeSet::new();
        let tables = [
            Owner { table: "pages", plugin: "core", permissions: &none, writers: &[] },
            Owner { table: "goods", plugin: "shop", permissions: &permissions, writers: &writers },
        ];
        let held = rights(&["shop_list_view", "shop_edit_edit", "pages_pages_edit"]);
        assert_eq!(
            shown(&rows(&held, &endpoints, &tables)),
            [
                r#"PATCH /api/backend/item {"table": "pages"}"#,
                r#"GET /api/backend/item {"table": "goods"}"#,
                r#"POST /api/backend/item/checklist {"table": "pages"}"#,
            ]
        );
    }

    #[test]
    fn rows_grant_exactly_what_the_user_may_call() {
        let endpoints = [
            endpoint("/api/backend/item", &["GET", "POST"], Access::Table),
            endpoint("/api/backend/keys", &["GET", "POST"], Access::Area("keys_keys")),
            endpoint("/api/backend/keys/try", &["POST"], Access::Read("keys_keys")),
            endpoint("/api/backend/audit", &["GET"], Access::Admin),
            endpoint("/api/backend/auth/me", &["GET"], Access::Session),
            endpoint("/api/backend/plugins/content", &["GET"], Access::Buttons),
        ];
        let none = BTreeSet::new();
        let tables = [Owner { table: "pages", plugin: "core", permissions: &none, writers: &[] }];
        let held = rights(&["keys_keys_view", "pages_pages_edit"]);
        assert_eq!(
            shown(&rows(&held, &endpoints, &tables)),
            [
                r#"POST /api/backend/item {"table": "pages"}"#,
                "GET /api/backend/keys {}",
                "POST /api/backend/keys/try {}",
            ]
        );
        assert_eq!(rows(&HeldPermissions::Admin, &endpoints, &tables), [Right::everything()]);
    }
}
