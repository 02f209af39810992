//! The body of a request, as JSON.

use std::time::Duration;

use bytes::Bytes;
use cms_core::{Cms, Code, Error, Result};
use http::Method;
use serde_json::Value as Json;

use crate::{body, request::Canonical};

pub(super) fn takes_body(request: &Canonical) -> bool {
    request.method == Method::POST || request.method == Method::PATCH
}

pub(super) type ReadBody = (Bytes, Option<Json>);

/// The body as JSON. Actions without arguments may leave it out.
pub(super) async fn expect_json<B>(cms: &Cms, request: &Canonical, body: B) -> Result<ReadBody>
where
    B: http_body::Body,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let limits = &cms.settings().http;
    let bytes = body::read(body, limits.body_limit_bytes, Duration::from_secs(limits.request_timeout_s)).await?;
    if bytes.is_empty() {
        return Ok((bytes, None));
    }
    let kind = request.header("content-type")?.unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if essence != "application/json" && !(essence.starts_with("application/") && essence.ends_with("+json")) {
        return Err(Error::new(Code::UnsupportedMediaType, "Send JSON, with Content-Type: application/json."));
    }
    let json = serde_json::from_slice(&bytes).map_err(|e| Error::new(Code::BadJson, format!("The body is not JSON: {e}.")))?;
    Ok((bytes, Some(json)))
}
