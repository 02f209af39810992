//! Who calls, and may he?

use cms_core::{
    Cms, Code, Error, Result,
    access::{self, Access},
};
use http::{Method, header};

use crate::{
    call::{API_KEY, Caller, SESSION_COOKIE},
    request::Canonical,
    routes::Route,
};

/// The caller by what he shows: a key, else a token, else a cookie. Whether that is good enough is
/// for [`admit`] and [`judge`] to say.
pub(super) async fn identify(
    cms: &Cms,
    request: &Canonical,
    route: Option<&Route>,
) -> Result<Caller> {
    let access = route.map(|route| route.access);
    if let Some(sent) = request.header(&API_KEY)? {
        if matches!(access, Some(Access::Login | Access::Session)) {
            return Err(Error::new(
                Code::ApiKeyForbidden,
                "Logins are for users: no key is taken here.",
            ));
        }
        return Box::pin(cms.keys().identify(sent)).await.map(Caller::Key);
    }
    if access == Some(Access::Login) {
        return Ok(Caller::Anonymous);
    }
    // Neither a cookie, which is sent by itself, nor a token, which may be the embedding server's
    // own, is a reason to refuse what everybody may read.
    let (token, by_cookie) = match (bearer(request)?, session_cookie(request)) {
        (Some(token), _) => (token, false),
        (None, Some(token)) => (token, true),
        (None, None) => return Ok(Caller::Anonymous),
    };
    Ok(Box::pin(cms.accounts().identify(token))
        .await?
        .map_or(Caller::Anonymous, |user| Caller::User { user, by_cookie }))
}

/// `Authorization: Bearer ...` (RFC 6750, 2.1); other schemes are somebody else's.
fn bearer(request: &Canonical) -> Result<Option<&str>> {
    let sent = request.header(&header::AUTHORIZATION)?;
    Ok(sent
        .and_then(|sent| sent.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, t)| t.trim()))
}

/// The session's cookie. Two of them are nobody's: another website of the domain may have set the
/// one.
fn session_cookie(request: &Canonical) -> Option<&str> {
    let lines = request.headers.get_all(header::COOKIE).iter();
    // Cookies of others may hold bytes that are no text.
    let pairs =
        lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b';')).map(<[u8]>::trim_ascii);
    let mut sessions =
        pairs.filter_map(|pair| pair.strip_prefix(SESSION_COOKIE.as_bytes())?.strip_prefix(b"="));
    match (sessions.next(), sessions.next()) {
        (Some(token), None) => std::str::from_utf8(token).ok(),
        _ => None,
    }
}

/// Who is not known does not learn more than that.
pub(super) fn admit(route: Option<&Route>, request: &Canonical, caller: &Caller) -> Result<()> {
    let free = route.is_some_and(|route| matches!(route.access, Access::Public | Access::Login));
    if !matches!(caller, Caller::Anonymous) || free {
        return Ok(());
    }
    if request.path.starts_with("/api/backend/") {
        return Err(Error::new(
            Code::LoginRequired,
            "Log in (a session that ended must be begun anew), or send a key with a right for this endpoint in X-Api-Key.",
        ));
    }
    Err(Error::new(Code::ApiKeyMissing, "Send an API key in the header X-Api-Key."))
}

/// A browser sends the cookie with every request: what changes something must come from a page that
/// may call, and say so.
pub(super) fn check_forgery(request: &Canonical, caller: &Caller, has_origin: bool) -> Result<()> {
    let changes = ![Method::GET, Method::HEAD, Method::OPTIONS].contains(&request.method);
    if changes && !has_origin && matches!(caller, Caller::User { by_cookie: true, .. }) {
        return Err(Error::new(
            Code::Csrf,
            "A session in a cookie changes things only with the Origin header of a page that may call; programs send the token as Authorization: Bearer.",
        ));
    }
    Ok(())
}

/// Whether the caller could act on some table: else there is no reason to read the body.
pub(super) fn may_act(request: &Canonical, caller: &Caller) -> bool {
    let names = |right: &access::Right| {
        right.endpoint == "*"
            || (right.endpoint == request.path && right.methods.iter().any(|m| m == "POST"))
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
) -> Result<()> {
    let (method, at) = (request.method.as_str(), route.map_or("this address", |route| route.path));
    match caller {
        Caller::Anonymous | Caller::Operator => Ok(()),
        Caller::Key(key) => {
            let call =
                access::Call { method, path: &request.path, query: &request.query, body_table };
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
                "You have no permission for {method} on {at} with these parameters: an administrator can give it to one of your groups."
            );
            Err(Error::new(Code::PermissionDenied, detail))
        }
    }
}
