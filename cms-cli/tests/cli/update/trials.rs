//! New versions that do not start: the old one stays, or comes back, within a minute.

use std::{
    fs,
    time::{Duration, Instant},
};

use super::lab::{Lab, Server, zipped};
use crate::{doctor::statement, support::Run};

fn stays(name: &str, program: &str, why: &str) {
    let lab = Lab::new();
    let began = Instant::now();
    let run = lab.apply(program);
    assert!(began.elapsed() < Duration::from_secs(60), "{name}: {:?}", began.elapsed());
    assert_eq!(run.code, 1, "{name}: {run:?}");
    assert!(run.err.contains(why) && run.err.contains("3.0.0 stays"), "{name}: {run:?}");
    assert_eq!(lab.version(), "3.0.0", "{name}");
    let left = lab.beside();
    assert!(left.is_empty() || left == ["cms.previous"], "{name}: {left:?}");
}

#[test]
fn a_version_that_does_not_run_is_not_used() {
    stays("no program", "not a program", "does not run on this machine");
    stays("fails", "#!/bin/sh\necho broken >&2\nexit 3\n", "broken");
    stays("another version", &Lab::newer("3.0.9", ""), "holds a program of \"3.0.9\"");
    let no_database = r#"[ "$1" = migrate ] && { echo 'no such table' >&2; exit 6; }"#;
    stays("no database", &Lab::newer("3.1.0", no_database), "cannot use the site's database");
    let ends = r#"[ "$1" = serve ] && { echo 'cannot listen' >&2; exit 1; }"#;
    stays("ends at once", &Lab::newer("3.1.0", ends), "cannot listen");
}

#[test]
#[ignore = "takes minutes: .ci/full runs it"]
fn a_version_that_dies_after_it_was_ready_is_not_used() {
    let real = env!("CARGO_BIN_EXE_cms");
    let dies =
        format!("if [ \"$1\" = serve ]; then '{real}' \"$@\" & sleep 2; kill -9 $!; exit 1; fi");
    stays("dies", &Lab::newer("3.1.0", &dies), "does not start");
}

#[test]
#[ignore = "takes minutes: .ci/full runs it"]
fn a_version_that_is_never_ready_is_not_used() {
    let hangs = r#"[ "$1" = serve ] && exec sleep 300"#;
    stays("hangs", &Lab::newer("3.1.0", hangs), "not ready within 40 s");
}

#[test]
#[ignore = "takes minutes: .ci/full runs it"]
fn a_version_that_runs_only_beside_its_place_is_taken_back() {
    let place = r#"case "$0" in *.next) ;; *) echo 'wrong place' >&2; exit 1;; esac"#;
    let program = Lab::newer("3.1.0", place);
    let program = program.replacen("#!/bin/sh\n", &format!("#!/bin/sh\n{place}\n"), 1);
    stays("place", &program, "wrong place");
}

#[test]
fn a_version_that_changes_the_database_needs_a_backup_and_a_yes() {
    let lab = Lab::new();
    let pending = r#"[ "$1 $2" = "migrate status" ] &&
        { echo '{"data":[{"version":1,"name":"a","applied":false}]}'; exit 0; }"#;
    let archive = zipped(&[("cms", Lab::newer("3.1.0", pending).as_bytes())]);
    let server = Server::release("3.1.0", archive);
    lab.run(&server.url, "update apply --without-backup")
        .fails(6)
        .tells("changes the database (1 step)");
    let run = lab.run(&server.url, "update apply").fails(2);
    assert!(run.err.contains("3.0.0 cannot use it after that"), "{run:?}");
    assert!(run.err.contains("--yes"), "{run:?}");
    assert_eq!((lab.version(), lab.beside()), ("3.0.0".to_owned(), Vec::new()));
}

/// A version whose `migrate up` puts another database in place of the site's.
fn migrating(lab: &Lab, changed: &'static str, more: &str) -> String {
    let (site, copy) = (lab.site.path(), lab.folder.path().join("work"));
    fs::create_dir_all(copy.join("data")).expect("a folder");
    fs::copy(site.join("data/cms.db"), copy.join("data/cms.db")).expect("a copy");
    statement(&copy, changed);
    let changed = copy.join("data/changed.db");
    fs::rename(copy.join("data/cms.db"), &changed).expect("renamed");
    let (site, changed) = (site.display(), changed.display());
    let steps = format!(
        "if [ \"$1 $2\" = 'migrate status' ]; then\n\
         echo '{{\"data\":[{{\"version\":1,\"name\":\"a\",\"applied\":false}}]}}'; exit 0; fi\n\
         if [ \"$1 $2\" = 'migrate up' ]; then cp {changed} {site}/data/cms.db; exit; fi\n{more}"
    );
    Lab::newer("3.1.0", &steps)
}

fn apply(lab: &Lab, program: &str) -> Run {
    // The backup must come back on this machine, where nobody has a private key.
    let key = "age1qyqszqgpqyqszqgpqyqszqgpqyqszqgpqyqszqgpqyqszqgpqyqs3290gq";
    lab.set("cms.toml", &format!("backup.recipients = [\"{key}\"]\n"));
    let archive = zipped(&[("cms", program.as_bytes())]);
    let server = Server::release("3.1.0", archive);
    lab.run(&server.url, "update apply --yes")
}

#[test]
fn a_changed_database_comes_back_when_the_version_does_not_start() {
    let lab = Lab::new();
    lab.run("", "keys create --name before --right *").ok();
    let newer = "insert into cms_migrations (version, name, checksum, applied_at) \
                 values (999999, 'newer', 'x', 1)";
    let fails = "if [ \"$1\" = serve ]; then echo 'cannot listen' >&2; exit 1; fi";
    let run = apply(&lab, &migrating(&lab, newer, fails)).fails(1);
    assert!(run.err.contains("3.0.0 stays, with the backup"), "{run:?}");
    assert_eq!(lab.version(), "3.0.0");
    lab.run("", "keys list --json").shows("before");
    lab.run("", "db check").ok();
}

#[test]
fn a_changed_database_stays_when_the_version_starts() {
    let lab = Lab::new();
    let more = "insert into cms_settings (name, value, public) values ('newer', 'x', 1)";
    // It has the environment that this version was started with, as if it was started by hand.
    let same = "[ \"$CMS_UPDATE_PASSWORD$_CMS_STARTED_AGAIN\" = 'correct horse' ] || exit 9";
    let run = apply(&lab, &migrating(&lab, more, same)).fails(0);
    assert!(run.err.contains("3.1.0 is in place"), "{run:?}");
    assert_eq!(lab.version(), "3.1.0");
    lab.run("", "items list settings --json").shows("newer");
    // The backup is from before.
    let backup = lab.site.path().join("data/updates/before-3.1.0.cms-backup");
    lab.run("", &["db", "restore", &backup.display().to_string(), "--yes"]).ok();
    let settings = lab.run("", "items list settings --json").ok();
    assert!(!settings.contains("newer"), "{settings}");
}
