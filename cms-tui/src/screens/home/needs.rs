//! The looks that find what needs a hand, each a pure reading of one reply.

use cms_http::wire::{auth, health, inbox, keys, mail, parameters, plugins, tasks, webhooks};
use serde_json::{Value as Json, json};

use crate::{
    actions::find,
    calls::{Fault, Reply},
    moment,
    screens::{acts::name, webhooks::tripped},
    step::{Calling, get},
    text::{count, number, safe},
    widgets::window::Row,
};

/// One look.
pub(super) struct Need {
    /// The screen that it is about: whoever may not open that is not asked for.
    noun: &'static str,
    pub(super) ask: fn(i64) -> Result<Calling, Fault>,
    pub(super) read: fn(&Reply, i64) -> Vec<Row>,
}

impl Need {
    pub(super) fn may_be_asked(&self, rights: Option<&[String]>) -> bool {
        find(&format!("go.{}", self.noun)).is_some_and(|go| go.right.is_held(rights))
    }
}

pub(super) static LOOKS: [Need; 10] = [
    Need {
        noun: "webhooks",
        ask: |_| get::<webhooks::Read>(&list()),
        read: |reply, now| hooks(&reply.data, now),
    },
    Need {
        noun: "queue",
        ask: |_| get::<webhooks::Stats>(&parameters::NoQuery {}),
        read: |reply, now| depth(&reply.data, now),
    },
    Need {
        noun: "keys",
        ask: |_| get::<keys::Read>(&list()),
        read: |reply, now| ending(&reply.data, now),
    },
    Need {
        noun: "attempts",
        ask: |_| get::<auth::ListAttempts>(&parameters::Listing::default()),
        read: |reply, now| locked(&reply.data, now),
    },
    Need {
        noun: "plugins",
        ask: |_| get::<plugins::Read>(&plugins::WhichPlugins::default()),
        read: |reply, now| faulty(&reply.data, now),
    },
    Need {
        noun: "system",
        ask: |_| get::<health::Readyz>(&Default::default()),
        read: |reply, now| ready(&reply.data, now),
    },
    Need { noun: "inbox", ask: |_| get::<inbox::Submissions>(&one()), read: |reply, _| new(reply) },
    Need { noun: "inbox", ask: |_| unassigned(), read: |reply, _| for_nobody(reply) },
    Need { noun: "mail", ask: given_up, read: |reply, _| unsent(reply) },
    Need {
        noun: "tasks",
        ask: |_| get::<tasks::Read>(&parameters::Listing::default()),
        read: |reply, _| ended_badly(&reply.data),
    },
];

/// The first page tells how many there are in each state.
fn one() -> inbox::InboxAsked {
    inbox::InboxAsked { limit: Some("1".to_owned()), ..Default::default() }
}

fn unassigned() -> Result<Calling, Fault> {
    let filters = [("filter[inbox_status][eq]", "new"), ("filter[assigned_to][null]", "true")];
    let filters = filters.map(|(name, value)| (name.to_owned(), value.to_owned()));
    get::<inbox::Submissions>(&inbox::InboxAsked { filters: filters.into(), ..one() })
}

/// Mails that were given up longer ago are history.
const MAIL_DAYS: i64 = 7;
/// More of them are not counted.
const MOST_MAILS: u32 = 50;

fn given_up(now: i64) -> Result<Calling, Fault> {
    get::<mail::Log>(&mail::WhichMails {
        status: Some(mail::MailStatus::Failed),
        since: Some(parameters::Moment(now - MAIL_DAYS * 86_400_000)),
        limit: parameters::Limit(MOST_MAILS),
        ..Default::default()
    })
}

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

/// How many are new, in words; none when there are none.
fn counted(reply: &Reply) -> Option<String> {
    match &reply.counts["new"] {
        Json::String(many) => Some(format!("{many} new submissions")),
        found => match usize::try_from(found.as_i64()?).ok()? {
            0 => None,
            found => Some(count(found, "new submission")),
        },
    }
}

fn new(reply: &Reply) -> Vec<Row> {
    let told = counted(reply).map(|many| {
        row("new".into(), 3, "work", &format!("{many} in the inbox"), "inbox", "state:new")
    });
    told.into_iter().collect()
}

fn for_nobody(reply: &Reply) -> Vec<Row> {
    let told = counted(reply).map(|many| {
        let say = format!("{many} assigned to nobody");
        row("unassigned".into(), 4, "work", &say, "inbox", "state:new @nobody")
    });
    told.into_iter().collect()
}

fn unsent(reply: &Reply) -> Vec<Row> {
    let found = rows(&reply.data).count();
    if found == 0 {
        return Vec::new();
    }
    let (more, were) = match (&reply.next, found) {
        (Some(_), _) => ("more than ", "were"),
        (None, 1) => ("", "was"),
        _ => ("", "were"),
    };
    let say = format!("{more}{} {were} given up within {MAIL_DAYS} days", count(found, "mail"));
    let filter = format!("status:failed since:{MAIL_DAYS}d");
    vec![row("mails".into(), 2, "bad", &say, "mail", &filter)]
}

/// Tasks whose last run failed.
fn ended_badly(data: &Json) -> Vec<Row> {
    let told = rows(data).filter_map(|task| {
        let run = &task["last_run"];
        let failed = run["outcome"].as_str().filter(|one| matches!(*one, "failed" | "lost"))?;
        let text = |of: &Json| of.as_str().unwrap_or_default().to_owned();
        let (plugin, task) = (text(&task["plugin"]), text(&task["name"]));
        let why = run["error"].as_str().map(|why| format!(": {why}")).unwrap_or_default();
        let say = match failed {
            "lost" => format!("Task {task} of {plugin} was broken off{why}"),
            _ => format!("Task {task} of {plugin} failed{why}"),
        };
        Some(row(format!("run {plugin}/{task}"), 2, "bad", &say, "tasks", ""))
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

    #[test]
    fn what_there_is_to_do_is_told_with_its_list() {
        let told = |rows: Vec<Row>| -> Vec<String> {
            let text = |name: &str, row: &Row| row.json[name].as_str().unwrap_or("?").to_owned();
            let all = ["say", "go", "filter", "at"];
            rows.iter().map(|row| all.map(|name| text(name, row)).join(" | ")).collect()
        };
        let counts = |new: Json| Reply { counts: json!({"new": new}), ..Reply::default() };
        assert_eq!(
            told(new(&counts(json!(128)))),
            ["128 new submissions in the inbox | inbox | state:new | "]
        );
        assert_eq!(
            told(for_nobody(&counts(json!("10k+")))),
            ["10k+ new submissions assigned to nobody | inbox | state:new @nobody | "]
        );
        for none in [json!(0), Json::Null] {
            assert!(new(&counts(none.clone())).is_empty() && for_nobody(&counts(none)).is_empty());
        }
        let mails = |data: Json, next: Option<&str>| {
            told(unsent(&Reply { data, next: next.map(str::to_owned), ..Reply::default() }))
        };
        let list = " | mail | status:failed since:7d | ";
        let one = mails(json!([{"id": 1}]), None);
        assert_eq!(one, [format!("1 mail was given up within 7 days{list}")]);
        let many = mails(json!([{"id": 2}, {"id": 1}]), Some("next"));
        assert_eq!(many, [format!("more than 2 mails were given up within 7 days{list}")]);
        assert!(mails(json!([]), None).is_empty());
        let run = |outcome: &str| json!({"outcome": outcome, "error": "exit status 1"});
        let tasks = json!([
            {"plugin": "shop", "name": "sync", "last_run": run("failed")},
            {"plugin": "shop", "name": "stock", "last_run": {"outcome": "lost", "error": null}},
            {"plugin": "shop", "name": "prices", "last_run": run("done")},
            {"plugin": "shop", "name": "new", "last_run": null},
        ]);
        assert_eq!(
            told(ended_badly(&tasks)),
            [
                "Task sync of shop failed: exit status 1 | tasks |  | shop/sync",
                "Task stock of shop was broken off | tasks |  | shop/stock",
            ]
        );
    }

    #[test]
    fn only_what_the_user_may_see_is_asked_for() {
        let asked = |rights: Option<&[String]>| -> Vec<&str> {
            LOOKS.iter().filter(|one| one.may_be_asked(rights)).map(|one| one.noun).collect()
        };
        assert_eq!(asked(None).len(), LOOKS.len());
        let held = ["formfunnel_inbox_view".to_owned()];
        assert_eq!(asked(Some(&held)), ["plugins", "system", "inbox", "inbox"]);
    }
}
