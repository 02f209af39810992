//! Which operations and tables a caller sees in the document: those that the caller may use.

use std::sync::Arc;

use cms_core::{
    access::{Access, HeldPermissions, Right},
    content::Table,
};

use crate::{
    call::Call,
    caller::Caller,
    demand::TELLS_RIGHTS,
    describe::Described,
    wire::{Operation as _, auth, item},
};

pub(super) fn knows(call: &Call<'_>, operation: &Described) -> bool {
    match (operation.access, call.caller()) {
        (Access::Login | Access::Session, Caller::Key(_)) => false,
        // The operator's paths do not exist over the network.
        (Access::Operator, _) => false,
        (Access::Open, _) | (_, Caller::Operator) => true,
        (Access::Login, Caller::Application { .. }) => false,
        // The application holds the account of its users.
        (Access::Session, Caller::Application { .. }) => {
            [auth::WhoAmI::PATH, auth::Logout::PATH].contains(&operation.path)
        }
        (Access::Public | Access::Login, Caller::Anonymous) => true,
        (_, Caller::Anonymous) => false,
        (_, Caller::Key(key)) => {
            operation.path == TELLS_RIGHTS || key.rights.iter().any(|right| names(right, operation))
        }
        (access, Caller::User { .. } | Caller::Application { .. }) => {
            let rights = call.caller().user_rights();
            rights.is_some_and(|rights| opens(call, operation, access, rights))
        }
    }
}

fn opens(call: &Call<'_>, operation: &Described, access: Access, rights: &HeldPermissions) -> bool {
    let allows = |table| call.cms.allows(rights, access, operation.method, table);
    match access {
        Access::Public | Access::Login => true,
        Access::Checklist => {
            call.cms.tables().iter().any(|table| allows(Some(table.name.as_str())))
        }
        Access::Button => {
            let index = call.cms.plugins().index();
            index
                .permissions()
                .any(|(plugin, key)| key.ends_with("_edit") && rights.may_use(plugin, key))
        }
        _ => allows(None),
    }
}

/// The records of a table that a caller may use a method on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reach {
    Nothing,
    /// Records by their id.
    One,
    All,
}

/// The records that the caller may use a method on, with all columns. A right that is bound to
/// `fields` does not count, because the document shows whole records.
pub(super) fn reach(call: &Call<'_>, method: &str, table: &str) -> Reach {
    let of = |right: &Right| {
        let query = &right.query;
        if right.endpoint == "*" {
            return Reach::All;
        }
        let is_about = right.endpoint == item::Read::PATH
            && right.methods.iter().any(|one| one == method)
            && query.get("table").is_none_or(|one| one == table)
            && !query.contains_key("fields");
        match is_about {
            false => Reach::Nothing,
            true if query.contains_key("id") => Reach::One,
            true => Reach::All,
        }
    };
    let may = match call.caller() {
        Caller::Anonymous => false,
        Caller::Operator => true,
        Caller::Key(key) => return key.rights.iter().map(of).max().unwrap_or(Reach::Nothing),
        // A button may open some columns to callers that may not read the table.
        caller => {
            let allows = |rights| call.cms.allows(rights, Access::Table, method, Some(table));
            caller.user_rights().is_some_and(allows) && caller.may_read(call.cms, table)
        }
    };
    if may { Reach::All } else { Reach::Nothing }
}

/// Whether a key's right names the operation, whatever its parameters.
fn names(right: &Right, operation: &Described) -> bool {
    let action = right.query.get("action").map(String::as_str);
    right.endpoint == "*"
        || (right.endpoint == operation.path
            && right.methods.iter().any(|method| method == operation.method)
            && (action.is_none() || action == operation.action))
}

/// The content tables that the caller may read.
pub(super) fn tables(call: &Call<'_>) -> Vec<Arc<Table>> {
    let tables = call.cms.tables();
    tables.iter().filter(|table| call.caller().may_read(call.cms, &table.name)).cloned().collect()
}
