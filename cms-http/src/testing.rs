//! Requests to a service without a socket, for tests of a program; failed expectations print the
//! reply. Needs the feature `testing`.
//!
//! Ask an [`Api`](crate::Api), or your whole application with the API in it. Open the site with
//! [`TestSite`](cms_core::testing::TestSite).
//!
//! ```
//! use cms_core::testing::TestSite;
//! use cms_http::{Api, testing::ask};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), cms_core::Error> {
//! let site = TestSite::builder().await.open().await;
//! let (api, key) = (Api::new(site.cms.clone())?, site.key(&["*"]).await);
//! let pages = ask(&api, "GET /api/backend/item?table=pages").key(&key).expect(200).await;
//! assert_eq!(pages.data(), serde_json::json!([]));
//! ask(&api, "GET /api/backend/item?table=pages").refused(401, "login_required").await;
//! # site.close().await;
//! # Ok(())
//! # }
//! ```

use std::{fmt::Debug, future::poll_fn};

use bytes::Bytes;
pub use cms_core::testing::*;
use http::{HeaderMap, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use serde_json::Value as Json;
use tower_service::Service;

use crate::Peer;

/// Begins a request to a service. `line` holds method and target, such as
/// `GET /api/pages?limit=2`.
///
/// # Panics
/// When the line is not a method and a target.
pub fn ask<S: Clone>(service: &S, line: &str) -> Ask<S> {
    let (method, target) = line.split_once(' ').expect("method and target");
    Ask {
        service: service.clone(),
        request: Request::builder().method(method).uri(target),
        body: Vec::new(),
        line: line.to_owned(),
    }
}

/// A request that is not sent yet.
#[must_use = "it is sent by `send`, `expect` or `refused`"]
pub struct Ask<S> {
    service: S,
    request: http::request::Builder,
    body: Vec<u8>,
    line: String,
}

/// The reply to a request.
#[derive(Debug)]
#[non_exhaustive]
pub struct Reply {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body; of an event stream, only its beginning.
    pub body: Bytes,
}

impl<S> Ask<S> {
    /// Sends an API key.
    pub fn key(self, key: &str) -> Self {
        self.header("x-api-key", key)
    }

    /// Sends the token of a session.
    pub fn bearer(self, token: &str) -> Self {
        self.header("authorization", format!("Bearer {token}"))
    }

    /// Sets the address that the request comes from.
    pub fn peer(self, peer: Peer) -> Self {
        self.extension(peer)
    }

    /// Sets a request extension of an embedding server, such as an [`AppUser`](crate::AppUser).
    pub fn extension(mut self, value: impl Clone + Send + Sync + 'static) -> Self {
        self.request = self.request.extension(value);
        self
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.request = self.request.header(name, value.as_ref());
        self
    }

    /// Sends a body of JSON.
    pub fn json(self, body: Json) -> Self {
        self.body(body.to_string())
    }

    /// Sends a body. It is JSON unless a header was set before.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        if self.has(header::CONTENT_TYPE) {
            self
        } else {
            self.header("content-type", "application/json")
        }
    }

    /// Whether the request has a header. One that cannot be built has none: sending it fails later.
    fn has(&self, name: header::HeaderName) -> bool {
        self.request.headers_ref().is_none_or(|headers| headers.contains_key(name))
    }

    /// Sends the request and expects this status.
    ///
    /// # Panics
    /// When the status differs: the message has request and body.
    pub async fn expect<B>(self, status: u16) -> Reply
    where
        S: Service<Request<Full<Bytes>>, Response = Response<B>, Error: Debug>,
        B: http_body::Body<Data = Bytes, Error: Debug> + Unpin,
    {
        let line = self.line.clone();
        let reply = self.send().await;
        assert_eq!(reply.status.as_u16(), status, "{line}: {}", reply.text());
        reply
    }

    /// Sends the request and expects a problem with this status and code.
    ///
    /// # Panics
    /// When the reply differs.
    pub async fn refused<B>(self, status: u16, code: &str) -> Reply
    where
        S: Service<Request<Full<Bytes>>, Response = Response<B>, Error: Debug>,
        B: http_body::Body<Data = Bytes, Error: Debug> + Unpin,
    {
        let line = self.line.clone();
        let reply = self.expect(status).await;
        assert_eq!(reply.json()["error"], code, "{line}: {}", reply.text());
        assert_eq!(reply.header("content-type"), "application/problem+json", "{line}");
        reply
    }

    /// Sends the request. Of an event stream, which never ends, it reads the beginning.
    ///
    /// # Panics
    /// When method, target or a header are invalid, and when the service fails.
    pub async fn send<B>(mut self) -> Reply
    where
        S: Service<Request<Full<Bytes>>, Response = Response<B>, Error: Debug>,
        B: http_body::Body<Data = Bytes, Error: Debug> + Unpin,
    {
        // Every request over HTTP/1.1 has one.
        if !self.has(header::HOST) {
            self = self.header("host", "cms.test");
        }
        let Self { mut service, request, body, line } = self;
        let request = request.body(Full::new(Bytes::from(body))).expect(&line);
        poll_fn(|context| service.poll_ready(context)).await.expect(&line);
        let (parts, mut body) = service.call(request).await.expect(&line).into_parts();
        let kind = parts.headers.get(header::CONTENT_TYPE).map_or(&b""[..], |kind| kind.as_bytes());
        let body = if kind.starts_with(b"text/event-stream") {
            let first = body.frame().await.and_then(Result::ok);
            first.and_then(|frame| frame.into_data().ok()).unwrap_or_default()
        } else {
            body.collect().await.expect(&line).to_bytes()
        };
        Reply { status: parts.status, headers: parts.headers, body }
    }
}

impl Reply {
    /// The body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON.
    ///
    /// # Panics
    /// When the body is not JSON.
    #[must_use]
    pub fn json(&self) -> Json {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.text()))
    }

    /// As [`Reply::json`]; null for a body that is empty or not JSON.
    #[must_use]
    pub fn json_or_null(&self) -> Json {
        let kind = self.headers.get(header::CONTENT_TYPE);
        let is_json = kind.is_none_or(|kind| kind.as_bytes().ends_with(b"json"));
        if self.body.is_empty() || !is_json { Json::Null } else { self.json() }
    }

    /// The member `data` of the body.
    ///
    /// # Panics
    /// When the body is not JSON.
    #[must_use]
    pub fn data(&self) -> Json {
        self.json()["data"].take()
    }

    /// A header.
    ///
    /// # Panics
    /// When the reply has no header of this name.
    #[must_use]
    pub fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name).unwrap_or_else(|| panic!("no header {name}"));
        value.to_str().expect("a header of text")
    }
}
