//! The listener: plain HTTP/1.1 on hyper, with limits on headers, time and connections.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use cms_core::{Code, Descriptors, Error, Work};
use futures_util::FutureExt as _;
use hyper::server::conn::http1;
use socket2::SockRef;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Semaphore, watch},
    time::Instant,
};

use crate::{
    Api,
    connection::Connection,
    connection_limits::{ConnectionLimits, ConnectionPermit},
    idle_reaper::{Activity, Watch},
    lingering_close::{self, raw},
};

/// Open requests get this long to finish after a stop.
const GRACE: Duration = Duration::from_secs(10);
/// Pause after an error of the listener, and time between two log lines about such errors.
const PAUSE: Duration = Duration::from_millis(50);
const COMPLAINT: Duration = Duration::from_secs(10);
/// The most unsent bytes that the kernel holds for one connection.
#[cfg(target_os = "linux")]
const MOST_UNSENT: u32 = 128 << 10;
/// The most refused connections that are closed gently at the same time.
const MOST_REFUSED: usize = 32;
/// The most connections that are accepted at a stop: as many as Linux keeps waiting.
const MOST_QUEUED: usize = 4096;
/// Bytes of a short header: a head has room for one header for each of these.
const SHORT_HEADER: usize = 16;

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
    scheduler: bool,
}

/// Stops a server. `/readyz` answers 503 at once. After `shutdown.drain_s` seconds the server
/// takes no new connections, and open requests may finish.
#[derive(Clone)]
pub struct Stop(watch::Sender<bool>);

impl Stop {
    /// Stops the server.
    pub fn now(&self) {
        self.0.send_replace(true);
    }
}

impl Server {
    /// Binds to `host:port`; port 0 takes a free one.
    ///
    /// # Errors
    /// When the address is in use, or not one of this machine.
    pub async fn bind(api: Api, address: &str) -> std::io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        Ok(Self {
            api,
            listener,
            address,
            stop: watch::Sender::new(false),
            worker: true,
            scheduler: true,
        })
    }

    /// Leaves deliveries of webhooks, handlers of events and the sending of mails to
    /// other processes.
    #[must_use]
    pub fn without_worker(self) -> Self {
        Self { worker: false, ..self }
    }

    /// Leaves what is done at set times to other processes: tasks of plugins and of the service,
    /// and the removal of old rows.
    #[must_use]
    pub fn without_scheduler(self) -> Self {
        Self { scheduler: false, ..self }
    }

    /// The address that it listens at.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A handle that stops the server.
    #[must_use]
    pub fn stop(&self) -> Stop {
        Stop(self.stop.clone())
    }

    /// Serves, and does the background work, until it is stopped. Then finishes open requests and
    /// deliveries and closes the site.
    pub async fn run(self) {
        let Self { api, listener, stop, worker, scheduler, .. } = self;
        let settings = api.cms().settings();
        let limits = settings.http.clone();
        let shares = Descriptors::shares();
        if shares.connections < limits.max_connections {
            let (limit, connections) = (shares.limit, shares.connections);
            tracing::warn!(limit, connections, "the limit on open files bounds connections");
        }
        let connections =
            ConnectionLimits::new(&limits, shares.connections, &settings.trusted_proxies);
        let mut builder = http1::Builder::new();
        builder
            .max_header_size(limits.header_limit_bytes)
            .max_headers(limits.header_limit_bytes / SHORT_HEADER)
            .max_buf_size(limits.header_limit_bytes.max(8192) * 2);
        let watch = Watch::default();
        let (ended, unended) = watch::channel(false);
        let (watched, limit) = (watch.clone(), Duration::from_secs(limits.request_timeout_s));
        tokio::spawn(api.cms().supervised("connections", unended, move |mut ended| {
            let watched = watched.clone();
            async move {
                tokio::select! {
                    () = watched.run(limit) => {}
                    _ = ended.wait_for(|ended| *ended) => {}
                }
            }
        }));
        let work = Work::ALL.iter().copied().filter(|part| match part {
            Work::Deliveries | Work::Events | Work::Mail => worker,
            Work::Upkeep | Work::Tasks | Work::Funnels => scheduler,
            _ => true,
        });
        let work: Vec<_> = work.collect();
        tracing::debug!(?work, "background work begins");
        let background = api.cms().background_of(&work);
        // This receiver has not seen the close, so neither have its clones: none of them misses it.
        let (close, untold) = watch::channel(false);
        let mut acceptor = Acceptor {
            listener,
            builder,
            stop: untold,
            connections,
            refused: Arc::new(Semaphore::new(MOST_REFUSED)),
            watch,
            api: api.clone(),
            complained: None,
            waiting: None,
        };
        let drain = Duration::from_secs(api.cms().settings().shutdown.drain_s);
        let mut stopped = stop.subscribe();
        let drained = async {
            // A sender is alive here, so only a stop ends this.
            let _ = stopped.wait_for(|stop| *stop).await;
            api.stop_soon();
            tokio::time::sleep(drain).await;
        };
        let mut drained = std::pin::pin!(drained);
        loop {
            // A stop must not wait for a free place.
            let (slot, stream, peer) = tokio::select! {
                accepted = acceptor.accept() => accepted,
                () = &mut drained => break,
            };
            acceptor.serve(slot, stream, peer);
        }
        acceptor.serve_queued();
        let Acceptor { listener, connections, .. } = acceptor;
        drop(listener);
        close.send_replace(true);
        api.end_streams();
        let answered = async {
            // While the database is away, requests that wait for it would use up all of the
            // grace in vain.
            let grace = async {
                let away = async {
                    while api.cms().answers().await {
                        tokio::time::sleep(Duration::from_secs(1)).await;
                    }
                };
                let _ = tokio::time::timeout(GRACE, away).await;
            };
            tokio::select! {
                () = connections.all_free() => {}
                () = grace => tracing::warn!("some requests did not finish in time"),
            }
        };
        tokio::join!(answered, background.stop());
        ended.send_replace(true);
        api.cms().close().await;
    }
}

/// Makes the kernel take few bytes that the network has not taken: bytes in the kernel do not
/// count in the budget of unread replies, and could be 4 MiB for each connection (`tcp_wmem`).
/// Bytes on their way over the network are not limited, so fast readers lose nothing.
fn limit_kernel_buffer(stream: &TcpStream) {
    #[cfg(target_os = "linux")]
    let _ = SockRef::from(stream).set_tcp_notsent_lowat(MOST_UNSENT);
    #[cfg(not(target_os = "linux"))]
    let _ = stream;
}

/// Accepts connections and gives them places.
struct Acceptor {
    listener: TcpListener,
    builder: http1::Builder,
    /// Tells each connection to end.
    stop: watch::Receiver<bool>,
    connections: ConnectionLimits,
    /// Permits for refused connections that are still being closed.
    refused: Arc<Semaphore>,
    watch: Watch,
    api: Api,
    /// When the log was last told that nothing can be accepted.
    complained: Option<Instant>,
    /// The accepted connection that waits for a place.
    waiting: Option<(TcpStream, SocketAddr)>,
}

impl Acceptor {
    /// The next connection that has a place. Cancel-safe.
    async fn accept(&mut self) -> (ConnectionPermit, TcpStream, SocketAddr) {
        loop {
            let Some((_, peer)) = self.waiting else {
                match self.listener.accept().await {
                    Ok(accepted) => self.waiting = Some(accepted),
                    Err(error) => self.pause(&error).await,
                }
                continue;
            };
            let slot = self.slot(peer).await;
            let Some((stream, _)) = self.waiting.take() else { continue };
            match slot {
                Ok(slot) => return (slot, stream, peer),
                Err(refusal) => self.refuse(stream, &refusal),
            }
        }
    }

    /// Serves a connection.
    fn serve(&self, slot: ConnectionPermit, stream: TcpStream, peer: SocketAddr) {
        let _ = stream.set_nodelay(true);
        limit_kernel_buffer(&stream);
        let (activity, slot) = (Arc::new(Activity::default()), Arc::new(slot));
        let connection = Connection {
            api: self.api.clone(),
            peer,
            activity: activity.clone(),
            slot: slot.clone(),
            stop: self.stop.clone(),
        };
        let connection = tokio::spawn(connection.serve(self.builder.clone(), stream));
        self.watch.add(activity, connection.abort_handle(), &slot);
    }

    /// Serves the connection that waits for a place, then those that wait to be accepted: the end
    /// of the listener would reset them.
    fn serve_queued(&mut self) {
        for _ in 0..MOST_QUEUED {
            let (stream, peer) = match self.waiting.take().map_or_else(|| self.queued(), Ok) {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return,
                Err(_) => continue,
            };
            match self.slot(peer).now_or_never() {
                Some(Ok(slot)) => self.serve(slot, stream, peer),
                Some(Err(refusal)) => self.refuse(stream, &refusal),
                None => {
                    let refusal = Error::new(Code::Unavailable, "The service is stopping.");
                    self.refuse(stream, &refusal.retry_after(1));
                }
            }
        }
    }

    /// A connection that waits to be accepted, even if the runtime does not know of it yet.
    fn queued(&self) -> std::io::Result<(TcpStream, SocketAddr)> {
        let (socket, _) = SockRef::from(&self.listener).accept()?;
        socket.set_nonblocking(true)?;
        let stream = TcpStream::from_std(socket.into())?;
        let peer = stream.peer_addr()?;
        Ok((stream, peer))
    }

    /// Sends the refusal, even if the runtime does not know of the connection yet. Closes gently
    /// while few connections are refused: a reset could destroy it.
    fn refuse(&self, stream: TcpStream, refusal: &Error) {
        let _ = SockRef::from(&stream).send(&raw(self.api.refuse(refusal)));
        if let Ok(permit) = self.refused.clone().try_acquire_owned() {
            tokio::spawn(async move {
                lingering_close::close(stream).await;
                drop(permit);
            });
        }
    }

    /// A place for a connection. If its network or the server is full, the connection there that
    /// has been idle for the longest gives up its place. A network without idle connections gets no
    /// more. On a full server without an idle connection, the slowest client loses its place.
    async fn slot(&self, peer: SocketAddr) -> Result<ConnectionPermit, Error> {
        let network = self.connections.network(peer);
        if self.connections.is_full_for(network) && !self.watch.dismiss(network) {
            let why = "Your network has too many connections that are being answered: wait, then \
                       try again, or see http.max_connections_per_network.";
            return Err(Error::new(Code::Unavailable, why).retry_after(1));
        }
        if let Some(slot) = self.connections.try_take(network) {
            return Ok(slot);
        }
        let mut is_late = false;
        loop {
            if !self.watch.dismiss(None) && is_late {
                self.watch.displace();
            }
            is_late = true;
            // Connections that are busy now may be idle a moment later.
            if let Ok(slot) = tokio::time::timeout(PAUSE, self.connections.take(network)).await {
                return slot.map_err(Error::internal);
            }
        }
    }

    /// Handles an error of the listener. Without descriptors or memory it must
    /// neither end nor spin.
    async fn pause(&mut self, error: &std::io::Error) {
        use std::io::ErrorKind;
        if matches!(
            error.kind(),
            ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::Interrupted
        ) {
            return tokio::task::yield_now().await;
        }
        self.watch.dismiss(None);
        if self.complained.is_none_or(|at| at.elapsed() >= COMPLAINT) {
            self.complained = Some(Instant::now());
            tracing::warn!(%error, "no connection can be accepted; trying again");
        }
        tokio::time::sleep(PAUSE).await;
    }
}
