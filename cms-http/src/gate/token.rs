//! The token of a session that a request shows: in a header, else in a cookie.

use cms_core::Result;
use http::header;

use crate::request::Canonical;

/// `Authorization: Bearer ...` (RFC 6750, 2.1); other schemes are somebody else's.
pub(super) fn bearer(request: &Canonical) -> Result<Option<&str>> {
    let sent = request.header(&header::AUTHORIZATION)?;
    Ok(sent
        .and_then(|sent| sent.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, token)| token.trim()))
}

/// The session's cookie. Two of them are nobody's: another website of the domain may have set the
/// one.
pub(super) fn session_cookie<'r>(request: &'r Canonical, name: &str) -> Option<&'r str> {
    let lines = request.headers.get_all(header::COOKIE).iter();
    // Cookies of others may hold bytes that are no text.
    let pairs =
        lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b';')).map(<[u8]>::trim_ascii);
    let mut sessions =
        pairs.filter_map(|pair| pair.strip_prefix(name.as_bytes())?.strip_prefix(b"="));
    match (sessions.next(), sessions.next()) {
        (Some(token), None) => std::str::from_utf8(token).ok(),
        _ => None,
    }
}
