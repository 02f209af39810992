//! `/healthz`, `/readyz`, `/metrics`

use cms_core::{Code, Error, Result};
use http::{HeaderValue, StatusCode};
use serde_json::json;

use crate::{call::Call, reply::Reply};

pub(crate) async fn alive(_: &Call<'_>) -> Result<Reply> {
    Reply::of(StatusCode::OK, &json!({"status": "ok", "version": cms_core::VERSION}))
}

pub(crate) async fn ready(call: &Call<'_>) -> Result<Reply> {
    call.cms.ready().await?;
    let (limiter, cache) = (call.cms.limiter().state(), call.cms.cache().state());
    let webhooks = call.cms.webhooks();
    let (queue_age_ms, worker) = (webhooks.oldest_due_ms().await.ok(), webhooks.worker_state());
    let state = json!({
        "status": "ready", "database": "ok", "migrations": "applied", "limiter": limiter, "cache": cache,
        "queue_age_ms": queue_age_ms, "worker": worker,
    });
    Reply::of(StatusCode::OK, &state)
}

/// For loopback and `metrics_allow` only: how much a site is used is nobody else's business.
pub(crate) async fn metrics(call: &Call<'_>) -> Result<Reply> {
    let (client, settings) = (call.client, call.cms.settings());
    let near = client.address.is_loopback() && !client.passed_on;
    if !near && !settings.metrics_allow.iter().any(|network| network.contains(client.address)) {
        return Err(Error::new(
            Code::PermissionDenied,
            "Metrics are for loopback and the networks in metrics_allow.",
        ));
    }
    let backlog = call
        .cms
        .webhooks()
        .backlog()
        .await
        .inspect_err(|error| tracing::warn!(%error, "metrics without the queue"))
        .ok();
    let text = call.metrics.text(call.cms, backlog.as_ref());
    Ok(Reply::new(StatusCode::OK, HeaderValue::from_static("text/plain; version=0.0.4"), text))
}
