//! Checks of a site's work: deliveries, mails, tasks, and the servers that it uses.

use super::{CheckInput, finding::Findings};
use crate::{
    Cms, Code, Millis, Paging, Result,
    mail::LogFilter,
    media::reach_bucket,
    traffic::redis::Redis,
    webhooks::{Backlog, JobFilter},
};

/// Work that has been due for longer is late.
const LATE_MS: Millis = 60_000;
/// A queue that was served within this time has a worker, possibly one started by cron
/// each minute.
const SERVED_MS: Millis = 2 * LATE_MS;
/// Jobs and mails that were given up longer ago are ignored.
const RECENT_MS: Millis = 7 * 86_400_000;
/// Maximum number of items that are counted or listed of one kind.
const MOST: usize = 50;

/// Whether Redis does what requests ask, and this process uses it.
pub(super) async fn redis(asked: &CheckInput, found: &mut Findings) -> Result<()> {
    // Uses the site's own connection, so that limiter and cache fail together with this check.
    let redis = match asked.cms() {
        Some(cms) => cms.0.redis.clone(),
        None => Redis::of(&asked.settings)?,
    };
    let Some(redis) = redis else { return Ok(()) };
    if let Err((error, remedy)) = redis.ping().await {
        let remedy = format!("{remedy}; until then each process counts for itself");
        found.error(error.with_cause(), remedy);
        return Ok(());
    }
    match redis.why_away() {
        None => found.ok("answers"),
        Some(why) => found.warning(
            format!("answers, but this process has left Redis: {why}"),
            "this process returns by itself, within half a minute; if it leaves Redis again and \
             again, look for what slows Redis or the network",
        ),
    }
    Ok(())
}

pub(super) async fn media(asked: &CheckInput, found: &mut Findings) -> Result<()> {
    match reach_bucket(&asked.settings).await {
        Ok(None) => {}
        Ok(Some(())) => found.ok("the bucket answers"),
        Err(error) => {
            let remedy = match error.code() {
                Code::ValidationFailed => {
                    "correct the setting, or use a program that was built with s3; until then the \
                     site does not start"
                }
                _ => {
                    "start the store, or correct media.bucket, media.endpoint, media.region and \
                     its keys; until then uploads and files are answered with 503"
                }
            };
            found.error(error.with_cause(), remedy);
        }
    }
    Ok(())
}

pub(super) async fn webhooks(asked: &CheckInput, found: &mut Findings) -> Result<()> {
    let Some(cms) = asked.cms() else { return Ok(()) };
    for hook in cms.webhooks().in_trouble().await? {
        let (id, name) = (hook.id, &hook.name);
        match hook.switched_off {
            Some(why) => found.error(
                format!("Webhook {name} was switched off: {why}"),
                format!("mend its receiver, then `cms webhooks activate {id}` sends what is held"),
            ),
            None => found.warning(
                format!("Webhook {name} fails: {} of 10 in a row", hook.failures),
                format!(
                    "mend its receiver: `cms webhooks deliveries list --webhook {id} --status \
                     failed` tells what it answered"
                ),
            ),
        }
        found.about(id);
    }
    if found.findings.is_empty() {
        found.ok("none fails");
    }
    Ok(())
}

pub(super) async fn queue(asked: &CheckInput, found: &mut Findings) -> Result<()> {
    let Some(cms) = asked.cms() else { return Ok(()) };
    let backlog = cms.webhooks().backlog().await?;
    if backlog.oldest_due_ms > LATE_MS {
        late(cms, &backlog, found).await?;
    }
    if backlog.held > 0 {
        found.warning(
            format!("{} jobs are held until their webhook is on", backlog.held),
            "`cms queue list --status held` names the webhooks; `cms webhooks activate ID` sends \
             what is held, with --drop-held it is dropped",
        );
        found.about("held");
    }
    let filter = JobFilter {
        status: Some("failed".to_owned()),
        since: cms.clock().now() - RECENT_MS,
        ..JobFilter::default()
    };
    let given_up = cms.webhooks().jobs(&filter, &first()).await?.data.len();
    if given_up > 0 {
        found.warning(
            format!("{} given up after their last try", counted(given_up, "job was", "jobs were")),
            "`cms webhooks deliveries list --status failed` tells why; `cms webhooks deliveries \
             redeliver ID` sends one again; `cms queue purge --status failed --yes` forgets them",
        );
        found.about("failed");
    }
    if found.findings.is_empty() {
        found.ok(format!("{} jobs wait", backlog.pending + backlog.retry));
    }
    Ok(())
}

/// Reports what keeps a late queue waiting: receivers, or workers that do not run.
async fn late(cms: &Cms, backlog: &Backlog, found: &mut Findings) -> Result<()> {
    let (served_at, now) = (cms.webhooks().served_at().await?, cms.clock().now());
    if served_at.is_none_or(|at| (now - at).abs() > SERVED_MS) {
        found.error(
            format!("The queue is late by {}: does a worker run?", span(backlog.oldest_due_ms)),
            "`cms process-webhooks` delivers what is due; let `cms serve` run without --no-worker, \
             or process-webhooks from cron",
        );
        found.about("late");
        return Ok(());
    }
    let mut lanes = Vec::new();
    for (id, late_ms) in backlog.late_lanes.iter().filter(|(_, late_ms)| *late_ms > LATE_MS) {
        match cms.webhooks().get(*id).await {
            Ok(hook) => lanes.push((id, format!("{} by {}", hook.name, span(*late_ms)))),
            // The subscription was deleted meanwhile.
            Err(error) if error.code() == Code::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    let Some((id, _)) = lanes.first() else { return Ok(()) };
    let names: Vec<_> = lanes.iter().map(|(_, name)| name.as_str()).collect();
    found.warning(
        format!("Workers run, but webhooks are late: {}", names.join(", ")),
        format!(
            "`cms webhooks deliveries list --webhook {id}` tells what the receiver answers and how \
             long it takes: mend the receiver, or raise webhooks.concurrency"
        ),
    );
    found.about("late");
    Ok(())
}

/// Whether mails can be sent, and whether providers fail.
pub(super) async fn mail(asked: &CheckInput, found: &mut Findings) -> Result<()> {
    let Some(cms) = asked.cms() else { return Ok(()) };
    let (providers, (waiting, late_ms)) =
        (cms.mail().providers().await?, cms.mail().waiting().await?);
    let missing = match (cms.mail().sender(), providers.is_empty()) {
        (Some(_), false) => None,
        (None, false) => Some("mail.from"),
        (_, true) => Some("mail.smtp_url or another provider"),
    };
    match missing {
        Some(setting) if waiting > 0 || !providers.is_empty() => {
            let what = format!("{waiting} mails wait, and none can be sent");
            found.error(what, format!("set {setting}"));
            return Ok(());
        }
        // A site without mail.
        Some(_) => return Ok(()),
        None => {}
    }
    let all_rest = providers.iter().all(|provider| provider.state == "resting");
    for provider in providers.iter().filter(|provider| provider.faults > 0) {
        let why = provider.reason.as_deref().unwrap_or("unknown");
        let state = match &*provider.state {
            // It is tried again with the next mail.
            "ready" => "failed the last time".to_owned(),
            state => format!("is {state}"),
        };
        let what = format!("{} ({}) {state}: {why}", provider.name, provider.server);
        let remedy = format!(
            "mend what it says, then `cms mail test ADDRESS --provider {}` tries it",
            provider.name
        );
        match all_rest {
            true => found.error(what, remedy),
            false => found.warning(what, remedy),
        }
    }
    if late_ms > LATE_MS {
        found.error(
            format!("mails are late by {}: does a process send them?", span(late_ms)),
            "`cms process-webhooks` sends what is due; let `cms serve` run without --no-worker, or \
             process-webhooks from cron",
        );
    }
    let filter = LogFilter {
        status: Some("failed".to_owned()),
        since: cms.clock().now() - RECENT_MS,
        ..LogFilter::default()
    };
    let given_up = cms.mail().log(&filter, &first()).await?.data;
    if !given_up.is_empty() {
        let ids: Vec<_> = given_up.iter().map(|mail| mail.id.to_string()).collect();
        found.warning(
            format!("{} given up within 7 days", counted(ids.len(), "mail was", "mails were")),
            format!(
                "`cms mail log --status failed` tells why; `cms mail retry {}` sends them again",
                ids.join(" ")
            ),
        );
        found.about("failed");
    }
    if found.findings.is_empty() {
        let names: Vec<_> = providers.iter().map(|provider| provider.name.as_str()).collect();
        found.ok(format!("{}, {waiting} waiting", names.join(", ")));
    }
    Ok(())
}

/// Tasks whose latest run failed.
pub(super) async fn tasks(asked: &CheckInput, found: &mut Findings) -> Result<()> {
    let Some(cms) = asked.cms() else { return Ok(()) };
    let tasks = cms.tasks().list().await?;
    for task in &tasks {
        let (plugin, name) = (&task.plugin, &task.name);
        let Some(run) = &task.last_run else { continue };
        let ended = match run.outcome.as_str() {
            "failed" => "failed",
            "lost" => "was broken off",
            _ => continue,
        };
        let why = run.error.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        found.error(
            format!("Task {name} of {plugin} {ended}{why}"),
            format!("mend what it says, then `cms tasks run {name} --plugin {plugin}`"),
        );
        found.about(format!("{plugin}/{name}"));
        if found.findings.len() == MOST {
            break;
        }
    }
    if found.findings.is_empty() {
        found.ok(format!("{} tasks, no latest run failed", tasks.len()));
    }
    Ok(())
}

pub(super) async fn event_handlers(asked: &CheckInput, found: &mut Findings) -> Result<()> {
    let Some(cms) = asked.cms() else { return Ok(()) };
    for (name, failures, why) in cms.events().failing().await? {
        let why = why.map(|why| format!(": {why}")).unwrap_or_default();
        found.error(
            format!("{name} failed {failures} times in a row{why}"),
            "mend the plugin; the event is tried again by itself, and later ones wait for it",
        );
        found.about(name);
    }
    Ok(())
}

pub(super) fn indexes(asked: &CheckInput, found: &mut Findings) {
    let Some(cms) = asked.cms() else { return };
    if cms.indexes_state() == "failed" {
        found.warning(
            "indexes of tables could not be made; the process tries again each minute",
            "`cms plugins list` tells which, and why",
        );
    }
}

/// Reports background work that failed since the process began.
pub(super) fn restarts(asked: &CheckInput, found: &mut Findings) {
    let Some(cms) = asked.cms() else { return };
    for (task, times) in cms.restarts() {
        let times = counted(usize::try_from(times).unwrap_or(usize::MAX), "time", "times");
        found.error(
            format!("Background task {task} failed and was started again {times}"),
            "the log has the cause; restarting `cms serve` resets this count",
        );
        found.about(task);
    }
}

fn first() -> Paging {
    Paging::first(u32::try_from(MOST).unwrap_or(u32::MAX))
}

/// A number of things, marked when it is the maximum that is counted.
fn counted(number: usize, one: &str, many: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        MOST => format!("{MOST} or more {many}"),
        number => format!("{number} {many}"),
    }
}

/// A time in its largest unit.
fn span(ms: Millis) -> String {
    let seconds = ms / 1000;
    match seconds {
        ..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_times_are_told_as_people_do() {
        assert_eq!(counted(1, "job was", "jobs were"), "1 job was");
        assert_eq!(counted(50, "job was", "jobs were"), "50 or more jobs were");
        for (ms, told) in [(61_000, "61 s"), (600_000, "10 min"), (7_300_000, "2 h")] {
            assert_eq!(span(ms), told);
        }
    }
}
