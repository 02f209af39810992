//! `cms webhooks listen`: receives, checks, prints and forwards deliveries on this machine

use std::{
    collections::HashSet,
    convert::Infallible,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use clap::Args;
use cms_core::{Clock, Secret, webhooks::TOLERANCE_S};
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Empty};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
};
use serde_json::{Value as Json, json};
use tokio::sync::mpsc;

use super::verify::{SecretArgs, checks};
use crate::{
    input,
    loopback::Loopback,
    output::{Done, Exit, Failure, Output, Part, Style},
    signals::Signals,
};

/// The most connections at once, and the most deliveries that wait to be printed.
const PLACES: u32 = 64;
/// Time limit for the head of a request, and for its body.
const READ_TIMEOUT: Duration = Duration::from_secs(10);

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cms webhooks listen --secret-file secret.txt --body
  cms webhooks listen --port 0 --fail 503 --count 3
  cms webhooks listen --forward http://127.0.0.1:3000/hook

It answers 204, or 401 when a secret is given and the signature is wrong. The service delivers to
this machine only with CMS_WEBHOOKS__ALLOW_HTTP=true and CMS_WEBHOOKS__ALLOW_CIDRS=127.0.0.1/32.

The line `listening http://127.0.0.1:PORT` on standard error tells that it receives. Then it prints
a line for each delivery: time, event, delivery, webhook-id, signature, first or repeated, status")]
pub(crate) struct ListenArgs {
    /// Port of 127.0.0.1; 0 takes a free one
    #[arg(long, default_value_t = 9000)]
    port: u16,
    #[command(flatten)]
    secrets: SecretArgs,
    /// Answer with this status, 200 to 599
    #[arg(long, value_name = "STATUS", value_parser = status)]
    fail: Option<StatusCode>,
    /// Wait before each answer, such as 12s or 2m
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = input::seconds)]
    delay: i64,
    /// Forward deliveries to this address unless the signature is wrong, and answer with its
    /// status
    #[arg(long, value_name = "ADDRESS", value_parser = address, conflicts_with = "fail")]
    forward: Option<Uri>,
    /// End after this many deliveries
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Print the bodies too
    #[arg(long)]
    body: bool,
}

fn status(text: &str) -> Result<StatusCode, String> {
    let status =
        text.parse().ok().filter(|status: &StatusCode| (200..600).contains(&status.as_u16()));
    status.ok_or_else(|| "write a status from 200 to 599".to_owned())
}

pub(super) async fn run(out: &Output, args: ListenArgs) -> Done {
    let (secrets, forward) = (args.secrets.given()?, args.forward.map(Forward::new).transpose()?);
    let delay = Duration::from_secs(args.delay.unsigned_abs());
    let loopback = Loopback::listen(args.port, PLACES).await?;
    let mut signals = Signals::open()?;
    let (sender, mut arrivals) = mpsc::channel(PLACES as usize);
    let receiver = Arc::new(Receiver {
        out: out.clone(),
        secrets,
        fail: args.fail,
        forward,
        delay,
        seen: Mutex::default(),
        arrivals: sender,
    });
    let connections = GracefulShutdown::new();
    let mut server = http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(READ_TIMEOUT);
    out.always(&format!("listening http://{}", loopback.address()?));
    let mut left = args.count;
    while left != Some(0) {
        tokio::select! {
            (place, stream) = loopback.accept() => {
                let receiver = receiver.clone();
                let service = service_fn(move |request| receiver.clone().receive(request));
                let connection = server.serve_connection(TokioIo::new(stream), service);
                let connection = connections.watch(connection);
                tokio::spawn(async move {
                    let _ = connection.await;
                    drop(place);
                });
            }
            Some(arrival) = arrivals.recv() => {
                print(out, &arrival, args.body)?;
                left = left.map(|left| left - 1);
            }
            () = signals.next() => return Ok(()),
        }
    }
    // Every counted delivery gets its answer first.
    tokio::select! {
        _ = tokio::time::timeout(delay + READ_TIMEOUT, connections.shutdown()) => {}
        () = signals.next() => {}
    }
    Ok(())
}

/// The largest body that is kept, in bytes.
const MAX_BODY_BYTES: usize = 5 << 20;
/// How many ids are remembered; then all are forgotten.
const MAX_SEEN: usize = 10_000;

/// The state that all connections share.
struct Receiver {
    out: Output,
    secrets: Vec<Secret>,
    fail: Option<StatusCode>,
    forward: Option<Forward>,
    delay: Duration,
    seen: Mutex<HashSet<String>>,
    arrivals: mpsc::Sender<Arrival>,
}

impl Receiver {
    async fn receive(
        self: Arc<Self>,
        request: Request<Incoming>,
    ) -> Result<Response<Empty<Bytes>>, Infallible> {
        // In a task of its own, so that the delivery is printed even if the sender hangs up.
        let status = tokio::spawn(async move { self.status(request).await }).await;
        let mut response = Response::new(Empty::new());
        *response.status_mut() = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Ok(response)
    }

    async fn status(&self, request: Request<Incoming>) -> StatusCode {
        let (parts, body) = request.into_parts();
        if parts.method != Method::POST {
            return self.refused(StatusCode::METHOD_NOT_ALLOWED, "deliveries are sent with POST");
        }
        let body = match tokio::time::timeout(READ_TIMEOUT, read(body)).await {
            Ok(Ok(Some(body))) => body,
            Ok(Ok(None)) => {
                return self
                    .refused(StatusCode::PAYLOAD_TOO_LARGE, "the body is larger than 5 MiB");
            }
            Ok(Err(_)) => return self.refused(StatusCode::BAD_REQUEST, "the body ended early"),
            Err(_) => {
                return self
                    .refused(StatusCode::REQUEST_TIMEOUT, "the body did not arrive in time");
            }
        };
        let signature = self.judge(&parts.headers, &body);
        let status = match (self.fail, &self.forward) {
            (Some(status), _) => status,
            _ if matches!(signature, Verdict::Wrong(_)) => StatusCode::UNAUTHORIZED,
            (None, Some(forward)) => {
                forward.send(&self.out, parts.headers.clone(), body.clone()).await
            }
            (None, None) => StatusCode::NO_CONTENT,
        };
        let repeated = self.repeated(&parts.headers);
        let time = cms_core::rfc3339(Clock::system().now());
        let _ = self
            .arrivals
            .send(Arrival { time, headers: parts.headers, body, signature, repeated, status })
            .await;
        tokio::time::sleep(self.delay).await;
        status
    }

    fn refused(&self, status: StatusCode, why: &str) -> StatusCode {
        self.out.note(&format!("answered {status}: {why}"));
        status
    }

    fn judge(&self, headers: &HeaderMap, body: &[u8]) -> Verdict {
        if self.secrets.is_empty() {
            return Verdict::NotChecked;
        }
        let checks = checks(&self.secrets, headers, body, Some(TOLERANCE_S));
        if checks.is_empty() {
            return Verdict::Wrong("the delivery has none".to_owned());
        }
        let fault = checks.into_iter().find_map(|check| check.fault);
        fault.map_or(Verdict::Ok, |fault| Verdict::Wrong(fault.message))
    }

    /// Whether a delivery with this `webhook-id` arrived before.
    fn repeated(&self, headers: &HeaderMap) -> bool {
        let Some(id) = headers.get("webhook-id").and_then(|id| id.to_str().ok()) else {
            return false;
        };
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() == MAX_SEEN {
            seen.clear();
        }
        !seen.insert(id.to_owned())
    }
}

/// The body; None when it is too large. Then the rest is read and dropped: otherwise the sender
/// would see a broken connection instead of the answer.
async fn read(mut body: Incoming) -> hyper::Result<Option<Bytes>> {
    let (mut kept, mut fits) = (Vec::new(), true);
    while let Some(frame) = body.frame().await {
        let Ok(part) = frame?.into_data() else { continue };
        fits = fits && kept.len() + part.len() <= MAX_BODY_BYTES;
        if fits {
            kept.extend_from_slice(&part);
        }
    }
    Ok(fits.then(|| kept.into()))
}

/// The result of checking the signatures.
enum Verdict {
    Ok,
    Wrong(String),
    NotChecked,
}

/// A delivery that was received.
struct Arrival {
    time: String,
    headers: HeaderMap,
    body: Bytes,
    signature: Verdict,
    repeated: bool,
    status: StatusCode,
}

impl Arrival {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// Prints a line; with `body`, the body below it.
fn print(out: &Output, arrival: &Arrival, body: bool) -> Done {
    if out.json {
        return Ok(out.line(&document(arrival, body).to_string())?);
    }
    let (signature, why) = match &arrival.signature {
        Verdict::Ok => (Part::In(Style::Good, "signature ok"), String::new()),
        Verdict::Wrong(why) => (Part::In(Style::Bad, "signature wrong"), format!(": {why}")),
        Verdict::NotChecked => (Part::Plain("signature not checked"), String::new()),
    };
    let header = |name| arrival.header(name).unwrap_or("-").to_owned();
    let cells = [
        arrival.time.clone(),
        header("x-webhook-event"),
        header("x-delivery-id"),
        header("webhook-id"),
    ];
    let outcome = [
        why,
        if arrival.repeated { "repeated" } else { "first" }.to_owned(),
        arrival.status.as_u16().to_string(),
    ];
    let gap = out.gap();
    let (cells, outcome) = (cells.join(gap) + gap, outcome.join(gap) + "\n");
    out.parts(&[Part::Plain(&cells), signature, Part::Plain(&outcome)])?;
    if body {
        out.line(&String::from_utf8_lossy(&arrival.body))?;
    }
    Ok(())
}

fn document(arrival: &Arrival, body: bool) -> Json {
    let (signature, why) = match &arrival.signature {
        Verdict::Ok => ("ok", None),
        Verdict::Wrong(why) => ("wrong", Some(why)),
        Verdict::NotChecked => ("not_checked", None),
    };
    let mut document = json!({
        "time": arrival.time,
        "event": arrival.header("x-webhook-event"),
        "delivery_id": arrival.header("x-delivery-id"),
        "webhook_id": arrival.header("webhook-id"),
        "signature": signature,
        "why": why,
        "repeated": arrival.repeated,
        "status": arrival.status.as_u16(),
    });
    if body {
        // As text, because the signature covers bytes, not JSON values.
        document["body"] = String::from_utf8_lossy(&arrival.body).into();
    }
    document
}

/// How long an answer is waited for, as in the service itself.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Headers of one connection, not of the delivery (RFC 9110, 7.6.1).
const OF_THE_CONNECTION: &str =
    "host connection content-length transfer-encoding keep-alive te trailer upgrade expect";

/// Reads an address to forward to.
fn address(text: &str) -> Result<Uri, String> {
    let uri =
        text.parse::<Uri>().ok().filter(|uri| uri.host().is_some_and(|host| !host.is_empty()));
    let known =
        |uri: &Uri| uri.scheme_str().is_some_and(|scheme| ["http", "https"].contains(&scheme));
    uri.filter(known)
        .ok_or_else(|| "write an address such as http://127.0.0.1:3000/hook".to_owned())
}

/// The receiver that deliveries are forwarded to.
struct Forward {
    http: reqwest::Client,
    address: String,
}

impl Forward {
    fn new(address: Uri) -> Done<Self> {
        let failed = |e: reqwest::Error| Failure::new(Exit::Failed, e.to_string());
        let http =
            cms_http::client::transport()?.no_proxy().timeout(TIMEOUT).build().map_err(failed)?;
        Ok(Self { http, address: address.to_string() })
    }

    /// Sends the same headers and body. Returns the status of the answer, else 502 or 504.
    async fn send(&self, out: &Output, mut headers: HeaderMap, body: Bytes) -> StatusCode {
        for name in OF_THE_CONNECTION.split(' ') {
            headers.remove(name);
        }
        match self.http.post(&self.address).headers(headers).body(body).send().await {
            Ok(response) => response.status(),
            Err(error) => {
                let status = if error.is_timeout() {
                    StatusCode::GATEWAY_TIMEOUT
                } else {
                    StatusCode::BAD_GATEWAY
                };
                // The address may hold a password, so it is not printed.
                out.note(&format!(
                    "answered {status}: the address of --forward cannot be reached: {}",
                    error.without_url()
                ));
                status
            }
        }
    }
}
