//! A site that runs elsewhere, called over HTTP or HTTPS, and the credential that it is shown.

use std::{sync::Arc, time::Duration};

use cms_core::Secret;
use http::{HeaderName, HeaderValue, header};

use super::{Ask, ClientError, Outcome, finite, outcome};
use crate::request::is_loopback;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const TIMEOUT: Duration = Duration::from_secs(60);
/// How long a call waits before its sign is shown.
const SIGN_AFTER: Duration = Duration::from_secs(1);
/// The slowest upload that is waited for, in bytes a second.
const SLOWEST_UPLOAD: u64 = 32 << 10;
/// The largest reply that is read; this service sends no larger ones.
const MAX_REPLY_BYTES: usize = 64 << 20;

/// Shows that the address is being waited for. Dropping the returned value hides the sign.
pub type Sign = Arc<dyn Fn(&str) -> Box<dyn Send> + Send + Sync>;

/// How long a site is waited for.
#[derive(Clone)]
pub struct Wait {
    /// The longest wait for a whole reply.
    pub timeout: Duration,
    /// Called after a second of waiting.
    pub sign: Option<Sign>,
}

impl Default for Wait {
    fn default() -> Self {
        Self { timeout: TIMEOUT, sign: None }
    }
}

/// A connection pool to one service.
#[derive(Clone)]
pub struct Remote {
    http: reqwest::Client,
    base: String,
    shown: Option<(HeaderName, HeaderValue)>,
    timeout: Duration,
    sign: Option<Sign>,
}

impl Remote {
    pub(super) fn new(url: &str, credential: &Credential, wait: Wait) -> Result<Self, ClientError> {
        let (base, shown) = (address(url)?, credential.header()?);
        // A proxy named in the environment would look for localhost on its own machine, and must
        // not see what is sent there.
        let is_here = reqwest::Url::parse(&base).is_ok_and(|url| is_loopback(url.authority()));
        let transport = if is_here { transport()?.no_proxy() } else { transport()? };
        let http = transport
            .user_agent(concat!("cms/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_TIMEOUT.min(wait.timeout))
            .timeout(wait.timeout)
            .build()
            .map_err(|e| ClientError::Unexpected(e.to_string()))?;
        Ok(Self { http, base, shown, timeout: wait.timeout, sign: wait.sign })
    }

    /// Opens a stream. Only its head has the usual time limit; the stream may last for a day.
    pub(super) async fn open(&self, ask: &Ask) -> Result<reqwest::Response, ClientError> {
        let request = self.request(ask).timeout(Duration::from_secs(86_400));
        match tokio::time::timeout(self.timeout, request.send()).await {
            Ok(reply) => reply.map_err(|e| self.unreachable(&e)),
            Err(_) => {
                let (base, time) = (&self.base, self.timeout);
                Err(ClientError::Unreachable(format!("{base} did not answer within {time:?}")))
            }
        }
    }

    fn unreachable(&self, error: &reqwest::Error) -> ClientError {
        ClientError::Unreachable(format!("{} cannot be reached: {}", self.base, cause(error)))
    }

    fn request(&self, ask: &Ask) -> reqwest::RequestBuilder {
        let mut request =
            self.http.request(ask.method.clone(), format!("{}{}", self.base, ask.target()));
        if let Some((name, value)) = &self.shown {
            request = request.header(name, value.clone());
        }
        for (name, value) in ask.headers() {
            request = request.header(name, value);
        }
        if let Some(body) = &ask.body {
            request = request.body(body.clone());
        }
        request
    }

    pub(super) async fn send(&self, ask: &Ask) -> Result<Outcome, ClientError> {
        let answer = self.answer(self.request(ask));
        let Some(sign) = &self.sign else { return answer.await };
        tokio::pin!(answer);
        if let Ok(answer) = tokio::time::timeout(SIGN_AFTER, &mut answer).await {
            return answer;
        }
        let _shown = sign(&self.base);
        answer.await
    }

    /// Sends a body part by part. The time limit is a second for each 32 KiB plus the usual wait.
    pub(super) async fn upload(
        &self,
        ask: &Ask,
        kind: HeaderValue,
        length: u64,
        body: reqwest::Body,
    ) -> Result<Outcome, ClientError> {
        let time = self.timeout + Duration::from_secs(length / SLOWEST_UPLOAD);
        let request = self.request(ask).timeout(time).header(header::CONTENT_TYPE, kind);
        self.answer(request.header(header::CONTENT_LENGTH, length).body(body)).await
    }

    async fn answer(&self, request: reqwest::RequestBuilder) -> Result<Outcome, ClientError> {
        let unreachable = |e: reqwest::Error| self.unreachable(&e);
        let mut response = request.send().await.map_err(unreachable)?;
        let (status, headers) = (response.status(), response.headers().clone());
        finite(&headers)?;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
            if body.len() + chunk.len() > MAX_REPLY_BYTES {
                return Err(ClientError::Unexpected(
                    "the reply is larger than this service's replies are".to_owned(),
                ));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(outcome(status, &headers, String::from_utf8_lossy(&body).into_owned()))
    }
}

/// The client that sends requests: TLS with the public web's root certificates, no redirects.
///
/// # Errors
/// [`ClientError::Unexpected`] when TLS cannot be set up.
pub fn transport() -> Result<reqwest::ClientBuilder, ClientError> {
    let roots = rustls::RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.into() };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| ClientError::Unexpected(e.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(reqwest::redirect::Policy::none()))
}

/// An address in canonical form: lower case, no default port, no slash at the end.
///
/// # Errors
/// [`ClientError::Unexpected`] unless it is an http(s) address without user, query and fragment.
pub fn address(url: &str) -> Result<String, ClientError> {
    let refused =
        |why: &str| ClientError::Unexpected(format!("{url:?} is no address of a site: {why}"));
    let parsed = reqwest::Url::parse(url.trim()).map_err(|e| refused(&e.to_string()))?;
    if !["http", "https"].contains(&parsed.scheme()) {
        return Err(refused("it begins with http:// or https://"));
    }
    if !parsed.username().is_empty()
        || parsed.password().is_some()
        || parsed.query().is_some()
        || parsed.fragment().is_some()
    {
        // The message leaves the address out: it may hold a password.
        let why = "an address of a site has scheme, host, port and path only";
        return Err(ClientError::Unexpected(why.to_owned()));
    }
    Ok(parsed.as_str().trim_end_matches('/').to_owned())
}

/// The innermost reason: "connection refused" instead of "error sending request".
fn cause(error: &dyn std::error::Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}

/// What the caller shows. `Debug` hides the values.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Credential {
    /// An API key, in the header `X-Api-Key`.
    Key(Secret),
    /// The token of a login, as `Authorization: Bearer` (RFC 6750, 2.1).
    Session(Secret),
    /// No credential: enough to log in and to read what is public.
    None,
}

impl Credential {
    /// The header that carries the credential.
    pub(super) fn header(&self) -> Result<Option<(HeaderName, HeaderValue)>, ClientError> {
        let (name, value) = match self {
            Self::Key(key) => (HeaderName::from_static("x-api-key"), key.clone()),
            Self::Session(token) => {
                (header::AUTHORIZATION, Secret::new(format!("Bearer {}", token.expose().trim())))
            }
            Self::None => return Ok(None),
        };
        let mut value = HeaderValue::from_str(value.expose().trim()).map_err(|_| {
            ClientError::Unexpected(
                "the API key or token holds characters that none has".to_owned(),
            )
        })?;
        value.set_sensitive(true);
        Ok(Some((name, value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_one_spelling() {
        for (text, expected) in [
            ("https://CMS.example.org:443/", Some("https://cms.example.org")),
            ("http://127.0.0.1:8080", Some("http://127.0.0.1:8080")),
            ("https://example.org/cms/", Some("https://example.org/cms")),
            ("ftp://example.org", None),
            ("example.org", None),
            ("https://ana:pw@example.org", None),
            ("https://example.org/?a=1", None),
            ("https://example.org/#a", None),
        ] {
            assert_eq!(address(text).ok().as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn each_kind_has_its_header_and_none_is_printed() {
        let shown = |credential: Credential| {
            assert!(!format!("{credential:?}").contains("opensesame"), "{credential:?}");
            credential.header().expect("a header").map(|(name, value)| {
                assert!(value.is_sensitive());
                format!("{name}: {}", value.to_str().expect("text"))
            })
        };
        let secret = || Secret::new("opensesame\n");
        assert_eq!(shown(Credential::Key(secret())).as_deref(), Some("x-api-key: opensesame"));
        assert_eq!(
            shown(Credential::Session(secret())).as_deref(),
            Some("authorization: Bearer opensesame")
        );
        assert_eq!(shown(Credential::None), None);
        assert!(Credential::Key(Secret::new("a\nb")).header().is_err());
    }
}
