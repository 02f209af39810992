//! Checks the form of texts; each check answers yes or no.

use data_encoding::BASE64;
use percent_encoding::percent_decode_str;
use url::{Host, Url};

use super::{MAIL_KINDS, MailProvider};
use crate::ground::{Secret, plain};

pub(super) fn none_or(value: &Option<String>, rule: impl Fn(&str) -> bool) -> bool {
    value.as_deref().is_none_or(rule)
}

pub(super) fn is_line(text: &str) -> bool {
    !text.trim().is_empty() && !text.contains(plain::is_hidden)
}

/// The host and the port of `host` or `host:port`. The host is a name, an IPv4 address, or an IPv6
/// address in brackets. Addresses are in the form that callers send.
fn host_port(text: &str) -> Option<(&str, Option<u16>)> {
    let known = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
    let (host, port) = match text.rsplit_once(':') {
        // The last colon of a text that ends with a bracket belongs to the address.
        Some((host, port)) if !text.ends_with(']') => (host, Some(port.parse().ok()?)),
        _ => (text, None),
    };
    let is_host = match Host::parse(host).ok()? {
        // An absolute name ends with a dot.
        Host::Domain(name) => {
            let mut labels = name.strip_suffix('.').unwrap_or(&name).split('.');
            labels.all(|label| !label.is_empty())
        }
        Host::Ipv4(ip) => ip.to_string() == host,
        // Browsers send [::ffff:102:304], other programs [::ffff:1.2.3.4].
        Host::Ipv6(ip) => [format!("[{ip}]"), Host::<String>::Ipv6(ip).to_string()]
            .iter()
            .any(|sent| sent.eq_ignore_ascii_case(host)),
    };
    (is_host && text.chars().all(known)).then_some((host, port))
}

pub(super) fn is_host(text: &str) -> bool {
    host_port(text).is_some()
}

pub(super) fn is_listen(text: &str) -> bool {
    host_port(text).is_some_and(|(_, port)| port.is_some())
}

fn web_rest(text: &str) -> Option<&str> {
    text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"))
}

pub(super) fn is_site(text: &str) -> bool {
    web_rest(text).is_some_and(is_host)
}

pub(super) fn is_web(text: &str) -> bool {
    let host = |rest: &str| rest.split('/').next().is_some_and(is_host);
    web_rest(text).is_some_and(|rest| host(rest) && rest.chars().all(|c| c.is_ascii_graphic()))
}

/// The address of a service that gets a secret: https, except on this machine.
pub(super) fn is_safe_web(text: &str) -> bool {
    let host = text.strip_prefix("http://").and_then(|rest| rest.split(['/', '?']).next());
    let is_here = host.is_none_or(|host| {
        let name = host_port(host).map(|(name, _)| name);
        name.is_some_and(|name| ["127.0.0.1", "[::1]", "localhost"].contains(&name))
    });
    is_web(text) && is_here
}

/// Names of mail providers: each is known and configured, and none occurs twice.
pub(super) fn is_chain(chain: &[String], providers: &[(&str, bool)]) -> bool {
    chain
        .iter()
        .enumerate()
        .all(|(at, name)| providers.contains(&(name.as_str(), true)) && !chain[..at].contains(name))
}

/// Whether a provider has a known make, and the address that this make needs.
pub(super) fn is_provider(provider: &MailProvider) -> bool {
    provider
        .kind
        .as_deref()
        .is_none_or(|kind| MAIL_KINDS.contains(&kind) && (kind != "json" || provider.url.is_some()))
}

pub(super) fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
}

/// Whether a text follows Amazon's rules for names of buckets.
pub(crate) fn is_bucket(text: &str) -> bool {
    let ends = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    (3..=63).contains(&text.len())
        && text.chars().all(|c| ends(c) || ".-".contains(c))
        && text.starts_with(ends)
        && text.ends_with(ends)
}

/// A prefix for the names of objects.
pub(crate) fn is_key_path(text: &str) -> bool {
    text.len() <= 512 && text.split('/').all(|name| is_token(name) && ![".", ".."].contains(&name))
}

/// A public key of age.
pub(super) fn is_recipient(key: &str) -> bool {
    #[cfg(feature = "age")]
    return key.parse::<age::x25519::Recipient>().is_ok();
    #[cfg(not(feature = "age"))]
    key.starts_with("age1")
}

/// A folder, or a bucket with a prefix for the names of objects.
pub(super) fn is_backup_place(to: &str) -> bool {
    let Some((_, names)) = bucket_of(to) else { return is_line(to) };
    names.is_empty() || is_key_path(names)
}

/// Whether a place is a folder, or a bucket with a valid name.
pub(super) fn has_bucket(to: &str) -> bool {
    bucket_of(to).is_none_or(|(bucket, _)| is_bucket(bucket))
}

/// The bucket of `s3://BUCKET/NAMES`, and the names.
fn bucket_of(to: &str) -> Option<(&str, &str)> {
    let rest = to.strip_prefix("s3://")?;
    Some(rest.split_once('/').unwrap_or((rest, "")))
}

pub(super) fn is_key_prefix(text: &str) -> bool {
    let lower_or_digit = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    (2..=16).contains(&text.len())
        && text.bytes().all(lower_or_digit)
        && text.starts_with(|c: char| c.is_ascii_lowercase())
}

pub(super) fn are_languages(list: &[String]) -> bool {
    let part = |part: &str| {
        (1..=8).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_alphanumeric())
    };
    let code = |code: &String| {
        code.starts_with(|c: char| c.is_ascii_alphabetic()) && code.split('-').all(part)
    };
    let repeated =
        |(at, code): (usize, &String)| list[..at].iter().any(|one| one.eq_ignore_ascii_case(code));
    !list.is_empty() && list.iter().all(code) && !list.iter().enumerate().any(repeated)
}

pub(super) fn has_scheme(url: &Option<Secret>, schemes: &[&str]) -> bool {
    let known = |url: &Secret| {
        url.expose()
            .split_once("://")
            .is_some_and(|(s, rest)| schemes.contains(&s) && !rest.is_empty())
    };
    url.as_ref().is_none_or(known)
}

/// The address of a mail server, as `mail::providers::smtp` reads it.
pub(super) fn is_mail_server(text: &str) -> bool {
    let Ok(url) = Url::parse(text) else { return false };
    let is_bare = matches!(url.path(), "" | "/") && url.query().is_none();
    let host = percent_decode_str(url.host_str().unwrap_or_default()).decode_utf8();
    let is_text = |part: &str| percent_decode_str(part).decode_utf8().is_ok();
    is_bare
        && url.fragment().is_none()
        && host.is_ok_and(|host| Host::parse(&host).is_ok())
        && is_text(url.username())
        && is_text(url.password().unwrap_or_default())
}

pub(super) fn is_key(key: &Secret) -> bool {
    is_public_key(key.expose())
}

pub(super) fn is_public_key(key: &str) -> bool {
    BASE64.decode(key.trim().as_bytes()).is_ok_and(|bytes| bytes.len() == 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        type Form = fn(&str) -> bool;
        let languages: Form =
            |t| are_languages(&t.split(',').map(str::to_owned).collect::<Vec<_>>());
        let table: [(Form, &[&str], &[&str]); 15] = [
            (
                is_mail_server,
                &["smtp://h", "smtps://u%40h:p%3Aw@h:465", "smtp://[::1]:25/", "smtp://bücher.de"],
                &["smtp://", "smtp://h:99999", "smtp://h/x", "smtp://h?tls=no", "smtp://u:p@"],
            ),
            (
                |to| has_bucket(to) && is_backup_place(to),
                &["/backups", "backups", "s3://abc", "s3://abc/", "s3://abc/site/x"],
                &["", "s3://b/x", "s3://", "s3://abc/../x", "s3://A_B"],
            ),
            (
                is_bucket,
                &["abc", "example-media", "a.b-c9"],
                &["", "ab", "-abc", "abc.", "Abc", "a b", "a/b", "a_bc"],
            ),
            (
                is_key_path,
                &["media", "site/media", "a.b/c_d-1"],
                &["", "/a", "a/", "a//b", "..", "a/./b", "a b", "ä"],
            ),
            (
                is_host,
                &["a.org", "A-1.org:8080", "a_b", "a.org.", "127.0.0.1:9", "[::1]", "[::1]:80"],
                &["", ".", "..", "a..b", ".a", "1.2.3.999", "a b", "a.org/x", "*.a.org", "ü.de"],
            ),
            (is_host, &["[2001:db8::7]"], &["::1", ":::", "[", "[]", "[::1", "::1]", "[1.2.3.4]"]),
            (
                is_host,
                &["[2001:DB8::7]", "[::ffff:1.2.3.4]", "[::ffff:102:304]"],
                &["127.1", "0x7f.1", "127.0.0.1.", "0177.0.0.1:9", "[0:0::1]", "[::01]:80"],
            ),
            (is_host, &["a:1"], &[":", ":80", "a:", "a:99999", "a:80:80", "[::1]:x", "[::1].:80"]),
            (
                is_listen,
                &["127.0.0.1:0", "[::]:80", "localhost:8080"],
                &["", ":80", "::1:80", "host", "[::]", "h:99999", "h:+80", "http://h:1"],
            ),
            (
                is_site,
                &["https://a.org", "http://localhost:3000", "http://[::1]:3000"],
                &["a.org", "https://", "https://a/", "https://u@a", "https://a b", "https://::1"],
            ),
            (
                is_web,
                &["https://a.org/x/y", "http://127.0.0.1:9"],
                &["ftp://a", "https://u:p@a", "https:///x", "http://a/ b", "http://[/x"],
            ),
            (
                is_safe_web,
                &["https://a.org/x", "http://localhost/x", "http://[::1]/x", "http://[::1]:9"],
                &["http://a.org", "http://[::2]/x", "http://localhost.a.org/x"],
            ),
            (
                is_key_prefix,
                &["cms", "a1", "abcdefghijklmnop"],
                &["", "a", "1a", "Cms", "a_b", "abcdefghijklmnopq"],
            ),
            (
                languages,
                &["en", "en,de-AT,zh-Hans"],
                &["", "en,en", "en,EN", "e n", "en-", "toolonglanguage", "1x"],
            ),
            (is_token, &["X-Forwarded-For"], &["", "X Forwarded", "A,B", "A:"]),
        ];
        for (form, good, bad) in table {
            good.iter().for_each(|text| assert!(form(text), "{text}"));
            bad.iter().for_each(|text| assert!(!form(text), "{text}"));
        }
    }
}
