//! `/healthz`, `/readyz`, `/metrics`, `/api/backend/status`

use std::{sync::atomic::Ordering, time::Duration};

use cms_core::{Code, Error, Result};

use crate::{
    call::Call,
    wire::{
        Data, Text,
        health::{Alive, Findings, Ready},
        parameters::{AnyQuery, NoQuery},
    },
};

/// How long `/readyz` waits for its figures; the service is ready or not without them.
const READY_FIGURES: Duration = Duration::from_millis(500);
/// How long `/metrics` waits for figures of the database. Scrapers give up after some seconds.
const METRICS_FIGURES: Duration = Duration::from_secs(2);

/// A figure of the database, if it comes in time; None: the read failed or took too long.
async fn in_time<T>(limit: Duration, figure: impl Future<Output = Result<T>>) -> Option<T> {
    let told = tokio::time::timeout(limit, figure).await.ok()?;
    told.inspect_err(|error| tracing::debug!(%error, "the database does not tell a figure")).ok()
}

pub(crate) async fn alive(_: &Call<'_>, _: AnyQuery) -> Result<Data<Alive>> {
    Ok(Data { data: Alive { status: "ok".to_owned(), version: cms_core::VERSION.to_owned() } })
}

pub(crate) async fn ready(call: &Call<'_>, _: AnyQuery) -> Result<Data<Ready>> {
    if call.stopping.load(Ordering::Relaxed) {
        return Err(Error::new(Code::Unavailable, "The service is stopping."));
    }
    call.cms.ready().await?;
    let webhooks = call.cms.webhooks();
    let (queue_age_ms, waiting, checks) = tokio::join!(
        in_time(READY_FIGURES, webhooks.oldest_due_ms()),
        in_time(READY_FIGURES, call.cms.mail().waiting()),
        call.cms.known_troubles(),
    );
    let data = Ready {
        status: "ready".to_owned(),
        database: "ok".to_owned(),
        migrations: "applied".to_owned(),
        limiter: call.cms.limiter().state().to_owned(),
        cache: call.cms.cache().state().to_owned(),
        queue_age_ms,
        worker: webhooks.worker_state().to_owned(),
        mail_age_ms: waiting.map(|(_, late_ms)| late_ms),
        mail: call.cms.mail().postman_state().to_owned(),
        scheduler: call.cms.tasks().scheduler_state().to_owned(),
        indexes: call.cms.indexes_state().to_owned(),
        checks,
        restarts: call.cms.restarts().into_iter().map(|(task, n)| (task.to_owned(), n)).collect(),
    };
    Ok(Data { data })
}

/// What the checks find: at most a second old.
pub(crate) async fn status(call: &Call<'_>, _: NoQuery) -> Result<Data<Findings>> {
    let findings = call.cms.status().await;
    Ok(Data { data: Findings { level: cms_core::worst(&findings), findings } })
}

/// For loopback and `metrics_allow` only: the traffic of a site is nobody else's business.
pub(crate) async fn metrics(call: &Call<'_>, _: AnyQuery) -> Result<Text> {
    let mut allowed = call.cms.settings().metrics_allow.iter();
    if !call.is_from_here() && !allowed.any(|network| network.contains(call.client.address)) {
        return Err(Error::new(
            Code::PermissionDenied,
            "Metrics are for loopback and the networks in metrics_allow.",
        ));
    }
    let (backlog, mails) = tokio::join!(
        in_time(METRICS_FIGURES, call.cms.webhooks().backlog()),
        in_time(METRICS_FIGURES, call.cms.mail().waiting()),
    );
    if backlog.is_none() || mails.is_none() {
        tracing::warn!("metrics without queue or mails: the database fails or does not answer");
    }
    Ok(Text(call.metrics.text(call.cms, call.streams.count(), backlog.as_ref(), mails)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_a_figure_beyond_the_limit() {
        let began = tokio::time::Instant::now();
        let silent = || std::future::pending::<Result<i64>>();
        let both =
            tokio::join!(in_time(METRICS_FIGURES, silent()), in_time(METRICS_FIGURES, silent()));
        assert_eq!(both, (None, None));
        assert!(began.elapsed() < 2 * METRICS_FIGURES, "both together: {:?}", began.elapsed());
        let slow = async {
            tokio::time::sleep(READY_FIGURES / 2).await;
            Ok(7)
        };
        assert_eq!(in_time(READY_FIGURES, slow).await, Some(7));
        let failed = async { Err::<i64, _>(Error::new(Code::Unavailable, "away")) };
        assert_eq!(in_time(READY_FIGURES, failed).await, None);
    }
}
