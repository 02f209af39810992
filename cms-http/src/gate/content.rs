//! The body of a request, as JSON.

use std::time::Duration;

use bytes::Bytes;
use cms_core::{Cms, Code, Error, Result};
use http::{Method, header};
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
    let bytes = Box::pin(body::read(
        body,
        limits.body_limit_bytes,
        Duration::from_secs(limits.request_timeout_s),
    ))
    .await?;
    if bytes.is_empty() {
        return Ok((bytes, None));
    }
    let kind = request.header(&header::CONTENT_TYPE)?.unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if essence != "application/json"
        && !(essence.starts_with("application/") && essence.ends_with("+json"))
    {
        return Err(Error::new(
            Code::UnsupportedMediaType,
            "Send JSON, with Content-Type: application/json.",
        ));
    }
    let json = serde_json::from_slice(&bytes)
        .map_err(|e| Error::new(Code::BadJson, format!("The body is not JSON: {e}.")))?;
    if let Some(number) = rounded(&bytes) {
        let message = format!("{number} has more digits than a number keeps: send it as text");
        return Err(Error::invalid_field("body", "range", message));
    }
    Ok((bytes, Some(json)))
}

/// The first number of a JSON text that would silently become another: more digits than a double
/// has, and no integer of 64 bits.
fn rounded(json: &[u8]) -> Option<&str> {
    let (mut at, mut quoted) = (0, false);
    while let Some(byte) = json.get(at) {
        match byte {
            b'\\' if quoted => at += 1,
            b'"' => quoted = !quoted,
            b'-' | b'0'..=b'9' if !quoted => {
                let length = json[at..]
                    .iter()
                    .take_while(|b| b.is_ascii_digit() || b"+-.eE".contains(b))
                    .count();
                let number = std::str::from_utf8(&json[at..at + length]).unwrap_or_default();
                if !is_kept(number) {
                    return Some(number);
                }
                at += length - 1;
            }
            _ => {}
        }
        at += 1;
    }
    None
}

fn is_kept(number: &str) -> bool {
    let digits: String = number
        .split(['e', 'E'])
        .next()
        .unwrap_or_default()
        .chars()
        .filter(char::is_ascii_digit)
        .collect();
    digits.trim_matches('0').len() <= 17
        || number.parse::<i64>().is_ok()
        || number.parse::<u64>().is_ok()
}
