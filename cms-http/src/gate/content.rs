//! Reads the body of a request as the kind that its operation takes.

use std::time::Duration;

use bytes::Bytes;
use cms_core::{Cms, Code, Error, Result, access::CORE};
use http::{Method, header};
use serde_json::Value as Json;

use super::visit::Visit;
use crate::{
    body::{self, Limits, Memory, Source, Unparsed, Upload},
    budget,
    demand::Named,
    describe::Types,
    kept::Kept,
    request,
    wire::{BodyKind, Content, script::is_inbox_export},
};

/// A body that was read, or that the handler will read.
pub(super) struct Sent<B> {
    pub(super) raw: Bytes,
    pub(super) content: Content,
    /// Reads the body while the handler runs.
    pub(super) source: Option<Box<Source<B>>>,
    /// The memory of the body, held as long as anything of the body is.
    pub(super) memory: Memory,
}

impl<B> Sent<B> {
    fn whole(raw: Bytes, content: Content, memory: Memory) -> Self {
        Self { raw, content, source: None, memory }
    }

    /// What the body of a request names.
    pub(super) fn named(&self, visit: &Visit) -> Named {
        let Content::Json(json) = &self.content else { return Named::default() };
        if dry_run_reads(visit) {
            let only_reads = json.get("dry_run") == Some(&Json::Bool(true));
            return Named { only_reads, ..Named::default() };
        }
        let text = |member: &str| json.get(member).and_then(Json::as_str);
        let button = text("plugin").zip(text("button_id"));
        Named {
            table: text("table").map(str::to_owned),
            button: button.map(|(plugin, button)| match is_inbox_export(plugin, button) {
                // Callers that may see the inbox may export it.
                true => (CORE.to_owned(), "formfunnel_inbox_view".to_owned()),
                false => (plugin.to_owned(), format!("{plugin}_{button}_edit")),
            }),
            only_reads: false,
        }
    }

    /// The bytes of the body, unless the handler reads them.
    pub(super) fn bytes(&self) -> Option<&Bytes> {
        (!matches!(self.content, Content::Upload(_))).then_some(&self.raw)
    }
}

/// Whether rights depend on the body: on its table, its button or its `dry_run`.
pub(super) fn decides_rights(visit: &Visit) -> bool {
    let names_target = visit.request.path.starts_with("/api/backend/actions/");
    dry_run_reads(visit) || (names_target && types(visit).is_some())
}

fn dry_run_reads(visit: &Visit) -> bool {
    types(visit).is_some_and(|types| types.dry_run_reads)
}

/// The types of the operation, if its method takes a body.
fn types(visit: &Visit) -> Option<&'static Types> {
    let method = &visit.request.method;
    if method != Method::POST && method != Method::PATCH {
        return None;
    }
    Some(&visit.method()?.types)
}

/// Reads the body, if the operation takes one. Actions without arguments may leave it out.
pub(super) async fn read<B>(cms: &Cms, kept: &Kept, visit: &Visit, body: B) -> Result<Sent<B>>
where
    B: http_body::Body,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let memory = memory(cms, kept, visit);
    let Some(types) = types(visit) else {
        return Ok(Sent::whole(Bytes::new(), Content::Empty, memory));
    };
    let kind = types.body;
    let limits = &cms.settings().http;
    let time = Duration::from_secs(limits.request_timeout_s);
    if matches!(kind, BodyKind::Multipart | BodyKind::Octets) {
        let sent = declared(visit, kind)?;
        let (media, folder) = (cms.settings().media.max_bytes, &cms.settings().dirs.data);
        // In addition to the files, form fields have the usual limit of a body.
        let beside = if kind == BodyKind::Multipart { limits.body_limit_bytes as u64 } else { 0 };
        let limits = Limits { bytes: media.saturating_add(beside), time };
        let (upload, source) = Upload::new(body, limits, sent, folder, memory.clone());
        let (content, source) = (Content::Upload(upload), Some(Box::new(source)));
        return Ok(Sent { raw: Bytes::new(), content, source, memory });
    }
    let raw = Box::pin(body::read(body, limits.body_limit_bytes, time, &memory)).await?;
    if raw.is_empty() {
        return Ok(Sent::whole(raw, Content::Empty, memory));
    }
    if takes_any(visit) {
        let json = match is_json(&essence(visit.request.header(&header::CONTENT_TYPE)?)) {
            true => {
                let json = Unparsed::new(raw.clone(), types.most_values)?;
                memory.take(json.memory())?;
                Some(json.parse()?)
            }
            false => None,
        };
        let content = Content::Whole(raw.clone(), json);
        return Ok(Sent::whole(raw, content, memory));
    }
    declared(visit, kind)?;
    let content = match kind {
        BodyKind::Form => {
            memory.take(raw.len() as u64)?;
            let wrong = || Error::new(Code::BadJson, "The form is not percent-encoded UTF-8.");
            let text = std::str::from_utf8(&raw).map_err(|_| wrong())?;
            Content::Pairs(request::pairs(text)?)
        }
        BodyKind::Text => {
            memory.take(raw.len() as u64)?;
            let text = String::from_utf8(raw.to_vec());
            let text = text.map_err(|_| Error::new(Code::BadJson, "The text is not UTF-8."))?;
            if text.contains('\0') {
                return Err(Error::new(Code::BadJson, "The text holds the character U+0000."));
            }
            Content::Text(text)
        }
        _ => {
            let json = Unparsed::new(raw.clone(), types.most_values)?;
            memory.take(json.memory())?;
            match types.body_is_early {
                true => Content::Unparsed(json),
                false => Content::Json(json.parse()?),
            }
        }
    };
    Ok(Sent::whole(raw, content, memory))
}

/// The memory of the body, a share of the budget for all bodies.
fn memory(cms: &Cms, kept: &Kept, visit: &Visit) -> Memory {
    let network = match visit.client.is_known {
        true => budget::network(visit.client.address, &cms.settings().trusted_proxies),
        false => None,
    };
    Memory::of(kept.bodies.share(network))
}

/// Whether a plugin's handler takes the body, of any media type.
fn takes_any(visit: &Visit) -> bool {
    visit.route.is_some_and(|route| route.endpoint.is_some() && route.records.is_none())
}

/// The media type without its parameters.
fn essence(sent: Option<&str>) -> String {
    let essence = sent.unwrap_or_default().split(';').next().unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}

fn is_json(essence: &str) -> bool {
    essence == "application/json"
        || (essence.starts_with("application/") && essence.ends_with("+json"))
}

/// The `Content-Type` of the body, which must be of the expected kind.
fn declared(visit: &Visit, kind: BodyKind) -> Result<&str> {
    let sent = visit.request.header(&header::CONTENT_TYPE)?.unwrap_or_default();
    let essence = essence(Some(sent));
    let fits = match kind {
        BodyKind::None | BodyKind::Json => is_json(&essence),
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
