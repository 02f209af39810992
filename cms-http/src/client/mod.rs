//! The typed client. It makes the same calls to a site in this process and to a running site.

mod ask;
mod remote;
mod stream;

use bytes::Bytes;
use cms_core::Secret;
use http::{HeaderValue, Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use serde_json::Value as Json;

pub use ask::Ask;
pub use remote::{Credential, Sign, Wait, address, transport};
pub use stream::{Following, Outgoing, Parts, StreamEvent};

use self::remote::Remote;
use crate::{
    Api,
    call::{AsOperator, Cause, InProcess},
};

/// How often a call is repeated after the limiter has refused it.
const MAX_WAITS: u32 = 5;
/// A longer wait is reported to the caller, not waited for: after too many wrong logins it
/// may be an hour.
const MAX_WAIT_S: u64 = 60;
/// What a proxy answers for a service that it cannot reach.
const NOT_THERE: [StatusCode; 3] =
    [StatusCode::BAD_GATEWAY, StatusCode::SERVICE_UNAVAILABLE, StatusCode::GATEWAY_TIMEOUT];

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
    /// The site is opened in this process; the caller acts as the user of a session, with no more
    /// rights than that user has.
    LocalAs(Api, Credential),
    /// The site runs elsewhere; the caller shows a [`Credential`].
    Remote(Remote),
}

/// A bucket of the limiter, as the headers of a reply report it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// Tokens of the full bucket.
    pub limit: u32,
    /// Tokens left.
    pub remaining: u32,
}

/// The reply to a call that succeeded.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Answer {
    /// 2xx.
    pub status: StatusCode,
    /// The body as it came.
    pub body: String,
    /// Its entity tag.
    pub etag: Option<String>,
    /// The bucket with the fewest tokens left, as the service reports it; None when
    /// nothing is limited.
    pub limit: Option<RateLimit>,
    /// When the reply was made, by the service's clock, in full seconds; None for a site
    /// in this process.
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

/// Why a call failed.
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
        /// What is wrong, and how to mend it.
        detail: String,
        /// The whole document. From a site in this process, its member `cause` tells why the
        /// service failed.
        document: Json,
        /// Seconds after which the call may be repeated.
        retry_after: Option<u64>,
    },
    /// The service did not answer: nobody did, or only a proxy in front of it.
    #[error("{0}")]
    Unreachable(String),
    /// The answer does not come from this service.
    #[error("{0}")]
    Unexpected(String),
}

impl ClientError {
    fn problem(status: StatusCode, body: &str) -> Self {
        match serde_json::from_str::<Json>(body) {
            Ok(document) if document["error"].is_string() => {
                let text = |name: &str| document[name].as_str().unwrap_or_default().to_owned();
                Self::Problem {
                    status,
                    code: text("error"),
                    detail: text("detail"),
                    document,
                    retry_after: None,
                }
            }
            // A proxy in front of the service may have a limit too.
            _ if status == StatusCode::TOO_MANY_REQUESTS => Self::Problem {
                status,
                code: cms_core::Code::RateLimited.as_str().to_owned(),
                detail: "Too many requests: come again later.".to_owned(),
                document: Json::Null,
                retry_after: None,
            },
            _ if NOT_THERE.contains(&status) => Self::Unreachable(format!(
                "a proxy at the address answers {status}: the service behind it does not answer"
            )),
            _ => Self::Unexpected(format!(
                "the address answers {status}, but not as this service does"
            )),
        }
    }

    /// Seconds after which the same call may be repeated, when the limiter refused it. None:
    /// something else refused it, or the wait is longer than a minute.
    #[must_use]
    pub fn come_again(&self) -> Option<u64> {
        match self {
            Self::Problem { status, retry_after, .. }
                if *status == StatusCode::TOO_MANY_REQUESTS =>
            {
                retry_after.filter(|seconds| *seconds <= MAX_WAIT_S)
            }
            _ => None,
        }
    }

    /// Adds the value of `Retry-After`.
    fn after(mut self, seconds: Option<u64>) -> Self {
        if let Self::Problem { retry_after, .. } = &mut self {
            *retry_after = seconds;
        }
        self
    }
}

impl Client {
    /// A client for a site in this process, acting as operator: it may do everything.
    #[must_use]
    pub fn local(api: Api) -> Self {
        Self::Local(api)
    }

    /// A client for a site in this process, acting as the user of this session. The site judges its
    /// calls as it judges those over the network, except that the limiter does not count them.
    #[must_use]
    pub fn local_as(api: Api, token: Secret) -> Self {
        Self::LocalAs(api, Credential::Session(token))
    }

    /// A client for the site at `url`, which shows this credential.
    ///
    /// # Errors
    /// [`ClientError::Unexpected`] for an address that is not http(s), or a credential that a
    /// header cannot hold.
    pub fn remote(url: &str, credential: &Credential) -> Result<Self, ClientError> {
        Self::remote_within(url, credential, Wait::default())
    }

    /// As [`Client::remote`], with another wait for replies.
    pub fn remote_within(
        url: &str,
        credential: &Credential,
        wait: Wait,
    ) -> Result<Self, ClientError> {
        Remote::new(url, credential, wait).map(Self::Remote)
    }

    /// Makes the call. When the limiter refuses it, waits as long as the service asks and repeats
    /// it, at most five times.
    ///
    /// # Errors
    /// [`ClientError`], also for every status that is not 2xx.
    pub async fn send(&self, ask: Ask) -> Result<Answer, ClientError> {
        for _ in 0..MAX_WAITS {
            let outcome = self.send_once(&ask).await;
            let Some(seconds) = outcome.as_ref().err().and_then(ClientError::come_again) else {
                return outcome;
            };
            tokio::time::sleep(std::time::Duration::from_secs(seconds)).await;
        }
        self.send_once(&ask).await
    }

    /// Makes the call once; reports a refusal of the limiter like any other.
    pub async fn send_once(&self, ask: &Ask) -> Result<Answer, ClientError> {
        let (status, retry_after, answer) = match self {
            Self::Local(api) => local(api, local_request(ask, None)?).await?,
            Self::LocalAs(api, credential) => {
                local(api, local_request(ask, Some(credential))?).await?
            }
            Self::Remote(remote) => remote.send(ask).await?,
        };
        match status.is_success() {
            true => Ok(answer),
            false => Err(ClientError::problem(status, &answer.body).after(retry_after)),
        }
    }

    /// The snapshot version of a site in this process. It grows with every commit of every process,
    /// and is cheap to read. None: the engine has no such number, or the site runs elsewhere.
    #[must_use]
    pub fn snapshot_version(&self) -> Option<i64> {
        match self {
            Self::Local(api) | Self::LocalAs(api, _) => api.cms().db().snapshot_version(),
            Self::Remote(_) => None,
        }
    }
}

type Outcome = (StatusCode, Option<u64>, Answer);

/// A request within this process: as operator, or as the user of a session.
fn local_request(
    ask: &Ask,
    credential: Option<&Credential>,
) -> Result<Request<Full<Bytes>>, ClientError> {
    let body = Full::new(Bytes::from(ask.body.clone().unwrap_or_default()));
    let mut request = Request::builder().method(&ask.method).uri(ask.target());
    request = match credential.map(Credential::header).transpose()? {
        None => request.extension(AsOperator),
        Some(header) => {
            header.into_iter().fold(request.extension(InProcess), |request, (name, value)| {
                request.header(name, value)
            })
        }
    };
    for (name, value) in ask.headers() {
        request = request.header(name, value);
    }
    request.body(body).map_err(|e| ClientError::Unexpected(e.to_string()))
}

async fn local<B>(api: &Api, request: Request<B>) -> Result<Outcome, ClientError>
where
    B: http_body::Body,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let (parts, body) = api.handle(request).await.into_parts();
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

/// Refuses an event stream, whose body never ends.
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
    let number = |name: &'static str| {
        let value = headers.get(name).and_then(|value| value.to_str().ok());
        value.and_then(|value| value.parse().ok())
    };
    let limit = number("x-ratelimit-limit").zip(number("x-ratelimit-remaining"));
    let limit = limit.map(|(limit, remaining)| RateLimit { limit, remaining });
    let date = text(header::DATE).and_then(http_date);
    (
        status,
        retry_after(headers),
        Answer { status, body, etag: text(header::ETAG).map(str::to_owned), limit, date },
    )
}

/// Seconds after which the service asks for a repetition.
fn retry_after(headers: &http::HeaderMap) -> Option<u64> {
    headers.get(header::RETRY_AFTER)?.to_str().ok()?.parse().ok()
}

/// HTTP dates (RFC 9110, 5.6.7) have a form that e-mail uses too.
fn http_date(text: &str) -> Option<cms_core::Millis> {
    jiff::fmt::rfc2822::parse(text).ok().map(|date| date.timestamp().as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_without_its_service_is_no_service() {
        let error = |status: u16, body: &str| {
            ClientError::problem(StatusCode::from_u16(status).expect("a status"), body)
        };
        let page = "<html><h1>502 Bad Gateway</h1></html>";
        for status in [502, 503, 504] {
            let refused = error(status, page);
            assert!(matches!(&refused, ClientError::Unreachable(_)), "{refused:?}");
            assert!(refused.to_string().contains(&status.to_string()), "{refused}");
        }
        assert!(matches!(error(500, page), ClientError::Unexpected(_)));
        assert!(matches!(error(404, page), ClientError::Unexpected(_)));
        let own = error(503, r#"{"error": "unavailable", "detail": "The service is stopping."}"#);
        assert!(matches!(own, ClientError::Problem { .. }), "{own:?}");
    }

    #[test]
    fn dates_of_servers_are_read() {
        assert_eq!(http_date("Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777_000));
        assert_eq!(http_date("yesterday"), None);
    }
}
