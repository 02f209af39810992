//! The id of a request in its reply, its refusals and the log, and the trace that it is part of.

use std::sync::atomic::{AtomicU64, Ordering};

use data_encoding::HEXLOWER;
use http::{HeaderMap, HeaderName, HeaderValue};

pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
/// The longest id that is taken from a proxy.
const MOST_BYTES: usize = 128;

/// The id of a request, and its trace where a trusted proxy has sent one.
pub(crate) struct RequestName {
    id: HeaderValue,
    trace: Option<String>,
}

impl RequestName {
    pub(crate) fn id(&self) -> &str {
        self.id.to_str().unwrap_or_default()
    }

    pub(crate) fn trace(&self) -> Option<&str> {
        self.trace.as_deref()
    }

    /// The value of `X-Request-Id`.
    pub(crate) fn header(&self) -> HeaderValue {
        self.id.clone()
    }
}

/// Makes ids: twelve random digits of this process and twelve of a counter. They are unique
/// without new randomness for each request.
pub(crate) struct RequestIds {
    start: [u8; 12],
    count: AtomicU64,
}

impl RequestIds {
    pub(crate) fn new(start: [u8; 6]) -> Self {
        let mut digits = [0; 12];
        HEXLOWER.encode_mut(&start, &mut digits);
        Self { start: digits, count: AtomicU64::new(0) }
    }

    /// A new name.
    pub(crate) fn next(&self) -> RequestName {
        let number = self.count.fetch_add(1, Ordering::Relaxed).to_be_bytes();
        let mut digits = [0; 24];
        digits[..12].copy_from_slice(&self.start);
        HEXLOWER.encode_mut(&number[2..], &mut digits[12..]);
        let id = HeaderValue::from_bytes(&digits);
        RequestName { id: id.unwrap_or_else(|_| HeaderValue::from_static("")), trace: None }
    }

    /// The name from a trusted proxy: `X-Request-Id`, else the trace of `traceparent`. Without a
    /// usable one, a new name.
    pub(crate) fn of_proxy(&self, headers: &HeaderMap) -> RequestName {
        let trace = single(headers, &TRACEPARENT).and_then(trace_of);
        let id = single(headers, &REQUEST_ID).filter(|id| is_id(id)).or(trace);
        match id.and_then(|id| HeaderValue::from_str(id).ok()) {
            Some(id) => RequestName { id, trace: trace.map(str::to_owned) },
            None => self.next(),
        }
    }
}

/// The value of a header that is sent exactly once.
fn single<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}

/// Whether an id may go into a line of the log as it is.
fn is_id(text: &str) -> bool {
    (1..=MOST_BYTES).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte))
}

/// The trace id of `traceparent` (W3C Trace Context, level 1).
fn trace_of(traceparent: &str) -> Option<&str> {
    let mut parts = traceparent.split('-');
    let is_version = parts.next() == Some("00");
    let (trace, parent, flags) = (parts.next()?, parts.next()?, parts.next()?);
    let is_hex = |text: &str, digits: usize| {
        text.len() == digits && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    let is_set = |text: &str| text.bytes().any(|byte| byte != b'0');
    let is_valid = is_version
        && is_hex(trace, 32)
        && is_hex(parent, 16)
        && is_hex(flags, 2)
        && is_set(trace)
        && is_set(parent)
        && parts.next().is_none();
    is_valid.then_some(trace)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

    #[test]
    fn a_proxy_names_a_request() {
        let parent = format!("00-{TRACE}-b7ad6b7169203331-01");
        let parent = parent.as_str();
        let (own, long) = (None, "x".repeat(128));
        for (ids, parents, id, trace) in [
            (vec!["lb-1.a:7_"], vec![], Some("lb-1.a:7_"), None),
            (vec!["lb-1"], vec![parent], Some("lb-1"), Some(TRACE)),
            (vec![], vec![parent], Some(TRACE), Some(TRACE)),
            (vec!["with space"], vec![parent], Some(TRACE), Some(TRACE)),
            (vec![long.as_str()], vec![], Some(long.as_str()), None),
            (vec![], vec![], own, None),
            (vec!["a", "b"], vec![], own, None),
            (vec![""], vec![], own, None),
            (vec!["a\"b"], vec![parent, parent], own, None),
        ] {
            let mut headers = HeaderMap::new();
            let id_lines = ids.iter().map(|id| (REQUEST_ID, id));
            for (name, value) in id_lines.chain(parents.iter().map(|one| (TRACEPARENT, one))) {
                headers.append(name, HeaderValue::from_str(value).expect("a value"));
            }
            let found = RequestIds::new([7; 6]).of_proxy(&headers);
            let expected = id.unwrap_or("070707070707000000000000");
            assert_eq!((found.id(), found.trace()), (expected, trace), "{ids:?} {parents:?}");
        }
    }

    #[test]
    fn what_is_no_traceparent_is_ignored() {
        let good = format!("00-{TRACE}-b7ad6b7169203331-01");
        assert_eq!(trace_of(&good), Some(TRACE));
        for wrong in [
            good.replace("00-0af", "01-0af"),
            good.to_uppercase(),
            good.replace("-01", "-01-00"),
            good.replace("-01", ""),
            good.replace(TRACE, &"0".repeat(32)),
            good.replace("b7ad6b7169203331", &"0".repeat(16)),
            good.replace("b7ad", "b7a"),
            String::new(),
        ] {
            assert_eq!(trace_of(&wrong), None, "{wrong}");
        }
    }
}
