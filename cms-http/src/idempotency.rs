//! Requests that are sent again: the first reply again, not the work.

use bytes::Bytes;
use cms_core::{Change, Cms, Code, Error, Result, traffic::idempotency::Remember};
use http::{HeaderName, Method, StatusCode, header};

use crate::{
    reply::Reply,
    request::{Canonical, bad},
};

/// A POST that may be repeated: whose it is and what it asks.
#[derive(Debug)]
pub(crate) struct Ticket {
    caller: String,
    key: String,
    fingerprint: String,
}

const KEY: HeaderName = HeaderName::from_static("idempotency-key");
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// The ticket of a request that carries `Idempotency-Key`; none for callers who are not known.
pub(crate) fn ticket(
    cms: &Cms,
    request: &Canonical,
    caller: Option<String>,
    body: Option<&Bytes>,
) -> Result<Option<Ticket>> {
    if request.method != Method::POST {
        return Ok(None);
    }
    let Some(key) = request.header(&KEY)? else { return Ok(None) };
    let Some(caller) = caller else { return Ok(None) };
    if key.is_empty() || key.len() > 255 {
        return Err(bad("Idempotency-Key has 1 to 255 characters."));
    }
    let body = body.ok_or_else(|| {
        bad("Idempotency-Key is not taken here: the body is not kept to compare it.")
    })?;
    let mut query = request.query.clone();
    query.sort();
    let asked = format!("{:?}", (&request.path, &query));
    let fingerprint = cms.idempotency().fingerprint(&[asked.as_bytes(), body].concat());
    Ok(Some(Ticket { caller, key: key.to_owned(), fingerprint }))
}

impl Ticket {
    /// The reply that this request got before.
    pub(crate) async fn earlier_reply(&self, cms: &Cms) -> Result<Option<Reply>> {
        let Some(earlier) = cms.idempotency().remembered(&self.caller, &self.key).await? else {
            return Ok(None);
        };
        if earlier.fingerprint != self.fingerprint {
            return Err(Error::new(
                Code::IdempotencyMismatch,
                "This Idempotency-Key was used for another request: take a new one.",
            ));
        }
        let Some(body) = earlier.body else {
            let detail = "The request was carried out; its reply held a secret and is not kept. \
                          Read the record, or make a new one.";
            return Err(Error::new(Code::IdempotencySpent, detail));
        };
        let status = StatusCode::from_u16(earlier.status).unwrap_or(StatusCode::OK);
        let mut reply =
            Reply::new(status, http::HeaderValue::from_static("application/json"), body)
                .with(REPLAYED, "true");
        if let Some(etag) = earlier.etag {
            reply = reply.with(header::ETAG, &etag);
        }
        Ok(Some(reply))
    }

    /// Caller and key: requests with the same ones pass one at a time.
    pub(crate) fn names(&self) -> (&str, &str) {
        (&self.caller, &self.key)
    }

    /// Whether such a request was answered before this change.
    pub(crate) async fn is_answered(&self, cms: &Cms, change: &mut Change) -> Result<bool> {
        cms.idempotency().is_kept(change, &self.caller, &self.key).await
    }

    /// What to keep of the first reply.
    pub(crate) fn remember(&self, reply: &Reply, secret: bool) -> Remember {
        Remember {
            caller: self.caller.clone(),
            key: self.key.clone(),
            fingerprint: self.fingerprint.clone(),
            status: reply.status.as_u16(),
            body: reply
                .body
                .whole()
                .filter(|_| !secret)
                .map(|body| String::from_utf8_lossy(body).into_owned()),
            etag: reply
                .headers
                .get(header::ETAG)
                .and_then(|tag| tag.to_str().ok())
                .map(str::to_owned),
        }
    }
}
