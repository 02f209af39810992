//! The listener: plain HTTP/1.1 on hyper, with limits on headers, time and connections.

use std::{
    convert::Infallible, future::poll_fn, net::SocketAddr, pin::pin, sync::Arc, time::Duration,
};

use cms_core::Work;
use http::Request;
use hyper::{
    body::Incoming,
    server::conn::http1,
    service::{HttpService, service_fn},
};
use hyper_util::rt::TokioIo;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore, watch},
};

use crate::{
    Api, Body, Peer,
    headway::{self, Headway, Watch},
    lingering::Lingering,
};

/// Open requests get this long to finish after a stop.
const GRACE: Duration = Duration::from_secs(10);

/// A server that is bound to its address and not yet running.
///
/// ```no_run
/// # async fn run(api: cms_http::Api) -> std::io::Result<()> {
/// let server = cms_http::Server::bind(api, "127.0.0.1:0").await?;
/// println!("ready http://{}", server.address());
/// let stop = server.stop();
/// // elsewhere: stop.now();
/// server.run().await;
/// # drop(stop);
/// # Ok(()) }
/// ```
pub struct Server {
    api: Api,
    listener: TcpListener,
    address: SocketAddr,
    stop: watch::Sender<bool>,
    worker: bool,
}

/// Stops a server: no new connections, open requests may finish.
#[derive(Clone)]
pub struct Stop(watch::Sender<bool>);

impl Stop {
    /// Stops it.
    pub fn now(&self) {
        self.0.send_replace(true);
    }
}

impl Server {
    /// Binds to `host:port`; port 0 takes a free one.
    ///
    /// # Errors
    /// When the address is taken or not ours.
    pub async fn bind(api: Api, address: &str) -> std::io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        Ok(Self { api, listener, address, stop: watch::Sender::new(false), worker: true })
    }

    /// Leaves the delivery of webhooks to other processes.
    #[must_use]
    pub fn without_worker(self) -> Self {
        Self { worker: false, ..self }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How to stop it.
    #[must_use]
    pub fn stop(&self) -> Stop {
        Stop(self.stop.clone())
    }

    /// Serves and delivers webhooks until it is stopped, then finishes open requests and deliveries
    /// and closes the site.
    pub async fn run(self) {
        let Self { api, listener, stop, worker, .. } = self;
        let limits = api.cms().settings().http.clone();
        let places = Arc::new(Semaphore::new(limits.max_connections));
        let mut builder = http1::Builder::new();
        builder
            .max_header_size(limits.header_limit_bytes)
            .max_buf_size(limits.header_limit_bytes.max(8192) * 2);
        let watch = Watch::default();
        let watching =
            tokio::spawn(watch.clone().run(Duration::from_secs(limits.request_timeout_s)));
        let work = if worker { Work::ALL } else { &[Work::Upkeep] };
        let background = api.cms().background_of(work);
        let mut stopped = stop.subscribe();
        // Has not seen the stop, so that nobody who begins beside it misses it.
        let untold = stop.subscribe();
        loop {
            // A full house must not keep a stop waiting.
            let accepted = tokio::select! {
                accepted = accept(&listener, &places) => accepted,
                _ = stopped.wait_for(|stop| *stop) => break,
            };
            let (place, stream, peer) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of file descriptors, for instance: wait instead of spinning.
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            };
            let _ = stream.set_nodelay(true);
            let (api, headway) = (api.clone(), Arc::new(Headway::default()));
            let own = headway.clone();
            let service = service_fn(move |request: Request<Incoming>| {
                let (api, own) = (api.clone(), own.clone());
                own.set_answering(true);
                // In a box, so that a connection does not carry the room of every handler.
                Box::pin(async move {
                    let mut response = api.handle_from(Some(Peer(peer)), request).await;
                    own.set_answering(false);
                    response.body_mut().map_parts(|parts| headway::made_by(own, parts));
                    Ok::<_, Infallible>(response)
                })
            });
            let connection = builder
                .serve_connection(TokioIo::new(Lingering::new(stream, headway.clone())), service);
            let connection = until_stopped(connection, untold.clone());
            let connection = tokio::spawn(async move {
                if let Err(error) = connection.await {
                    tracing::debug!(%error, "connection ended");
                }
                drop(place);
            });
            watch.add(headway, connection.abort_handle());
        }
        drop(listener);
        api.end_streams();
        let all = u32::try_from(limits.max_connections).unwrap_or(u32::MAX);
        let answered = tokio::time::timeout(GRACE, places.acquire_many(all));
        let (answered, ()) = tokio::join!(answered, background.stop());
        if answered.is_err() {
            tracing::warn!("some requests did not finish in time");
        }
        watching.abort();
        api.cms().close().await;
    }
}

/// Serves a connection until it ends by itself, or has answered what is asked when the stop comes.
async fn until_stopped<S>(
    connection: http1::Connection<TokioIo<Lingering>, S>,
    mut stop: watch::Receiver<bool>,
) -> hyper::Result<()>
where
    S: HttpService<Incoming, Error = Infallible, ResBody = Body>,
{
    let (mut connection, stopped) = (pin!(connection), stop.clone());
    let mut wakes = pin!(stop.changed());
    let (mut waits, mut told) = (false, false);
    poll_fn(|context| {
        // Once: it is always the same task that is woken, and to wait anew for each request is
        // dear.
        if !waits {
            waits = true;
            let _ = wakes.as_mut().poll(context);
        }
        if !told && stopped.has_changed().unwrap_or(true) {
            told = true;
            connection.as_mut().graceful_shutdown();
        }
        connection.as_mut().poll(context)
    })
    .await
}

/// A connection, once there is a place for it.
async fn accept(
    listener: &TcpListener,
    places: &Arc<Semaphore>,
) -> std::io::Result<(OwnedSemaphorePermit, TcpStream, SocketAddr)> {
    let place = places.clone().acquire_owned().await.map_err(std::io::Error::other)?;
    let (stream, peer) = listener.accept().await?;
    Ok((place, stream, peer))
}
