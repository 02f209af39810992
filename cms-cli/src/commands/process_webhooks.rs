//! `cms process-webhooks`: one run of the background work, for cron

use std::time::Duration;

use clap::Args;
use cms_core::{Cms, Until};
use serde_json::json;
use tokio::sync::watch;

use crate::{
    flags::Flags,
    folder,
    output::{Done, Failure, Output, counted},
    signals::Signals,
    target::Target,
};

#[derive(Args, Debug)]
#[command(after_help = "Example, every 30 seconds (cron itself counts minutes):
  * * * * * cms process-webhooks --time-limit=25
  * * * * * sleep 30; cms process-webhooks --time-limit=25

It also sends mails that are due, and removes rows that the retention settings no longer keep. `cms
serve` does all of it by itself, but delivers and sends nothing with --no-worker. Several may run at
once. A mail server that scans a message which it has taken can hold the end up by a minute.")]
pub(crate) struct ProcessWebhooksArgs {
    /// End after this time; no delivery begins that could take longer
    #[arg(long, value_name = "SECONDS", default_value_t = 25, value_parser = time_limit())]
    time_limit: u64,
}

fn time_limit() -> clap::builder::RangedU64ValueParser {
    clap::value_parser!(u64).range(12..=86_400)
}

pub(crate) async fn run(flags: &Flags, out: &Output, args: &ProcessWebhooksArgs) -> Done {
    let dir = Target::folder_only(flags, "cms process-webhooks")?;
    let cms = folder::as_is(folder::existing(&dir, &[], out)?.settings).await?;
    // The last attempt must also end in time.
    let last_claim = |timeout: u64| args.time_limit.checked_sub(timeout + 1).filter(|at| *at > 0);
    let timeout = cms.settings().webhooks.timeout_s;
    let Some(last) = last_claim(timeout) else {
        let failure =
            Failure::usage(format!("--time-limit is too short: one attempt may take {timeout} s"));
        return Err(failure.hint(format!(
            "--time-limit={} or more, or a smaller webhooks.timeout_s",
            timeout + 2
        )));
    };
    let asked = asked_to_end()?;
    let jobs = async { cms.webhooks().worker().run(stop_after(last, asked.clone()), true).await };
    let mails = async {
        let timeout = cms.settings().mail.timeout_s;
        if !cms.mail().can_send() {
            return without_provider(&cms, out).await;
        }
        let Some(last) = last_claim(timeout) else {
            let least = timeout + 2;
            out.note(&format!(
                "No mail is sent: one may take {timeout} s. --time-limit={least} or more sends \
                 them, or a smaller mail.timeout_s."
            ));
            return Until::Stopped;
        };
        cms.mail().postman().run(stop_after(last, asked.clone()), true).await
    };
    let rows = remove_old_rows(&cms, stop_after(last, asked.clone()));
    let (jobs, posted, ()) = tokio::join!(jobs, mails, rows);
    let drained = [jobs, posted].iter().all(|until| *until == Until::Drained);
    let (outcomes, mails) = (cms.webhooks().outcomes(), cms.mail().outcomes());
    // Cron should report that the database could not be reached.
    let reached = cms.ready().await;
    cms.close().await;
    reached?;
    if out.json {
        let sent = json!({
            "sent": mails.done,
            "retried": mails.retried,
            "failed": mails.failed,
        });
        return Ok(out.data(&json!({
            "drained": drained,
            "delivered": outcomes.done,
            "retried": outcomes.retried,
            "failed": outcomes.failed,
            "mails": sent,
        }))?);
    }
    let why = match (drained, cms.mail().can_send()) {
        (true, _) => "nothing more is due",
        (_, false) if jobs == Until::Drained => "no other work is due",
        _ => "the time limit is reached",
    };
    out.note(&format!(
        "{} delivered, {} to be tried again, {} given up; {} sent, {} to be tried again, {} given \
         up; {why}.",
        outcomes.done,
        outcomes.retried,
        outcomes.failed,
        counted(mails.done, "mail"),
        mails.retried,
        mails.failed
    ));
    Ok(())
}

/// Reports mails that wait for a provider. A database that does not answer is reported at the end.
async fn without_provider(cms: &Cms, out: &Output) -> Until {
    match cms.mail().waiting().await {
        Ok((0, _)) | Err(_) => Until::Drained,
        Ok((waiting, _)) => {
            let mails = counted(waiting.unsigned_abs(), "mail");
            out.note(&format!(
                "No mail is sent, {mails} waiting: set mail.from and a provider, such as \
                 mail.smtp_url."
            ));
            Until::Stopped
        }
    }
}

/// Turns true when the process is asked to end.
fn asked_to_end() -> Done<watch::Receiver<bool>> {
    let (stop, asked) = watch::channel(false);
    let mut signals = Signals::open()?;
    tokio::spawn(async move {
        signals.next().await;
        let _ = stop.send(true);
    });
    Ok(asked)
}

/// Turns true when asked to end, or after a time.
fn stop_after(seconds: u64, mut asked: watch::Receiver<bool>) -> watch::Receiver<bool> {
    let (stop, stopped) = watch::channel(false);
    tokio::spawn(async move {
        let limit = Duration::from_secs(seconds);
        let _ = tokio::time::timeout(limit, asked.wait_for(|asked| *asked)).await;
        let _ = stop.send(true);
    });
    stopped
}

/// Removes rows that retention no longer keeps. What is left at the stop waits for the next run.
async fn remove_old_rows(cms: &Cms, mut stopped: watch::Receiver<bool>) {
    tokio::select! {
        () = cms.upkeep() => {}
        _ = stopped.wait_for(|stopped| *stopped) => {}
    }
}
