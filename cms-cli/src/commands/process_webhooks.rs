//! `cms process-webhooks`: delivers what is due, then ends; for cron

use std::time::Duration;

use clap::Args;
use cms_core::{Cms, webhooks::Until};
use serde_json::json;
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::watch,
};

use crate::{args::Global, failure::Done, output::Output, site, target::Target};

#[derive(Args, Debug)]
#[command(after_help = "Example, every 30 s (cron knows minutes only):
  * * * * * cms process-webhooks --time-limit=25
  * * * * * sleep 30; cms process-webhooks --time-limit=25

`cms serve` delivers by itself unless --no-worker; several workers at once are harmless.")]
pub(crate) struct ProcessWebhooksArgs {
    /// End after so many seconds; no attempt is begun that could take longer
    #[arg(long, value_name = "SECONDS", default_value_t = 25, value_parser = clap::value_parser!(u64).range(12..=86_400))]
    time_limit: u64,
}

pub(crate) async fn run(global: &Global, out: &Output, args: &ProcessWebhooksArgs) -> Done {
    let dir = Target::folder_only(global, "cms process-webhooks")?;
    let cms = Cms::open(site::existing(&dir, &[], out)?.settings).await?;
    // An attempt that is begun late must still end in time.
    let last_claim = args.time_limit.saturating_sub(cms.settings().webhooks.timeout_s + 1).max(1);
    let (stop, stopped) = watch::channel(false);
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::spawn(async move {
        tokio::select! {
            () = tokio::time::sleep(Duration::from_secs(last_claim)) => {}
            _ = terminate.recv() => {}
            _ = tokio::signal::ctrl_c() => {}
        }
        let _ = stop.send(true);
    });
    let until = cms.webhooks().worker().run(stopped, true).await;
    let outcomes = cms.webhooks().outcomes();
    cms.close().await;
    if out.json {
        let drained = until == Until::Drained;
        return Ok(out.data(
            &json!({"drained": drained, "delivered": outcomes.delivered, "retried": outcomes.retried, "failed": outcomes.failed}),
        )?);
    }
    let why = if until == Until::Drained { "nothing more is due" } else { "the time is over" };
    out.note(&format!(
        "{} delivered, {} to be tried again, {} given up; {why}.",
        outcomes.delivered, outcomes.retried, outcomes.failed
    ));
    Ok(())
}
