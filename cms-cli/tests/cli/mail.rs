//! Mail with the real binary: a sink on this machine, a test mail, the log.

use std::{
    io::{BufRead, BufReader, Read},
    path::Path,
    process::Child,
};

use serde_json::Value as Json;

use crate::support::{cms_env, command, site};

/// `cms mail sink`, killed when dropped.
pub(crate) struct Sink {
    child: Child,
    pub(crate) url: String,
}

impl Sink {
    pub(crate) fn start(dir: &Path, args: &[&str]) -> Self {
        let mut command = command(dir);
        command.args(["mail", "sink", "--port", "0"]).args(args);
        let mut child = command.spawn().expect("cms starts");
        let mut line = String::new();
        let mut lines = BufReader::new(child.stderr.take().expect("stderr"));
        lines.read_line(&mut line).expect("a line");
        let url = line.trim().strip_prefix("listening ").expect("an address").to_owned();
        Self { child, url }
    }

    /// What it has printed, at its end.
    fn printed(mut self) -> String {
        let mut text = String::new();
        let mut out = self.child.stdout.take().expect("stdout");
        out.read_to_string(&mut text).expect("UTF-8");
        assert!(self.child.wait().expect("an end").success());
        text
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_sink_shows_what_the_site_sends() {
    let dir = site();
    let sink = Sink::start(dir.path(), &["--count", "2", "--json"]);
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
    let text = sink.printed();
    let mails: Vec<Json> =
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(mails.len(), 2);
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
