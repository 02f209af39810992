//! `cms webhooks listen`: receives, checks and prints deliveries on this machine

mod arrival;
mod forward;
mod receiver;

use std::{sync::Arc, time::Duration};

use clap::Args;
use http::StatusCode;
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
};
use tokio::sync::mpsc;

use self::{arrival::print, forward::Forward, receiver::Receiver};
use super::secrets::SecretArgs;
use crate::{
    input,
    loopback::Loopback,
    output::{Done, Output},
    signals::Signals,
};

/// Connections at once, and deliveries that wait to be printed.
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
    /// Forward deliveries to this address, and answer with its status
    #[arg(long, value_name = "ADDRESS", value_parser = forward::address, conflicts_with = "fail")]
    forward: Option<http::Uri>,
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
    let receiver = Arc::new(Receiver::new(out.clone(), secrets, args.fail, forward, delay, sender));
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
    // Deliveries that were counted are answered.
    tokio::select! {
        _ = tokio::time::timeout(delay + READ_TIMEOUT, connections.shutdown()) => {}
        () = signals.next() => {}
    }
    Ok(())
}
