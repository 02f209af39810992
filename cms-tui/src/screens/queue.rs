//! The queue: jobs as they wait, are sent and fail; above them how full it is, and whether somebody
//! works on it.

use cms_http::wire::{
    health::Readyz,
    webhooks::{Cancel, OfStatus, Purge, Queue, Retry, Stats, WhichJobs},
};

use super::{cells::status, prelude::*};
use crate::screens::browser::Above;

pub(crate) static SPEC: Spec = Spec {
    above: Some(&ABOVE),
    preview,
    tokens: Some(|_| TOKENS.to_owned()),
    empty: "The queue is empty.",
    poll_s: 1,
    ..Spec::new("queue", |_| "Queue".to_owned(), columns, list, act)
};

const TOKENS: &str = "status:retry (pending sending retry held failed delivered) webhook:ID";

fn list(asked: &ListQuery<'_>) -> Result<Calling, Fault> {
    let mut which =
        WhichJobs { limit: Limit(PAGE), cursor: asked.cursor.clone(), ..WhichJobs::default() };
    for piece in &pieces(asked.filter) {
        match piece.word() {
            Word::Token("status", value) | Word::Text(value) => {
                which.status = Some(value.to_owned());
            }
            Word::Token("webhook", value) => which.subscription = parsed(value, "webhook:3")?,
            Word::Token(name, _) => return Err(unknown(name, TOKENS)),
        }
    }
    get::<Queue>(&which)
}

fn columns(_: &Json) -> Vec<Column> {
    vec![
        column("JOB", "id", 7, plain),
        column("EVENT", "event", 0, plain),
        column("HOOK", "subscription", 5, plain),
        column("STATUS", "status", 12, status),
        column("FAILED", "retry_count", 6, plain),
        column("NEXT", "next_retry_at", 8, next),
        column("AGE", "created_at", 5, age),
    ]
}

/// Whether a job waits for an attempt; those that are held or settled do not.
fn is_waiting(row: &Json) -> bool {
    matches!(row["status"].as_str(), Some("pending" | "retry"))
}

/// When the next attempt is due.
fn next(row: &Json, name: &str, now: i64) -> (String, Role) {
    if is_waiting(row) { age(row, name, now) } else { ("—".to_owned(), Role::Quiet) }
}

fn preview(row: &Json, _: Option<&Json>, _: &Json, now: i64) -> Lines {
    let names = [
        ("Event", "event"),
        ("Event id", "event_id"),
        ("Queued", "created_at"),
        ("Next try", "next_retry_at"),
        ("Failed", "retry_count"),
        ("Settled", "settled_at"),
        ("Resend of", "resend_of"),
    ];
    let mut lines = members(row, &names, now);
    let next = lines.iter_mut().find(|(_, line)| line.starts_with("Next try"));
    if let Some((_, line)) = next.filter(|_| !is_waiting(row)) {
        let is_held = row["status"] == "held";
        let none = if is_held { "none: it is held until its webhook is on" } else { "—" };
        *line = format!("{:<12} {none}", "Next try");
    }
    lines.extend(reason(&row["error_message"]));
    lines
}

fn act(verb: &str, scene: &Scene<'_>) -> Step {
    match verb {
        "retry" => acts::each(scene, "job", "due now", |row| get::<Retry>(&by_id(row))),
        "cancel" => {
            let rows = scene.rows().len();
            let calls = acts::each(scene, "job", "given up", |row| get::<Cancel>(&by_id(row)));
            let text = format!("Give up {}? Nothing more is sent for it.", count(rows, "job"));
            Step::Confirm(Confirm::new(text, move || calls))
        }
        "purge" => purge(),
        "stats" => get::<Stats>(&NoQuery {}).view("How full the queue is"),
        "run" => Step::Run(["process-webhooks", "--time-limit=25"].map(str::to_owned).to_vec()),
        _ => Step::None,
    }
}

/// Settled jobs go by themselves in time; this is for those who cannot wait.
fn purge() -> Step {
    let statuses = ["delivered", "cancelled", "failed"];
    let entries = statuses.map(str::to_owned).to_vec();
    Step::Menu(Menu::new("Remove jobs that are", entries, move |n| {
        let status = statuses[n].to_owned();
        let text =
            format!("Remove jobs that are {status}, up to 1,000? They cannot be sent again.");
        Step::Confirm(Confirm::new(text, move || {
            get::<Purge>(&OfStatus { status }).then(|reply| {
                let removed = reply.data["removed"].as_u64().unwrap_or(0);
                let jobs = count(usize::try_from(removed).unwrap_or(0), "job");
                Step::did(format!("{jobs} removed"))
            })
        }))
    }))
}

/// Cells of the longest bar.
const LONGEST: usize = 24;
/// Seconds of delay behind which something is wrong.
const LATE_S: i64 = 60;

static ABOVE: Above = Above {
    title: "Queue and workers",
    asks: &[|| get::<Stats>(&NoQuery {}), || get::<Readyz>(&Default::default())],
    height: 5,
    lines,
};

fn lines(known: &[Json], _: i64) -> Lines {
    let (Some(stats), ready) = (known.first().filter(|stats| !stats.is_null()), known.get(1))
    else {
        return vec![loading()];
    };
    let of = |status: &str| stats["by_status"][status].as_i64().unwrap_or(0);
    let late = stats["oldest_due_ms"].as_i64().unwrap_or(0) / 1000;
    let most = ["pending", "retry", "sending"].map(of).into_iter().max().unwrap_or(0);
    let line = |status: &str, beside: String| {
        format!(
            "{status:<9}{:>9} {:<LONGEST$}  {beside}",
            number(of(status)),
            bar(of(status), most)
        )
    };
    let rest = format!("held {} · failed {}", number(of("held")), number(of("failed")));
    let done = format!("delivered {}", number(of("delivered")));
    let due = if late > 0 { format!("late by {}", moment::span(late)) } else { String::new() };
    let is_late = if late > LATE_S { Role::Bad } else { Role::Plain };
    vec![
        (is_late, line("pending", due)),
        (Role::Plain, line("retry", rest)),
        (Role::Plain, line("sending", done)),
        (Role::Plain, String::new()),
        worker(
            ready.map_or("", |ready| ready["worker"].as_str().unwrap_or("")),
            of("sending"),
            late,
        ),
    ]
}

/// Workers have no names: the queue tells what is under way, and a process whether it has one.
fn worker(here: &str, sending: i64, late: i64) -> (Role, String) {
    let (role, say) = match here {
        "running" => (Role::Good, "● a worker runs in the process that answers"),
        _ if sending > 0 => (Role::Good, "● a worker of another process is sending"),
        _ if late > LATE_S => (Role::Bad, "✗ nobody sends what is due"),
        _ => (Role::Quiet, "○ none in the process that answers; others show when they send"),
    };
    (role, format!("{say} · D runs one pass"))
}

/// A bar in eighths of a cell.
fn bar(value: i64, most: i64) -> String {
    let eighths = (value * 8 * LONGEST as i64).checked_div(most).unwrap_or(0);
    let eighths = usize::try_from(eighths).unwrap_or(0).max(usize::from(value > 0));
    let part = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    format!("{}{part}", "█".repeat(eighths / 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_share_one_scale_and_a_late_queue_is_told() {
        assert_eq!(bar(10, 10).chars().count(), LONGEST);
        assert_eq!(
            (bar(0, 10).as_str(), bar(1, 100_000).as_str(), bar(0, 0).as_str()),
            ("", "▏", "")
        );
        let stats = |late| json!({"by_status": {"pending": 3}, "oldest_due_ms": late});
        let said = |late, worker: &str| lines(&[stats(late), json!({"worker": worker})], 0);
        assert_eq!(said(0, "none")[4].0, Role::Quiet);
        assert_eq!(said(61_000, "none")[4].0, Role::Bad);
        assert_eq!(said(61_000, "running")[4].0, Role::Good);
        assert!(said(61_000, "none")[0].1.contains("late by 61s"));
        assert_eq!(lines(&[], 0).len(), 1);
    }
}
