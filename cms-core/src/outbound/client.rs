//! One attempt: a POST that cannot be led astray, with one deadline for everything.

use std::{error::Error as _, sync::Arc, time::Duration};

use bytes::Bytes;
use data_encoding::BASE64;
use reqwest::Url;
use rustls::RootCertStore;
use tokio::time::Instant;

use super::{
    address::AddressRule,
    guard::{Guarded, Names, Refused, SystemNames},
};
use crate::{Error, Result, settings::Webhooks};

/// Of a reply so much is read; then the connection is dropped.
const MAX_READ_BYTES: usize = 64 << 10;
/// DNS timeout while a webhook is being saved.
const LOOK_UP: Duration = Duration::from_secs(5);
/// Of a reply so much is kept.
const MAX_KEPT_BYTES: usize = 4 << 10;

/// How an attempt went.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    fault: Option<Fault>,
    pub(crate) status: Option<u16>,
    pub(crate) response: Option<String>,
    pub(crate) duration_ms: i64,
}

/// Why an attempt failed: a stable code, and a sentence that holds no path or query of the address.
#[derive(Clone, Debug)]
struct Fault {
    code: &'static str,
    message: String,
}

impl Attempt {
    /// An attempt that could not be made, or that failed; `code` is stable, `message` for people.
    pub(crate) fn failed(code: &'static str, message: String) -> Self {
        Self { fault: Some(Fault { code, message }), status: None, response: None, duration_ms: 0 }
    }

    pub(crate) fn is_success(&self) -> bool {
        self.fault.is_none()
    }

    /// `delivered`, or the code of what went wrong.
    pub(crate) fn code(&self) -> &'static str {
        self.fault.as_ref().map_or("delivered", |fault| fault.code)
    }

    /// What went wrong, for people.
    pub(crate) fn message(&self) -> String {
        self.fault.as_ref().map_or_else(String::new, |fault| fault.message.clone())
    }
}

/// Sends attempts; connections are kept and used again.
pub(crate) struct HttpClient {
    http: reqwest::Client,
    guard: Guarded,
    timeout: Duration,
}

impl HttpClient {
    pub(crate) fn new(settings: &Webhooks) -> Result<Self> {
        Self::with(
            settings,
            Arc::new(SystemNames),
            RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.into() },
        )
    }

    fn with(settings: &Webhooks, names: Arc<dyn Names>, roots: RootCertStore) -> Result<Self> {
        let guard = Guarded { rule: AddressRule::new(settings), names };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(Error::internal)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .http1_only()
            .pool_max_idle_per_host(4)
            // Receivers close idle connections after some seconds: a delivery must not run into
            // that.
            .pool_idle_timeout(Duration::from_secs(2))
            .retry(reqwest::retry::never())
            .dns_resolver(Arc::new(guard.clone()))
            .build()
            .map_err(Error::internal)?;
        Ok(Self { http, guard, timeout: Duration::from_secs(settings.timeout_s) })
    }

    /// Which addresses are delivered to.
    pub(crate) fn rule(&self) -> &AddressRule {
        &self.guard.rule
    }

    /// Looks the host of a URL up as an attempt would.
    pub(crate) async fn look_up(&self, url: &Url) -> std::result::Result<(), Refused> {
        let Some(name) = url.domain() else { return Ok(()) };
        let late = |_| Refused::Unknown(format!("no answer within {} s", LOOK_UP.as_secs()));
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
        let began = Instant::now();
        let mut attempt =
            match tokio::time::timeout(self.timeout, self.exchange(url, headers, body)).await {
                Ok(attempt) => attempt,
                Err(_) => Attempt::failed(
                    "timeout",
                    format!("no complete reply within {} s", self.timeout.as_secs()),
                ),
            };
        attempt.duration_ms = i64::try_from(began.elapsed().as_millis()).unwrap_or(i64::MAX);
        attempt
    }

    async fn exchange(&self, url: &str, headers: Vec<(String, String)>, body: Bytes) -> Attempt {
        let url = match self.rule().check_url(url) {
            Ok(url) => url,
            Err(why) => return Attempt::failed("refused_address", why),
        };
        let mut request = self.http.post(url).body(body);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let mut response = match request.send().await {
            Ok(response) => response,
            Err(error) => return classified(error),
        };
        let status = response.status();
        let mut read = Vec::new();
        let fault = loop {
            match response.chunk().await {
                Ok(Some(chunk)) if read.len() + chunk.len() > MAX_READ_BYTES => {
                    read.extend_from_slice(&chunk[..MAX_READ_BYTES - read.len()]);
                    // What the receiver thinks of the delivery it has said; nobody needs the rest.
                    break None;
                }
                Ok(Some(chunk)) => read.extend_from_slice(&chunk),
                Ok(None) => break None,
                Err(error) => break classified(error).fault,
            }
        };
        let judged = match status.as_u16() {
            200..=299 => fault,
            code @ 300..=399 => Some(Fault {
                code: "redirect",
                message: format!("answered {code}: redirects are not followed"),
            }),
            code => Some(Fault { code: "status", message: format!("answered {code}") }),
        };
        read.truncate(MAX_KEPT_BYTES);
        let response = (!read.is_empty()).then(|| kept(read));
        Attempt { fault: judged, status: Some(status.as_u16()), response, duration_ms: 0 }
    }
}

/// Text, or base64 with a mark.
fn kept(bytes: Vec<u8>) -> String {
    match String::from_utf8(bytes) {
        // PostgreSQL's text holds no NUL.
        Ok(text) if !text.contains('\0') => text,
        Ok(text) => format!("base64:{}", BASE64.encode(text.as_bytes())),
        Err(error) => {
            let (valid, bytes) = (error.utf8_error(), error.into_bytes());
            match std::str::from_utf8(&bytes[..valid.valid_up_to()]) {
                // Cut within the last character.
                Ok(text) if valid.error_len().is_none() && !text.contains('\0') => text.to_owned(),
                _ => format!("base64:{}", BASE64.encode(&bytes)),
            }
        }
    }
}

/// Finds the code in the chain of causes.
fn classified(error: reqwest::Error) -> Attempt {
    // The address may hold a secret in its path.
    let error = error.without_url();
    let mut innermost = error.to_string();
    let mut code = if error.is_connect() { "connect" } else { "protocol" };
    let mut cause = error.source();
    while let Some(inner) = cause {
        innermost = inner.to_string();
        if let Some(refused) = inner.downcast_ref::<Refused>() {
            code = refused.code();
        } else if is_tls(inner) {
            code = "tls";
        }
        cause = inner.source();
    }
    Attempt::failed(code, innermost)
}

/// Errors of TLS come in errors of I/O, sometimes in several, which do not name them as their
/// source.
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
