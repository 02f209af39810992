//! The queue: jobs as they wait, are sent and fail.

mod workers;

use cms_http::wire::webhooks::{Cancel, OfStatus, Purge, Queue, Retry, Stats, WhichJobs};

use super::{cells::status, prelude::*};

pub(crate) static SPEC: Spec = Spec {
    above: Some(&workers::ABOVE),
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
