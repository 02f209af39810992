//! `cms process-webhooks`: one run of the background work, for cron

use std::time::Duration;

use clap::Args;
use cms_core::{Cms, webhooks::Until};
use serde_json::json;
use tokio::{
    signal::unix::{SignalKind, signal},
    sync::watch,
};

use crate::{
    flags::Flags,
    folder,
    output::{Done, Failure, Output},
    target::Target,
};

#[derive(Args, Debug)]
#[command(after_help = "Example, every 30 seconds (cron itself counts minutes):
  * * * * * cms process-webhooks --time-limit=25
  * * * * * sleep 30; cms process-webhooks --time-limit=25

It also removes rows that the retention settings no longer keep. `cms serve` does both by itself,
but delivers nothing with --no-worker. Several workers may run at once.")]
pub(crate) struct ProcessWebhooksArgs {
    /// End after this time; no attempt begins that could take longer
    #[arg(long, value_name = "SECONDS", default_value_t = 25, value_parser = time_limit())]
    time_limit: u64,
}

fn time_limit() -> clap::builder::RangedU64ValueParser {
    clap::value_parser!(u64).range(12..=86_400)
}

pub(crate) async fn run(flags: &Flags, out: &Output, args: &ProcessWebhooksArgs) -> Done {
    let dir = Target::folder_only(flags, "cms process-webhooks")?;
    let cms = folder::as_is(folder::existing(&dir, &[], out)?.settings).await?;
    // The last attempt must end in time too.
    let timeout = cms.settings().webhooks.timeout_s;
    let Some(last_claim) = args.time_limit.checked_sub(timeout + 1).filter(|seconds| *seconds > 0)
    else {
        let failure =
            Failure::usage(format!("--time-limit is too short: one attempt may take {timeout} s"));
        return Err(failure.hint(format!(
            "--time-limit={} or more, or a smaller webhooks.timeout_s",
            timeout + 2
        )));
    };
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
    let (until, ()) = tokio::join!(
        cms.webhooks().worker().run(stopped.clone(), true),
        remove_old_rows(&cms, stopped),
    );
    let outcomes = cms.webhooks().outcomes();
    // Cron should report that the database was away.
    let reached = cms.ready().await;
    cms.close().await;
    reached?;
    if out.json {
        let drained = until == Until::Drained;
        return Ok(out.data(&json!({
            "drained": drained,
            "delivered": outcomes.delivered,
            "retried": outcomes.retried,
            "failed": outcomes.failed,
        }))?);
    }
    let why =
        if until == Until::Drained { "nothing more is due" } else { "the time limit is reached" };
    out.note(&format!(
        "{} delivered, {} to be tried again, {} given up; {why}.",
        outcomes.delivered, outcomes.retried, outcomes.failed
    ));
    Ok(())
}

/// Removes what retention no longer keeps. Whatever is left at the stop waits for the next run.
async fn remove_old_rows(cms: &Cms, mut stopped: watch::Receiver<bool>) {
    tokio::select! {
        () = cms.upkeep() => {}
        _ = stopped.wait_for(|stopped| *stopped) => {}
    }
}
