//! A receiver of webhooks on loopback, whose answers a test chooses.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde_json::Value as Json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::AbortHandle,
};

use crate::{
    Clock,
    webhooks::{SignedHeaders, VerifyError, WebhookSecret, verify},
};

/// Maximum number of headers of a request; the service sends fewer.
const MOST_HEADERS: usize = 64;

/// A request as it arrived.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Delivery {
    /// Its headers, with names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The bytes of its body.
    pub body: Vec<u8>,
}

impl Delivery {
    /// Its body as JSON.
    ///
    /// # Panics
    /// If the body is not JSON.
    #[must_use]
    pub fn json(&self) -> Json {
        serde_json::from_slice(&self.body).expect("a body of JSON")
    }

    /// Verifies its signature, as a receiver should.
    ///
    /// # Errors
    /// [`VerifyError`].
    pub fn verify(&self, secret: &WebhookSecret, clock: &Clock) -> Result<(), VerifyError> {
        let header = |name: &str| self.headers.get(name).map_or("", String::as_str);
        let received = SignedHeaders {
            id: header("webhook-id"),
            timestamp: header("webhook-timestamp"),
            signature: header("webhook-signature"),
        };
        verify(secret.expose(), &received, &self.body, clock.now() / 1000)
    }
}

/// The answer of a receiver to a request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Answer {
    /// Answers with a status.
    Status(u16),
    /// Answers with a status and JSON.
    Json(u16, Json),
    /// Answers with a status after a delay.
    After(Duration, u16),
    /// Sends these bytes, then closes the connection.
    Raw(Vec<u8>),
    /// Sends the bytes again and again, with pauses.
    Drip(&'static [u8], Duration),
    /// Sends nothing, forever.
    Silence,
    /// Closes the connection at once.
    HangUp,
}

type Script = Arc<dyn Fn(usize, &Delivery) -> Answer + Send + Sync>;

/// An HTTP server on loopback that keeps its requests and answers as the test says. It reads only
/// bodies with a `Content-Length`, which the service always sends.
pub struct Receiver {
    /// Its address.
    pub url: String,
    received: Arc<Mutex<Vec<Delivery>>>,
    connections: Arc<Mutex<usize>>,
    accepting: AbortHandle,
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Receiver {
    /// Starts a receiver that answers every request with this status.
    ///
    /// # Panics
    /// When loopback has no free port.
    pub async fn start(status: u16) -> Self {
        Self::scripted(move |_, _| Answer::Status(status)).await
    }

    /// Starts a receiver that answers as `answer` says. `answer` gets the number of the request,
    /// from 0, and the request.
    ///
    /// # Panics
    /// When loopback has no free port.
    pub async fn scripted(
        answer: impl Fn(usize, &Delivery) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}/hook", listener.local_addr().expect("its address"));
        let (received, connections) =
            (Arc::<Mutex<Vec<Delivery>>>::default(), Arc::<Mutex<usize>>::default());
        let (kept, count, script): (_, _, Script) =
            (received.clone(), connections.clone(), Arc::new(answer));
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                *locked(&count) += 1;
                tokio::spawn(serve(stream, kept.clone(), script.clone()));
            }
        });
        Self { url, received, connections, accepting: accepting.abort_handle() }
    }

    /// The requests so far, oldest first.
    #[must_use]
    pub fn deliveries(&self) -> Vec<Delivery> {
        locked(&self.received).clone()
    }

    /// How many requests there were.
    #[must_use]
    pub fn count(&self) -> usize {
        locked(&self.received).len()
    }

    /// How many connections it accepted.
    #[must_use]
    pub fn connections(&self) -> usize {
        *locked(&self.connections)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Answers the requests of one connection, until the client ends it.
async fn serve(mut stream: TcpStream, received: Arc<Mutex<Vec<Delivery>>>, script: Script) {
    let mut buffer = Vec::new();
    while let Some(delivery) = next(&mut stream, &mut buffer).await {
        let number = {
            let mut received = locked(&received);
            received.push(delivery.clone());
            received.len() - 1
        };
        let reply = match script(number, &delivery) {
            Answer::Status(status) => plain(status),
            Answer::Json(status, body) => reply(status, "application/json", &body.to_string()),
            Answer::After(wait, status) => {
                tokio::time::sleep(wait).await;
                plain(status)
            }
            Answer::Raw(bytes) => {
                let _ = stream.write_all(&bytes).await;
                let _ = stream.shutdown().await;
                return;
            }
            Answer::Drip(bytes, pause) => loop {
                if stream.write_all(bytes).await.is_err() {
                    return;
                }
                tokio::time::sleep(pause).await;
            },
            Answer::Silence => return std::future::pending().await,
            Answer::HangUp => return,
        };
        if stream.write_all(reply.as_bytes()).await.is_err() {
            return;
        }
    }
}

fn plain(status: u16) -> String {
    reply(status, "text/plain", "ok")
}

fn reply(status: u16, kind: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}")
}

/// Reads the next request. `None`: the connection has ended, or the data is not HTTP.
async fn next(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Delivery> {
    loop {
        if let Some((head, headers)) = parsed(buffer)? {
            let length = headers.get("content-length").map_or(Some(0), |text| text.parse().ok())?;
            if buffer.len() >= head + length {
                let body = buffer[head..head + length].to_vec();
                buffer.drain(..head + length);
                return Some(Delivery { headers, body });
            }
        }
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
}

/// The length of the head and its headers; the inner `None` while the head is incomplete.
fn parsed(buffer: &[u8]) -> Option<Option<(usize, BTreeMap<String, String>)>> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let httparse::Status::Complete(head) = request.parse(buffer).ok()? else { return Some(None) };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let named = request.headers.iter().map(|h| (h.name.to_lowercase(), text(h.value)));
    Some(Some((head, named.collect())))
}
