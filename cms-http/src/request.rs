//! A request in its one canonical form, so that limiter, rights, cache and handler see the same.

use std::net::IpAddr;

use cms_core::{
    Code, Error, Result,
    access::{Access, spelled},
};
use http::{HeaderMap, HeaderName, Method, Uri, uri::Authority};
use percent_encoding::percent_decode_str;

/// A request whose path and query were checked and decoded.
#[derive(Debug)]
pub(crate) struct Canonical {
    pub(crate) method: Method,
    pub(crate) path: String,
    /// The decoded path as it was sent, if `path` has underscores in place of its dashes.
    pub(crate) as_sent: Option<String>,
    pub(crate) query: Vec<(String, String)>,
    pub(crate) headers: HeaderMap,
}

impl Canonical {
    pub(crate) fn new(method: Method, uri: &Uri, headers: HeaderMap) -> Result<Self> {
        let (request, unreadable) = Self::read(method, (uri.path(), uri.query()), headers);
        unreadable.map_or(Ok(request), Err)
    }

    /// Decodes a request. If that fails, returns it as it was sent, with the reason.
    pub(crate) fn read(
        method: Method,
        (sent, asked): (&str, Option<&str>),
        headers: HeaderMap,
    ) -> (Self, Option<Error>) {
        let read = path(sent).and_then(|path| Ok((path, query(asked.unwrap_or_default())?)));
        let (address, unreadable) = match read {
            Ok(address) => (address, None),
            Err(reason) => (((sent.to_owned(), None), Vec::new()), Some(reason)),
        };
        let ((path, as_sent), query) = address;
        (Self { method, path, as_sent, query, headers }, unreadable)
    }

    /// Whether everybody may call, with any credential or none. `access`: the access of the route.
    pub(crate) fn is_open(&self, access: Option<Access>) -> bool {
        access.map_or(!self.path.starts_with("/api/"), |access| access == Access::Open)
    }

    /// The value of a query parameter.
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// The value of a header; refuses a header that is sent twice.
    pub(crate) fn header(&self, name: &HeaderName) -> Result<Option<&str>> {
        let mut values = self.headers.get_all(name).iter();
        match (values.next(), values.next()) {
            (None, _) => Ok(None),
            (Some(value), None) => value
                .to_str()
                .map(Some)
                .map_err(|_| bad(format!("The header {name} holds more than visible ASCII."))),
            _ => Err(bad(format!("The header {name} is sent more than once."))),
        }
    }
}

pub(crate) fn bad(detail: impl Into<String>) -> Error {
    Error::new(Code::BadQuery, detail)
}

/// The value of `since`, in milliseconds.
pub(crate) fn moment(text: &str) -> Result<cms_core::Millis> {
    cms_core::parse_rfc3339(text)
        .ok_or_else(|| bad("since is a date-time such as 2026-11-21T09:30:00Z."))
}

/// The decoded path, and the path as it was sent if that differs. Refuses ambiguous paths.
fn path(raw: &str) -> Result<(String, Option<String>)> {
    let decoded = decode(raw, false).filter(|decoded| is_plain(decoded, raw)).ok_or_else(|| {
        bad("The path must be percent-encoded UTF-8, without %2F, backslashes, NUL, empty or dot \
             segments, and without a slash at its end.")
    })?;
    let path = spelled(decoded.clone());
    let as_sent = (path != decoded).then_some(decoded);
    Ok((path, as_sent))
}

fn is_plain(decoded: &str, raw: &str) -> bool {
    let slashes = |text: &str| text.bytes().filter(|byte| *byte == b'/').count();
    let good = |segment: &[u8]| !matches!(segment, b"" | b"." | b"..");
    let Some(rest) = decoded.strip_prefix('/') else { return false };
    !rest.bytes().any(|byte| matches!(byte, b'\0' | b'\\'))
        && (decoded.len() == raw.len() || slashes(decoded) == slashes(raw))
        && (rest.is_empty() || rest.as_bytes().split(|byte| *byte == b'/').all(good))
}

/// The most parameters: each is compared with all before it.
const MAX_PARAMETERS: usize = 200;

/// The fields of a form, in order. Each name may occur once.
pub(crate) fn pairs(raw: &str) -> Result<Vec<(String, String)>> {
    query(raw).map_err(|error| Error::new(Code::BadJson, format!("As in a query: {error}")))
}

/// The parameters of a query, in order. Each name may occur once.
fn query(raw: &str) -> Result<Vec<(String, String)>> {
    let mut parameters: Vec<(String, String)> = Vec::new();
    for pair in raw.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let refused = || bad("The query is not percent-encoded UTF-8.");
        let (name, value) =
            (decode(name, true).ok_or_else(refused)?, decode(value, true).ok_or_else(refused)?);
        // PostgreSQL cannot store U+0000 in texts.
        if [&name, &value].into_iter().any(|text| text.contains('\0')) {
            return Err(bad(format!("The parameter {name:?} holds the character U+0000.")));
        }
        if parameters.len() == MAX_PARAMETERS {
            return Err(bad(format!("{MAX_PARAMETERS} parameters are enough for every call.")));
        }
        if parameters.iter().any(|(known, _)| *known == name) {
            return Err(bad(format!("The parameter {name:?} is given more than once.")));
        }
        parameters.push((name, value));
    }
    Ok(parameters)
}

/// Whether a host, with or without a port, is this machine itself.
pub(crate) fn is_loopback(host: &str) -> bool {
    let Ok(authority) = host.parse::<Authority>() else { return false };
    match authority.host().trim_matches(['[', ']']).parse::<IpAddr>() {
        Ok(ip) => ip.to_canonical().is_loopback(),
        Err(_) => {
            let name = authority.host().trim_end_matches('.');
            name == "localhost" || name.ends_with(".localhost")
        }
    }
}

fn decode(text: &str, plus_is_space: bool) -> Option<String> {
    if !text.bytes().any(|byte| byte == b'%' || (plus_is_space && byte == b'+')) {
        return Some(text.to_owned());
    }
    let bytes = text.as_bytes();
    let digits = |at: usize| bytes.get(at + 1..at + 3);
    let broken = |at: usize| !digits(at).is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit));
    if bytes.iter().enumerate().any(|(at, byte)| *byte == b'%' && broken(at)) {
        return None;
    }
    let text = if plus_is_space && text.contains('+') {
        text.replace('+', " ").into()
    } else {
        std::borrow::Cow::Borrowed(text)
    };
    percent_decode_str(&text).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_one_spelling() {
        for (raw, expected) in [
            ("/", Some("/")),
            ("/api/pages", Some("/api/pages")),
            ("/api/some-thing", Some("/api/some_thing")),
            ("/api/backend/some-thing", Some("/api/backend/some-thing")),
            ("/api/p%61ges", Some("/api/pages")),
            ("/media/a%20b", Some("/media/a b")),
            ("/api/pages/", None),
            ("/api//pages", None),
            ("/api/./pages", None),
            ("/api/../pages", None),
            ("/api/%2e%2e/pages", None),
            ("/api%2Fpages", None),
            ("/api%2fpages", None),
            ("/api/%5cpages", None),
            ("/api/%00", None),
            ("/api/%ff", None),
            ("/api/%4", None),
            ("*", None),
        ] {
            assert_eq!(path(raw).ok().map(|found| found.0).as_deref(), expected, "{raw}");
        }
    }

    #[test]
    fn a_host_may_be_this_machine() {
        for (host, expected) in [
            ("127.0.0.1:8080", true),
            ("[::1]:8080", true),
            ("[::ffff:127.0.0.1]", true),
            ("localhost", true),
            ("cms.localhost.:8080", true),
            ("localhost.example.org", false),
            ("10.0.0.1", false),
            ("[2001:db8::1]", false),
            ("", false),
        ] {
            assert_eq!(is_loopback(host), expected, "{host}");
        }
    }

    #[test]
    fn a_parameter_is_given_once() {
        assert_eq!(
            query("a=1&b=x+y%2B&c").expect("query"),
            [("a".into(), "1".into()), ("b".into(), "x y+".into()), ("c".into(), String::new())]
        );
        for bad in ["a=%00", "%00=a", "a=1&a=1", "a=1&%61=2", "a=%zz", "a=%ff", "%"] {
            assert!(query(bad).is_err(), "{bad}");
        }
    }
}
