//! The canonical form of an origin, as browsers write it.

use std::net::{Ipv4Addr, Ipv6Addr};

/// The format that [`normalise`] accepts, as far as a regular expression can describe it.
pub(super) const PATTERN: &str = concat!(
    r"^[Hh][Tt][Tt][Pp][Ss]?://",
    r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_-]{1,63}(\.[A-Za-z0-9_-]{1,63})*)",
    r"(:[1-9][0-9]{0,4})?$",
);

/// The canonical form of an origin, `scheme://host[:port]`: lower case, no default port. `None`
/// for any text that is not the origin of a website: other schemes, a path, a user, wildcards,
/// `null`, and non-ASCII names (browsers send punycode).
///
/// ```
/// use cms_core::traffic::origins::normalise;
/// assert_eq!(normalise("HTTPS://Example.org:443").as_deref(), Some("https://example.org"));
/// assert_eq!(normalise("https://example.org/"), None);
/// ```
#[must_use]
pub fn normalise(text: &str) -> Option<String> {
    let (scheme, authority) = text.split_once("://")?;
    let (scheme, default_port) = match () {
        () if scheme.eq_ignore_ascii_case("https") => ("https", 443),
        () if scheme.eq_ignore_ascii_case("http") => ("http", 80),
        () => return None,
    };
    let end_of_host = authority.rfind(']').map_or(0, |at| at + 1);
    let (host, port) = match authority[end_of_host..].find(':') {
        Some(at) => {
            (&authority[..end_of_host + at], Some(port(&authority[end_of_host + at + 1..])?))
        }
        None => (authority, None),
    };
    let host = address_of_host(host).or_else(|| name(host))?;
    Some(match port.filter(|port| *port != default_port) {
        Some(port) => format!("{scheme}://{host}:{port}"),
        None => format!("{scheme}://{host}"),
    })
}

/// The origin of an address with a path, such as a `Referer`.
#[must_use]
pub fn of_url(url: &str) -> Option<String> {
    let begin = url.find("://")? + 3;
    let end = url[begin..].find(['/', '?', '#']).map_or(url.len(), |at| begin + at);
    normalise(&url[..end])
}

fn port(text: &str) -> Option<u16> {
    let canonical = !text.starts_with(['0', '+']);
    text.parse().ok().filter(|_| canonical)
}

/// Brackets and a compressed IPv6 address, hexadecimal throughout.
fn address_of_host(host: &str) -> Option<String> {
    let address: Ipv6Addr = host.strip_prefix('[')?.strip_suffix(']')?.parse().ok()?;
    let [.., high, low] = address.segments();
    Some(match address.to_ipv4_mapped() {
        Some(_) => format!("[::ffff:{high:x}:{low:x}]"),
        None => format!("[{address}]"),
    })
}

/// A name, or an IPv4 address in four decimal parts.
fn name(host: &str) -> Option<String> {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    if host.len() > 253 || !host.split('.').all(is_label) {
        return None;
    }
    // Browsers parse a name that ends in a number as an IPv4 address, in many forms. Only the
    // plain form is accepted.
    let last = host.rsplit('.').next().unwrap_or_default();
    let numeric = last.bytes().all(|b| b.is_ascii_digit())
        || last.starts_with("0x")
        || last.starts_with("0X");
    if numeric && host.parse::<Ipv4Addr>().is_err() {
        return None;
    }
    Some(host.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_has_one_form() {
        for (text, expected) in [
            ("https://example.org", Some("https://example.org")),
            ("HTTPS://WWW.Example.ORG", Some("https://www.example.org")),
            ("https://example.org:443", Some("https://example.org")),
            ("http://example.org:443", Some("http://example.org:443")),
            ("http://example.org:80", Some("http://example.org")),
            ("http://localhost:3000", Some("http://localhost:3000")),
            ("http://127.0.0.1:8080", Some("http://127.0.0.1:8080")),
            ("http://[::1]:80", Some("http://[::1]")),
            ("http://[2001:DB8:0::1]:81", Some("http://[2001:db8::1]:81")),
            ("http://[::ffff:1.2.3.4]", Some("http://[::ffff:102:304]")),
            ("https://xn--bcher-kva.example", Some("https://xn--bcher-kva.example")),
            ("https://my_shop.example", Some("https://my_shop.example")),
        ] {
            assert_eq!(normalise(text).as_deref(), expected, "{text}");
            let again = expected.and_then(normalise);
            assert_eq!(again.as_deref(), expected, "{text} is settled");
        }
    }

    #[test]
    fn other_texts_are_no_origin() {
        let long = format!("https://{}.org", "a".repeat(64));
        for text in [
            "",
            "null",
            "*",
            "https://",
            "https://*.example.org",
            "example.org",
            "//example.org",
            "ftp://example.org",
            "file://",
            "chrome-extension://abc",
            "https://example.org/",
            "https://example.org/a",
            "https://example.org?a",
            "https://example.org#a",
            "https://u@example.org",
            "https://u:p@example.org",
            "https://example.org:",
            "https://example.org:0",
            "https://example.org:080",
            "https://example.org:+80",
            "https://example.org:65536",
            "https://example.org:a",
            "https://example..org",
            "https://.example.org",
            "https://example.org.",
            "https://bücher.example",
            "https://exa mple.org",
            " https://example.org",
            "https://example.org ",
            "https://example.org,https://other.org",
            "https://example.org https://other.org",
            "https://1.2.3",
            "https://256.1.1.1",
            "https://0x7f.1",
            "https://a.0x7f",
            "https://1.2.3.04",
            "https://[::1",
            "https://::1",
            "https://[1.2.3.4]",
            "https://[::1]x",
            "https://[::1]]",
            "https://a[::1]",
            "https://[::1%25eth0]",
            "https://example.org\n",
            "https:example.org",
            "https:///example.org",
            "https://example.org\\a",
            "blob:https://example.org",
            &long,
        ] {
            assert_eq!(normalise(text), None, "{text:?}");
        }
    }

    #[test]
    fn the_origin_of_an_address() {
        for (url, expected) in [
            ("https://Example.org/a?b=//c", Some("https://example.org")),
            ("https://example.org?x", Some("https://example.org")),
            ("https://example.org:8443", Some("https://example.org:8443")),
            ("https://user@example.org/", None),
            ("https://example.org@evil.org/", None),
            ("about:blank", None),
            ("", None),
        ] {
            assert_eq!(of_url(url).as_deref(), expected, "{url}");
        }
    }
}
