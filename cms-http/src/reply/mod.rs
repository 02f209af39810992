//! What a handler answers, and the one table from error code to status.

pub(crate) mod csv;
pub(crate) mod file;

use std::sync::LazyLock;

use bytes::Bytes;
use cms_core::{Code, Error};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};

use crate::{
    Body,
    wire::{FieldProblem, Problem},
};

/// The status of each code.
#[must_use]
pub fn status_of(code: Code) -> StatusCode {
    match code {
        Code::BadJson | Code::BadQuery | Code::DatabaseError => StatusCode::BAD_REQUEST,
        Code::ApiKeyMissing
        | Code::ApiKeyInvalid
        | Code::ApiKeyDisabled
        | Code::ApiKeyExpired
        | Code::ApiKeyForbidden
        | Code::LoginRequired
        | Code::InvalidCredentials
        | Code::InvalidCode
        | Code::PendingExpired => StatusCode::UNAUTHORIZED,
        Code::OriginNotAllowed | Code::PermissionDenied | Code::Csrf => StatusCode::FORBIDDEN,
        Code::NotFound | Code::UnknownTable | Code::FunnelNotAvailable => StatusCode::NOT_FOUND,
        Code::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
        Code::Timeout => StatusCode::REQUEST_TIMEOUT,
        Code::Conflict
        | Code::InProgress
        | Code::CountMoved
        | Code::RevConflict
        | Code::NotOnPath
        | Code::AlreadyCompleted
        | Code::IdempotencyMismatch
        | Code::IdempotencySpent => StatusCode::CONFLICT,
        Code::SessionExpired => StatusCode::GONE,
        Code::Stale => StatusCode::PRECONDITION_FAILED,
        Code::PayloadTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        Code::UnsupportedMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        Code::RangeNotSatisfiable => StatusCode::RANGE_NOT_SATISFIABLE,
        Code::UnknownHost => StatusCode::MISDIRECTED_REQUEST,
        Code::ValidationFailed
        | Code::NotPublishable
        | Code::Incomplete
        | Code::UnknownEvent
        | Code::ScriptPath => StatusCode::UNPROCESSABLE_ENTITY,
        Code::ScriptFailed => StatusCode::BAD_GATEWAY,
        Code::PreconditionRequired => StatusCode::PRECONDITION_REQUIRED,
        Code::RateLimited | Code::LoginLocked => StatusCode::TOO_MANY_REQUESTS,
        Code::HeadersTooLarge => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
        Code::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// Why a part of a file cannot be sent: the file ends before it. Holds the length in bytes.
#[derive(Debug, thiserror::Error)]
#[error("the file has {0} bytes")]
pub(crate) struct PastEnd(pub(crate) u64);

/// A reply, before the gate adds the headers that all replies carry.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Body,
    /// Tables that the reply was made from in addition to those of its route; only the
    /// handler knows them.
    pub(crate) reads: Vec<String>,
}

/// A map with room for the headers of most replies, those of the gate included.
pub(crate) fn headers() -> HeaderMap {
    HeaderMap::with_capacity(12)
}

/// The digits of the numbers below 1,000, three bytes each.
static DIGITS: [[u8; 3]; 1000] = {
    let mut texts = [[b'0'; 3]; 1000];
    let mut n = 0;
    while n < 1000 {
        texts[n] = [b'0' + (n / 100) as u8, b'0' + (n / 10 % 10) as u8, b'0' + (n % 10) as u8];
        n += 1;
    }
    texts
};

/// A number as a header value. Small ones, which are most, point to static bytes: no allocation,
/// and no reference count that cores would share.
pub(crate) fn number(number: u64) -> HeaderValue {
    static SMALL: LazyLock<Vec<HeaderValue>> = LazyLock::new(|| {
        let short = |(number, text): (usize, &'static [u8; 3])| {
            let digits = number.checked_ilog10().unwrap_or(0) as usize + 1;
            HeaderValue::from_maybe_shared(Bytes::from_static(&text[3 - digits..]))
        };
        DIGITS.iter().enumerate().map_while(|one| short(one).ok()).collect()
    });
    let small = usize::try_from(number).ok().and_then(|number| SMALL.get(number));
    small.cloned().unwrap_or_else(|| number.into())
}

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");

impl Reply {
    pub(crate) fn new(
        status: StatusCode,
        content_type: HeaderValue,
        body: impl Into<Bytes>,
    ) -> Self {
        let mut headers = headers();
        headers.insert(header::CONTENT_TYPE, content_type);
        Self { status, headers, body: body.into().into(), reads: Vec::new() }
    }

    pub(crate) fn no_content() -> Self {
        let (headers, body) = (HeaderMap::new(), Body::default());
        Self { status: StatusCode::NO_CONTENT, headers, body, reads: Vec::new() }
    }

    pub(crate) fn with(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.insert(name, value);
        }
        self
    }

    /// A problem document (RFC 9457).
    pub(crate) fn problem(error: &Error, request_id: &str) -> Self {
        let (code, status) = (error.code(), status_of(error.code()));
        let mut title = code.as_str().replace('_', " ");
        title[..1].make_ascii_uppercase();
        let problem = Problem {
            r#type: format!("urn:cms:error:{code}"),
            title,
            status: status.as_u16(),
            detail: error.detail().to_owned(),
            error: code.as_str().to_owned(),
            request_id: request_id.to_owned(),
            node_id: error.node(),
            matched: error.matched(),
            errors: error
                .placed_fields()
                .map(|(field, node)| FieldProblem { node, ..FieldProblem::from(field) })
                .collect(),
        };
        let mut reply = Self::new(
            status,
            HeaderValue::from_static("application/problem+json"),
            serde_json::to_vec(&problem).unwrap_or_default(),
        );
        if let Some(seconds) = error.retry_after_s() {
            reply.headers.insert(header::RETRY_AFTER, seconds.into());
        }
        let cause = std::error::Error::source(error);
        if let Some(PastEnd(length)) = cause.and_then(|cause| cause.downcast_ref::<PastEnd>()) {
            reply = reply.with(header::CONTENT_RANGE, &format!("bytes */{length}"));
        }
        if status == StatusCode::UNAUTHORIZED {
            reply.with(header::WWW_AUTHENTICATE, "ApiKey header=\"X-Api-Key\", Bearer")
        } else {
            reply
        }
    }

    pub(crate) fn into_response(self, without_body: bool) -> Response<Body> {
        let length = self.body.whole().map(Bytes::len);
        let mut response = Response::new(if without_body { Body::default() } else { self.body });
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        if let (true, Some(length)) = (without_body, length)
            && self.status != StatusCode::NOT_MODIFIED
            && self.status != StatusCode::NO_CONTENT
        {
            response.headers_mut().insert(header::CONTENT_LENGTH, length.into());
        }
        response
    }
}
