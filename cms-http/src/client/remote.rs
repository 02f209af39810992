//! A site that runs elsewhere, over HTTPS.

use std::{sync::Arc, time::Duration};

use cms_core::settings::Secret;
use http::HeaderValue;

use super::{Ask, ClientError, Outcome, outcome};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const TIMEOUT: Duration = Duration::from_secs(60);
/// A reply that is larger is not one of this service's.
const MAX_REPLY_BYTES: usize = 64 << 20;

/// A connection pool to one service.
#[derive(Clone)]
pub struct Remote {
    http: reqwest::Client,
    base: String,
    key: HeaderValue,
}

impl Remote {
    pub(super) fn new(url: &str, key: &Secret) -> Result<Self, ClientError> {
        let refused = |cause: String| ClientError::Unexpected(cause);
        let parsed = reqwest::Url::parse(url).map_err(|e| refused(format!("{url:?} is no address: {e}")))?;
        if !["http", "https"].contains(&parsed.scheme()) {
            return Err(refused(format!("{url:?} is no http or https address")));
        }
        let mut key = HeaderValue::from_str(key.expose().trim())
            .map_err(|_| refused("the API key holds characters that no key has".to_owned()))?;
        key.set_sensitive(true);
        let roots = rustls::RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.into() };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|e| refused(e.to_string()))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(TIMEOUT)
            .build()
            .map_err(|e| refused(e.to_string()))?;
        Ok(Self { http, base: url.trim_end_matches('/').to_owned(), key })
    }

    pub(super) async fn send(&self, ask: &Ask) -> Result<Outcome, ClientError> {
        let mut request =
            self.http.request(ask.method.clone(), format!("{}{}", self.base, ask.target())).header("x-api-key", self.key.clone());
        for (name, value) in ask.headers() {
            request = request.header(name, value);
        }
        if let Some(body) = &ask.body {
            request = request.body(body.clone());
        }
        let unreachable = |e: reqwest::Error| ClientError::Unreachable(format!("{} cannot be reached: {}", self.base, cause(&e)));
        let mut response = request.send().await.map_err(unreachable)?;
        let (status, headers) = (response.status(), response.headers().clone());
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
            if body.len() + chunk.len() > MAX_REPLY_BYTES {
                return Err(ClientError::Unexpected("the reply is larger than this service's replies are".to_owned()));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(outcome(status, &headers, String::from_utf8_lossy(&body).into_owned()))
    }
}

/// The innermost reason: "connection refused" instead of "error sending request".
fn cause(error: &dyn std::error::Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}
