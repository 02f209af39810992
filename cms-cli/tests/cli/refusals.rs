//! Exit codes and messages of failures.

use std::process::{Command, Stdio};

use serde_json::Value as Json;

use crate::{
    support::{cms, cms_env, cms_with, command, finish, has, site},
    untouched::sql,
};

#[test]
fn a_wrong_command_line_is_a_document_with_json() {
    let dir = tempfile::tempdir().expect("a folder");
    for args in ["items list --json", "--json nonsense"] {
        let told = cms(dir.path(), args).fails(2).err;
        let document: Json = serde_json::from_str(&told).expect("a document");
        assert_eq!((&document["error"], &document["exit"]), (&"usage".into(), &2.into()));
        assert!(!told.contains("Usage:") && !told.contains("error: "), "{told}");
    }
    let told = cms(dir.path(), "keys --json").fails(2).err;
    assert!(told.contains("requires a subcommand"), "{told}");
}

#[test]
fn a_site_that_does_not_answer_is_left_in_time() {
    let dir = tempfile::tempdir().expect("a folder");
    let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", silent.local_addr().expect("an address"));
    let line = format!("api GET /api/pages --timeout 1s --url {url}");
    cms_env(dir.path(), &line, &[("CMS_API_KEY", "cms_k1_any")])
        .fails(7)
        .tells("did not answer within 1s");
}

#[test]
fn every_refusal_has_its_exit_code() {
    let dir = site();
    let at = dir.path();
    cms_with(at, "items create notes -", r#"{"id": 1, "text": "a"}"#).ok();
    let table = [
        ("nonsense", 2),
        ("items list", 2),
        ("items list notes --where x", 2),
        ("items list notes --where x=1", 1),
        ("items list nothing", 5),
        ("items get notes 9", 5),
        ("keys show 9", 5),
        ("keys create --name x --right 'GET /nowhere'", 1),
        ("keys create --name x --right nonsense", 2),
        ("keys create --name x --expires 2030-13-01", 2),
        ("keys expire 1 --on tomorrow", 2),
        ("limits reset x", 2),
        ("limits show key:x", 2),
        ("queue list --status faild", 2),
        ("queue purge --status held --yes", 2),
        ("items delete notes 1", 2),
        ("items delete notes 1 --no-input", 2),
        ("config get lisen", 5),
        ("webhooks create --name x --url https://example.org --event no", 1),
        ("db backup x.cms --recipient age1nonsense", 2),
        ("db restore x.cms --identity /no/such/file", 5),
        ("db restore /no/such/file", 5),
        ("db restore /", 1),
        ("tui", 2),
        ("serve --listen nope", 2),
        ("serve --no-scheduler --listen 127.0.0.1", 2),
        ("init --url http://127.0.0.1:1", 2),
        ("keys list --url http://127.0.0.1:1", 4),
        ("keys list --url ftp://x --key-file /dev/null", 2),
        ("keys list --key-file /no/such/file --url http://127.0.0.1:1", 1),
    ];
    for (args, code) in table {
        let run = cms(at, args).fails(code);
        assert!(run.out.is_empty(), "{args:?}: {run:?}");
        assert!(!run.err.is_empty(), "{args:?}");
    }
    let away = "keys list --url http://127.0.0.1:1";
    cms_env(at, away, &[("CMS_API_KEY", "cms_k1_x")]).fails(7);
    cms_with(at, "items create notes -", r#"{"id": 1}"#).fails(6);
    let update = r#"items update notes 1 - --if-match "old""#;
    cms_with(at, update, r#"{"text": "b"}"#).fails(6);
    let none = tempfile::tempdir().expect("a folder");
    for command in ["keys list", "items list blog", "migrate status", "db check"] {
        cms(none.path(), command).fails(7).tells("cms init");
    }
    assert!(!none.path().join("data").exists(), "no database is made in a wrong folder");
}

#[test]
fn command_line_service_and_document_know_the_same_states_of_jobs() {
    let (dir, states) = (site(), "pending, sending, retry, delivered, failed, held, cancelled");
    cms(dir.path(), "queue list --status faild").fails(2).tells(&format!("values: {states}]"));
    let ask = "api GET /api/backend/webhooks/queue?status=faild";
    cms(dir.path(), ask).fails(1).tells(&format!("only {states}."));
    let pattern = format!("^({})$", states.replace(", ", "|"));
    assert!(cms(dir.path(), "api GET /api/openapi.json").ok().contains(&pattern));
}

#[test]
fn a_backup_says_what_is_wrong_and_repeats_no_private_key() {
    let dir = site();
    let secret = "AGE-SECRET-KEY-1QQPQQQSYQCYQ5RQWZQFPG9SCRGWPUGPZYSNZS23V9CCRYDPK8QAQVQS9PV";
    for key in [secret, &secret.to_lowercase(), "sesame"] {
        let run = cms(dir.path(), &format!("db backup x.cms --recipient {key}")).fails(2);
        let is_told = run.err.contains("begins with age1") && !run.err.contains(key);
        assert!(is_told, "{run:?}");
    }
    let folder = dir.path().display().to_string();
    let run = cms(dir.path(), &format!("db restore {folder} --yes")).fails(1);
    assert!(run.err.contains("is a folder") && !run.err.contains("damaged"), "{run:?}");
    for file in ["data/cms.db", "cms.toml", "cms.local.toml", "plugins/x.cms"] {
        let file = dir.path().join(file).display().to_string();
        for more in ["", "--yes"] {
            let run = cms(dir.path(), &format!("db backup {file} {more}")).fails(2);
            assert!(run.err.contains("name ") && !run.err.contains("--yes"), "{run:?}");
        }
    }
    cms(dir.path(), "keys list").ok();
}

#[test]
fn with_json_the_error_is_the_problem_document() {
    let dir = site();
    let run = cms(dir.path(), "items get notes 9 --json").fails(5);
    let document: Json = serde_json::from_str(&run.err).expect("JSON");
    let expected = [("/error", "not_found".into()), ("/status", 404.into()), ("/exit", 5.into())];
    has(&document, expected);
    assert!(run.out.is_empty());
    let run = cms(dir.path(), "items delete notes 9 --json").fails(2);
    let document: Json = serde_json::from_str(&run.err).expect("JSON");
    has(&document, [("/error", "usage".into()), ("/hint", "the same with --yes".into())]);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let dir = site();
    let rows: Vec<String> =
        (0..400).map(|n| format!("{{\"text\":\"{}\",\"n\":{n}}}", "x".repeat(400))).collect();
    cms_with(dir.path(), "items import notes - --format jsonl", &rows.join("\n")).ok();
    for args in [
        &["items", "list", "notes", "--all"][..],
        &["items", "export", "notes"],
        &["items", "list", "notes", "--all", "--json"],
    ] {
        let mut child = command(dir.path()).args(args).stdout(Stdio::piped()).spawn().expect("cms");
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("ended");
        assert_eq!(
            (output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()),
            (Some(0), ""),
            "{args:?}"
        );
    }
}

#[test]
fn no_colour_in_pipes_unless_it_is_asked_for() {
    let dir = tempfile::tempdir().expect("a folder");
    assert!(!cms(dir.path(), "keys list").err.contains('\u{1b}'));
    assert!(cms(dir.path(), "keys list --color always").err.contains('\u{1b}'));
}

#[test]
fn a_fault_of_the_own_site_is_told_with_its_cause_and_request() {
    let dir = site();
    sql(dir.path(), "alter table cms_audit rename to elsewhere");
    let run = cms(dir.path(), "audit list").fails(1);
    assert!(run.err.contains("no such table: cms_audit"), "{run:?}");
    assert!(run.err.lines().any(|line| line.trim().starts_with("request ")), "{run:?}");
    let run = cms(dir.path(), "audit list --json").fails(1);
    let document: Json = serde_json::from_str(&run.err).expect("JSON");
    assert!(document["cause"].as_str().is_some_and(|c| c.contains("cms_audit")), "{document}");
    assert_eq!(document["request_id"].as_str().map(str::len), Some(24), "{document}");
}

#[test]
fn a_database_that_refuses_is_told_at_once() {
    let dir = site();
    let started = std::time::Instant::now();
    let away = [("CMS_DATABASE_URL", "postgres://127.0.0.1:1/d")];
    cms_env(dir.path(), "keys list", &away).fails(7).tells("onnection refused").tells("cms doctor");
    assert!(started.elapsed().as_secs() < 5, "{:?}", started.elapsed());
    let run = cms_env(dir.path(), "keys list --json", &away).fails(7);
    let document: Json = serde_json::from_str(&run.err).expect("JSON");
    assert!(document["cause"].as_str().is_some_and(|c| c.contains("refused")), "{document}");
}

/// `script` gives the command a terminal.
#[test]
fn a_password_is_refused_before_it_is_asked_for_again() {
    let dir = site();
    let plain = command(dir.path());
    for (typed, said) in [("short", "8 characters or more"), ("it is ana!", "the user's name")] {
        let mut terminal = Command::new("script");
        terminal
            .args(["-qec", &format!("{} init --admin ana", env!("CARGO_BIN_EXE_cms")), "/dev/null"])
            .envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let run = finish(terminal, Some(&format!("{typed}\n{typed}\n"))).fails(1);
        assert!(run.out.contains(said) && !run.out.contains("Again"), "{run:?}");
    }
}
