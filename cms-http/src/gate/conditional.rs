//! `If-None-Match` (RFC 9110, 13.1.2): the caller has this state already.

use http::{HeaderValue, StatusCode, header};

use super::visit::Visit;
use crate::{body::Body, reply::Reply};

/// The reply, without its body when the caller has it.
pub(super) fn answer(visit: &Visit, mut reply: Reply) -> Reply {
    let (Some(etag), true) = (reply.headers.get(header::ETAG), visit.is_read()) else {
        return reply;
    };
    let mut lines = visit.request.headers.get_all(header::IF_NONE_MATCH).iter();
    if reply.status != StatusCode::OK || !lines.any(|line| names(line, etag)) {
        return reply;
    }
    reply.headers.remove(header::CONTENT_TYPE);
    reply.headers.remove(header::CONTENT_LENGTH);
    Reply { status: StatusCode::NOT_MODIFIED, body: Body::default(), ..reply }
}

/// Whether a line names the state of this tag, or any.
fn names(line: &HeaderValue, etag: &HeaderValue) -> bool {
    let named = || {
        let (line, etag) = (line.to_str().unwrap_or_default(), etag.to_str().unwrap_or_default());
        line.split(',').map(str::trim).any(|tag| tag == "*" || tag.trim_start_matches("W/") == etag)
    };
    // Nearly always it is the one tag that we have sent.
    line == etag || named()
}
