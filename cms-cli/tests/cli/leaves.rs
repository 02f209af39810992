//! Every command of the tree, with arguments: each has a help text, and prints only JSON with
//! `--json`.

use std::{collections::BTreeSet, path::Path};

use crate::support::{cms, cms_with, site};

/// A command, its arguments, and its standard input.
pub(crate) type Call = (&'static str, &'static [&'static str], &'static str);

/// Names and help texts of the commands below `path`.
fn below(dir: &Path, path: &[String]) -> Vec<(String, String)> {
    let mut args: Vec<&str> = path.iter().map(String::as_str).collect();
    args.push("--help");
    let help = cms(dir, &args).ok();
    let Some((_, commands)) = help.split_once("\nCommands:\n") else { return Vec::new() };
    let lines = commands.lines().take_while(|line| !line.is_empty());
    // A line with a deeper indent continues the line before.
    let lines = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let split = |line: &str| {
        let (name, about) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        (name.to_owned(), about.trim().to_owned())
    };
    lines.map(split).filter(|(name, _)| name != "help").collect()
}

fn collect(dir: &Path, path: &[String], found: &mut BTreeSet<String>) {
    let commands = below(dir, path);
    if commands.is_empty() {
        found.insert(path.join(" "));
    }
    for (name, about) in commands {
        assert!(!about.is_empty(), "{path:?} {name} has no help text");
        collect(dir, &[path, &[name]].concat(), found);
    }
}

/// The commands of the tree that `cms --help` shows.
pub(crate) fn tree(dir: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    collect(dir, &[], &mut found);
    found
}

/// A funnel that can be published.
pub(crate) const FUNNEL: &str = r#"{
    "name": "Good", "slug": "good", "start_node_id": -1,
    "nodes": [
        {"client_id": -1, "type": "step", "name": "Who", "config_json": {
            "fields": [{"id": "mail", "type": "email"}]}},
        {"client_id": -2, "type": "end", "name": "Thanks"}
    ],
    "edges": [{"from_node_id": -1, "to_node_id": -2}],
    "email_routings": [{"recipients": "{{ mail }}", "subject": "Hello"}]
}"#;

/// A page in two languages.
pub(crate) const PAGES: &str = r#"[
    {"id": 1, "base_id": 1, "language_short": "en", "url_rewrite": "/", "title": "Home",
     "view": "home"},
    {"id": 2, "base_id": 1, "language_short": "de", "url_rewrite": "/de", "title": "Start"}
]"#;

/// Commands that end well on a site with the table `notes`, in this order.
pub(crate) const ORDINARY: &[Call] = &[
    ("init", &[], ""),
    ("api", &["GET", "/api/pages"], ""),
    ("items create", &["notes", "-"], r#"{"text": "a"}"#),
    ("items list", &["notes"], ""),
    ("items get", &["notes", "1"], ""),
    ("items update", &["notes", "1", "-"], r#"{"n": 1}"#),
    ("items import", &["notes", "-", "--format", "jsonl"], "{\"text\":\"x\"}\n"),
    ("items export", &["notes"], ""),
    ("items delete", &["notes", "1", "--yes"], ""),
    ("tables list", &[], ""),
    ("tables show", &["notes"], ""),
    ("redirects create", &["--from", "/old/*", "--to", "/new/*", "--status", "308"], ""),
    ("redirects list", &["--where", "active=true"], ""),
    ("redirects show", &["1"], ""),
    ("redirects edit", &["1", "--to", "", "--status", "410"], ""),
    ("redirects delete", &["1", "--yes"], ""),
    ("keys create", &["--name", "k", "--right", "GET /api/pages"], ""),
    ("keys list", &[], ""),
    ("keys show", &["1"], ""),
    ("keys edit", &["1", "--name", "k2", "--expires-on", "2099-01-01"], ""),
    ("keys rotate", &["1", "--yes"], ""),
    ("keys enable", &["1"], ""),
    ("keys expire", &["1", "--never"], ""),
    ("keys rights", &["1", "--grant", "GET /api/menu"], ""),
    ("keys endpoints", &[], ""),
    ("keys check", &["1", "GET", "/api/pages"], ""),
    ("keys disable", &["1"], ""),
    ("keys delete", &["1", "--yes"], ""),
    ("forms create", &["-"], r#"{"name": "contact", "fields": [{"id": "mail", "type": "email"}]}"#),
    ("forms list", &[], ""),
    ("forms show", &["contact"], ""),
    ("forms edit", &["contact", "-"], r#"{"title": "Write to us"}"#),
    ("forms submissions list", &["contact"], ""),
    ("media list", &["--folder", "bills"], ""),
    ("widgets list", &[], ""),
    ("widgets show", &["gallery"], ""),
    ("widgets rebuild", &[], ""),
    ("media check", &[], ""),
    ("forms delete", &["contact", "--yes"], ""),
    ("items create", &["pages", "-"], PAGES),
    ("pages list", &[], ""),
    ("pages add", &["/", "row"], ""),
    ("pages add", &["/", "col", "--in", "1"], ""),
    ("widgets place", &["title", "home", "--col", "1", "--data", "-"], r#"{"title": "Hi"}"#),
    ("pages show", &["1"], ""),
    ("pages tree", &["/"], ""),
    ("pages edit", &["/", "widget", "1", "-"], r#"{"title": "Hello"}"#),
    ("pages move", &["/", "widget", "1", "--position", "0"], ""),
    ("pages diff", &["/"], ""),
    ("pages publish", &["/"], ""),
    ("pages revisions", &["/"], ""),
    ("pages restore", &["/", "1", "--yes"], ""),
    ("pages discard", &["/", "--yes"], ""),
    ("pages schedule", &["/", "--publish", "2999-12-24T06:00:00Z"], ""),
    ("pages link", &["/", "--ttl", "60", "--note", "agency"], ""),
    ("pages links", &["/"], ""),
    ("pages unlink", &["1", "--yes"], ""),
    ("pages copy", &["/", "/de"], ""),
    ("pages take-off", &["/", "--yes"], ""),
    ("pages remove", &["/", "widget", "1", "--yes"], ""),
    ("funnels create", &["Leads"], ""),
    ("funnels import", &["-"], FUNNEL),
    ("funnels apply", &["-"], FUNNEL),
    ("funnels list", &[], ""),
    ("funnels show", &["good"], ""),
    ("funnels edit", &["good", "-"], r#"{"funnel": {"name": "Better"}}"#),
    ("funnels check", &["good"], ""),
    ("funnels publish", &["good"], ""),
    ("funnels try", &["good"], ""),
    ("funnels archive", &["good", "--yes"], ""),
    ("funnels duplicate", &["good", "--slug", "copy"], ""),
    ("funnels export", &["good"], ""),
    ("funnels graph", &["good"], ""),
    ("funnels preview", &["good", "--answers", "-"], "{}"),
    ("funnels explain", &["--condition", "-"], r#"{"rules": []}"#),
    ("funnels test", &["good", "--answers", "-"], "{}"),
    ("funnels stats", &["good"], ""),
    ("funnels routing test", &["good", "--answers", "-"], "{}"),
    ("funnels routing list", &["good"], ""),
    ("funnels routing set", &["good", "-"], "[]"),
    ("funnels field-types", &[], ""),
    ("inbox list", &["--where", "inbox_status=new"], ""),
    ("inbox views save", &["New", "--where", "inbox_status=new"], ""),
    ("inbox views list", &[], ""),
    ("inbox set-status", &["rejected", "--where", "is_spam=true", "--expected", "0"], ""),
    ("inbox assign", &["nobody", "--where", "is_spam=true", "--expected", "0"], ""),
    ("inbox delete", &["--where", "is_spam=true", "--expected", "0", "--yes"], ""),
    ("inbox erase", &["nobody@example.org", "--yes"], ""),
    ("inbox users", &[], ""),
    ("inbox views delete", &["New"], ""),
    ("funnels delete", &["good", "--yes"], ""),
    ("audit list", &["--table", "notes", "--id", "1", "--actor", "operator"], ""),
    ("groups create", &["editors", "--right", "pages_pages_view"], ""),
    ("groups list", &[], ""),
    ("groups show", &["editors"], ""),
    ("groups rights", &["editors", "--grant", "pages_pages_edit"], ""),
    ("groups permissions", &[], ""),
    ("groups rename", &["editors", "writers"], ""),
    ("users create", &["ana", "--group", "writers", "--password-stdin"], "correct horse"),
    ("users list", &[], ""),
    ("users show", &["ana"], ""),
    ("users edit", &["ana", "--rename", "anna"], ""),
    ("users disable", &["anna"], ""),
    ("users enable", &["anna"], ""),
    ("users passwd", &["anna", "--password-stdin"], "another horse"),
    ("users sessions", &["anna"], ""),
    ("users 2fa-status", &["anna"], ""),
    ("users 2fa-codes", &["anna", "--yes"], ""),
    ("users 2fa-reset", &["anna", "--yes"], ""),
    ("users delete", &["anna", "--yes"], ""),
    ("groups delete", &["writers", "--yes"], ""),
    ("auth attempts", &[], ""),
    ("auth clear", &["--address", "203.0.113.7"], ""),
    ("auth audit", &[], ""),
    ("whoami", &[], ""),
    ("context add", &["there", "--url", "http://127.0.0.1:1"], ""),
    ("context list", &[], ""),
    ("context use", &["there"], ""),
    ("context show", &[], ""),
    ("logout", &["--context", "there"], ""),
    ("context remove", &["there"], ""),
    ("events list", &[], ""),
    ("events show", &["item.notes.created"], ""),
    ("events emit", &["order.created", "--data", "-"], r#"{"order": {"id": 7}}"#),
    (
        "webhooks create",
        &["--name", "w", "--url", "https://hooks.example.org/x", "--event", "item.*", "--inactive"],
        "",
    ),
    ("webhooks list", &[], ""),
    ("webhooks show", &["1"], ""),
    ("webhooks edit", &["1", "--name", "v"], ""),
    ("webhooks rotate-secret", &["1", "--yes"], ""),
    ("webhooks activate", &["1"], ""),
    ("webhooks pause", &["1"], ""),
    ("webhooks deliveries list", &["--since", "30m"], ""),
    (
        "webhooks explain",
        &["item.notes.created", "--data", "-"],
        r#"{"table": "notes", "id": 1, "language": null, "record": {}}"#,
    ),
    ("queue stats", &[], ""),
    ("queue list", &[], ""),
    ("queue purge", &["--status", "failed", "--yes"], ""),
    ("process-webhooks", &[], ""),
    ("webhooks delete", &["1", "--yes"], ""),
    ("origins add", &["https://app.example.org"], ""),
    ("origins list", &[], ""),
    ("origins deactivate", &["1"], ""),
    ("origins activate", &["https://app.example.org"], ""),
    ("origins check", &["https://app.example.org"], ""),
    ("origins remove", &["1", "--yes"], ""),
    ("cache status", &[], ""),
    ("cache off", &[], ""),
    ("cache on", &[], ""),
    ("cache ttl", &["60"], ""),
    ("cache exclude list", &[], ""),
    ("cache exclude add", &["/api/menu"], ""),
    ("cache exclude remove", &["/api/menu"], ""),
    ("cache clear", &[], ""),
    ("cache inspect", &["/api/pages"], ""),
    ("limits list", &[], ""),
    ("limits show", &[], ""),
    ("limits reset", &["key:1"], ""),
    ("config show", &[], ""),
    ("config get", &["listen"], ""),
    ("config path", &[], ""),
    ("config validate", &[], ""),
    ("migrate status", &[], ""),
    ("migrate up", &[], ""),
    ("db check", &["--deep"], ""),
    ("db shrink", &[], ""),
    ("doctor", &[], ""),
    ("status", &[], ""),
    ("version", &[], ""),
    ("completions", &["bash"], ""),
    ("exit-codes", &[], ""),
    ("mail providers", &[], ""),
    ("mail log", &["--since", "2d"], ""),
    ("tasks list", &[], ""),
    ("tasks history", &[], ""),
    ("plugins list", &[], ""),
    ("plugins show", &["notes"], ""),
    ("plugins diff", &[], ""),
    ("plugins apply", &["notes"], ""),
    ("plugins release", &["notes", "--yes"], ""),
    ("types typescript", &[], ""),
    ("plugins remove", &["notes", "--yes"], ""),
];

/// Commands that run forever, or need a running site, a terminal, a delivery or a secret.
pub(crate) const OTHERS: &[Call] = &[
    ("serve", &["--listen", "127.0.0.1:0"], ""),
    ("tui", &[], ""),
    ("login", &["--username", "ana", "--password-stdin"], "correct horse"),
    ("auth passwd", &["--password-stdin"], "correct horse\nanother horse"),
    ("auth recovery-codes", &["--password-stdin"], "correct horse"),
    ("auth sessions", &[], ""),
    ("db backup", &["/no/such/folder/site.cms"], ""),
    ("db restore", &["/no/such/file"], ""),
    ("theme env", &[], ""),
    ("db copy", &["--to", "postgres://127.0.0.1:1/nothing"], ""),
    ("theme safelist", &[], ""),
    ("update check", &[], ""),
    ("update download", &[], ""),
    ("update apply", &[], ""),
    ("update rollback", &[], ""),
    ("update serve", &["/no/such/folder"], ""),
    ("tasks run", &["nothing"], ""),
    ("mail test", &["ana@example.org"], ""),
    ("mail show", &["4711"], ""),
    ("mail retry", &["4711"], ""),
    ("mail sink", &["--count", "0"], ""),
    ("keys denied", &["4711"], ""),
    ("plugins check", &["/no/such/folder"], ""),
    ("plugins schema", &[], ""),
    ("plugins new", &["fresh"], ""),
    ("forms submissions show", &["1"], ""),
    ("forms submissions delete", &["1", "--yes"], ""),
    ("forms export", &["contact", "--since", "2h", "--until", "2999-01-01T00:00:00Z"], ""),
    ("media upload", &["/no/such/file"], ""),
    ("media show", &["1"], ""),
    ("media edit", &["1", "-"], "{}"),
    ("media uses", &["1"], ""),
    ("media delete", &["1", "--yes"], ""),
    ("inbox export", &["good"], ""),
    ("inbox show", &["1"], ""),
    ("inbox note", &["1", "called"], ""),
    ("inbox undo", &[], ""),
    ("inbox watch", &["--no-follow"], ""),
    ("webhooks ping", &["1"], ""),
    ("webhooks deliveries show", &["1"], ""),
    ("webhooks deliveries redeliver", &["1"], ""),
    ("events tail", &[], ""),
    ("events payload", &["1"], ""),
    ("webhooks listen", &["--secret-file", "/no/such/file"], ""),
    ("webhooks verify", &["-", "--secret-file", "/no/such/file"], "{}"),
    ("queue retry", &["1"], ""),
    ("queue cancel", &["1"], ""),
];

#[test]
fn every_leaf_prints_json() {
    let dir = site();
    let known: BTreeSet<String> =
        ORDINARY.iter().chain(OTHERS).map(|(leaf, ..)| (*leaf).to_owned()).collect();
    assert_eq!(tree(dir.path()), known);
    for (leaf, args, input) in ORDINARY {
        let args: Vec<&str> =
            leaf.split(' ').chain(args.iter().copied()).chain(["--json"]).collect();
        let json = cms_with(dir.path(), &args, input).json();
        assert!(!json["data"].is_null(), "{leaf}: {json}");
    }
}
