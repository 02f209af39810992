//! `cms inbox watch`: the newest submissions, then each that comes or changes

use std::{collections::HashMap, time::Duration};

use clap::Args;
use cms_core::funnels::FunnelSubmission;
use cms_http::{
    client::Client,
    wire::{NoBody, inbox::Submissions},
};

use super::choose::Choose;
use crate::{
    output::{Done, Exit, Failure, Output},
    signals::until_signal,
};

/// Time between two requests.
const PAUSE: Duration = Duration::from_secs(2);
/// Submissions that are watched: the first page of the list.
const WATCHED: u32 = 100;

#[derive(Args, Debug)]
#[command(after_help = "Example: cms inbox watch --where is_spam=false

Prints a line for each submission: time, id, state of the visit and of the inbox, assigned user,
summary. Watches the first 100 of the list. With --json, a JSON object a line. A site that starts
again is waited for. Ctrl-C ends it.")]
pub(crate) struct WatchArgs {
    #[command(flatten)]
    choose: Choose,
    /// End after the submissions that are there
    #[arg(long)]
    no_follow: bool,
}

pub(super) async fn run(out: &Output, client: &Client, args: WatchArgs) -> Done {
    until_signal(watch(out, client, &args)).await
}

async fn watch(out: &Output, client: &Client, args: &WatchArgs) -> Done {
    let mut asked = args.choose.asked(client).await?;
    asked.limit = Some(WATCHED.to_string());
    let (mut seen, mut is_away) = (HashMap::new(), false);
    loop {
        match client.call::<Submissions>(&asked, &NoBody).await.map_err(Failure::from) {
            Err(failure) if failure.exit == Exit::Unreachable && !seen.is_empty() => {
                if !std::mem::replace(&mut is_away, true) {
                    out.note(&format!("{}; waiting for it", failure.what));
                }
            }
            page => {
                print(out, page?.data, &mut seen)?;
                is_away = false;
            }
        }
        if args.no_follow {
            return Ok(());
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Prints those that are new or have changed, the oldest first.
fn print(
    out: &Output,
    page: Vec<FunnelSubmission>,
    seen: &mut HashMap<i64, FunnelSubmission>,
) -> Done {
    for one in page.iter().rev() {
        if seen.get(&one.submission_id) == Some(one) {
            continue;
        }
        if out.json {
            out.line(&serde_json::to_string(one).map_err(Failure::unexpected)?)?;
            continue;
        }
        let (id, nobody) = (one.submission_id.to_string(), "-".to_owned());
        let assigned = one.assigned_name.as_ref().unwrap_or(&nobody);
        let cells =
            [&one.last_activity_at, &id, &one.status, &one.inbox_status, assigned, &one.summary];
        out.line(&cells.map(String::as_str).join(out.gap()))?;
    }
    *seen = page.into_iter().map(|one| (one.submission_id, one)).collect();
    Ok(())
}
