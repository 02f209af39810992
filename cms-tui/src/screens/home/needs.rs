//! The probes that find what needs attention. Each one is a pure function of one reply.

use cms_http::wire::{auth, health, inbox, keys, plugins, webhooks};

use Audience::{Admins, Everybody, Others};

use crate::{
    actions::find,
    screens::{prelude::*, webhooks::tripped},
};

/// The users that a probe is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Audience {
    /// Everybody who may open the screen.
    Everybody,
    /// Administrators, because the probe reads the site's own checks.
    Admins,
    /// Everybody else who may open the screen; administrators learn this from the checks.
    Others,
}

/// One probe.
pub(super) struct Probe {
    /// The screen that the probe is about. Users who may not open it do not get the probe.
    noun: &'static str,
    audience: Audience,
    pub(super) ask: fn() -> Result<Calling, Fault>,
    pub(super) read: fn(&Reply, i64) -> Vec<Row>,
}

impl Probe {
    /// Whether the probe is for such a user. `rights` are None for an administrator.
    pub(super) fn is_for(&self, rights: Option<&[String]>) -> bool {
        match self.audience {
            Everybody => true,
            Admins => rights.is_none(),
            Others => rights.is_some(),
        }
    }

    pub(super) fn is_allowed(&self, rights: Option<&[String]>) -> bool {
        self.is_for(rights)
            && find(&format!("go.{}", self.noun)).is_some_and(|go| go.right.is_held(rights))
    }
}

const fn probe(
    noun: &'static str,
    audience: Audience,
    ask: fn() -> Result<Calling, Fault>,
    read: fn(&Reply, i64) -> Vec<Row>,
) -> Probe {
    Probe { noun, audience, ask, read }
}

pub(super) static PROBES: [Probe; 9] = [
    probe("system", Admins, || get::<health::Status>(&NoQuery {}), check_rows),
    probe("webhooks", Others, || get::<webhooks::Read>(&list()), hooks),
    probe("queue", Others, || get::<webhooks::Stats>(&NoQuery {}), depth),
    probe("keys", Everybody, || get::<keys::Read>(&list()), ending),
    probe("attempts", Everybody, || get::<auth::ListAttempts>(&Listing::default()), locked),
    probe("plugins", Others, || get::<plugins::Read>(&Default::default()), faulty),
    probe("system", Others, || get::<health::Readyz>(&Default::default()), ready),
    probe("inbox", Everybody, || sent(&[]), new),
    probe("inbox", Everybody, unassigned, for_nobody),
];

/// Nobody needs to work on spam, on tests and on visits under way.
const SENT: [(&str, &str); 3] = [
    ("filter[is_spam][eq]", "false"),
    ("filter[is_test][eq]", "false"),
    ("filter[status][ne]", "in_progress"),
];
/// The same in words of the inbox.
const SENT_WORDS: &str = "spam:no test:no !visit:under-way";

/// The first page tells how many there are in each state.
fn sent(more: &[(&str, &str)]) -> Result<Calling, Fault> {
    let filters = SENT.iter().chain(more);
    let filters = filters.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let limit = Some("1".to_owned());
    get::<inbox::Submissions>(&inbox::InboxAsked { limit, filters, ..Default::default() })
}

fn unassigned() -> Result<Calling, Fault> {
    sent(&[("filter[inbox_status][eq]", "new"), ("filter[assigned_to][null]", "true")])
}

fn list() -> OneOrList {
    OneOrList::page(Limit(500), None)
}

fn row(id: String, rank: i64, role: &str, say: &str, go: &str, filter: &str) -> Row {
    let say = safe(say);
    // The subject is the row to go to: `webhook 3`.
    let at = id.split_once(' ').map_or("", |(_, at)| at).to_owned();
    let json = json!({
        "rank": rank, "role": role, "say": say, "go": go, "filter": filter, "at": at,
    });
    Row { id, json }
}

fn hooks(reply: &Reply, _: i64) -> Vec<Row> {
    let mut found = Vec::new();
    for hook in items(&reply.data) {
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

fn depth(reply: &Reply, _: i64) -> Vec<Row> {
    let of = |status: &str| reply.data["by_status"][status].as_i64().unwrap_or(0);
    let late = reply.data["oldest_due_ms"].as_i64().unwrap_or(0) / 1000;
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

/// How many days before its end a key is shown.
const SOON_DAYS: i64 = 14;

fn ending(reply: &Reply, now: i64) -> Vec<Row> {
    let (today, soon) = (moment::day(now), moment::day(now + SOON_DAYS * 86_400_000));
    let mut found = Vec::new();
    for key in items(&reply.data).iter().filter(|key| key["active"] == true) {
        let Some(day) = key["expires_on"].as_str() else { continue };
        let id = format!("key {}", key["id"]);
        // Whether today's have ended depends on the site's time zone, which nothing tells here.
        if day < today.as_str() {
            let say = format!("Key {} expired on {day}", name(key));
            found.push(row(id, 2, "bad", &say, "keys", ""));
        } else if day <= soon.as_str() {
            let say = format!("Key {} expires on {day}", name(key));
            found.push(row(id, 3, "warn", &say, "keys", ""));
        }
    }
    found
}

fn faulty(reply: &Reply, _: i64) -> Vec<Row> {
    let told = items(&reply.data).iter().filter_map(|plugin| {
        let problems = items(&plugin["problems"]).len();
        let id = plugin["id"].as_str().unwrap_or_default();
        let say = format!("Plugin {id} has {}", count(problems, "problem"));
        (problems > 0).then(|| row(format!("plugin {id}"), 1, "bad", &say, "plugins", ""))
    });
    told.collect()
}

fn locked(reply: &Reply, _: i64) -> Vec<Row> {
    let locked = items(&reply.data).iter().filter(|one| one["locked"] == true);
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

fn new(reply: &Reply, _: i64) -> Vec<Row> {
    let told = counted(reply).map(|many| {
        let filter = format!("state:new {SENT_WORDS}");
        row("new".into(), 3, "work", &format!("{many} in the inbox"), "inbox", &filter)
    });
    told.into_iter().collect()
}

fn for_nobody(reply: &Reply, _: i64) -> Vec<Row> {
    let told = counted(reply).map(|many| {
        let say = format!("{many} assigned to nobody");
        let filter = format!("state:new @nobody {SENT_WORDS}");
        row("unassigned".into(), 4, "work", &say, "inbox", &filter)
    });
    told.into_iter().collect()
}

/// What the site's own checks found.
fn check_rows(reply: &Reply, _: i64) -> Vec<Row> {
    let mut told: Vec<Row> = Vec::new();
    for finding in items(&reply.data["findings"]) {
        let text = |name: &str| finding[name].as_str().unwrap_or_default();
        let (rank, role) = match text("level") {
            "error" => (0, "bad"),
            "warning" => (1, "warn"),
            _ => continue,
        };
        let (check, about) = (text("check"), text("about"));
        let (go, filter) = match (check, about) {
            ("webhooks", _) => ("webhooks", ""),
            ("queue", "late") => ("queue", "status:pending"),
            ("queue", "held") => ("queue", "status:held"),
            ("queue", _) => ("queue", "status:failed"),
            ("mail", "failed") => ("mail", "status:failed since:7d"),
            ("mail", _) => ("mail", ""),
            ("tasks", _) => ("tasks", ""),
            ("plugin" | "plugin_folders", _) => ("plugins", ""),
            ("administrators", _) => ("users", ""),
            _ => ("system", ""),
        };
        // Some name what is wrong, others only what was found.
        let say = match go {
            "system" => format!("{}: {}", check.replace('_', " "), text("found")),
            _ => text("found").to_owned(),
        };
        // The id names the subject, so that the cursor stays there when rows come and go.
        let mut id = format!("check:{check}:{about}");
        while told.iter().any(|row| row.id == id) {
            id.push('+');
        }
        let mut row = row(id, rank, role, &say, go, filter);
        // The row to go to.
        let named = matches!(go, "webhooks" | "tasks" | "plugins");
        row.json["at"] = if named { about.into() } else { "".into() };
        row.json["remedy"] = safe(text("remedy")).into();
        told.push(row);
    }
    told
}

/// Checks that concern everybody who works with the site.
const FOR_ALL: [&str; 4] = ["database_writable", "disk_space", "redis", "restarts"];

/// The rows for users who may not read the checks themselves.
fn ready(reply: &Reply, _: i64) -> Vec<Row> {
    let checks = reply.data["checks"].as_object().into_iter().flatten();
    let errors =
        checks.filter(|(check, level)| **level == "error" && FOR_ALL.contains(&check.as_str()));
    let told = errors.map(|(check, _)| {
        let say = format!("{} needs an administrator", check.replace('_', " "));
        row(format!("check:{check}"), 1, "warn", &say, "system", "")
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(data: Json) -> Reply {
        Reply { data, ..Reply::default() }
    }

    #[test]
    fn each_trouble_is_told_with_its_place() {
        let now = moment::millis("2026-11-21T12:00:00Z").expect("a time");
        let says = |rows: Vec<Row>| -> Vec<String> {
            let text = |row: Row| format!("{} → {}", row.json["say"], row.json["go"]);
            rows.into_iter().map(text).map(|text| text.replace('"', "")).collect()
        };
        let data = of(json!([
            {"id": 1, "name": "a", "active": false, "disabled_reason": "10 failures"},
            {"id": 2, "name": "b", "active": true, "failure_count": 3},
            {"id": 3, "name": "c", "active": true, "failure_count": 0},
            {"id": 4, "name": "d", "active": false, "disabled_reason": null},
            {"id": 5, "name": "e", "active": false, "disabled_reason": "paused"},
        ]));
        assert_eq!(hooks(&data, now)[0].json["at"], "1", "Enter leads to this webhook");
        assert_eq!(
            says(hooks(&data, now)),
            [
                "Webhook a was switched off: 10 failures → webhooks",
                "Webhook b fails: 3 of 10 in a row → webhooks"
            ]
        );
        let keys = of(json!([
            {"id": 1, "name": "a", "active": true, "expires_on": "2026-11-20"},
            {"id": 2, "name": "b", "active": true, "expires_on": "2026-12-05"},
            {"id": 3, "name": "c", "active": true, "expires_on": "2026-12-06"},
            {"id": 4, "name": "d", "active": false, "expires_on": "2026-01-01"},
            {"id": 5, "name": "e", "active": true, "expires_on": "2026-11-21"},
        ]));
        let told = says(ending(&keys, now));
        assert_eq!(
            told,
            [
                "Key a expired on 2026-11-20 → keys",
                "Key b expires on 2026-12-05 → keys",
                "Key e expires on 2026-11-21 → keys"
            ]
        );
        let queue = json!({"by_status": {"failed": 2}, "oldest_due_ms": 61_000});
        let depth = depth(&of(queue), now);
        assert_eq!(depth.len(), 2);
    }

    #[test]
    fn what_there_is_to_do_is_told_with_its_list() {
        let told = |rows: Vec<Row>| -> Vec<String> {
            let text = |name: &str, row: &Row| row.json[name].as_str().unwrap_or("?").to_owned();
            let all = ["say", "go", "filter", "at"];
            rows.iter().map(|row| all.map(|name| text(name, row)).join(" | ")).collect()
        };
        let words = SENT_WORDS;
        let counts = |new: Json| Reply { counts: json!({"new": new}), ..Reply::default() };
        assert_eq!(
            told(new(&counts(json!(128)), 0)),
            [format!("128 new submissions in the inbox | inbox | state:new {words} | ")]
        );
        assert_eq!(
            told(for_nobody(&counts(json!("10k+")), 0)),
            [format!(
                "10k+ new submissions assigned to nobody | inbox | state:new @nobody {words} | "
            )]
        );
        for none in [json!(0), Json::Null] {
            let reply = counts(none);
            assert!(new(&reply, 0).is_empty() && for_nobody(&reply, 0).is_empty());
        }
        let finding = |check: &str, level: &str, about: Json| {
            json!({
                "check": check, "level": level, "found": "it fails", "remedy": "`cms x`",
                "about": about,
            })
        };
        let findings = of(json!({"level": "error", "findings": [
            finding("webhooks", "error", json!("3")),
            finding("queue", "warning", json!("held")),
            finding("mail", "warning", json!("failed")),
            finding("tasks", "error", json!("shop/sync")),
            finding("plugin", "ok", json!(null)),
            finding("administrators", "warning", json!(null)),
            finding("database_writable", "error", json!(null)),
        ]}));
        assert_eq!(
            told(check_rows(&findings, 0)),
            [
                "it fails | webhooks |  | 3",
                "it fails | queue | status:held | ",
                "it fails | mail | status:failed since:7d | ",
                "it fails | tasks |  | shop/sync",
                "it fails | users |  | ",
                "database writable: it fails | system |  | ",
            ]
        );
        let checks =
            json!({"checks": {"disk_space": "error", "queue": "error", "redis": "warning"}});
        assert_eq!(
            told(ready(&of(checks), 0)),
            ["disk space needs an administrator | system |  | "]
        );
        assert!(ready(&of(json!({"checks": null})), 0).is_empty());
    }

    #[test]
    fn only_what_the_user_may_see_is_asked_for() {
        let asked = |rights: Option<&[String]>| -> Vec<&str> {
            PROBES.iter().filter(|one| one.is_allowed(rights)).map(|one| one.noun).collect()
        };
        assert_eq!(asked(None), ["system", "keys", "attempts", "inbox", "inbox"]);
        let held = ["formfunnel_inbox_view".to_owned()];
        assert_eq!(asked(Some(&held)), ["plugins", "system", "inbox", "inbox"]);
    }
}
