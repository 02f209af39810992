//! Checks of what the site listens to and talks to: its port, Redis, the bucket of its media

use std::{error::Error, io::ErrorKind, time::Duration};

use cms_core::{ping_redis, reach_bucket, settings::Settings};
use cms_http::{
    client::{Client, ClientError, Credential},
    wire::{NoBody, health::Healthz, parameters::AnyQuery},
};
use tokio::net::TcpListener;

use super::checks::Checks;

/// How long a program that listens there may take to say what it is.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whether `cms serve` could listen, or does so already.
pub(super) async fn listen(checks: &mut Checks, listen: &str) {
    let error = match TcpListener::bind(listen).await {
        Ok(_) => return checks.ok("listen", format!("{listen} is free")),
        Err(error) => error,
    };
    if error.kind() == ErrorKind::AddrInUse && is_cms(listen).await {
        return checks.ok("listen", format!("a cms serves at {listen}"));
    }
    let remedy = match error.kind() {
        ErrorKind::AddrInUse => "end the other program, or set listen to another port",
        ErrorKind::PermissionDenied => "set listen to a port from 1024 on, behind a proxy",
        _ => "set listen to HOST:PORT with an address of this machine",
    };
    checks.fail("listen", format!("{listen}: {error}"), remedy);
}

/// Whether a cms answers there.
async fn is_cms(listen: &str) -> bool {
    let Ok(client) = Client::remote(&format!("http://{listen}"), &Credential::None) else {
        return false;
    };
    let asked = async { client.call::<Healthz>(&AnyQuery::default(), &NoBody).await };
    match tokio::time::timeout(PATIENCE, asked).await {
        Ok(Ok(_)) => true,
        // It refuses this name, as a cms does.
        Ok(Err(error)) => matches!(error, ClientError::Problem { .. }),
        Err(_) => false,
    }
}

pub(super) async fn redis(checks: &mut Checks, settings: &Settings) {
    match ping_redis(settings).await {
        Ok(None) => {}
        Ok(Some(())) => checks.ok("redis", "answers"),
        Err(error) => {
            let cause = error.source().map(|cause| format!(" ({cause})")).unwrap_or_default();
            checks.fail(
                "redis",
                format!("{}{cause}", error.detail()),
                "start Redis or correct redis_url; until then each process counts for itself",
            );
        }
    }
}

pub(super) async fn bucket(checks: &mut Checks, settings: &Settings) {
    match reach_bucket(settings).await {
        Ok(None) => {}
        Ok(Some(())) => checks.ok("media", "the bucket answers"),
        Err(error) => {
            let fields = error.fields().iter().map(|field| format!(" {}", field.message));
            checks.fail(
                "media",
                format!("{}{}", error.detail(), fields.collect::<String>()),
                "start the store, or correct media.bucket, media.endpoint, media.region and its \
                 keys; until then uploads and files are answered with 503",
            );
        }
    }
}
