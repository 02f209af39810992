//! What can be done with webhooks.

use cms_http::wire::{
    keys::Grace,
    webhooks::{Activate, Activation, Delete, Held, Ping, Rotate, Update},
};

use super::{
    WEBHOOK,
    edit::{self, secret_shown},
    tripped,
};
use crate::screens::prelude::*;

pub(super) fn act(verb: &str, scene: &Scene<'_>) -> Step {
    let row = scene.row.cloned().unwrap_or_default();
    match verb {
        "new" => edit::begin(None),
        "edit" => edit::begin(Some(row)),
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
