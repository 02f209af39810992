//! Mail with the real binary: a sink on this machine, a test mail, the log.

use std::path::Path;

use serde_json::Value as Json;

use crate::support::{Running, cms_env, command, site};

/// `cms mail sink`.
pub(crate) struct Sink {
    running: Running,
    pub(crate) url: String,
}

impl Sink {
    pub(crate) fn start(dir: &Path, args: &[&str]) -> Self {
        let mut command = command(dir);
        command.args(["mail", "sink", "--port", "0"]).args(args);
        let running = Running::start(command, "listening ");
        Self { url: running.address.clone(), running }
    }
}

#[test]
fn the_sink_shows_what_the_site_sends() {
    let dir = site();
    let mut sink = Sink::start(dir.path(), &["--count", "2", "--json"]);
    let from = ("CMS_MAIL__FROM", "Shop <shop@example.org>");
    let run =
        |args: &str| cms_env(dir.path(), args, &[from, ("CMS_MAIL__SMTP_URL", sink.url.as_str())]);
    let sent = run("mail test ana@example.com --json").json();
    assert_eq!(sent["data"]["status"], "sent");
    let told = run("mail test jörg@example.com --provider smtp");
    assert_eq!(told.code, 0, "{told:?}");
    assert!(told.err.contains("jörg@example.com was sent by smtp"), "{told:?}");
    let log = run("mail log --json").json();
    assert_eq!(log["data"].as_array().map(Vec::len), Some(2));
    let shown = run("mail show 1 --json").json();
    let doctor = run("doctor");
    assert!(doctor.out.contains("smtp, 0 waiting"), "{doctor:?}");
    let lines = sink.running.rest();
    let mails: Vec<Json> =
        lines.iter().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((mails.len(), sink.running.ended()), (2, Some(0)));
    assert_eq!(mails[0]["from"], "shop@example.org");
    assert_eq!(mails[0]["to"][0], "ana@example.com");
    assert_eq!(mails[0]["subject"], "Test mail from CMS");
    assert_eq!(mails[0]["message_id"], shown["data"]["message_id"]);
    assert_eq!(mails[1]["to"][0], "jörg@example.com");
}

#[test]
fn a_test_says_what_is_missing_and_who_failed() {
    let dir = site();
    let from = ("CMS_MAIL__FROM", "shop@example.org");
    let nobody = ("CMS_MAIL__SMTP_URL", "smtp://127.0.0.1:1");
    for (variables, said) in [
        (&[][..], "set mail.from"),
        (&[from][..], "set mail.smtp_url"),
        (&[from, nobody][..], "refused"),
    ] {
        let run = cms_env(dir.path(), "mail test ana@example.com", variables);
        assert!(run.code != 0 && run.err.contains(said), "{run:?}");
    }
    for (name, value, said) in [
        ("CMS_MAIL__SMTP_URL", "smtp://u:hunter2@h/x", "mail.smtp_url"),
        ("CMS_MAIL__FROM", "Shop <shop@example..org>", "mail.from"),
        ("CMS_MAIL__TRANSACTIONAL__KIND", "pigeon", "mail.transactional.kind"),
        ("CMS_MAIL__TRANSACTIONAL__URL", "http://example.org/", "mail.transactional.url"),
        ("CMS_MAIL__CHAIN", "smtp", "mail.chain"),
        ("CMS_MAIL__SMTP_TLS", "maybe", "mail.smtp_tls"),
    ] {
        let run = cms_env(dir.path(), "mail providers", &[(name, value)]);
        let is_named = run.err.contains(said) && !run.err.contains("hunter2");
        assert!(run.code != 0 && is_named, "{name}: {run:?}");
    }
}
