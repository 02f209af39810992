//! Receivers of deliveries in this process: bare hyper, connections are kept.

use std::{cell::RefCell, collections::HashSet, convert::Infallible, rc::Rc, time::Duration};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{net::TcpListener, time::Instant};

/// What a receiver does with a delivery before it answers 204.
#[derive(Clone, Copy)]
pub enum Manner {
    Prompt,
    Slow(Duration),
    /// It never answers.
    Dead,
}

/// A delivery that has arrived.
#[derive(Clone, Copy)]
pub struct Arrival {
    pub at: Instant,
    /// Which receiver.
    pub receiver: usize,
    /// `X-Delivery-ID`.
    pub job: u64,
    /// The column `n` of the record.
    pub n: u64,
}

/// Receivers on ports of their own, with one record of what arrived.
#[derive(Clone, Default)]
pub struct Receivers {
    pub urls: Vec<String>,
    arrivals: Rc<RefCell<Vec<Arrival>>>,
}

impl Receivers {
    /// Runs in the `LocalSet` of the caller.
    pub async fn start(manners: impl IntoIterator<Item = Manner>) -> Self {
        let mut all = Self::default();
        for (receiver, manner) in manners.into_iter().enumerate() {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
            all.urls.push(format!("http://{}/hook", listener.local_addr().expect("an address")));
            tokio::task::spawn_local(listen(listener, receiver, manner, all.arrivals.clone()));
        }
        all
    }

    /// Waits until `count` deliveries to receivers that `counts` names have arrived, or for `most`.
    /// Returns them, oldest first.
    pub async fn wait(
        &self,
        count: usize,
        most: Duration,
        counts: impl Fn(&Arrival) -> bool,
    ) -> Vec<Arrival> {
        let began = Instant::now();
        loop {
            let enough = self.arrivals.borrow().len() >= count;
            let found: Vec<_> = if enough {
                self.arrivals.borrow().iter().copied().filter(&counts).collect()
            } else {
                Vec::new()
            };
            if found.len() >= count || began.elapsed() > most {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub fn forget(&self) {
        self.arrivals.borrow_mut().clear();
    }
}

/// Deliveries that arrived more than once.
pub fn duplicates(arrivals: &[Arrival]) -> usize {
    arrivals.len() - arrivals.iter().map(|arrival| arrival.job).collect::<HashSet<_>>().len()
}

async fn listen(
    listener: TcpListener,
    receiver: usize,
    manner: Manner,
    arrivals: Rc<RefCell<Vec<Arrival>>>,
) {
    while let Ok((stream, _)) = listener.accept().await {
        let _ = stream.set_nodelay(true);
        let arrivals = arrivals.clone();
        let service = service_fn(move |request| take(request, receiver, manner, arrivals.clone()));
        tokio::task::spawn_local(async move {
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn take(
    request: Request<Incoming>,
    receiver: usize,
    manner: Manner,
    arrivals: Rc<RefCell<Vec<Arrival>>>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let at = Instant::now();
    let job = request
        .headers()
        .get("x-delivery-id")
        .and_then(|id| id.to_str().ok()?.parse().ok())
        .expect("an id");
    let body = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    arrivals.borrow_mut().push(Arrival { at, receiver, job, n: number(&body) });
    match manner {
        Manner::Prompt => {}
        Manner::Slow(time) => tokio::time::sleep(time).await,
        Manner::Dead => std::future::pending().await,
    }
    let mut response = Response::new(Full::default());
    *response.status_mut() = StatusCode::NO_CONTENT;
    Ok(response)
}

/// What stands after `"n":`; a parser would cost more than the delivery.
fn number(body: &[u8]) -> u64 {
    let mark = b"\"n\":";
    let start =
        body.windows(mark.len()).position(|part| part == mark).expect("a number") + mark.len();
    body[start..]
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .fold(0, |n, byte| n * 10 + u64::from(byte - b'0'))
}
