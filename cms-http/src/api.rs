//! The API as a tower service: mount it in any server that speaks `http` types.

use std::{
    convert::Infallible,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex, PoisonError, atomic::Ordering},
    task::{Context, Poll},
    time::{Duration, Instant},
};

use arc_swap::ArcSwap;
use cms_core::{Cms, Code, Error, Result};
use futures_util::{FutureExt as _, future::BoxFuture};
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use tracing::Instrument as _;

use crate::{
    Body,
    call::{Cause, Peer},
    caller::Caller,
    gate::{self, Findings, Visit},
    kept::Kept,
    mount::{COOKIE, Mount},
    reply::{Reply, status_of},
    request_id::{REQUEST_ID, RequestIds, RequestName},
    routes::{self, Declared},
    wire::{self, Operation as _},
};

const PRIVATE: HeaderValue = HeaderValue::from_static("private, no-cache");

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
/// let nothing = http_body_util::Empty::<bytes::Bytes>::new();
/// let request = http::Request::get("/healthz").body(nothing)?;
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
    /// The routes that plugins declare.
    declared: ArcSwap<Declared>,
    /// Held while `declared` is made anew.
    declaring: Mutex<()>,
}

impl Api {
    /// The API of an open site. Declares its endpoints to the site, so that rights of keys
    /// can name them.
    ///
    /// # Errors
    /// `internal_error` when the operating system has no randomness to give.
    pub fn new(cms: Cms) -> Result<Self> {
        Self::mounted(cms, Mount::root())
    }

    /// Begins an API below a path of its host, or with another name for the session's cookie.
    pub fn builder(cms: Cms) -> ApiBuilder {
        ApiBuilder::new(cms)
    }

    fn mounted(cms: Cms, mount: Mount) -> Result<Self> {
        let ids = RequestIds::new(cms.random().bytes()?);
        let kept = Kept::new(cms.settings(), mount)?;
        let declared = ArcSwap::new(declare(&cms));
        Ok(Self(Arc::new(Inner { cms, ids, kept, declared, declaring: Mutex::default() })))
    }

    /// The routes of the plugins that are in service now.
    fn declared(&self) -> Arc<Declared> {
        let declared = self.0.declared.load_full();
        if declared.is_current(&self.0.cms) {
            return declared;
        }
        // One thread at a time, so that older routes never replace newer ones.
        let _turn = self.0.declaring.lock().unwrap_or_else(PoisonError::into_inner);
        let declared = self.0.declared.load_full();
        if declared.is_current(&self.0.cms) {
            return declared;
        }
        let declared = declare(&self.0.cms);
        self.0.declared.store(declared.clone());
        declared
    }

    /// The site behind the API.
    #[must_use]
    pub fn cms(&self) -> &Cms {
        &self.0.cms
    }

    /// Makes `/readyz` answer 503 from now on, so that load balancers send no new requests. Call
    /// this before a server shuts down. Requests that still arrive are answered.
    pub fn stop_soon(&self) {
        self.0.kept.stopping.store(true, Ordering::Relaxed);
    }

    /// Whether the server is about to stop.
    pub(crate) fn is_stopping(&self) -> bool {
        self.0.kept.stopping.load(Ordering::Relaxed)
    }

    /// Ends all event streams, and those that are opened later. Call this when a server shuts
    /// down: otherwise the server would wait for them. Their clients reconnect and go on at
    /// another server.
    pub fn end_streams(&self) {
        self.0.kept.streams.end();
    }

    /// Waits for `signal`, then for `shutdown.drain_s` seconds while `/readyz` answers
    /// 503, then ends all event streams. Pass this future to a graceful shutdown, such
    /// as `with_graceful_shutdown` of axum: otherwise an open stream would keep the
    /// server from ending.
    pub fn closing<S: Future + Send>(&self, signal: S) -> impl Future<Output = ()> + Send + use<S> {
        let api = self.clone();
        async move {
            signal.await;
            api.stop_soon();
            tokio::time::sleep(Duration::from_secs(api.cms().settings().shutdown.drain_s)).await;
            api.end_streams();
        }
    }

    /// Answers a request. A refusal is a reply like any other, and so is a panic: it becomes a
    /// 500, and the log has it under the id of the request.
    pub async fn handle<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let peer = request.extensions().get().copied();
        self.handle_from(peer, request).await
    }

    /// As [`Api::handle`], with the peer as an argument instead of an extension. This call reads
    /// the head of the request at once; the future only answers it.
    pub(crate) fn handle_from<B>(
        &self,
        peer: Option<Peer>,
        request: Request<B>,
    ) -> impl Future<Output = Response<Body>> + use<B>
    where
        B: http_body::Body,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let started = Instant::now();
        let (parts, body) = request.into_parts();
        let Inner { cms, ids, kept, .. } = &*self.0;
        let proxies = &cms.settings().trusted_proxies;
        let is_proxy = |Peer(peer)| proxies.iter().any(|network| network.contains(peer.ip()));
        let name = match peer.is_some_and(is_proxy) {
            true => ids.of_proxy(&parts.headers),
            false => ids.next(),
        };
        let span = tracing::info_span!("request", id = name.id(), trace = name.trace());
        let visit = span.in_scope(|| Visit::new(cms, kept, parts, peer, self.declared()));
        // In a box: every future that awaits this one would move it.
        self.clone().answer(started, Box::new(visit), body, name).instrument(span)
    }

    /// The reply that the API would give to this error, for routes of the application: its status
    /// and a problem document (RFC 9457) with a new request id. `internal_error` and
    /// `unavailable` are logged under that id, with their cause, unless the caller only has to
    /// retry later. Shared caches do not keep the reply. Metrics do not count it.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
    /// # let folder = tempfile::tempdir()?;
    /// # let mut settings = cms_core::settings::Settings::default();
    /// # settings.dirs.data = folder.path().to_owned();
    /// # let cms = cms_core::Cms::open(settings).await?;
    /// # let api = cms_http::Api::new(cms.clone())?;
    /// use cms_core::{Code, Error};
    ///
    /// let reply = api.refuse(&Error::new(Code::LoginRequired, "Log in first."));
    /// assert_eq!(reply.status(), 401);
    /// assert_eq!(reply.headers()["content-type"], "application/problem+json");
    /// assert_eq!(reply.headers()["cache-control"], "private, no-cache");
    /// # cms.close().await;
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn refuse(&self, error: &Error) -> Response<Body> {
        let name = self.0.ids.next();
        log_failure(error, &name, false);
        let mut reply = Reply::problem(error, name.id());
        reply.headers.insert(header::CACHE_CONTROL, PRIVATE);
        reply.headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        reply.headers.insert(REQUEST_ID, name.header());
        reply.into_response(false)
    }

    /// The reply to a request that failed before its address could be read. Metrics count it.
    pub(crate) fn refuse_unread(&self, error: &Error) -> Response<Body> {
        self.0.kept.metrics.note(status_of(error.code()), Duration::ZERO);
        self.refuse(error)
    }

    /// The reply to a request that hyper's parser has refused with this status.
    pub(crate) fn refuse_unparsed(&self, status: &[u8]) -> Response<Body> {
        let error = if status == b"400" {
            let why = "The request is not valid HTTP: check its first line and its headers.";
            Error::new(Code::BadQuery, why)
        } else {
            let most = self.cms().settings().http.header_limit_bytes;
            let why = format!(
                "The head of a request has at most {most} bytes, the address and all headers \
                 included: send a shorter address, or fewer or shorter headers, cookies above all."
            );
            Error::new(Code::HeadersTooLarge, why)
        };
        let reply = self.refuse_unread(&error);
        let id = reply.headers().get(REQUEST_ID).and_then(|id| id.to_str().ok());
        tracing::info!(id, "a request could not be parsed");
        reply
    }

    /// The reply, if the budget for unread replies has room for it.
    fn admitted(&self, peer: Option<Peer>, is_write: bool, reply: Reply) -> Result<Reply> {
        let Some(Peer(peer)) = peer else { return Ok(reply) };
        let body = self.0.kept.reply_budget.count_body(peer, reply.body, is_write)?;
        Ok(Reply { body, ..reply })
    }

    async fn answer<B>(
        self,
        started: Instant,
        mut visit: Box<Visit>,
        body: B,
        name: RequestName,
    ) -> Response<Body>
    where
        B: http_body::Body,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let Inner { cms, kept, .. } = &*self.0;
        let operator = visit.is_by_operator();
        let mut found = Findings::of(operator);
        let mut cause = None;
        // After a panic, `visit` and `found` are used only for what was known before it.
        let passing = AssertUnwindSafe(gate::pass(cms, kept, &mut visit, body, &mut found));
        let outcome = passing
            .catch_unwind()
            .await
            .unwrap_or_else(|panic| Err(Error::of_panic("answering a request", &*panic)));
        let reply = outcome.unwrap_or_else(|error| {
            let drains = self.is_stopping() && visit.request.path == "/readyz";
            cause = log_failure(&error, &name, drains).filter(|_| operator);
            if let Some(client) = visit.known_client() {
                kept.refusals.note(client, error.code(), cms.clock().now());
            }
            Reply::problem(&error, name.id())
        });
        let reply = self
            .admitted(visit.peer, !visit.is_read(), reply)
            .unwrap_or_else(|error| Reply::problem(&error, name.id()));
        let Reply { status, mut headers, body, reads } = found.add_headers(reply);
        let request = &visit.request;
        if let Some(control) = cache_control(&request.path, &found.caller, status) {
            headers.entry(header::CACHE_CONTROL).or_insert(control);
        }
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(REQUEST_ID, name.header());
        let took = started.elapsed();
        kept.metrics.note(status, took);
        log(&found.caller, &request.method, visit.uri.path(), status, took);
        let is_head = request.method == Method::HEAD;
        let mut response = Reply { status, headers, body, reads }.into_response(is_head);
        if let Some(cause) = cause {
            response.extensions_mut().insert(cause);
        }
        response
    }
}

/// The `Cache-Control` of a reply that has none of its own. None: a shared cache may keep it.
fn cache_control(path: &str, caller: &Caller, status: StatusCode) -> Option<HeaderValue> {
    if ["/healthz", "/readyz", "/metrics"].contains(&path) {
        return Some(HeaderValue::from_static("no-store"));
    }
    // A refusal of one caller must not close the address for others.
    let is_refused = status.is_client_error() || status.is_server_error();
    let is_by_caller = path == wire::openapi::Read::PATH || path.starts_with("/api/backend/");
    (is_refused || is_by_caller || !matches!(caller, Caller::Anonymous)).then_some(PRIVATE)
}

/// Logs a failure of the service under the id of its request, and returns its cause. `drains`:
/// the request was `/readyz` during a shutdown, where a 503 is expected.
fn log_failure(error: &Error, name: &RequestName, drains: bool) -> Option<Cause> {
    if !matches!(error.code(), Code::Internal | Code::Unavailable | Code::ScriptFailed) {
        return None;
    }
    let why = std::error::Error::source(error);
    let (id, trace) = (name.id(), name.trace());
    match (error.code(), why) {
        // The caller met a limit: a flood of such requests must not flood the log. A hook that took
        // too long has a warning of its own.
        (Code::Unavailable, None) if error.retry_after_s().is_some() => {
            tracing::debug!(id, %error, "unavailable for now");
        }
        (Code::Unavailable, None) if drains => tracing::debug!(id, %error, "stopping"),
        // The log already has the output of the script.
        (Code::ScriptFailed, _) => tracing::warn!(id, trace, %error, "request failed"),
        // Names the id itself: the span that holds it is missing where requests are not logged.
        _ => tracing::error!(id, trace, error = ?error, "request failed"),
    }
    why.map(|why| Cause(why.to_string()))
}

/// An API that is not at the root of its host: [`Api::builder`].
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(async {
/// # let folder = tempfile::tempdir()?;
/// # let mut settings = cms_core::settings::Settings::default();
/// # settings.dirs.data = folder.path().to_owned();
/// let cms = cms_core::Cms::open(settings).await?;
/// let api = cms_http::Api::builder(cms).base("/cms").build()?;
/// let nothing = http_body_util::Empty::<bytes::Bytes>::new();
/// let request = http::Request::get("/cms/healthz").body(nothing)?;
/// assert_eq!(api.handle(request).await.status(), 200);
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub struct ApiBuilder {
    cms: Cms,
    base: String,
    stripped: bool,
    cookie: String,
}

impl ApiBuilder {
    fn new(cms: Cms) -> Self {
        Self { cms, base: String::new(), stripped: false, cookie: COOKIE.to_owned() }
    }

    /// The path in front of every path of the API, such as `/cms`. Other requests get 404, except
    /// for files at `/media/`, because records hold those addresses. The OpenAPI document and the
    /// session's cookie name the path.
    pub fn base(mut self, path: &str) -> Self {
        path.clone_into(&mut self.base);
        self
    }

    /// Says that the server removes the base path before the API sees a request, as
    /// `nest_service` of axum does.
    pub fn stripped(self) -> Self {
        Self { stripped: true, ..self }
    }

    /// Names the session's cookie; the default is `cms_session`. Sites on one host need different
    /// names, even on different ports: browsers send a cookie to every port of its host.
    pub fn cookie(mut self, name: &str) -> Self {
        name.clone_into(&mut self.cookie);
        self
    }

    /// The API, with its endpoints declared for the rights of keys.
    ///
    /// # Errors
    /// `validation_failed` for a base path or a cookie name that is not valid; `internal_error`
    /// when the operating system has no randomness to give.
    pub fn build(self) -> Result<Api> {
        let Self { cms, base, stripped, cookie } = self;
        let url = cms.settings().api_url.as_deref().unwrap_or_default();
        if !url.trim_end_matches('/').ends_with(&base) {
            let why = "api_url does not end with the base path: links in mails lead elsewhere";
            tracing::warn!(base, api_url = url, "{why}");
        }
        Api::mounted(cms, Mount::new(base, stripped, &cookie)?)
    }
}

/// Makes the routes of the plugins in service, and declares all endpoints to the rights of keys.
fn declare(cms: &Cms) -> Arc<Declared> {
    let declared = Declared::of(cms);
    cms.access().declare(routes::endpoints().chain(declared.endpoints()).collect());
    Arc::new(declared)
}

fn log(caller: &Caller, method: &Method, path: &str, status: StatusCode, took: Duration) {
    let (status, duration_us) = (status.as_u16(), took.as_micros());
    match caller {
        Caller::Anonymous => tracing::info!(%method, path, status, duration_us, "anonymous"),
        Caller::Operator => tracing::debug!(%method, path, status, duration_us, "operator"),
        Caller::Key(key) => {
            tracing::info!(%method, path, status, duration_us, key = key.id, "key")
        }
        Caller::User { user, .. } => {
            tracing::info!(%method, path, status, duration_us, user = user.id, "user")
        }
        Caller::Application { user, .. } => {
            let name = user.name();
            tracing::info!(%method, path, status, duration_us, name, "user of the application")
        }
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
