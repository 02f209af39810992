//! The HTTP client for deliveries: a POST without redirects, to allowed addresses, with one
//! deadline.

use std::{error::Error as _, sync::Arc, time::Duration};

use bytes::Bytes;
use data_encoding::BASE64;
use reqwest::Url;
use rustls::RootCertStore;
use tokio::time::Instant;

use super::{
    address::AddressRule,
    guard::{Guarded, Names, Refused, SystemNames},
    local,
    tls::{in_words, public_roots, tls},
};
use crate::{Descriptors, Error, Result, settings::WebhookSettings};

/// Bytes read of a reply; then the connection is dropped.
const MAX_READ_BYTES: usize = 64 << 10;
/// DNS timeout while a webhook is being saved.
const LOOK_UP: Duration = Duration::from_secs(5);
/// Bytes kept of a reply for the log of deliveries.
const MAX_KEPT_BYTES: usize = 4 << 10;

/// Codes of attempts that sent nothing because the service itself failed: an internal error, a
/// secret that does not open, an event that is no longer kept.
const OWN: [&str; 3] = ["internal", "secret", "event"];

/// The outcome of an attempt.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    fault: Option<Fault>,
    pub(crate) status: Option<u16>,
    /// Whether the body was read to its end.
    pub(crate) is_whole: bool,
    pub(crate) response: Option<String>,
    pub(crate) duration_ms: i64,
}

/// Why an attempt failed: a stable code, and a sentence without path or query of the URL.
#[derive(Clone, Debug)]
struct Fault {
    code: &'static str,
    message: String,
    /// The code of a local fault, if the receiver turns out to be its cause.
    suspect: Option<&'static str>,
}

impl Fault {
    fn new(code: &'static str, message: String) -> Self {
        Self { code, message, suspect: None }
    }
}

impl Attempt {
    /// A failed attempt; `code` is stable, `message` is a sentence.
    pub(crate) fn failed(code: &'static str, message: String) -> Self {
        Self::unanswered(Fault::new(code, message))
    }

    /// A local fault that the receiver may have caused.
    pub(crate) fn suspected(code: &'static str, message: String) -> Self {
        Self::unanswered(Fault { code: local::CODE, message, suspect: Some(code) })
    }

    fn unanswered(fault: Fault) -> Self {
        let fault = Some(fault);
        Self { fault, status: None, is_whole: false, response: None, duration_ms: 0 }
    }

    /// Counts a local fault against the receiver, if it may be the cause.
    pub(crate) fn blame_receiver(&mut self) -> bool {
        let Some(fault) = &mut self.fault else { return false };
        let Some(code) = fault.suspect.take() else { return false };
        fault.code = code;
        true
    }

    pub(crate) fn is_success(&self) -> bool {
        self.fault.is_none()
    }

    /// Whether this machine failed, so that the attempt says nothing about the receiver.
    pub(crate) fn is_local(&self) -> bool {
        self.code() == local::CODE
    }

    /// Whether the service itself failed before it sent anything: the receiver has no part in it.
    pub(crate) fn is_own(&self) -> bool {
        OWN.contains(&self.code())
    }

    /// `delivered`, or the code of the failure.
    pub(crate) fn code(&self) -> &'static str {
        self.fault.as_ref().map_or("delivered", |fault| fault.code)
    }

    /// The failure as a sentence; empty after a success.
    pub(crate) fn message(&self) -> String {
        self.fault.as_ref().map_or_else(String::new, |fault| fault.message.clone())
    }
}

/// Sends attempts over reused connections.
pub(crate) struct HttpClient {
    http: reqwest::Client,
    guard: Guarded,
    timeout: Duration,
    /// Bytes kept of a reply.
    kept: usize,
}

impl HttpClient {
    pub(crate) fn new(settings: &WebhookSettings) -> Result<Self> {
        Self::with(settings, Arc::new(SystemNames), public_roots())
    }

    fn with(
        settings: &WebhookSettings,
        names: Arc<dyn Names>,
        roots: RootCertStore,
    ) -> Result<Self> {
        let timeout = Duration::from_secs(settings.timeout_s);
        // The look-up ends earlier, to distinguish a silent resolver from a silent receiver.
        let patience = timeout * 4 / 5;
        let guard = Guarded { rule: AddressRule::new(settings), names, patience };
        // Idle connections to many receivers would use up descriptors that deliveries need.
        let is_scarce = Descriptors::shares().deliveries < settings.most_attempts();
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls(roots).map_err(Error::internal)?)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .http1_only()
            .pool_max_idle_per_host(if is_scarce { 0 } else { 4 })
            // Receivers close idle connections after some seconds, and a delivery on a closing
            // connection fails.
            .pool_idle_timeout(Duration::from_secs(2))
            .retry(reqwest::retry::never())
            .dns_resolver(Arc::new(guard.clone()))
            .build()
            .map_err(Error::internal)?;
        Ok(Self { http, guard, timeout, kept: MAX_KEPT_BYTES })
    }

    /// The same client, for a caller that reads each reply completely.
    pub(crate) fn keeping_all(self) -> Self {
        Self { kept: MAX_READ_BYTES, ..self }
    }

    /// The rule for addresses.
    pub(crate) fn rule(&self) -> &AddressRule {
        &self.guard.rule
    }

    /// Looks up a URL's host as an attempt would, within 5 s.
    pub(crate) async fn look_up(&self, url: &Url) -> std::result::Result<(), Refused> {
        let Some(name) = url.domain() else { return Ok(()) };
        let late = |_| Refused::Unanswered(format!("no answer within {} s", LOOK_UP.as_secs()));
        tokio::time::timeout(LOOK_UP, self.guard.addresses(name.to_owned()))
            .await
            .map_err(late)?
            .map(drop)
    }

    pub(crate) async fn post(
        &self,
        url: &str,
        headers: Vec<(String, String)>,
        body: Bytes,
    ) -> Attempt {
        let (began, mut reply) = (Instant::now(), Reply::default());
        let exchange = self.exchange(url, headers, body, &mut reply);
        let ended = tokio::time::timeout(self.timeout, exchange).await;
        let fault = ended.unwrap_or_else(|_| Some(self.late(reply.status)));
        let duration_ms = i64::try_from(began.elapsed().as_millis()).unwrap_or(i64::MAX);
        // A status other than 2xx decides the outcome, whatever happened to the body.
        let fault = match reply.status {
            None | Some(200..=299) => fault,
            Some(code @ 300..=399) => {
                Some(Fault::new("redirect", format!("answered {code}: redirects are not followed")))
            }
            Some(code) => Some(Fault::new("status", format!("answered {code}"))),
        };
        reply.body.truncate(self.kept);
        let response = (!reply.body.is_empty()).then(|| stored_text(reply.body));
        Attempt { fault, status: reply.status, is_whole: reply.is_whole, response, duration_ms }
    }

    fn late(&self, status: Option<u16>) -> Fault {
        let seconds = self.timeout.as_secs();
        let message = match status {
            Some(code) => format!("answered {code}, but the body was not complete in {seconds} s"),
            None => format!("no complete reply within {seconds} s"),
        };
        Fault::new("timeout", message)
    }

    /// Sends a request and fills `reply` as data arrives, so that a timeout loses
    /// nothing received.
    async fn exchange(
        &self,
        url: &str,
        headers: Vec<(String, String)>,
        body: Bytes,
        reply: &mut Reply,
    ) -> Option<Fault> {
        let url = match self.rule().check_url(url) {
            Ok(url) => url,
            Err((_, why)) => return Some(Fault::new("refused_address", why)),
        };
        let mut request = self.http.post(url).body(body);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let mut response = match request.send().await {
            Ok(response) => response,
            Err(error) => return classified(error).fault,
        };
        reply.status = Some(response.status().as_u16());
        let read = &mut reply.body;
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) if read.len() + chunk.len() > MAX_READ_BYTES => {
                    read.extend_from_slice(&chunk[..MAX_READ_BYTES - read.len()]);
                    // The status already decides the outcome; the rest of the body is not needed.
                    return None;
                }
                Ok(Some(chunk)) => read.extend_from_slice(&chunk),
                Ok(None) => {
                    reply.is_whole = true;
                    return None;
                }
                Err(error) => return classified(error).fault,
            }
        }
    }
}

/// The part of a reply received so far.
#[derive(Default)]
struct Reply {
    status: Option<u16>,
    body: Vec<u8>,
    /// Whether the body was read to its end.
    is_whole: bool,
}

/// The body as text, or as base64 after `base64:`.
fn stored_text(bytes: Vec<u8>) -> String {
    match String::from_utf8(bytes) {
        // PostgreSQL's text holds no NUL.
        Ok(text) if !text.contains('\0') => text,
        Ok(text) => format!("base64:{}", BASE64.encode(text.as_bytes())),
        Err(error) => {
            let (valid, bytes) = (error.utf8_error(), error.into_bytes());
            match std::str::from_utf8(&bytes[..valid.valid_up_to()]) {
                // The limit cut through the last character.
                Ok(text) if valid.error_len().is_none() && !text.contains('\0') => text.to_owned(),
                _ => format!("base64:{}", BASE64.encode(&bytes)),
            }
        }
    }
}

/// Classifies the failure of an attempt by the causes of an error.
fn classified(error: reqwest::Error) -> Attempt {
    // The URL may hold a secret in its path.
    let error = error.without_url();
    let mut innermost = error.to_string();
    let mut code = if error.is_connect() { "connect" } else { "protocol" };
    let (mut cause, mut suspect) = (error.source(), None);
    while let Some(inner) = cause {
        innermost = inner.to_string();
        if let Some(refused) = inner.downcast_ref::<Refused>() {
            code = refused.code();
            suspect = matches!(refused, Refused::Unanswered(_)).then_some("dns");
        } else if is_tls(inner) {
            code = "tls";
        } else if let Some(fault) = inner.downcast_ref().filter(|error| local::is_fault(error)) {
            code = local::CODE;
            suspect = local::has_no_route(fault).then_some("connect");
        }
        cause = inner.source();
    }
    let message = in_words(innermost);
    match suspect {
        Some(code) => Attempt::suspected(code, message),
        None => Attempt::failed(code, message),
    }
}

/// TLS errors are wrapped in I/O errors, sometimes in several. These do not return them as
/// their source.
fn is_tls(error: &(dyn std::error::Error + 'static)) -> bool {
    let inner = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    error.is::<rustls::Error>() || inner.is_some_and(|inner| is_tls(inner))
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "client_tls_tests.rs"]
mod tls_tests;
