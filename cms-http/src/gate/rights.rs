//! Who calls, and may he?

use cms_core::{Cms, Code, Error, Result, keys};

use super::{API_KEY, Caller};
use crate::{
    request::Canonical,
    routes::{Access, Route},
};

/// The caller by what he shows. Whether that is good enough is for [`admit`] and [`judge`] to say.
pub(super) async fn identify(cms: &Cms, request: &Canonical) -> Result<Caller> {
    match request.header(&API_KEY)? {
        Some(sent) => Box::pin(cms.keys().identify(sent)).await.map(Caller::Key),
        None => Ok(Caller::Anonymous),
    }
}

/// Who is not known does not learn more than that.
pub(super) fn admit(route: Option<&Route>, request: &Canonical, caller: &Caller) -> Result<()> {
    if !matches!(caller, Caller::Anonymous) || route.is_some_and(|route| route.access == Access::Public) {
        return Ok(());
    }
    if request.path.starts_with("/api/backend/") {
        return Err(Error::new(Code::LoginRequired, "Log in, or send a key with a right for this endpoint in X-Api-Key."));
    }
    Err(Error::new(Code::ApiKeyMissing, "Send an API key in the header X-Api-Key."))
}

/// Whether some row names the action at all: else there is no reason to read the body.
pub(super) fn may_act(request: &Canonical, caller: &Caller) -> bool {
    let names = |right: &keys::Right| {
        right.endpoint == "*" || (right.endpoint == request.path && right.methods.iter().any(|m| m == "POST"))
    };
    !matches!(caller, Caller::Key(key) if !key.rights.iter().any(names))
}

/// Rights come before existence: only who may call learns whether something is there.
pub(super) fn judge(
    cms: &Cms,
    route: Option<&Route>,
    request: &Canonical,
    caller: &Caller,
    body_table: Option<&str>,
    open: bool,
) -> Result<()> {
    let Caller::Key(key) = caller else { return Ok(()) };
    if open {
        return Ok(());
    }
    let call = keys::Call { method: request.method.as_str(), path: &request.path, query: &request.query, body_table };
    let allowed = caller.may(&call);
    cms.keys().note_use(key.id, !allowed);
    if allowed {
        return Ok(());
    }
    let at = route.map_or("this address", |route| route.path);
    Err(Error::new(
        Code::ApiKeyForbidden,
        format!("The key {:?} has no right for {} on {at} with these parameters.", key.name, request.method),
    ))
}
