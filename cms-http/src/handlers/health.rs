//! `/healthz`, `/readyz`, `/metrics`, `/api/backend/status`

use std::sync::atomic::Ordering;

use cms_core::{Code, Error, Result};

use crate::{
    call::Call,
    wire::{
        Data, Text,
        health::{Alive, Findings, Ready},
        parameters::{AnyQuery, NoQuery},
    },
};

pub(crate) async fn alive(_: &Call<'_>, _: AnyQuery) -> Result<Data<Alive>> {
    Ok(Data { data: Alive { status: "ok".to_owned(), version: cms_core::VERSION.to_owned() } })
}

pub(crate) async fn ready(call: &Call<'_>, _: AnyQuery) -> Result<Data<Ready>> {
    if call.stopping.load(Ordering::Relaxed) {
        return Err(Error::new(Code::Unavailable, "The service is stopping."));
    }
    call.cms.ready().await?;
    let webhooks = call.cms.webhooks();
    let waiting = call.cms.mail().waiting().await.ok();
    let data = Ready {
        status: "ready".to_owned(),
        database: "ok".to_owned(),
        migrations: "applied".to_owned(),
        limiter: call.cms.limiter().state().to_owned(),
        cache: call.cms.cache().state().to_owned(),
        queue_age_ms: webhooks.oldest_due_ms().await.ok(),
        worker: webhooks.worker_state().to_owned(),
        mail_age_ms: waiting.map(|(_, late_ms)| late_ms),
        mail: call.cms.mail().postman_state().to_owned(),
        scheduler: call.cms.tasks().scheduler_state().to_owned(),
        indexes: call.cms.indexes_state().to_owned(),
        checks: call.cms.known_troubles().await,
        restarts: call.cms.restarts().into_iter().map(|(task, n)| (task.to_owned(), n)).collect(),
    };
    Ok(Data { data })
}

/// What the checks find: at most a second old.
pub(crate) async fn status(call: &Call<'_>, _: NoQuery) -> Result<Data<Findings>> {
    let findings = call.cms.status().await;
    Ok(Data { data: Findings { level: cms_core::worst(&findings), findings } })
}

/// For loopback and `metrics_allow` only: how much a site is used is nobody else's business.
pub(crate) async fn metrics(call: &Call<'_>, _: AnyQuery) -> Result<Text> {
    let mut allowed = call.cms.settings().metrics_allow.iter();
    if !call.is_from_here() && !allowed.any(|network| network.contains(call.client.address)) {
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
    let mails = call.cms.mail().waiting().await.ok();
    Ok(Text(call.metrics.text(call.cms, call.streams.count(), backlog.as_ref(), mails)))
}
