//! The body of a request, as the kind that its operation takes.

use std::time::Duration;

use bytes::Bytes;
use cms_core::{Cms, Code, Error, Result, access::CORE};
use http::{Method, header};
use serde_json::Value as Json;

use super::visit::Visit;
use crate::{
    body::{self, Limits, Source, Upload},
    demand::Named,
    request,
    wire::{BodyKind, Content, script::is_inbox_export},
};

/// A body that was read, or that its handler will read.
pub(super) struct Sent<B> {
    raw: Bytes,
    pub(super) content: Content,
    /// Reads while the handler runs.
    pub(super) source: Option<Box<Source<B>>>,
}

impl<B> Sent<B> {
    fn whole(raw: Bytes, content: Content) -> Self {
        Self { raw, content, source: None }
    }

    /// What an action names.
    pub(super) fn named(&self) -> Named {
        let Content::Json(json) = &self.content else { return Named::default() };
        let text = |member: &str| json.get(member).and_then(Json::as_str);
        let button = text("plugin").zip(text("button_id"));
        Named {
            table: text("table").map(str::to_owned),
            button: button.map(|(plugin, button)| match is_inbox_export(plugin, button) {
                // Who may see the inbox may take it along.
                true => (CORE.to_owned(), "formfunnel_inbox_view".to_owned()),
                false => (plugin.to_owned(), format!("{plugin}_{button}_edit")),
            }),
        }
    }

    /// The bytes, unless they are still to come.
    pub(super) fn bytes(&self) -> Option<&Bytes> {
        (!matches!(self.content, Content::Upload(_))).then_some(&self.raw)
    }
}

/// Whether the body names the table or the button whose rights count.
pub(super) fn names_target(visit: &Visit) -> bool {
    visit.request.path.starts_with("/api/backend/actions/") && takes_body(visit)
}

fn takes_body(visit: &Visit) -> bool {
    kind(visit).is_some()
}

/// The kind of body that the operation takes, if its method takes one.
fn kind(visit: &Visit) -> Option<BodyKind> {
    let method = &visit.request.method;
    if method != Method::POST && method != Method::PATCH {
        return None;
    }
    Some(visit.route?.method(method.as_str())?.body())
}

/// The body, where one is expected. Actions without arguments may leave it out.
pub(super) async fn read<B>(cms: &Cms, visit: &Visit, body: B) -> Result<Sent<B>>
where
    B: http_body::Body,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let Some(kind) = kind(visit) else {
        return Ok(Sent::whole(Bytes::new(), Content::Empty));
    };
    let limits = &cms.settings().http;
    let time = Duration::from_secs(limits.request_timeout_s);
    if matches!(kind, BodyKind::Multipart | BodyKind::Octets) {
        let sent = declared(visit, kind)?;
        let (media, folder) = (cms.settings().media.max_bytes, &cms.settings().dirs.data);
        // Beside the files there is room for fields.
        let beside = if kind == BodyKind::Multipart { limits.body_limit_bytes as u64 } else { 0 };
        let limits = Limits { bytes: media.saturating_add(beside), time };
        let (upload, source) = Upload::new(body, limits, sent, folder);
        let (content, source) = (Content::Upload(upload), Some(Box::new(source)));
        return Ok(Sent { raw: Bytes::new(), content, source });
    }
    let raw = Box::pin(body::read(body, limits.body_limit_bytes, time)).await?;
    if raw.is_empty() {
        return Ok(Sent::whole(raw, Content::Empty));
    }
    declared(visit, kind)?;
    let content = match kind {
        BodyKind::Form => {
            let wrong = || Error::new(Code::BadJson, "The form is not percent-encoded UTF-8.");
            let text = std::str::from_utf8(&raw).map_err(|_| wrong())?;
            Content::Pairs(request::pairs(text)?)
        }
        BodyKind::Text => {
            let text = String::from_utf8(raw.to_vec());
            let text = text.map_err(|_| Error::new(Code::BadJson, "The text is not UTF-8."))?;
            if text.contains('\0') {
                return Err(Error::new(Code::BadJson, "The text holds the character U+0000."));
            }
            Content::Text(text)
        }
        _ => Content::Json(json(&raw)?),
    };
    Ok(Sent::whole(raw, content))
}

/// The declared kind of the body, which must be the one that is expected.
fn declared(visit: &Visit, kind: BodyKind) -> Result<&str> {
    let sent = visit.request.header(&header::CONTENT_TYPE)?.unwrap_or_default();
    let essence = sent.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let fits = match kind {
        BodyKind::None | BodyKind::Json => {
            essence == "application/json"
                || (essence.starts_with("application/") && essence.ends_with("+json"))
        }
        BodyKind::Octets => true,
        _ => kind.media_type() == Some(&essence),
    };
    if fits {
        return Ok(sent);
    }
    let detail = match kind.media_type() {
        None | Some("application/json") => {
            "Send JSON, with Content-Type: application/json.".to_owned()
        }
        Some(expected) => format!("Send the body with Content-Type: {expected}."),
    };
    Err(Error::new(Code::UnsupportedMediaType, detail))
}

fn json(raw: &Bytes) -> Result<Json> {
    let json = serde_json::from_slice(raw)
        .map_err(|e| Error::new(Code::BadJson, format!("The body is not JSON: {e}.")))?;
    if let Some(field) = holds_nul(raw).then(|| with_nul(&json)).flatten() {
        let message = "text cannot hold the character U+0000";
        return Err(Error::invalid_field(field, "format", message));
    }
    if let Some(number) = rounded(raw) {
        let message = format!("{number} has more digits than a number keeps: send it as text");
        return Err(Error::invalid_field("body", "range", message));
    }
    Ok(json)
}

/// Whether a JSON text may hold U+0000, which can only be written as an escape.
fn holds_nul(json: &[u8]) -> bool {
    json.windows(6).any(|six| six == b"\\u0000")
}

/// The first text with U+0000, which PostgreSQL cannot hold: `rights[0].endpoint`; `body` when the
/// body is that text.
fn with_nul(json: &Json) -> Option<String> {
    let path = match json {
        Json::String(text) => return text.contains('\0').then(|| "body".to_owned()),
        Json::Array(entries) => {
            let mut entries = entries.iter().enumerate();
            entries.find_map(|(index, one)| Some((format!("[{index}]"), with_nul(one)?)))?
        }
        Json::Object(members) => members.iter().find_map(|(name, one)| {
            let inner = if name.contains('\0') { "body".to_owned() } else { with_nul(one)? };
            Some((name.replace('\0', "\\u0000"), inner))
        })?,
        _ => return None,
    };
    Some(match path {
        (outer, inner) if inner == "body" => outer,
        (outer, inner) if inner.starts_with('[') => format!("{outer}{inner}"),
        (outer, inner) => format!("{outer}.{inner}"),
    })
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

#[cfg(test)]
mod tests {
    use super::{holds_nul, with_nul};

    #[test]
    fn nul_is_found_wherever_it_stands() {
        for (text, expected) in [
            (r#"{"a":"x\u0000"}"#, Some("a")),
            (r#"{"a":[{"b":"\u0000"}]}"#, Some("a[0].b")),
            (r#"[{"a":""},{"b":"\u0000"}]"#, Some("[1].b")),
            (r#"{"a":{"x\u0000":1}}"#, Some("a.x\\u0000")),
            (r#""\u0000""#, Some("body")),
            (r#"{"a":"\\u0000"}"#, None),
            (r#"{"a":"\u00000"}"#, Some("a")),
            (r#"{"a":0}"#, None),
        ] {
            let json = serde_json::from_str(text).expect("JSON");
            assert_eq!(with_nul(&json).as_deref(), expected, "{text}");
            assert!(expected.is_none() || holds_nul(text.as_bytes()), "{text}");
        }
    }
}
