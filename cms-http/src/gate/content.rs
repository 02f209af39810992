//! The body of a request, as JSON.

use std::time::Duration;

use bytes::Bytes;
use cms_core::{Cms, Code, Error, Result};
use http::{Method, header};
use serde_json::Value as Json;

use super::visit::Visit;
use crate::body;

/// A body that was read.
#[derive(Default)]
pub(super) struct Content {
    pub(super) raw: Bytes,
    pub(super) json: Option<Json>,
}

impl Content {
    /// The table that an action names.
    pub(super) fn table(&self) -> Option<&str> {
        self.json.as_ref()?.get("table")?.as_str()
    }
}

/// Whether the body names the table whose rights count.
pub(super) fn names_table(visit: &Visit) -> bool {
    visit.request.path.starts_with("/api/backend/actions/") && takes_body(visit)
}

fn takes_body(visit: &Visit) -> bool {
    let method = &visit.request.method;
    (method == Method::POST || method == Method::PATCH)
        && visit.route.is_some_and(|route| route.method(method.as_str()).is_some())
}

/// The body as JSON, where one is expected. Actions without arguments may leave it out.
pub(super) async fn read<B>(cms: &Cms, visit: &Visit, body: B) -> Result<Content>
where
    B: http_body::Body,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    if !takes_body(visit) {
        return Ok(Content::default());
    }
    let limits = &cms.settings().http;
    let raw = Box::pin(body::read(
        body,
        limits.body_limit_bytes,
        Duration::from_secs(limits.request_timeout_s),
    ))
    .await?;
    let json = if raw.is_empty() { None } else { Some(json(visit, &raw)?) };
    Ok(Content { raw, json })
}

fn json(visit: &Visit, raw: &Bytes) -> Result<Json> {
    let kind = visit.request.header(&header::CONTENT_TYPE)?.unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if essence != "application/json"
        && !(essence.starts_with("application/") && essence.ends_with("+json"))
    {
        return Err(Error::new(
            Code::UnsupportedMediaType,
            "Send JSON, with Content-Type: application/json.",
        ));
    }
    let json = serde_json::from_slice(raw)
        .map_err(|e| Error::new(Code::BadJson, format!("The body is not JSON: {e}.")))?;
    if let Some(number) = rounded(raw) {
        let message = format!("{number} has more digits than a number keeps: send it as text");
        return Err(Error::invalid_field("body", "range", message));
    }
    Ok(json)
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
