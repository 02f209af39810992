//! Retries, the breaker, which switches a subscription off after ten failures in a row, the headers
//! that a subscription may add, and the events that its entries match. Pure.

use std::collections::BTreeMap;

use crate::{FieldError, events::family, jobs::Backoff};

const RETRY_BACKOFF: Backoff = Backoff(&[30, 120, 480, 1920, 7200]);
/// Waits of a lane after faults of this machine in a row, in seconds.
pub(super) const LOCAL_BACKOFF: Backoff = Backoff(&[1, 1, 2, 4, 8, 16, 30]);
/// Retries of a subscription at most; more would go on for weeks.
pub const MAX_RETRIES: i64 = 100;

/// Milliseconds until the next attempt after `retry_count + 1` failures; `None` when the job is
/// given up.
#[must_use]
pub(super) fn wait_ms(retry_count: i64, max_retries: i64) -> Option<i64> {
    RETRY_BACKOFF.wait_ms(retry_count, max_retries)
}

/// Failed attempts in a row that open the breaker.
const FAILURES: i64 = 10;

/// Whether this many failures in a row switch a subscription off. A success resets the count.
#[must_use]
pub(super) fn opens(failures: i64) -> bool {
    failures >= FAILURES
}

pub(super) const MAX_HEADERS: usize = 20;
const MAX_VALUE_BYTES: usize = 4096;

/// Headers of the service, headers of the connection, and headers that receivers or proxies would
/// misread.
const RESERVED: [&str; 26] = [
    "age", "cache-control", "clear-site-data", "connection", "cookie2", "date", "expect",
    "expires", "host", "keep-alive", "pragma", "proxy-authenticate", "proxy-authorization",
    "proxy-connection", "te", "trailer", "trailers", "transfer-encoding", "upgrade", "user-agent",
    "via", "warning", "x-delivery-id", "accept-encoding", "forwarded", "x-forwarded-for",
];
const RESERVED_PREFIXES: [&str; 6] =
    ["content-", "x-webhook-", "webhook-", "svix-", "x-amz-", "x-goog-"];

/// The faults of custom headers.
pub(super) fn header_problems(headers: &BTreeMap<String, String>) -> Vec<FieldError> {
    let mut problems = Vec::new();
    let mut add =
        |field: String, code, message: String| problems.push(FieldError { field, code, message });
    if headers.len() > MAX_HEADERS {
        add("custom_headers".to_owned(), "range", format!("{MAX_HEADERS} headers at most"));
    }
    let mut names: Vec<String> = headers.keys().map(|name| name.to_ascii_lowercase()).collect();
    names.sort();
    if names.windows(2).any(|pair| pair[0] == pair[1]) {
        add(
            "custom_headers".to_owned(),
            "format",
            "a header occurs twice (upper and lower case are the same)".to_owned(),
        );
    }
    for (name, value) in headers {
        let field = || format!("custom_headers.{name}");
        let lower = name.to_ascii_lowercase();
        if !is_token(name) {
            add(field(), "format", "the name of a header: letters, digits and -".to_owned());
        } else if RESERVED.contains(&lower.as_str())
            || RESERVED_PREFIXES.iter().any(|prefix| lower.starts_with(prefix))
        {
            add(
                field(),
                "reserved",
                "this header is set by the service or by the connection".to_owned(),
            );
        }
        if value.len() > MAX_VALUE_BYTES || !value.bytes().all(|byte| (0x20..0x7f).contains(&byte))
        {
            add(field(), "format", format!("visible ASCII, {MAX_VALUE_BYTES} bytes at most"));
        }
    }
    problems
}

/// A token of RFC 9110, 5.6.2.
fn is_token(name: &str) -> bool {
    (1..=100).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

/// Whether an entry matches more than one name: `item.*` all events of items, `*` all events.
#[must_use]
pub(super) fn is_pattern(entry: &str) -> bool {
    entry == "item.*" || entry == "*"
}

/// Whether an entry matches an event. `events::outbox` has the same rule in SQL.
#[must_use]
pub(super) fn matches(entry: &str, event: &str) -> bool {
    [event, family(event), "*"].contains(&entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_faults_are_tried_again_soon() {
        let waits = (0..8).map(|in_a_row| LOCAL_BACKOFF.wait_ms(in_a_row, i64::MAX));
        let seconds = [1, 1, 2, 4, 8, 16, 30, 30];
        assert_eq!(waits.collect::<Vec<_>>(), seconds.map(|seconds| Some(seconds * 1000)));
    }

    #[test]
    fn attempts_are_made_at_these_seconds() {
        for (max_retries, expected) in [
            (0, vec![0]),
            (1, vec![0, 30]),
            (3, vec![0, 30, 150, 630]),
            (5, vec![0, 30, 150, 630, 2550, 9750]),
            (8, vec![0, 30, 150, 630, 2550, 9750, 16_950, 24_150, 31_350]),
        ] {
            let (mut at, mut times, mut failures) = (0, vec![0], 0);
            while let Some(wait) = wait_ms(failures, max_retries) {
                at += wait / 1000;
                times.push(at);
                failures += 1;
            }
            assert_eq!(times, expected, "max_retries {max_retries}");
        }
    }

    #[test]
    fn ten_in_a_row() {
        assert_eq!((0..12).map(opens).filter(|open| *open).count(), 2);
        assert!(!opens(9) && opens(10));
    }

    fn judged(name: &str, value: &str) -> Option<&'static str> {
        header_problems(&BTreeMap::from([(name.to_owned(), value.to_owned())]))
            .first()
            .map(|problem| problem.code)
    }

    #[test]
    fn headers_are_added_and_not_replaced() {
        for (name, value, expected) in [
            ("x-tenant", "7", None),
            ("Authorization", "Bearer abc", None),
            ("X-Webhook-Signature", "0", Some("reserved")),
            ("Webhook-Id", "0", Some("reserved")),
            ("X-Delivery-ID", "0", Some("reserved")),
            ("Host", "evil.example", Some("reserved")),
            ("content-length", "0", Some("reserved")),
            ("Transfer-Encoding", "chunked", Some("reserved")),
            ("User-Agent", "x", Some("reserved")),
            ("", "x", Some("format")),
            ("a b", "x", Some("format")),
            ("a:b", "x", Some("format")),
            ("x-a", "line\r\nbreak: yes", Some("format")),
            ("x-a", "\u{e4}", Some("format")),
            ("x-a", "\u{0}", Some("format")),
        ] {
            assert_eq!(judged(name, value), expected, "{name}");
        }
        assert_eq!(judged("x-a", &"x".repeat(4096)), None);
        assert_eq!(judged("x-a", &"x".repeat(4097)), Some("format"));
        let many = |count| (0..count).map(|n| (format!("x-{n}"), "v".to_owned())).collect();
        assert!(header_problems(&many(20)).is_empty());
        assert_eq!(header_problems(&many(21))[0].code, "range");
        let twice = BTreeMap::from([
            ("X-A".to_owned(), "1".to_owned()),
            ("x-a".to_owned(), "2".to_owned()),
        ]);
        assert_eq!(header_problems(&twice)[0].code, "format");
    }

    #[test]
    fn entries_match_as_the_queue_does() {
        for (entry, event, expected) in [
            ("*", "auth.login", true),
            ("*", "item.blog.created", true),
            ("item.*", "item.blog.created", true),
            ("item.*", "form.submitted", false),
            ("item.*", "items.x", false),
            ("auth.login", "auth.login", true),
            ("auth.login", "auth.logout", false),
            ("auth.*", "auth.login", false),
        ] {
            assert_eq!(super::matches(entry, event), expected, "{entry} {event}");
        }
        for (entry, expected) in [("*", true), ("item.*", true), ("auth.*", false), ("", false)] {
            assert_eq!(super::is_pattern(entry), expected, "{entry}");
        }
    }
}
