//! What a request shows of its caller: a key, else a token, else a cookie.

use cms_core::{
    Cms, Code, Error, Result,
    access::{Access, KeyCall},
};
use http::header;

use crate::{
    call::{API_KEY, Call, Caller, SESSION_COOKIE},
    request::Canonical,
};

/// `Authorization: Bearer ...` (RFC 6750, 2.1); other schemes are somebody else's.
pub(crate) fn bearer(request: &Canonical) -> Result<Option<&str>> {
    let sent = request.header(&header::AUTHORIZATION)?;
    Ok(sent
        .and_then(|sent| sent.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, token)| token.trim()))
}

/// The session's cookie. Two of them are nobody's: another website of the domain may have set the
/// one.
pub(crate) fn session_cookie(request: &Canonical) -> Option<&str> {
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

/// A caller whose reply lasts: judged again as long as it does.
pub(crate) struct Lasting {
    cms: Cms,
    access: Access,
    credential: Credential,
    path: String,
    query: Vec<(String, String)>,
}

enum Credential {
    Operator,
    Key(Box<str>),
    Token { token: Box<str>, by_cookie: bool },
}

impl Lasting {
    /// The caller of a GET that has passed the gate.
    pub(crate) fn of(call: &Call<'_>, access: Access) -> Result<Self> {
        let request = call.request;
        let credential = match call.caller {
            Caller::Operator => Some(Credential::Operator),
            Caller::Anonymous => None,
            Caller::Key(_) => request.header(&API_KEY)?.map(|key| Credential::Key(key.into())),
            Caller::User { by_cookie, .. } => {
                let token = if *by_cookie { session_cookie(request) } else { bearer(request)? };
                let by_cookie = *by_cookie;
                token.map(|token| Credential::Token { token: token.into(), by_cookie })
            }
        };
        let credential = credential.ok_or_else(gone)?;
        let (path, query) = (request.path.clone(), request.query.clone());
        Ok(Self { cms: call.cms.clone(), access, credential, path, query })
    }

    /// The caller with present rights.
    ///
    /// # Errors
    /// The refusal that the same request would get now.
    pub(crate) async fn caller(&self) -> Result<Caller> {
        match &self.credential {
            Credential::Operator => Ok(Caller::Operator),
            Credential::Key(key) => {
                let key = self.cms.keys().identify(key).await?;
                let (path, query) = (&self.path, &self.query);
                let call = KeyCall { method: "GET", path, query, body_table: None };
                if key.rights.iter().any(|right| right.allows(&call)) {
                    Ok(Caller::Key(key))
                } else {
                    Err(Error::new(Code::ApiKeyForbidden, "The key has lost its right for this."))
                }
            }
            Credential::Token { token, by_cookie } => {
                let user = self.cms.accounts().identify_again(token).await?.ok_or_else(gone)?;
                if self.cms.allows(&user.rights, self.access, "GET", None) {
                    Ok(Caller::User { user, by_cookie: *by_cookie })
                } else {
                    Err(Error::new(Code::PermissionDenied, "You have lost the right for this."))
                }
            }
        }
    }
}

fn gone() -> Error {
    Error::new(Code::LoginRequired, "Your session has ended: log in again.")
}
