//! What the caller may do.

use cms_core::{Cms, Code, Error, Result, access};

use super::visit::{Visit, Way};
use crate::call::Caller;

/// Whether the caller could act on some table: else there is no reason to read the body.
pub(super) fn may_act(visit: &Visit, caller: &Caller) -> bool {
    let names = |right: &access::Right| {
        right.endpoint == "*"
            || (right.endpoint == visit.request.path && right.methods.iter().any(|m| m == "POST"))
    };
    !matches!(caller, Caller::Key(key) if !key.rights.iter().any(names))
}

/// Rights come before existence: only who may call learns whether something is there.
/// `body_table`: the table that an action names in its body.
pub(super) fn judge(
    cms: &Cms,
    visit: &Visit,
    caller: &Caller,
    body_table: Option<&str>,
) -> Result<()> {
    let (request, route) = (&visit.request, visit.route);
    let (method, at) = (request.method.as_str(), route.map_or("this address", |route| route.path));
    match caller {
        _ if visit.way != Way::Judged => Ok(()),
        Caller::Anonymous | Caller::Operator => Ok(()),
        Caller::Key(key) => {
            let call =
                access::KeyCall { method, path: &request.path, query: &request.query, body_table };
            let allowed = key.rights.iter().any(|right| right.allows(&call));
            cms.keys().note_use(key.id, !allowed);
            let detail = || {
                format!(
                    "The key {:?} has no right for {method} on {at} with these parameters.",
                    key.name
                )
            };
            if allowed { Ok(()) } else { Err(Error::new(Code::ApiKeyForbidden, detail())) }
        }
        Caller::User { user, .. } => {
            let Some(route) = route else { return Ok(()) };
            // A table named twice must be the same.
            let table = match (request.parameter("table"), body_table) {
                (Some(asked), Some(body)) if asked != body => None,
                (asked, body) => body.or(asked),
            };
            if cms.allows(&user.rights, route.access, method, table) {
                return Ok(());
            }
            let detail = format!(
                "You have no permission for {method} on {at} with these parameters: an \
                 administrator can give it to one of your groups."
            );
            Err(Error::new(Code::PermissionDenied, detail))
        }
    }
}
