//! `cms update` against servers that behave well and badly, with programs that start and do not.

mod archives;
mod broken_off;
mod lab;
mod servers;
mod trials;

use serde_json::Value as Json;

use self::lab::{Lab, Server, described, patched, zipped};
use crate::support::{Served, finish};

#[test]
fn a_release_is_checked_downloaded_applied_and_taken_back() {
    let lab = Lab::new();
    let archive = zipped(&[("cms", &patched(&lab.program())), ("README.md", b"Hello.")]);
    let server = Server::offering(described("3.0.1", "cms-3.0.1.zip", &archive, 1), archive);
    let run = |args: &[&str]| lab.run(&server.url, args);
    let found = run(&["--json", "update", "check"]).json()["data"].clone();
    assert_eq!(found["installed"], "3.0.0");
    assert_eq!((&found["offered"], &found["newer"]), (&"3.0.1".into(), &Json::Bool(true)));
    assert_eq!(found["notes"], "New.");
    run(&["update", "rollback"]).fails(6);
    let kept = run(&["--json", "update", "download"]).json()["data"]["file"].clone();
    assert!(std::path::Path::new(kept.as_str().expect("a path")).is_file(), "{kept}");
    let asked = server.heads.lock().expect("heads").len();
    let applied = run(&["update", "apply", "--without-backup"]).fails(0);
    assert!(applied.err.contains("3.0.1 is in place"), "{applied:?}");
    let more = server.heads.lock().expect("heads").len() - asked;
    assert_eq!(more, 1, "the archive is not downloaded again");
    assert_eq!(
        (lab.version(), lab.beside()),
        ("3.0.1".to_owned(), vec!["cms.previous".to_owned()])
    );
    let mut serve = lab.command("", &["serve", "--listen", "127.0.0.1:0"]);
    serve.env_remove("CMS_UPDATE_BASE_URL");
    drop(Served::started(serve).expect("3.0.1 serves the site"));
    run(&["update", "apply"]).fails(0);
    let back = run(&["update", "rollback"]).fails(0);
    assert!(back.err.contains("3.0.0 is in place again"), "{back:?}");
    assert_eq!((lab.version(), lab.beside()), ("3.0.0".to_owned(), Vec::new()));
    run(&["update", "rollback"]).fails(6);
    run(&["update", "apply", "--without-backup"]).fails(0);
    assert_eq!(lab.version(), "3.0.1");
}

#[test]
fn only_apply_needs_credentials_and_says_so() {
    let lab = Lab::new();
    let local = lab.site.path().join("cms.local.toml");
    let settings = std::fs::read_to_string(&local).expect("settings");
    let settings = settings.replace("update_user = \"ana\"\n", "");
    std::fs::write(&local, settings).expect("written");
    let archive = zipped(&[("cms", b"#!/bin/sh\n")]);
    let server = Server::offering(described("3.1.0", "cms-3.1.0.zip", &archive, 1), archive);
    let checked = lab.run(&server.url, &["update", "check"]).fails(0);
    assert!(checked.err.contains("cms update apply is off"), "{checked:?}");
    lab.run(&server.url, &["update", "download"]).fails(0);
    let run = lab.run(&server.url, &["update", "apply"]).fails(6);
    assert!(run.err.contains("update_user and update_password are not both set"), "{run:?}");
    let heads = server.heads.lock().expect("heads").concat();
    assert!(!heads.to_lowercase().contains("authorization"), "{heads}");
}

#[test]
fn missing_settings_are_named() {
    let lab = Lab::new();
    for verb in ["check", "download", "apply"] {
        let run = lab.run("", &["update", verb]).fails(6);
        assert!(run.err.contains("update_base_url is not set"), "{run:?}");
        let mut command = lab.command("http://127.0.0.1:1", &["update", verb]);
        command.env("CMS_UPDATE__PUBLIC_KEY", "");
        let run = finish(command, None).fails(6);
        assert!(run.err.contains("update.public_key is not set"), "{run:?}");
    }
    let mut command = lab.command("http://127.0.0.1:1", &["update", "check"]);
    command.env("CMS_UPDATE__PUBLIC_KEY", "AAAA");
    let run = finish(command, None).fails(1);
    assert!(run.err.contains("`update.public_key` must be one or two ed25519 keys"), "{run:?}");
}

#[test]
fn a_program_of_a_package_is_left_alone() {
    let lab = Lab::new();
    let tools = tempfile::tempdir().expect("a folder");
    let tool = tools.path().join("dpkg-query");
    std::fs::write(&tool, "#!/bin/sh\necho \"cms: $3\"\n").expect("written");
    std::process::Command::new("chmod").arg("755").arg(&tool).status().expect("chmod");
    let path = std::env::var("PATH").expect("a path");
    let mut command = lab.command("http://127.0.0.1:1", &["update", "apply"]);
    command.env("PATH", format!("{}:{path}", tools.path().display()));
    let run = finish(command, None).fails(6);
    assert!(run.err.contains("belongs to a package manager (dpkg-query)"), "{run:?}");
}
