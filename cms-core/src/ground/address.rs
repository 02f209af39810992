//! Addresses that a site sends its visitors to or loads from. Every column, setting and manifest
//! member that is declared as an address is checked here, by one rule.

use std::cell::Cell;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use url::Url;

use super::plain;

/// Characters of an address at most.
const MAX_LENGTH: usize = 2048;

/// What a path escapes: everything but the unreserved characters of RFC 3986 and slashes.
const ESCAPED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// The kinds of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// A page of the site: `/`, or segments of unreserved and percent-encoded characters, each page
    /// in one spelling.
    Path,
    /// Such a path, which may have a query and a fragment, or an address with `https:`, `http:`,
    /// `mailto:` or `tel:`.
    Link,
    /// A link that a visitor is led to at once: a path, or an address with `https:` or `http:`.
    Redirect,
    /// A file: a path under `/media/`.
    File,
}

impl Address {
    /// The field types of columns that hold addresses.
    pub const TYPES: [(&str, Self); 4] = [
        ("path", Self::Path),
        ("link", Self::Link),
        ("redirect", Self::Redirect),
        ("image", Self::File),
    ];

    /// The kind that a field type declares.
    #[must_use]
    pub fn of_type(field_type: &str) -> Option<Self> {
        Self::TYPES.iter().find(|(name, _)| *name == field_type).map(|(_, kind)| *kind)
    }

    /// Whether each address of another kind is one of this kind too.
    pub(crate) fn includes(self, other: Self) -> bool {
        match self {
            Self::Link => true,
            Self::Redirect => other != Self::Link,
            Self::Path | Self::File => self == other,
        }
    }

    /// Whether a text is an address of this kind.
    #[must_use]
    pub fn accepts(self, text: &str) -> bool {
        if text.len() > MAX_LENGTH {
            return false;
        }
        match self {
            // Another spelling would be another row, which nobody finds.
            Self::Path => is_path(text) && encoded(text) == text,
            Self::File => text.starts_with("/media/") && is_path(text),
            Self::Link => is_local(text) || is_absolute(text, &["https", "http", "mailto", "tel"]),
            Self::Redirect => is_local(text) || is_absolute(text, &["https", "http"]),
        }
    }

    /// How to mend a text that is no address of this kind.
    #[must_use]
    pub fn problem(self, text: &str) -> Option<String> {
        if self.accepts(text) {
            return None;
        }
        let expected = match self {
            Self::Path => "the path of a page is expected, such as / or /about/team",
            Self::File => "the path of a media file is expected, such as /media/logo.png",
            Self::Link => {
                "a path such as /about is expected, or an address that begins with https://, \
                 http://, mailto: or tel:"
            }
            Self::Redirect => {
                "a path such as /thanks is expected, or an address that begins with https:// or \
                 http://"
            }
        };
        let is_path = text.starts_with('/') && !text.contains(['?', '#', '\\']);
        let respelled = unescaped(text).filter(|_| is_path).map(|path| escaped(&path));
        let mended = if let Some(path) = respelled.filter(|path| self.accepts(path)) {
            format!(": write {path}")
        } else if text.len() > MAX_LENGTH {
            format!(", of at most {MAX_LENGTH} characters")
        } else {
            ", without blanks, quotes and dot segments".to_owned()
        };
        Some(format!("{expected}{mended}"))
    }
}

/// A path in its one spelling: escapes are upper-case, and stand only for characters that a path
/// cannot hold.
#[must_use]
pub(crate) fn encoded(path: &str) -> String {
    escaped(unescaped(path).as_deref().unwrap_or(path))
}

/// A path with every character percent-encoded that a path cannot hold, `%` too.
#[must_use]
pub(crate) fn escaped(path: &str) -> String {
    utf8_percent_encode(path, ESCAPED).to_string()
}

/// The decoded path. None: a `%` in it begins no escape, or an escape would split a segment.
fn unescaped(path: &str) -> Option<String> {
    let slashes = |text: &str| text.matches('/').count();
    decoded(path).filter(|text| escapes_are_whole(path) && slashes(text) == slashes(path))
}

fn is_path(text: &str) -> bool {
    text == "/" || text.strip_prefix('/').is_some_and(|rest| rest.split('/').all(is_segment))
}

/// A path that may have a query and a fragment.
fn is_local(text: &str) -> bool {
    let (path, rest) = text.split_at(text.find(['?', '#']).unwrap_or(text.len()));
    let (query, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let fits = |c: char| is_unreserved(c) || "%!$&()*+,;=:@/?".contains(c);
    let is_part = |part: &str| part.chars().all(fits) && escapes_are_whole(part);
    is_path(path) && is_part(query) && is_part(fragment)
}

fn is_segment(text: &str) -> bool {
    !text.is_empty()
        && text.chars().all(|c| is_unreserved(c) || c == '%')
        && escapes_are_whole(text)
        && decoded(text).is_some_and(|name| {
            !is_dots(&name) && !name.contains(|c| plain::is_hidden(c) || matches!(c, '/' | '\\'))
        })
}

fn is_unreserved(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | '~')
}

/// Whether two digits follow each `%`.
fn escapes_are_whole(text: &str) -> bool {
    let is_digits = |after: &str| {
        after.as_bytes().get(..2).is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit))
    };
    text.split('%').skip(1).all(is_digits)
}

fn decoded(text: &str) -> Option<String> {
    percent_decode_str(text).decode_utf8().ok().map(Into::into)
}

fn is_dots(segment: &str) -> bool {
    matches!(segment, "." | "..")
}

/// Whether a text is an address with one of these schemes, spelled as its standard says. No part
/// of it is guessed, so every reader reads it alike.
fn is_absolute(text: &str, schemes: &[&str]) -> bool {
    let is_odd = |c: char| c.is_whitespace() || plain::is_hidden(c) || matches!(c, '\'' | '"');
    if text.contains(is_odd) {
        return false;
    }
    let is_sound = Cell::new(true);
    let parsed =
        Url::options().syntax_violation_callback(Some(&|_| is_sound.set(false))).parse(text);
    let Ok(url) = parsed else { return false };
    let path = text.split(['?', '#']).next().unwrap_or_default();
    let climbs = path.split('/').any(|part| decoded(part).is_some_and(|part| is_dots(&part)));
    let is_whole = match url.scheme() {
        "https" | "http" => !climbs && url.has_host(),
        _ => url.cannot_be_a_base() && !(url.path().is_empty() && url.query().is_none()),
    };
    is_sound.get() && schemes.contains(&url.scheme()) && is_whole
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `cases/addresses.json` of the integration tests does not show: messages, lengths.
    #[test]
    fn problems_tell_how_to_mend_an_address() {
        let told = |kind: Address, text: &str| kind.problem(text).unwrap_or_default();
        assert_eq!(told(Address::Path, "/about"), "");
        for (given, mended) in [
            ("/über uns", "/%C3%BCber%20uns"),
            ("/%c3%a4pfel", "/%C3%A4pfel"),
            ("/%61bc", "/abc"),
            ("/a/%7Eb%20c", "/a/~b%20c"),
        ] {
            let problem = told(Address::Path, given);
            assert!(problem.ends_with(&format!(": write {mended}")), "{problem}");
            assert!(Address::Path.accepts(mended) && encoded(mended) == mended, "{mended}");
        }
        for given in ["/a%zz", "/a%2Fb", "/a%2e%2e/%2E.", "/a%ff"] {
            assert!(!told(Address::Path, given).contains("write"), "{given}");
        }
        assert!(told(Address::Path, "about").contains("such as / or /about/team"));
        assert!(told(Address::Link, "javascript:alert(1)").contains("mailto: or tel:"));
        assert!(!told(Address::Redirect, "mailto:a@example.org").contains("mailto"));
        assert!(told(Address::File, "/logo.png").contains("/media/logo.png"));
        let long = format!("/{}", "a".repeat(MAX_LENGTH));
        assert!(told(Address::Link, &long).contains("2048"));
        assert!(Address::Link.accepts(&long[..MAX_LENGTH]));
    }

    #[test]
    fn some_kinds_include_others() {
        let texts =
            ["/about", "/media/a.png", "/media/%61.png", "/a?b#c", "https://a.example", "tel:+49"];
        for (_, kind) in Address::TYPES {
            for (_, other) in Address::TYPES {
                let all = texts.iter().all(|text| kind.accepts(text) || !other.accepts(text));
                assert_eq!(kind.includes(other), all, "{kind:?} {other:?}");
            }
        }
    }

    #[test]
    fn every_scheme_is_spelled_whole() {
        for (text, expected) in [
            ("https://example.org", true),
            ("HTTPS://Example.org:8443/a(b)?c=d#e", true),
            ("https://münchen.example/straße?größe=1", true),
            ("http://[::1]:8080/", true),
            ("mailto:a@example.org?subject=x%0Ay", true),
            ("mailto:?subject=x", true),
            ("tel:+49-30-123", true),
            ("https:example.org", false),
            ("https:/example.org", false),
            ("https:///example.org", false),
            ("https:\\\\example.org", false),
            ("https://example.org\\@evil.example", false),
            ("https://user@example.org/", false),
            ("https://user:password@example.org/", false),
            ("https://example.org/a/../b", false),
            ("https://example.org/%2e%2E/b", false),
            ("https://example.org/%zz", false),
            ("https://example.org:99999/", false),
            ("https://", false),
            ("https://example.org/\u{202e}", false),
            ("https://example.org/<b>", false),
            ("mailto:", false),
            ("mailto://example.org", false),
            ("tel:", false),
            ("ftp://example.org", false),
        ] {
            assert_eq!(Address::Link.accepts(text), expected, "{text}");
        }
    }
}
