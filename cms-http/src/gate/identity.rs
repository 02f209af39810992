//! Who calls: a user of the embedding application, else a key, else a token, else a cookie.

use cms_core::{Cms, Code, Error, Result, access::Access, db::Source};
use http::Method;

use super::{
    origin::Page,
    token::{bearer, session_cookie},
    visit::{Visit, Way},
};
use crate::{call::API_KEY, caller::Caller};

/// What a request shows of its caller.
pub(super) enum Credential {
    /// It is good, or nothing was shown that counts. With the count of changes of what the caller
    /// is about to read, where something counts them.
    Good(Caller, Option<i64>),
    /// It is bad, for this reason.
    Bad(Error),
}

/// Looks the credential up. `source`: what the caller is about to read.
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
            // What everybody may read needs no group.
            Err(reason) if is_open && reason.code() == Code::PermissionDenied => {
                Credential::Good(Caller::Anonymous, None)
            }
            Err(reason) => Credential::Bad(reason),
        };
    }
    if !visit.shows_credential() {
        return Credential::Good(Caller::Anonymous, None);
    }
    // In a box, so that visitors do not carry its room.
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
    // Neither a cookie, which is sent by itself, nor a token, which may be the embedding server's
    // own, is a reason to refuse what everybody may read.
    let (token, by_cookie) =
        match (bearer(request)?, session_cookie(request, visit.mount.cookie_name())) {
            (Some(token), _) => (token, false),
            (None, Some(token)) => (token, true),
            (None, None) => return Ok(nobody),
        };
    let found = cms.accounts().identify_reader(token, source).await?;
    Ok(found.map_or(nobody, |(user, changes)| (Caller::User { user, by_cookie }, changes)))
}

/// Refuses bad credentials, and callers that are nobody where somebody is asked for.
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
        known(visit, &caller)?;
        forged(visit, &caller, page)?;
    }
    Ok((caller, changes))
}

/// Who is not known does not learn more than that.
fn known(visit: &Visit, caller: &Caller) -> Result<()> {
    let access = visit.route.map(|route| route.access);
    let free = matches!(access, Some(Access::Public | Access::Login));
    if !matches!(caller, Caller::Anonymous) || free {
        return Ok(());
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

/// A browser sends the cookie with every request: what changes something must come from a page that
/// may call, and say so.
fn forged(visit: &Visit, caller: &Caller, page: &Page) -> Result<()> {
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
