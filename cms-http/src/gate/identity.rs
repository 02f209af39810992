//! Identifies the caller and judges their rights. A user of the embedding application comes
//! first, then a key, then a token, then a cookie.

use cms_core::{
    Cms, Code, Error, Result,
    access::{self, Access},
    db::Source,
};
use http::{Method, header};

use super::{
    origin::Page,
    visit::{self, Visit, Way},
};
use crate::{
    call::API_KEY,
    caller::Caller,
    demand::{Demand, Named},
    request::Canonical,
    routes::{Declared, Route},
};

/// What a request shows of its caller.
pub(super) enum Credential {
    /// A valid credential, or none that counts. Holds the count of changes of the records that
    /// the caller is about to read, where that is counted.
    Good(Caller, Option<i64>),
    /// An invalid credential, for this reason.
    Bad(Error),
}

/// Looks the credential up. `source`: the records that the caller is about to read.
pub(super) async fn credential(cms: &Cms, visit: &Visit, source: Option<Source<'_>>) -> Credential {
    if visit.way == Way::Operator {
        return Credential::Good(Caller::Operator, None);
    }
    let access = visit.route.map(|route| route.access);
    if let Some(user) = &visit.app_user
        && visit.is_judged()
        && access != Some(Access::Login)
    {
        let is_open = access == Some(Access::Public) && visit.is_read();
        return match Box::pin(cms.accounts().rights_of_app_user(user)).await {
            Ok(rights) => {
                Credential::Good(Caller::Application { user: user.clone(), rights }, None)
            }
            // Public endpoints need no group.
            Err(reason) if is_open && reason.code() == Code::PermissionDenied => {
                Credential::Good(Caller::Anonymous, None)
            }
            Err(reason) => Credential::Bad(reason),
        };
    }
    if !visit.shows_credential() {
        return Credential::Good(Caller::Anonymous, None);
    }
    // Boxed, so that requests of visitors do not carry the size of this future.
    match Box::pin(look_up(cms, visit, source)).await {
        Ok((caller, changes)) => Credential::Good(caller, changes),
        Err(reason) => Credential::Bad(reason),
    }
}

async fn look_up(
    cms: &Cms,
    visit: &Visit,
    source: Option<Source<'_>>,
) -> Result<(Caller, Option<i64>)> {
    let (request, access) = (&visit.request, visit.route.map(|route| route.access));
    if let Some(sent) = request.header(&API_KEY)? {
        if access.is_some_and(Access::refuses_keys) {
            return Err(Error::new(
                Code::ApiKeyForbidden,
                "Logins are for users: no key is taken here.",
            ));
        }
        let (key, changes) = cms.keys().identify_reader(sent, source).await?;
        return Ok((Caller::Key(key), changes));
    }
    let nobody = (Caller::Anonymous, None);
    if access == Some(Access::Login) {
        return Ok(nobody);
    }
    // An invalid cookie or token is no reason to refuse a public endpoint: browsers send cookies
    // by themselves, and a token may be the embedding server's own.
    let (token, by_cookie) =
        match (bearer(request)?, session_cookie(request, visit.mount.cookie_name())) {
            (Some(token), _) => (token, false),
            (None, Some(token)) => (token, true),
            (None, None) => return Ok(nobody),
        };
    let found = cms.accounts().identify_reader(token, source).await?;
    Ok(found.map_or(nobody, |(user, changes)| (Caller::User { user, by_cookie }, changes)))
}

/// Refuses invalid credentials, and anonymous callers where a credential is needed.
pub(super) fn admit(
    visit: &Visit,
    credential: Credential,
    page: &Page,
) -> Result<(Caller, Option<i64>)> {
    let (caller, changes) = match credential {
        Credential::Good(caller, changes) => (caller, changes),
        Credential::Bad(reason) => return Err(reason),
    };
    if visit.way == Way::Judged {
        refuse_anonymous(visit, &caller)?;
        refuse_csrf(visit, &caller, page)?;
    }
    Ok((caller, changes))
}

/// Refuses anonymous callers before they learn whether something exists.
fn refuse_anonymous(visit: &Visit, caller: &Caller) -> Result<()> {
    let access = visit.route.map(|route| route.access);
    let free = matches!(access, Some(Access::Public | Access::Login));
    if !matches!(caller, Caller::Anonymous) || free {
        return Ok(());
    }
    if access.is_some_and(Access::refuses_keys) {
        let detail = "Log in (again, if your session has ended): keys are not taken here.";
        return Err(Error::new(Code::LoginRequired, detail));
    }
    if visit.request.path.starts_with("/api/backend/") {
        return Err(Error::new(
            Code::LoginRequired,
            "Log in (again, if your session has ended), or send an API key with a right for this \
             endpoint in X-Api-Key.",
        ));
    }
    Err(Error::new(Code::ApiKeyMissing, "Send an API key in the header X-Api-Key."))
}

/// Browsers send the cookie with every request. A change must therefore come from a page that may
/// call, and name its origin.
fn refuse_csrf(visit: &Visit, caller: &Caller, page: &Page) -> Result<()> {
    let changes = !visit.is_read() && visit.request.method != Method::OPTIONS;
    let by_cookie = match caller {
        Caller::User { by_cookie, .. } => *by_cookie,
        Caller::Application { user, .. } => !user.is_by_token(),
        _ => false,
    };
    if changes && by_cookie && !matches!(page, Page::Allowed(_)) {
        let detail = match caller {
            Caller::Application { .. } => {
                "A login of the application changes things only with the Origin header of a page \
                 that may call, unless the application says that it came by a token."
            }
            _ => {
                "A session in a cookie changes things only with the Origin header of a page that \
                 may call; programs send the token as Authorization: Bearer."
            }
        };
        return Err(Error::new(Code::Csrf, detail));
    }
    Ok(())
}

/// The token of `Authorization: Bearer ...` (RFC 6750, 2.1); other schemes are not ours.
fn bearer(request: &Canonical) -> Result<Option<&str>> {
    let sent = request.header(&header::AUTHORIZATION)?;
    Ok(sent
        .and_then(|sent| sent.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, token)| token.trim()))
}

/// The session's cookie. Of two such cookies none counts: another website of the domain may have
/// set one of them.
fn session_cookie<'r>(request: &'r Canonical, name: &str) -> Option<&'r str> {
    let lines = request.headers.get_all(header::COOKIE).iter();
    // Other cookies may hold bytes that are not text.
    let pairs =
        lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b';')).map(<[u8]>::trim_ascii);
    let mut sessions =
        pairs.filter_map(|pair| pair.strip_prefix(name.as_bytes())?.strip_prefix(b"="));
    match (sessions.next(), sessions.next()) {
        (Some(token), None) => std::str::from_utf8(token).ok(),
        _ => None,
    }
}

/// Whether the caller could act on any table; if not, the body need not be read.
pub(super) fn may_act(visit: &Visit, caller: &Caller) -> bool {
    let names = |right: &access::Right| {
        right.endpoint == "*"
            || (right.endpoint == visit.request.path && right.methods.iter().any(|m| m == "POST"))
    };
    !matches!(caller, Caller::Key(key) if !key.rights.iter().any(names))
}

/// The demand of a request that comes over the network.
pub(super) fn demand_of(declared: &Declared, request: &mut Canonical) -> Result<Demand> {
    declared.respell(request)?;
    Ok(demand(visit::route_of(request), request))
}

fn demand(route: Option<&'static Route>, request: &Canonical) -> Demand {
    Demand {
        route: route.map(|route| (route.path, route.access)),
        in_path: route.map_or_else(Vec::new, |route| route.parameters(&request.path)),
        body: Named::default(),
    }
}

/// Judges the caller, and returns the demand, so that a change can judge it again. `body`: what
/// the body of an action names.
pub(super) fn judge(cms: &Cms, visit: &Visit, caller: &Caller, body: Named) -> Result<Demand> {
    let mut demand = demand(visit.route, &visit.request);
    demand.body = body;
    if visit.way != Way::Judged {
        return Ok(demand);
    }
    let outcome = demand.judge(cms, &visit.request, caller);
    if let Caller::Key(key) = caller {
        cms.keys().note_use(key.id, outcome.is_err());
        if outcome.is_err() {
            demand.as_key_call(&visit.request, |call| cms.keys().note_denied(key.id, call));
        }
    }
    outcome.map(|()| demand)
}
