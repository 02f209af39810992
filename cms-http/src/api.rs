//! The API as a tower service: mount it in any server that speaks `http` types.

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
    time::Instant,
};

use cms_core::{Cms, Code, Result};
use data_encoding::HEXLOWER;
use futures_util::future::BoxFuture;
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use tracing::Instrument as _;

use crate::{
    Body,
    call::{AsOperator, Caller, FrontendLogin, Peer},
    gate::{self, Arrival, Passage},
    kept::Kept,
    reply::Reply,
    routes,
    shortcuts::Plain,
};

pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// One request in so many goes the long way.
const LONG_WAY: u64 = 64;
/// One request in so many that does not is timed.
const TIMED: u64 = 16;

/// The REST API of one site. Clones are cheap and share everything.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
/// # let folder = tempfile::tempdir()?;
/// # let mut settings = cms_core::settings::Settings::default();
/// # settings.dirs.data = folder.path().to_owned();
/// use cms_http::Api;
///
/// let cms = cms_core::Cms::open(settings).await?;
/// let request = http::Request::get("/healthz").body(http_body_util::Empty::<bytes::Bytes>::new())?;
/// let reply = Api::new(cms)?.handle(request).await;
/// assert_eq!(reply.status(), 200);
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Api(Arc<Inner>);

struct Inner {
    cms: Cms,
    ids: RequestIds,
    kept: Kept,
}

impl Api {
    /// The API of an open site. Declares its endpoints there, so that rights of keys can name them.
    ///
    /// # Errors
    /// `internal_error` when the operating system has no randomness to give.
    pub fn new(cms: Cms) -> Result<Self> {
        let ids = RequestIds::new(cms.random().bytes()?);
        let kept = Kept::new(cms.settings())?;
        cms.access().declare(routes::endpoints());
        Ok(Self(Arc::new(Inner { cms, ids, kept })))
    }

    /// The site behind it.
    #[must_use]
    pub fn cms(&self) -> &Cms {
        &self.0.cms
    }

    /// Answers a request; a refusal is a reply like any other.
    pub async fn handle<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let peer = request.extensions().get().copied();
        match self.answer_at_once(peer, &request) {
            Some(response) => response,
            None => self.handle_from(peer, request).await,
        }
    }

    /// As [`Api::handle`] after [`Api::answer_at_once`], from whom is known without an extension.
    pub(crate) async fn handle_from<B>(
        &self,
        peer: Option<Peer>,
        request: Request<B>,
    ) -> Response<Body>
    where
        B: http_body::Body,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let id = self.0.ids.next();
        let id = id.to_str().unwrap_or_default();
        let span = tracing::info_span!("request", id);
        if span.is_disabled() {
            return self.answer(peer, request, id).await;
        }
        self.answer(peer, request, id).instrument(span).await
    }

    /// The reply to a request that was answered a moment ago, if nothing has to be asked for it.
    pub(crate) fn answer_at_once<B>(
        &self,
        peer: Option<Peer>,
        request: &Request<B>,
    ) -> Option<Response<Body>> {
        // A request that is logged goes the long way, and now and then one: so the store learns
        // which replies are in demand.
        let count = self.0.ids.count.load(Ordering::Relaxed);
        if tracing::enabled!(tracing::Level::INFO) || count.is_multiple_of(LONG_WAY) {
            return None;
        }
        let started = (count % TIMED == 1).then(Instant::now);
        let reply = self
            .0
            .kept
            .shortcuts
            .find(&self.0.cms, &self.0.kept, peer, request, || self.0.ids.next())?;
        self.0.kept.metrics.note_at_once(reply.status, started.map(|started| started.elapsed()));
        Some(reply.into_response(false))
    }

    async fn answer<B>(&self, peer: Option<Peer>, request: Request<B>, id: &str) -> Response<Body>
    where
        B: http_body::Body,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let started = Instant::now();
        let plain = Plain::of(&request, &self.0.kept.proxy_header);
        let (parts, body) = request.into_parts();
        let operator = parts.extensions.get::<AsOperator>().is_some();
        let is_head = parts.method == Method::HEAD;
        let backend = parts.uri.path().starts_with("/api/backend/");
        // Copied for the log only when it is written.
        let logged = tracing::enabled!(tracing::Level::INFO)
            .then(|| (parts.method.clone(), parts.uri.path().to_owned()));
        let logged_in = parts.extensions.get::<FrontendLogin>().is_some();
        let arrival = Arrival {
            method: parts.method,
            uri: parts.uri,
            headers: parts.headers,
            peer,
            operator,
            logged_in,
        };
        let Passage { caller, outcome, allow, quota, sharing, found } =
            gate::pass(&self.0.cms, &self.0.kept, arrival, body).await;
        let mut reply = outcome.unwrap_or_else(|error| {
            if matches!(error.code(), Code::Internal | Code::Unavailable) {
                tracing::error!(error = ?error, "request failed");
            }
            Reply::problem(&error, id)
        });
        if let Some(quota) = quota {
            gate::quota_headers(&quota, &mut reply.headers);
        }
        gate::sharing_headers(sharing, &mut reply.headers);
        if let Some(allow) = allow {
            reply = reply.with(header::ALLOW, &allow);
        }
        if backend || !matches!(caller, Caller::Anonymous) {
            reply
                .headers
                .entry(header::CACHE_CONTROL)
                .or_insert(HeaderValue::from_static("private, no-cache"));
        }
        reply.headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        let took = started.elapsed();
        self.0.kept.metrics.note(reply.status, took);
        if let Some((method, path)) = logged {
            let (status, duration_us) = (reply.status.as_u16(), took.as_micros());
            match &caller {
                Caller::Anonymous => {
                    tracing::info!(%method, path, status, duration_us, "anonymous")
                }
                Caller::Operator => tracing::debug!(%method, path, status, duration_us, "operator"),
                Caller::Key(key) => {
                    tracing::info!(%method, path, status, duration_us, key = key.id, "key")
                }
                Caller::User { user, .. } => {
                    tracing::info!(%method, path, status, duration_us, user = user.id, "user")
                }
            }
        }
        let reply = reply.with(REQUEST_ID, id);
        if let (Some(plain), Some((path, entry)), StatusCode::OK) = (plain, found, reply.status) {
            self.0.kept.shortcuts.remember(&plain, path, &entry, reply.headers.clone());
        }
        reply.into_response(is_head)
    }
}

/// Twelve random digits of this process and twelve that count: unique without asking for randomness
/// each time.
struct RequestIds {
    start: [u8; 12],
    count: AtomicU64,
}

impl RequestIds {
    fn new(start: [u8; 6]) -> Self {
        let mut digits = [0; 12];
        HEXLOWER.encode_mut(&start, &mut digits);
        Self { start: digits, count: AtomicU64::new(0) }
    }

    fn next(&self) -> HeaderValue {
        let number = self.count.fetch_add(1, Ordering::Relaxed).to_be_bytes();
        let mut digits = [0; 24];
        digits[..12].copy_from_slice(&self.start);
        HEXLOWER.encode_mut(&number[2..], &mut digits[12..]);
        HeaderValue::from_bytes(&digits).unwrap_or_else(|_| HeaderValue::from_static(""))
    }
}

impl<B> tower_service::Service<Request<B>> for Api
where
    B: http_body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let api = self.clone();
        Box::pin(async move { Ok(api.handle(request).await) })
    }
}
