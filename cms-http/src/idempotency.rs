//! Repeated requests get the first reply again; the work is not repeated.

use bytes::Bytes;
use cms_core::{
    Change, Cms, Code, Error, Result,
    traffic::idempotency::{Claim, Remember},
};
use http::{HeaderName, Method, StatusCode, header};
use serde_json::{Value as Json, json};

use crate::{
    reply::Reply,
    request::{Canonical, bad},
};

/// A POST that may be repeated: its caller, its key and a fingerprint of what it asks.
#[derive(Clone, Debug)]
pub(crate) struct Ticket {
    caller: String,
    key: String,
    fingerprint: String,
}

/// A kept reply.
pub(crate) struct Earlier {
    status: u16,
    body: String,
    etag: Option<String>,
    /// A digest of the rights that its caller had.
    rights: Option<String>,
}

impl Earlier {
    /// The reply, whole if the caller's rights have this digest. After the rights have changed it
    /// shows no more than ids.
    pub(crate) fn reply_for(self, rights: &str) -> Result<Reply> {
        let is_same = self.rights.as_deref() == Some(rights);
        let body = if is_same { Some(self.body) } else { only_ids(&self.body) };
        let Some(body) = body else {
            let detail = "The request was carried out; your rights have changed since, so its \
                          reply is not shown again. Read the record.";
            return Err(Error::new(Code::IdempotencySpent, detail));
        };
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::OK);
        let reply = Reply::new(status, http::HeaderValue::from_static("application/json"), body);
        let reply = reply.with(REPLAYED, "true");
        Ok(match self.etag.filter(|_| is_same) {
            Some(etag) => reply.with(header::ETAG, &etag),
            None => reply,
        })
    }
}

/// The body, reduced to the id of its record or of each record. None: it has no ids. An empty
/// body stays empty.
fn only_ids(body: &str) -> Option<String> {
    if body.is_empty() {
        return Some(String::new());
    }
    let mut body: Json = serde_json::from_str(body).ok()?;
    let data = body.get_mut("data")?.take();
    let only = |record: &Json| Some(json!({"id": record.get("id")?}));
    let shown = match &data {
        Json::Array(records) => records.iter().map(only).collect::<Option<Vec<_>>>()?.into(),
        record => only(record)?,
    };
    Some(json!({"data": shown}).to_string())
}

/// The kept status of a request that is still being worked on.
const UNDER_WAY: u16 = 0;
const KEY: HeaderName = HeaderName::from_static("idempotency-key");
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// The ticket of a request with `Idempotency-Key`; None for anonymous callers.
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
    if key.is_empty() || key.len() > 255 {
        return Err(bad("Idempotency-Key has 1 to 255 characters."));
    }
    let Some(caller) = caller else { return Ok(None) };
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
    pub(crate) async fn earlier_reply(&self, cms: &Cms) -> Result<Option<Earlier>> {
        let Some(earlier) = cms.idempotency().remembered(&self.caller, &self.key).await? else {
            return Ok(None);
        };
        if earlier.fingerprint != self.fingerprint {
            return Err(Error::new(
                Code::IdempotencyMismatch,
                "This Idempotency-Key was used for another request: take a new one.",
            ));
        }
        if earlier.status == UNDER_WAY {
            return Ok(None);
        }
        let Some(body) = earlier.body else {
            let detail = "The request was carried out; its reply held a secret or is no plain \
                          JSON, so it is not kept. Read the record, or make a new one.";
            return Err(Error::new(Code::IdempotencySpent, detail));
        };
        let (status, rights) = (earlier.status, earlier.rights);
        Ok(Some(Earlier { status, body, etag: earlier.etag, rights }))
    }

    /// Caller and key. Requests with the same two run one at a time.
    pub(crate) fn names(&self) -> (&str, &str) {
        (&self.caller, &self.key)
    }

    /// Claims the request for work that is no part of a change. None: another request
    /// has claimed it.
    pub(crate) async fn claim(&self, cms: &Cms, change: &mut Change) -> Result<Option<Claim>> {
        cms.idempotency().claim(change, self.names(), &self.fingerprint).await
    }

    /// Whether such a request was answered before this change.
    pub(crate) async fn is_answered(&self, cms: &Cms, change: &mut Change) -> Result<bool> {
        cms.idempotency().is_kept(change, &self.caller, &self.key).await
    }

    /// Whether such a request is being worked on.
    pub(crate) async fn is_under_way(&self, cms: &Cms) -> Result<bool> {
        let found = cms.idempotency().remembered(&self.caller, &self.key).await?;
        Ok(found.is_some_and(|found| found.status == UNDER_WAY))
    }

    /// What to keep of the first reply.
    pub(crate) fn remember(&self, reply: &Reply, rights: String, secret: bool) -> Remember {
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
            rights,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_ids_is_left_of_a_body() {
        for (body, left) in [
            (r#"{"data":{"id":7,"title":"secret"},"meta":{}}"#, Some(r#"{"data":{"id":7}}"#)),
            (
                r#"{"data":[{"id":1,"a":2},{"id":[3,"b"]}]}"#,
                Some(r#"{"data":[{"id":1},{"id":[3,"b"]}]}"#),
            ),
            (r#"{"data":[]}"#, Some(r#"{"data":[]}"#)),
            ("", Some("")),
            (r#"{"data":{"removed":3}}"#, None),
            (r#"{"data":["a"]}"#, None),
            (r#"{"node":{"id":1}}"#, None),
            ("a,b", None),
            ("[1]", None),
            (r#""x""#, None),
            ("7", None),
        ] {
            assert_eq!(only_ids(body).as_deref(), left, "{body}");
        }
    }
}
