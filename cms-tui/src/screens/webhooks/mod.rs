//! Webhooks: subscriptions to events.

mod act;
mod edit;

use cms_http::wire::webhooks::Read;

use super::{acts::Kind, prelude::*};

pub(crate) static SPEC: Spec = Spec {
    preview,
    open: Some(|row, _| Step::Open(Place::about("deliveries", row))),
    empty: "No webhooks. n makes one.",
    sorts: |_| ["name", "url", "active", "failure_count", "created_at"].map(str::to_owned).to_vec(),
    ..Spec::new("webhooks", |_| "Webhooks".to_owned(), columns, listed::<Read>, act::act)
};

/// Members that follow the deliveries.
const HEALTH: &[&str] = &[
    "failure_count", "disabled_reason", "last_attempt_at", "last_status", "last_response_code",
    "waiting_jobs",
];

/// How webhooks are changed.
pub(crate) static WEBHOOK: Kind =
    Kind { unread: &["custom_headers"], ..Kind::new("webhook", acts::again::<Read>, HEALTH) };

fn columns(_: &Json) -> Vec<Column> {
    vec![
        column("NAME", "name", 0, plain),
        column("URL", "url", 0, plain),
        column("EVENTS", "events", 18, plain),
        column("STATE", "active", 10, state),
        column("FAILED", "failure_count", 6, failed),
    ]
}

/// Why the service switched it off; None when a user paused it.
pub(crate) fn tripped(row: &Json) -> Option<&str> {
    let reason = row["disabled_reason"].as_str().filter(|reason| *reason != "paused");
    reason.filter(|_| row["active"] == false)
}

fn state(row: &Json, _: &str, _: i64) -> Cell {
    let failed = row["failure_count"].as_i64().unwrap_or(0);
    let (text, role) = match (row["active"] == true, tripped(row).is_some()) {
        (true, _) if failed > 0 => ("◐ failing", Role::Warn),
        (true, _) => ("● active", Role::Good),
        (false, true) => ("✗ tripped", Role::Bad),
        (false, false) => ("○ paused", Role::Quiet),
    };
    (text.to_owned(), role)
}

/// Failures in a row; ten switch it off.
fn failed(row: &Json, name: &str, _: i64) -> Cell {
    let failed = row[name].as_i64().unwrap_or(0);
    let role = if failed > 0 { Role::Warn } else { Role::Quiet };
    (format!("{failed}/10"), role)
}

fn preview(row: &Json, _: Option<&Json>, _: &Json, now: i64) -> Lines {
    let mut lines = Vec::new();
    if let Some(reason) = tripped(row) {
        lines.extend(paragraph(Role::Bad, "✗ ", reason, 70));
        lines.push((Role::Key, "A switches it on again; d shows its attempts.".to_owned()));
        lines.push((Role::Plain, String::new()));
    }
    let names = [("URL", "url"), ("Created", "created_at")];
    lines.extend(members(row, &names, now));
    let retries = row["max_retries"].as_i64().unwrap_or(0);
    let waits = ["30 s", "2 min", "8 min", "32 min", "2 h"];
    let waits = waits[..waits.len().min(usize::try_from(retries).unwrap_or(0))].join(", ");
    lines.push((Role::Plain, format!("{:<12} {retries}: {waits}", "Retries")));
    let headers = row["custom_headers"].as_object().into_iter().flatten();
    for (name, value) in headers {
        let header = format!("{:<12} {name}: {}", "Header", plain_text(value));
        lines.push((Role::Plain, safe(&header).into_owned()));
    }
    lines.push((Role::Plain, "Events".to_owned()));
    let events = items(&row["events"]).iter();
    lines.extend(events.map(|event| (Role::Plain, format!("  {}", plain_text(event)))));
    let known = ["name", "active", "failure_count", "max_retries", "disabled_reason"];
    lines.extend(others(row, &names, &known, now));
    lines
}
