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
    /// Routes of plugins.
    declared: ArcSwap<Declared>,
    /// Held while they are made.
    declaring: Mutex<()>,
}

impl Api {
    /// The API of an open site. Declares its endpoints there, so that rights of keys can name them.
    ///
    /// # Errors
    /// `internal_error` when the operating system has no randomness to give.
    pub fn new(cms: Cms) -> Result<Self> {
        Self::mounted(cms, Mount::root())
    }

    /// An API below a path of its host, or with another name of the cookie.
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
        // One at a time, so that older routes never come after newer ones.
        let _turn = self.0.declaring.lock().unwrap_or_else(PoisonError::into_inner);
        let declared = self.0.declared.load_full();
        if declared.is_current(&self.0.cms) {
            return declared;
        }
        let declared = declare(&self.0.cms);
        self.0.declared.store(declared.clone());
        declared
    }

    /// The site behind it.
    #[must_use]
    pub fn cms(&self) -> &Cms {
        &self.0.cms
    }

    /// Makes `/readyz` answer 503 from now on, so that load balancers send no new requests. A
    /// server that is about to shut down calls this; requests that come all the same are answered.
    pub fn stop_soon(&self) {
        self.0.kept.stopping.store(true, Ordering::Relaxed);
    }

    /// Ends all event streams, also those that are opened later. A server that shuts down calls
    /// this: it would wait for them otherwise. Their clients connect again and go on elsewhere.
    pub fn end_streams(&self) {
        self.0.kept.streams.end();
    }

    /// Waits for `signal`, then for `shutdown.drain_s` seconds in which `/readyz` answers 503, and
    /// ends all event streams. What a server waits for before it finishes its requests, as with
    /// `with_graceful_shutdown` of axum: otherwise an open stream would keep it from ending.
    pub fn closing<S: Future + Send>(&self, signal: S) -> impl Future<Output = ()> + Send + use<S> {
        let api = self.clone();
        async move {
            signal.await;
            api.stop_soon();
            tokio::time::sleep(Duration::from_secs(api.cms().settings().shutdown.drain_s)).await;
            api.end_streams();
        }
    }

    /// Answers a request; a refusal is a reply like any other. So is a panic: 500, with the id of
    /// the request in the log.
    pub async fn handle<B>(&self, request: Request<B>) -> Response<Body>
    where
        B: http_body::Body,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let peer = request.extensions().get().copied();
        self.handle_from(peer, request).await
    }

    /// As [`Api::handle`], from whom is known without an extension. The request is read at once;
    /// the future only answers it.
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

    /// The reply that the API gives to this error, for routes of the application: its status, and a
    /// problem document (RFC 9457) with a request id of its own. The log has `internal_error` and
    /// `unavailable` under that id, with their cause, unless the caller only has to come again. No
    /// shared cache keeps it. Metrics count nothing.
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

    /// The reply to what never became a request that can be judged.
    pub(crate) fn refuse_unread(&self, error: &Error) -> Response<Body> {
        self.0.kept.metrics.note(status_of(error.code()), Duration::ZERO);
        self.refuse(error)
    }

    /// The reply to what the parser has refused with this status.
    pub(crate) fn refuse_unparsed(&self, status: &[u8]) -> Response<Body> {
        let error = if status == b"400" {
            let why = "This is no HTTP that the service can read: look at the first line and at \
                       the headers.";
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

    /// The reply, if its reader may have it beside what was not read yet.
    fn admitted(&self, peer: Option<Peer>, is_write: bool, reply: Reply) -> Result<Reply> {
        let Some(Peer(peer)) = peer else { return Ok(reply) };
        let body = self.0.kept.reply_budget.admit(peer, reply.body, is_write)?;
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
        // Neither is used again after a panic but for what was found before it.
        let passing = AssertUnwindSafe(gate::pass(cms, kept, &mut visit, body, &mut found));
        let outcome = passing
            .catch_unwind()
            .await
            .unwrap_or_else(|panic| Err(Error::of_panic("answering a request", &*panic)));
        let reply = outcome.unwrap_or_else(|error| {
            let drains = kept.stopping.load(Ordering::Relaxed) && visit.request.path == "/readyz";
            cause = log_failure(&error, &name, drains).filter(|_| operator);
            if let Some(client) = visit.known_client() {
                kept.refusals.note(client, error.code(), cms.clock().now());
            }
            Reply::problem(&error, name.id())
        });
        let reply = self
            .admitted(visit.peer, !visit.is_read(), reply)
            .unwrap_or_else(|error| Reply::problem(&error, name.id()));
        let Reply { status, mut headers, body, reads } = found.told(reply);
        let request = &visit.request;
        let is_private = request.path.starts_with("/api/backend/");
        if is_private || !matches!(found.caller, Caller::Anonymous) {
            headers.entry(header::CACHE_CONTROL).or_insert(PRIVATE);
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

/// Logs a failure of the service under the id of its request. Returns its cause. `drains`: a load
/// balancer asks whether the service is stopping, and is to hear so.
fn log_failure(error: &Error, name: &RequestName, drains: bool) -> Option<Cause> {
    if !matches!(error.code(), Code::Internal | Code::Unavailable | Code::ScriptFailed) {
        return None;
    }
    let why = std::error::Error::source(error);
    let (id, trace) = (name.id(), name.trace());
    match (error.code(), why) {
        // A bound that the caller met: a flood of these is to be no flood of lines.
        (Code::Unavailable, None) if error.retry_after_s().is_some() => {
            tracing::debug!(id, %error, "no room");
        }
        (Code::Unavailable, None) if drains => tracing::debug!(id, %error, "stopping"),
        // What the script wrote is in the log already.
        (Code::ScriptFailed, _) => tracing::warn!(id, trace, %error, "request failed"),
        // The span with the id is left out where requests are not logged.
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

    /// The path before every path of the API, such as `/cms`: requests for anything else get 404,
    /// but for files at `/media/`, whose addresses records hold. The document of the API and the
    /// session's cookie name the path.
    pub fn base(mut self, path: &str) -> Self {
        path.clone_into(&mut self.base);
        self
    }

    /// Says that the server takes the base path off before the API sees a request, as
    /// `nest_service` of axum does.
    pub fn stripped(self) -> Self {
        Self { stripped: true, ..self }
    }

    /// Names the session's cookie; `cms_session` without it. Sites on one host need names of their
    /// own, also on other ports: browsers send cookies to every port.
    pub fn cookie(mut self, name: &str) -> Self {
        name.clone_into(&mut self.cookie);
        self
    }

    /// The API, with its endpoints declared for the rights of keys.
    ///
    /// # Errors
    /// `validation_failed` for a base path or a name of a cookie that cannot be; `internal_error`
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

/// Makes the routes of the plugins in service, and declares all endpoints for the rights of keys.
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
