//! Which operations and tables a caller may know: those that the caller may call.

use std::sync::Arc;

use cms_core::{
    access::{Access, Right},
    content::Table,
};

use crate::{call::Call, caller::Caller, describe::Described};

pub(super) fn knows(call: &Call<'_>, operation: &Described) -> bool {
    match (operation.access, call.caller()) {
        (Access::Login | Access::Session | Access::Operator, Caller::Key(_)) => false,
        (Access::Open | Access::Public | Access::Login, _) | (_, Caller::Operator) => true,
        (_, Caller::Anonymous) => false,
        (_, Caller::Key(key)) => key.rights.iter().any(|right| names(right, operation)),
        (access @ (Access::Table | Access::Checklist), Caller::User { user, .. }) => {
            call.cms.tables().iter().any(|table| {
                call.cms.allows(&user.rights, access, operation.method, Some(&table.name))
            })
        }
        (Access::Button, Caller::User { user, .. }) => {
            let index = call.cms.plugins().index();
            index
                .permissions()
                .any(|(plugin, key)| key.ends_with("_edit") && user.rights.may_use(plugin, key))
        }
        (access, Caller::User { user, .. }) => {
            call.cms.allows(&user.rights, access, operation.method, None)
        }
    }
}

/// Whether a row of a key is about the operation, whatever the parameters.
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
