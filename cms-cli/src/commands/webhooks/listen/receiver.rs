//! Handles a request: reads it within limits, checks it, reports it, answers it

use std::{
    collections::HashSet,
    convert::Infallible,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use cms_core::{Clock, Secret, webhooks::TOLERANCE_S};
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use tokio::sync::mpsc;

use super::{
    super::signature::checks,
    READ_TIMEOUT,
    arrival::{Arrival, Verdict},
    forward::Forward,
};
use crate::output::Output;

/// The largest body that is kept, in bytes.
const MAX_BODY_BYTES: usize = 5 << 20;
/// How many ids are remembered before the memory is emptied.
const MAX_SEEN: usize = 10_000;

/// The state that all connections share.
pub(super) struct Receiver {
    out: Output,
    secrets: Vec<Secret>,
    fail: Option<StatusCode>,
    forward: Option<Forward>,
    delay: Duration,
    seen: Mutex<HashSet<String>>,
    arrivals: mpsc::Sender<Arrival>,
}

impl Receiver {
    pub(super) fn new(
        out: Output,
        secrets: Vec<Secret>,
        fail: Option<StatusCode>,
        forward: Option<Forward>,
        delay: Duration,
        arrivals: mpsc::Sender<Arrival>,
    ) -> Self {
        Self { out, secrets, fail, forward, delay, seen: Mutex::default(), arrivals }
    }

    pub(super) async fn receive(
        self: Arc<Self>,
        request: Request<Incoming>,
    ) -> Result<Response<Empty<Bytes>>, Infallible> {
        // In a task of its own, so that the delivery is printed even if the sender hangs up.
        let status = tokio::spawn(async move { self.status(request).await }).await;
        let mut response = Response::new(Empty::new());
        *response.status_mut() = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Ok(response)
    }

    async fn status(&self, request: Request<Incoming>) -> StatusCode {
        let (parts, body) = request.into_parts();
        if parts.method != Method::POST {
            return self.refused(StatusCode::METHOD_NOT_ALLOWED, "deliveries are sent with POST");
        }
        let body = match tokio::time::timeout(READ_TIMEOUT, read(body)).await {
            Ok(Ok(Some(body))) => body,
            Ok(Ok(None)) => {
                return self
                    .refused(StatusCode::PAYLOAD_TOO_LARGE, "the body is larger than 5 MiB");
            }
            Ok(Err(_)) => return self.refused(StatusCode::BAD_REQUEST, "the body ended early"),
            Err(_) => {
                return self
                    .refused(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time");
            }
        };
        let signature = self.judge(&parts.headers, &body);
        let status = match (&self.forward, self.fail) {
            (Some(forward), _) => {
                forward.send(&self.out, parts.headers.clone(), body.clone()).await
            }
            (None, Some(status)) => status,
            (None, None) if matches!(signature, Verdict::Wrong(_)) => StatusCode::UNAUTHORIZED,
            (None, None) => StatusCode::NO_CONTENT,
        };
        let repeated = self.repeated(&parts.headers);
        let time = cms_core::rfc3339(Clock::system().now());
        let _ = self
            .arrivals
            .send(Arrival { time, headers: parts.headers, body, signature, repeated, status })
            .await;
        tokio::time::sleep(self.delay).await;
        status
    }

    fn refused(&self, status: StatusCode, why: &str) -> StatusCode {
        self.out.note(&format!("answered {status}: {why}"));
        status
    }

    fn judge(&self, headers: &HeaderMap, body: &[u8]) -> Verdict {
        if self.secrets.is_empty() {
            return Verdict::NotChecked;
        }
        let checks = checks(&self.secrets, headers, body, Some(TOLERANCE_S));
        if checks.is_empty() {
            return Verdict::Wrong("the delivery has none".to_owned());
        }
        let fault = checks.into_iter().find_map(|check| check.fault);
        fault.map_or(Verdict::Ok, |fault| Verdict::Wrong(fault.message))
    }

    /// Whether a delivery with this `webhook-id` arrived before.
    fn repeated(&self, headers: &HeaderMap) -> bool {
        let Some(id) = headers.get("webhook-id").and_then(|id| id.to_str().ok()) else {
            return false;
        };
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() == MAX_SEEN {
            seen.clear();
        }
        !seen.insert(id.to_owned())
    }
}

/// The body; None when it is too large. Then the rest is read and dropped: otherwise the sender
/// would see a broken connection instead of the answer.
async fn read(mut body: Incoming) -> hyper::Result<Option<Bytes>> {
    let (mut kept, mut fits) = (Vec::new(), true);
    while let Some(frame) = body.frame().await {
        let Ok(part) = frame?.into_data() else { continue };
        fits = fits && kept.len() + part.len() <= MAX_BODY_BYTES;
        if fits {
            kept.extend_from_slice(&part);
        }
    }
    Ok(fits.then(|| kept.into()))
}
