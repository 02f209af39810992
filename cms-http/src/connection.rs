//! One connection and its requests, until it ends by itself, the server stops, or an order ends it.

use std::{
    convert::Infallible,
    future::{poll_fn, ready},
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};

use bytes::Bytes;
use cms_core::{Code, Error};
use futures_util::future::Either;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, Version, header};
use http_body::{Body as _, Frame, SizeHint};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{io::AsyncWriteExt, net::TcpStream, sync::watch};

use crate::{
    Api, Body, Peer,
    connection_limits::ConnectionPermit,
    idle_reaper::{self, Activity, Order},
    lingering_close::{LingeringClose, raw},
};

const CLOSE: HeaderValue = HeaderValue::from_static("close");

/// A connection with its peer, its activity and its place.
pub(crate) struct Connection {
    pub(crate) api: Api,
    pub(crate) peer: SocketAddr,
    pub(crate) activity: Arc<Activity>,
    pub(crate) slot: Arc<ConnectionPermit>,
    pub(crate) stop: watch::Receiver<bool>,
}

impl Connection {
    pub(crate) async fn serve(self, builder: http1::Builder, stream: TcpStream) {
        let Self { api, peer, activity, slot, mut stop } = self;
        let (own, asked) = (activity.clone(), api.clone());
        let service = service_fn(move |request: Request<Incoming>| {
            own.begin();
            let is_old = request.version() < Version::HTTP_11;
            let answered = answer(&asked, peer, &own, request);
            let (asked, own) = (asked.clone(), own.clone());
            async move {
                let mut response = answered.await;
                own.set_answering(false);
                let headers = response.headers_mut();
                if asked.is_stopping() {
                    headers.insert(header::CONNECTION, CLOSE);
                }
                let is_open_ended = is_old && !headers.contains_key(header::CONTENT_LENGTH);
                response.body_mut().map_parts(|parts| {
                    own.set_open_ended(is_open_ended);
                    idle_reaper::made_by(own, parts)
                });
                Ok::<_, Infallible>(response)
            }
        });
        let stopped = stop.clone();
        let stream = LingeringClose::new(stream, api.clone(), activity.clone(), slot, stop.clone());
        let mut connection = builder.serve_connection(TokioIo::new(stream), service);
        let mut wakes = std::pin::pin!(stop.changed());
        let (mut waits, mut told) = (false, false);
        // The outer `None`: an order ends it.
        let ended = poll_fn(|context| {
            // Poll once: the waker is always this task's.
            if !waits {
                waits = true;
                let _ = wakes.as_mut().poll(context);
                activity.wakes(context.waker());
            }
            let stops = !told && stopped.has_changed().unwrap_or(true);
            let mut polled = Pin::new(&mut connection).poll(context).map(Some);
            // Only after the poll, which reads what has arrived: hyper ends a connection that
            // waits for a request, even if the request is there.
            if polled.is_pending() && stops {
                told = true;
                Pin::new(&mut connection).graceful_shutdown();
                polled = Pin::new(&mut connection).poll(context).map(Some);
            }
            if polled.is_pending() && activity.order().is_some() {
                return std::task::Poll::Ready(None);
            }
            polled
        })
        .await;
        let (mut late, mut sends_on) = (None, activity.is_unread());
        match ended {
            Some(Ok(())) => {}
            Some(Err(error)) => {
                tracing::debug!(%error, "connection ended");
                // The rest of a refused head may still come.
                sends_on |= error.is_parse();
            }
            None if activity.order() == Some(Order::Stuck) && activity.is_in_head() => {
                let why = "The request did not arrive in time: send its head at once.";
                late = Some(raw(api.refuse_unread(&Error::new(Code::Timeout, why))));
                sends_on = true;
                // Marks what is written now as not being a refusal of the parser.
                activity.begin();
            }
            None => {}
        }
        let mut stream = connection.into_parts().io.into_inner();
        if let Some(late) = late {
            let _ = stream.write_all(&late).await;
        }
        // Boxed, so that a connection does not carry the size of this future.
        Box::pin(stream.close(sends_on)).await;
    }
}

/// A body that notes whether it was read to its end.
struct WatchedBody {
    body: Incoming,
    ended: Arc<AtomicBool>,
    activity: Arc<Activity>,
}

impl http_body::Body for WatchedBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if matches!(polled, Poll::Ready(None)) || self.body.is_end_stream() {
            self.ended.store(true, Ordering::Relaxed);
        }
        self.activity.set_awaited(polled.is_pending());
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

fn answer(
    api: &Api,
    peer: SocketAddr,
    activity: &Arc<Activity>,
    request: Request<Incoming>,
) -> impl Future<Output = Response<Body>> + use<> {
    activity.set_unread(!request.body().is_end_stream());
    let headers = request.headers();
    if let Some(refusal) = without_host(request.version(), headers).or_else(|| coded(headers)) {
        return Either::Left(ready(api.refuse_unread(&refusal)));
    }
    let ended = Arc::new(AtomicBool::new(request.body().is_end_stream()));
    let activity = activity.clone();
    let request =
        request.map(|body| WatchedBody { body, ended: ended.clone(), activity: activity.clone() });
    // Boxed, so that a connection does not carry the size of every handler.
    let answered = Box::pin(api.handle_from(Some(Peer(peer)), request));
    Either::Right(async move {
        let mut response = answered.await;
        let status = response.status();
        let is_refused = status.is_client_error() || status.is_server_error();
        let is_unread = !ended.load(Ordering::Relaxed);
        activity.set_unread(is_unread);
        activity.set_awaited(false);
        // A client that asks too often loses its place to others. After a refusal with an unread
        // body hyper ends the connection, so nobody may send on it.
        if status == StatusCode::TOO_MANY_REQUESTS || (is_refused && is_unread) {
            response.headers_mut().insert(header::CONNECTION, CLOSE);
        }
        response
    })
}

/// RFC 9112, 3.2: a request has exactly one `Host`; HTTP/1.0 may leave it out.
fn without_host(version: Version, headers: &HeaderMap) -> Option<Error> {
    let hosts = headers.get_all(header::HOST).iter().count();
    (hosts > 1 || (hosts == 0 && version == Version::HTTP_11)).then(|| {
        let why = format!("A request has one Host header, this one has {hosts}.");
        Error::new(Code::BadQuery, why)
    })
}

/// RFC 9112, 6.1: bodies are chunked or plain. A proxy may understand other codings differently.
fn coded(headers: &HeaderMap) -> Option<Error> {
    let mut codings = headers.get_all(header::TRANSFER_ENCODING).iter();
    let is_chunked = |value: &HeaderValue| value.as_bytes().eq_ignore_ascii_case(b"chunked");
    let is_known = codings.next().is_none_or(is_chunked) && codings.next().is_none();
    (!is_known).then(|| {
        let why = "Transfer-Encoding may only be a single `chunked`: send the body chunked, or \
                   with Content-Length.";
        Error::new(Code::BadQuery, why)
    })
}
