//! The looks that find what needs a hand, each a pure reading of one reply.

use cms_http::wire::{auth, health, keys, parameters, plugins, webhooks};
use serde_json::{Value as Json, json};

use crate::{
    calls::Fault,
    moment,
    screens::{acts::name, webhooks::tripped},
    step::{Calling, get},
    text::{count, number, safe},
    widgets::window::Row,
};

/// One look.
pub(super) struct Need {
    pub(super) ask: fn() -> Result<Calling, Fault>,
    pub(super) read: fn(&Json, i64) -> Vec<Row>,
}

pub(super) static LOOKS: [Need; 6] = [
    Need { ask: || get::<webhooks::Read>(&list()), read: hooks },
    Need { ask: || get::<webhooks::Stats>(&parameters::NoQuery {}), read: depth },
    Need { ask: || get::<keys::Read>(&list()), read: ending },
    Need { ask: || get::<auth::ListAttempts>(&parameters::Listing::default()), read: locked },
    Need { ask: || get::<plugins::Read>(&plugins::Asked::default()), read: faulty },
    Need { ask: || get::<health::Readyz>(&Default::default()), read: ready },
];

fn list() -> parameters::OneOrList {
    parameters::OneOrList { limit: parameters::Limit(500), ..Default::default() }
}

fn row(id: String, rank: i64, role: &str, say: &str, go: &str, filter: &str) -> Row {
    let say = safe(say);
    // What it is about is the row to go to: `webhook 3`.
    let at = id.split_once(' ').map_or("", |(_, at)| at).to_owned();
    let json = json!({
        "rank": rank, "role": role, "say": say, "go": go, "filter": filter, "at": at,
    });
    Row { id, json }
}

fn rows(data: &Json) -> impl Iterator<Item = &Json> {
    data.as_array().into_iter().flatten()
}

fn hooks(data: &Json, _: i64) -> Vec<Row> {
    let mut found = Vec::new();
    for hook in rows(data) {
        let id = format!("webhook {}", hook["id"]);
        let (name, failed) = (name(hook), hook["failure_count"].as_i64().unwrap_or(0));
        if let Some(why) = tripped(hook) {
            let say = format!("Webhook {name} was switched off: {why}");
            found.push(row(id, 0, "bad", &say, "webhooks", ""));
        } else if hook["active"] == true && failed > 0 {
            let say = format!("Webhook {name} fails: {failed} of 10 in a row");
            found.push(row(id, 1, "warn", &say, "webhooks", ""));
        }
    }
    found
}

fn depth(data: &Json, _: i64) -> Vec<Row> {
    let of = |status: &str| data["by_status"][status].as_i64().unwrap_or(0);
    let late = data["oldest_due_ms"].as_i64().unwrap_or(0) / 1000;
    let mut found = Vec::new();
    if of("failed") > 0 {
        let say = format!("{} jobs were given up after their last try", number(of("failed")));
        found.push(row("failed".into(), 2, "bad", &say, "queue", "status:failed"));
    }
    if of("held") > 0 {
        let say = format!("{} jobs are held until their webhook is on", number(of("held")));
        found.push(row("held".into(), 3, "warn", &say, "queue", "status:held"));
    }
    if late > 60 {
        let say = format!("The queue is late by {}: is a worker running?", moment::span(late));
        found.push(row("late".into(), 1, "bad", &say, "queue", "status:pending"));
    }
    found
}

/// Days before its end on which a key is told.
const SOON_DAYS: i64 = 14;

fn ending(data: &Json, now: i64) -> Vec<Row> {
    let (today, soon) = (moment::day(now), moment::day(now + SOON_DAYS * 86_400_000));
    let mut found = Vec::new();
    for key in rows(data).filter(|key| key["active"] == true) {
        let Some(day) = key["expires_on"].as_str() else { continue };
        let id = format!("key {}", key["id"]);
        if day <= today.as_str() {
            let say = format!("Key {} expired on {day}", name(key));
            found.push(row(id, 2, "bad", &say, "keys", ""));
        } else if day <= soon.as_str() {
            let say = format!("Key {} expires on {day}", name(key));
            found.push(row(id, 3, "warn", &say, "keys", ""));
        }
    }
    found
}

fn faulty(data: &Json, _: i64) -> Vec<Row> {
    let told = rows(data).filter_map(|plugin| {
        let problems = plugin["problems"].as_array().map_or(0, Vec::len);
        let id = plugin["id"].as_str().unwrap_or_default();
        let say = format!("Plugin {id} has {}", count(problems, "problem"));
        (problems > 0).then(|| row(format!("plugin {id}"), 1, "bad", &say, "plugins", ""))
    });
    told.collect()
}

fn locked(data: &Json, _: i64) -> Vec<Row> {
    let locked = rows(data).filter(|one| one["locked"] == true);
    let told = locked.map(|one| {
        let network = one["network"].as_str().unwrap_or_default();
        let say = format!("{network} is locked out after wrong logins");
        row(format!("network {network}"), 4, "warn", &say, "attempts", "")
    });
    told.collect()
}

fn ready(data: &Json, _: i64) -> Vec<Row> {
    let mut found = Vec::new();
    for (what, name) in [("limiter", "The limiter"), ("cache", "The cache")] {
        if data[what] == "redis_away" {
            let say = format!("{name} has lost Redis and works from memory");
            found.push(row(what.into(), 1, "warn", &say, "system", ""));
        }
    }
    let restarts = data["restarts"].as_object().into_iter().flatten();
    found.extend(restarts.map(|(task, times)| {
        let say = format!("Background task {task} failed and was started again {times} times");
        row(format!("task {task}"), 1, "bad", &say, "system", "")
    }));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_trouble_is_told_with_its_place() {
        let now = moment::millis("2026-11-21T12:00:00Z").expect("a time");
        let says = |rows: Vec<Row>| -> Vec<String> {
            let text = |row: Row| format!("{} → {}", row.json["say"], row.json["go"]);
            rows.into_iter().map(text).map(|text| text.replace('"', "")).collect()
        };
        let data = json!([
            {"id": 1, "name": "a", "active": false, "disabled_reason": "10 failures"},
            {"id": 2, "name": "b", "active": true, "failure_count": 3},
            {"id": 3, "name": "c", "active": true, "failure_count": 0},
            {"id": 4, "name": "d", "active": false, "disabled_reason": null},
            {"id": 5, "name": "e", "active": false, "disabled_reason": "paused"},
        ]);
        assert_eq!(hooks(&data, now)[0].json["at"], "1", "Enter leads to this webhook");
        assert_eq!(
            says(hooks(&data, now)),
            [
                "Webhook a was switched off: 10 failures → webhooks",
                "Webhook b fails: 3 of 10 in a row → webhooks"
            ]
        );
        let keys = json!([
            {"id": 1, "name": "a", "active": true, "expires_on": "2026-11-21"},
            {"id": 2, "name": "b", "active": true, "expires_on": "2026-12-05"},
            {"id": 3, "name": "c", "active": true, "expires_on": "2026-12-06"},
            {"id": 4, "name": "d", "active": false, "expires_on": "2026-01-01"},
        ]);
        let told = says(ending(&keys, now));
        assert_eq!(
            told,
            ["Key a expired on 2026-11-21 → keys", "Key b expires on 2026-12-05 → keys"]
        );
        let depth = depth(&json!({"by_status": {"failed": 2}, "oldest_due_ms": 61_000}), now);
        assert_eq!(depth.len(), 2);
    }
}
