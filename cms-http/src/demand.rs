//! The rights that a request demands of its caller.

use std::borrow::Cow;

use cms_core::{
    Cms, Code, Error, Result,
    access::{Access, Bounds, KeyCall},
};

use crate::{
    caller::Caller,
    request::Canonical,
    wire::{Operation as _, openapi},
};

/// Every caller may read this: it lists what the caller may call.
pub(crate) const TELLS_RIGHTS: &str = openapi::Read::PATH;

/// What the body of a request names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Named {
    /// `table`.
    pub(crate) table: Option<String>,
    /// The permission to use the button, `{plugin}_{button_id}_edit`, with its owner.
    pub(crate) button: Option<(String, String)>,
    /// The call is a dry run: users need no right to change anything.
    pub(crate) only_reads: bool,
}

/// What rights are compared with, besides the address of the request.
#[derive(Clone)]
pub(crate) struct Demand {
    /// The path and the access of the route, if there is one.
    pub(crate) route: Option<(&'static str, Access)>,
    /// The parameters in the path.
    pub(crate) in_path: Vec<(String, String)>,
    /// What the body names.
    pub(crate) body: Named,
}

impl Demand {
    /// What the rights that allow the request bind besides.
    pub(crate) fn bounds(&self, request: &Canonical, caller: &Caller) -> Bounds {
        let Caller::Key(key) = caller else { return Bounds::default() };
        let bounds = self.as_key_call(request, |call| Bounds::of(&key.rights, call));
        bounds.unwrap_or(Bounds { record: true, fields: true, states: true })
    }

    /// The request in the form that rows of keys have: such a row names the path of the route,
    /// and a parameter in the path counts as a query parameter.
    pub(crate) fn as_key_call<T>(
        &self,
        request: &Canonical,
        judge: impl FnOnce(&KeyCall) -> T,
    ) -> T {
        let path = self.route.map_or(request.path.as_str(), |(path, _)| path);
        let query = if self.in_path.is_empty() {
            Cow::Borrowed(&request.query)
        } else {
            Cow::Owned([self.in_path.as_slice(), &request.query].concat())
        };
        let (method, body_table) = (request.method.as_str(), self.body.table.as_deref());
        judge(&KeyCall { method, path, query: &query, body_table })
    }

    /// Whether the request only reads what the caller may call: no key needs a right for that.
    pub(crate) fn tells_rights(&self) -> bool {
        self.route.is_some_and(|(path, _)| path == TELLS_RIGHTS)
    }

    /// Rights come before existence: only a caller that may call learns whether something exists.
    pub(crate) fn judge(&self, cms: &Cms, request: &Canonical, caller: &Caller) -> Result<()> {
        let (method, at) =
            (request.method.as_str(), self.route.map_or("this address", |(path, _)| path));
        let body_table = self.body.table.as_deref();
        match caller {
            Caller::Anonymous | Caller::Operator => Ok(()),
            Caller::Key(key) => {
                if self.tells_rights() {
                    return Ok(());
                }
                let allows = |call: &KeyCall| key.rights.iter().any(|right| right.allows(call));
                if self.as_key_call(request, allows) {
                    return Ok(());
                }
                let detail = format!(
                    "The key {:?} has no right for {method} on {at} with these parameters.",
                    key.name
                );
                Err(Error::new(Code::ApiKeyForbidden, detail))
            }
            Caller::User { .. } | Caller::Application { .. } => {
                let rights = caller.user_rights();
                let Some(((_, access), rights)) = self.route.zip(rights) else { return Ok(()) };
                // A table named in both places must be the same.
                let table = match (request.parameter("table"), body_table) {
                    (Some(asked), Some(body)) if asked != body => None,
                    (asked, body) => body.or(asked),
                };
                let allowed = match &self.body.button {
                    Some((plugin, permission)) if access == Access::Button => {
                        rights.may_use(plugin, permission)
                    }
                    _ if self.body.only_reads => cms.allows(rights, access, "GET", table),
                    _ => cms.allows(rights, access, method, table),
                };
                if allowed {
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
}
