//! Webhooks: subscriptions to events.

mod edit;

use cms_http::wire::{
    keys::Grace,
    webhooks::{Activate, Activation, Delete, Held, Ping, Read, Rotate, Update},
};

use self::edit::secret_shown;
use super::{acts::Kind, prelude::*};

pub(crate) static SPEC: Spec = Spec {
    preview,
    open: Some(|row, _| Step::Open(Place::about("deliveries", row))),
    empty: "No webhooks. n makes one.",
    sorts: sorted::<Read>,
    ..Spec::new("webhooks", |_| "Webhooks".to_owned(), columns, listed::<Read>, act)
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

fn act(verb: &str, scene: &Scene<'_>) -> Step {
    let row = scene.row.cloned().unwrap_or_default();
    match verb {
        "new" => edit::begin(None),
        // A list cuts long texts, and the form sends texts back.
        "edit" => (WEBHOOK.again)(&row).then(|reply| edit::begin(Some(reply.data))),
        "deliveries" => Step::Open(Place::about("deliveries", &row)),
        "queue" => Step::Open(Place::of("queue").filtered(format!("webhook:{}", acts::id(&row)))),
        "show" => (WEBHOOK.again)(&row).view(name(&row)),
        "ping" => get_ping(row),
        "rotate" => rotate(row),
        "activate" => activate(row),
        "toggle" => toggle(scene),
        "explain" => edit::explain(),
        "delete" => {
            let cost = "Its queued jobs are removed; its past deliveries stay for a time.";
            acts::delete::<Delete>(&WEBHOOK, &row, cost)
        }
        _ => Step::None,
    }
}

fn get_ping(row: Json) -> Step {
    let call = get::<Ping>(&by_id(&row)).then(move |reply| pinged(&name(&row), &reply));
    Step::Several(vec![Step::tell("Sending a test …"), call])
}

fn pinged(name: &str, reply: &Reply) -> Step {
    let data = &reply.data;
    let ms = data["duration_ms"].as_i64().unwrap_or(0);
    let code = data["response_code"].as_i64().map_or(String::new(), |code| format!(" {code}"));
    if data["status"] == "delivered" {
        return Step::did(format!("Test to {name}: ✓{code} in {ms} ms"));
    }
    let why = data["error_message"].as_str().or(data["status"].as_str()).unwrap_or("failed");
    let why = safe(why);
    let mut lines = vec![(Role::Bad, format!("✗{code} after {ms} ms: {why}"))];
    if let Some(response) = data["response"].as_str() {
        lines.push((Role::Plain, String::new()));
        lines.extend(Viewer::text("", response).lines);
    }
    let say = format!("Test to {name} failed");
    // Nothing else replaces what is said while the test is under way.
    Step::Several(vec![Step::Tell(format!("{say}.")), Step::View(Viewer::new(say, lines))])
}

/// A new secret, shown once; the old one may sign beside it for a while.
fn rotate(row: Json) -> Step {
    let title = format!("New secret for {}", name(&row));
    let cost = format!(
        "End the old secret of {} at once? Receivers that know only it refuse the next delivery.",
        name(&row)
    );
    acts::rotate(title, cost, move |grace_s| {
        send::<Rotate>(&by_id(&row), &Grace { grace_s })
            .then(move |reply| secret_shown(&name(&row), "has a new secret", &reply))
    })
}

/// One that tripped has held jobs, and only its owner knows what to do with them.
fn toggle(scene: &Scene<'_>) -> Step {
    let rows = scene.rows();
    let tripped: Vec<_> = rows.iter().filter(|row| tripped(row).is_some()).collect();
    match (tripped.first(), rows.len()) {
        (None, _) => acts::toggle::<Update>(scene, &WEBHOOK),
        (Some(row), 1) => activate((**row).clone()),
        (Some(row), _) => Step::Tell(format!(
            "{} was switched off after failures. Switch such webhooks on one at a time with A, \
             which asks about the held jobs.",
            name(row)
        )),
    }
}

/// The breaker was right to trip, or the receiver is well again: its jobs wait for a decision.
fn activate(row: Json) -> Step {
    let entries = ["send the held jobs now", "drop the held jobs"].map(str::to_owned).to_vec();
    let title = format!("Switch {} on and", name(&row));
    Step::Menu(Menu::new(title, entries, move |n| {
        let (held, said) = if n == 0 { (Held::Replay, "sent") } else { (Held::Drop, "dropped") };
        send::<Activate>(&by_id(&row), &Activation { held }).then(move |reply| {
            let held = reply.data["held"].as_i64().unwrap_or(0);
            let jobs = count(usize::try_from(held).unwrap_or(0), "held job");
            Step::did(format!("{} is on; {jobs} {said}", name(&row)))
        })
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::To;

    #[test]
    fn texts_are_edited_whole() {
        let row = json!({"id": 7, "name": "shop", "url": "https://… (1 KB)", "max_retries": 5});
        let next = |step: Step, line: &str, data: Json| {
            let Step::Call(Calling { ask, to: To::Next(next), .. }) = step else {
                panic!("no call of {line}")
            };
            assert!(ask.line().starts_with(line), "{}", ask.line());
            next(Ok(Reply { data, ..Reply::default() }))
        };
        let step = act("edit", &Scene { row: Some(&row), ..Scene::default() });
        let mut whole = row.clone();
        whole["url"] = "https://shop.example/in".into();
        let step = next(step, "GET /api/backend/webhooks?id=7", whole);
        let Step::Form(form) = next(step, "GET /api/backend/webhooks/events", json!([])) else {
            panic!("no form")
        };
        assert_eq!(form.fields[1].value(), Ok("https://shop.example/in".into()));
    }

    #[test]
    fn a_test_that_failed_is_told_too() {
        let data = json!({"status": "failed", "error_message": "refused", "duration_ms": 3});
        let step = pinged("shop", &Reply { data, ..Reply::default() });
        let Step::Several(steps) = step else { panic!("one step") };
        assert!(matches!(&steps[0], Step::Tell(said) if said == "Test to shop failed."));
        assert!(matches!(steps[1], Step::View(_)));
    }

    #[test]
    fn held_jobs_of_a_tripped_webhook_are_asked_about() {
        let tripped = json!({"id": 1, "name": "a", "active": false, "disabled_reason": "10"});
        let paused = json!({"id": 2, "name": "b", "active": false, "disabled_reason": "paused"});
        let scene = |row, marks| Scene { row: Some(row), marks, ..Scene::default() };
        assert!(matches!(act("toggle", &scene(&tripped, vec![])), Step::Menu(_)));
        assert!(matches!(act("toggle", &scene(&paused, vec![])), Step::Call(_)));
        let both = act("toggle", &scene(&paused, vec![&paused, &tripped]));
        assert!(matches!(both, Step::Tell(said) if said.starts_with("a was switched off")));
    }
}
