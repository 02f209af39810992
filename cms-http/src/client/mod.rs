//! The typed client: the same calls against a site opened in this process, or one that runs
//! elsewhere.

mod credential;
mod follow;
mod remote;
mod typed;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use serde_json::Value as Json;

pub use credential::Credential;
pub use follow::{Following, Happened};
pub use remote::{address, transport};

use crate::{
    Api,
    call::{AsOperator, Cause},
};
use remote::Remote;

const JSON: &str = "application/json";

/// How often a call is repeated when the service asks for patience.
const MAX_WAITS: u32 = 5;
/// A longer wait is told, not waited for: after too many wrong logins it is up to an hour.
const MAX_WAIT_S: u64 = 60;

/// Speaks to a site.
///
/// ```no_run
/// # async fn run(api: cms_http::Api) -> Result<(), cms_http::client::ClientError> {
/// use cms_http::{client::Client, wire::{self, NoBody, OneOrPage, parameters::OneOrList}};
/// let client = Client::local(api);
/// let keys = client.call::<wire::keys::Read>(&OneOrList::default(), &NoBody).await?;
/// if let OneOrPage::Page(page) = keys {
///     page.data.iter().for_each(|key| println!("{}", key.name));
/// }
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub enum Client {
    /// The site is opened in this process; the caller acts as operator.
    Local(Api),
    /// The site runs elsewhere; the caller shows a [`Credential`].
    Remote(Remote),
}

/// A request to be made.
#[derive(Clone, Debug)]
pub struct Ask {
    method: Method,
    path: String,
    query: Vec<(String, String)>,
    body: Option<String>,
    content_type: &'static str,
    if_match: Option<String>,
    idempotency_key: Option<String>,
    last_event_id: Option<String>,
}

impl Ask {
    fn new(method: Method, path: &str) -> Self {
        Self {
            method,
            path: path.to_owned(),
            query: Vec::new(),
            body: None,
            content_type: JSON,
            if_match: None,
            idempotency_key: None,
            last_event_id: None,
        }
    }

    /// Reads.
    #[must_use]
    pub fn get(path: &str) -> Self {
        Self::new(Method::GET, path)
    }

    /// Creates or acts.
    #[must_use]
    pub fn post(path: &str) -> Self {
        Self::new(Method::POST, path)
    }

    /// Changes.
    #[must_use]
    pub fn patch(path: &str) -> Self {
        Self::new(Method::PATCH, path)
    }

    /// Removes.
    #[must_use]
    pub fn delete(path: &str) -> Self {
        Self::new(Method::DELETE, path)
    }

    /// Adds a query parameter; it is encoded for the way.
    #[must_use]
    pub fn query(mut self, name: &str, value: impl ToString) -> Self {
        self.query.push((name.to_owned(), value.to_string()));
        self
    }

    /// Adds a query parameter when there is a value.
    #[must_use]
    pub fn maybe(self, name: &str, value: Option<impl ToString>) -> Self {
        match value {
            Some(value) => self.query(name, value),
            None => self,
        }
    }

    /// Sends JSON.
    #[must_use]
    pub fn json(mut self, body: &Json) -> Self {
        self.body = Some(body.to_string());
        self
    }

    /// Sends JSON text as it is.
    #[must_use]
    pub fn text(mut self, body: String) -> Self {
        self.body = Some(body);
        self
    }

    /// Only if the record still has this entity tag.
    #[must_use]
    pub fn if_match(mut self, etag: Option<String>) -> Self {
        self.if_match = etag;
        self
    }

    /// A repetition with the same key gets the first reply and does nothing.
    #[must_use]
    pub fn idempotency_key(mut self, key: String) -> Self {
        self.idempotency_key = Some(key);
        self
    }

    /// Method, path and query, for people and tests.
    #[must_use]
    pub fn line(&self) -> String {
        format!("{} {}", self.method, self.target())
    }

    /// The body to be sent, if any.
    #[must_use]
    pub fn body(&self) -> Option<&str> {
        self.body.as_deref()
    }

    fn target(&self) -> String {
        if self.query.is_empty() {
            self.path.clone()
        } else {
            format!("{}?{}", self.path, encoded(&self.query))
        }
    }

    fn headers(&self) -> Vec<(header::HeaderName, String)> {
        let mut headers = vec![(header::ACCEPT, "application/json".to_owned())];
        if self.body.is_some() {
            headers.push((header::CONTENT_TYPE, self.content_type.to_owned()));
        }
        headers.extend(self.if_match.clone().map(|tag| (header::IF_MATCH, tag)));
        headers.extend(
            self.idempotency_key
                .clone()
                .map(|key| (header::HeaderName::from_static("idempotency-key"), key)),
        );
        headers.extend(self.last_event_id.clone().map(|id| (follow::LAST_EVENT_ID, id)));
        headers
    }
}

/// Names and values as in a query or a form.
fn encoded(pairs: &[(String, String)]) -> String {
    let encode =
        |text| percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC);
    let pairs = pairs.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value)));
    pairs.collect::<Vec<_>>().join("&")
}

/// A good reply.
#[derive(Clone, Debug)]
pub struct Answer {
    /// 2xx.
    pub status: StatusCode,
    /// The body as it came.
    pub body: String,
    /// Its entity tag.
    pub etag: Option<String>,
    /// When it was made, by the service's clock in full seconds; None in this process.
    pub date: Option<cms_core::Millis>,
}

impl Answer {
    /// The body as JSON.
    ///
    /// # Errors
    /// [`ClientError::Unexpected`] when it is something else.
    pub fn json(&self) -> Result<Json, ClientError> {
        serde_json::from_str(&self.body)
            .map_err(|e| ClientError::Unexpected(format!("the reply is not JSON: {e}")))
    }
}

/// Why there is no good reply.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The service refused; the problem document says why.
    #[error("{detail}")]
    Problem {
        /// HTTP status.
        status: StatusCode,
        /// The stable code.
        code: String,
        /// How to mend it.
        detail: String,
        /// The whole document. From a site in this process, `cause` is the cause of a fault.
        document: Json,
    },
    /// Nobody answered.
    #[error("{0}")]
    Unreachable(String),
    /// Something answered that is not this service.
    #[error("{0}")]
    Unexpected(String),
}

impl ClientError {
    fn problem(status: StatusCode, body: &str) -> Self {
        match serde_json::from_str::<Json>(body) {
            Ok(document) if document["error"].is_string() => {
                let text = |name: &str| document[name].as_str().unwrap_or_default().to_owned();
                Self::Problem { status, code: text("error"), detail: text("detail"), document }
            }
            _ => Self::Unexpected(format!(
                "the address answers {status}, but not as this service does"
            )),
        }
    }
}

impl Client {
    /// For a site that is open in this process. Whoever can open it may do everything with it.
    #[must_use]
    pub fn local(api: Api) -> Self {
        Self::Local(api)
    }

    /// For a site that runs at `url`, with what to show there.
    ///
    /// # Errors
    /// [`ClientError::Unexpected`] for an address that is not http(s), or a credential that cannot
    /// stand in a header.
    pub fn remote(url: &str, credential: &Credential) -> Result<Self, ClientError> {
        Remote::new(url, credential).map(Self::Remote)
    }

    /// Makes the call. When the limiter refuses, waits as long as it says and tries again, a few
    /// times.
    ///
    /// # Errors
    /// [`ClientError`], also for every status that is not 2xx.
    pub async fn send(&self, ask: Ask) -> Result<Answer, ClientError> {
        let mut waits = 0;
        loop {
            let (status, retry_after, answer) = match self {
                Self::Local(api) => local(api, &ask).await?,
                Self::Remote(remote) => remote.send(&ask).await?,
            };
            match retry_after {
                Some(seconds)
                    if status == StatusCode::TOO_MANY_REQUESTS
                        && seconds <= MAX_WAIT_S
                        && waits < MAX_WAITS =>
                {
                    waits += 1;
                    tokio::time::sleep(std::time::Duration::from_secs(seconds)).await;
                }
                _ if status.is_success() => return Ok(answer),
                _ => return Err(ClientError::problem(status, &answer.body)),
            }
        }
    }
}

type Outcome = (StatusCode, Option<u64>, Answer);

fn local_request(ask: &Ask) -> Result<Request<Full<Bytes>>, ClientError> {
    let body = Full::new(Bytes::from(ask.body.clone().unwrap_or_default()));
    let mut request =
        Request::builder().method(&ask.method).uri(ask.target()).extension(AsOperator);
    for (name, value) in ask.headers() {
        request = request.header(name, value);
    }
    request.body(body).map_err(|e| ClientError::Unexpected(e.to_string()))
}

async fn local(api: &Api, ask: &Ask) -> Result<Outcome, ClientError> {
    let (parts, body) = api.handle(local_request(ask)?).await.into_parts();
    finite(&parts.headers)?;
    let bytes = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let mut body = String::from_utf8_lossy(&bytes).into_owned();
    if let Some(Cause(cause)) = parts.extensions.get() {
        let mut document: Json = serde_json::from_str(&body).unwrap_or_default();
        document["cause"] = cause.as_str().into();
        body = document.to_string();
    }
    Ok(outcome(parts.status, &parts.headers, body))
}

/// Refuses a reply that has no end.
fn finite(headers: &http::HeaderMap) -> Result<(), ClientError> {
    let kind = headers.get(header::CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    if kind.starts_with(b"text/event-stream") {
        let why = "the reply is a stream without an end: read it with a client for server-sent \
                   events, such as curl -N";
        return Err(ClientError::Unexpected(why.to_owned()));
    }
    Ok(())
}

fn outcome(status: StatusCode, headers: &http::HeaderMap, body: String) -> Outcome {
    let text =
        |name: header::HeaderName| headers.get(name).and_then(|v: &HeaderValue| v.to_str().ok());
    let retry_after = text(header::RETRY_AFTER).and_then(|seconds| seconds.parse().ok());
    let date = text(header::DATE).and_then(http_date);
    (
        status,
        retry_after,
        Answer { status, body, etag: text(header::ETAG).map(str::to_owned), date },
    )
}

/// The form of dates that servers send (RFC 9110, 5.6.7) is one of e-mail's.
fn http_date(text: &str) -> Option<cms_core::Millis> {
    jiff::fmt::rfc2822::parse(text).ok().map(|date| date.timestamp().as_millisecond())
}

#[cfg(test)]
mod tests {
    #[test]
    fn dates_of_servers_are_read() {
        assert_eq!(super::http_date("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777_000));
        assert_eq!(super::http_date("yesterday"), None);
    }
}
