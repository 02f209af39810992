//! `cms update` against servers that behave well and badly, with programs that start and do not.

mod archives;
mod broken_off;
mod lab;
mod servers;
mod trials;

use serde_json::Value as Json;

use self::lab::{Lab, Server, patched, zipped};
use crate::support::{Served, finish};

#[test]
fn a_release_is_checked_downloaded_applied_and_taken_back() {
    let lab = Lab::new();
    let archive = zipped(&[("cms", &patched(&lab.program())), ("README.md", b"Hello.")]);
    let server = Server::release("3.0.1", archive);
    let run = |args: &str| lab.run(&server.url, args);
    let found = run("--json update check").json()["data"].clone();
    assert_eq!(found["installed"], "3.0.0");
    assert_eq!((&found["offered"], &found["newer"]), (&"3.0.1".into(), &Json::Bool(true)));
    assert_eq!(found["notes"], "New.");
    run("update rollback").fails(6);
    let kept = run("--json update download").json()["data"]["file"].clone();
    assert!(std::path::Path::new(kept.as_str().expect("a path")).is_file(), "{kept}");
    let asked = server.heads.lock().expect("heads").len();
    run("update apply --without-backup").fails(0).tells("3.0.1 is in place");
    let more = server.heads.lock().expect("heads").len() - asked;
    assert_eq!(more, 1, "the archive is not downloaded again");
    assert_eq!(
        (lab.version(), lab.beside()),
        ("3.0.1".to_owned(), vec!["cms.previous".to_owned()])
    );
    let mut serve = lab.command("", "serve --listen 127.0.0.1:0");
    serve.env_remove("CMS_UPDATE_BASE_URL");
    drop(Served::started(serve).expect("3.0.1 serves the site"));
    run("update apply").fails(0);
    run("update rollback").fails(0).tells("3.0.0 is in place again");
    assert_eq!((lab.version(), lab.beside()), ("3.0.0".to_owned(), Vec::new()));
    run("update rollback").fails(6);
    run("update apply --without-backup").fails(0);
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
    let server = Server::release("3.1.0", archive);
    lab.run(&server.url, "update check").fails(0).tells("cms update apply is off");
    lab.run(&server.url, "update download").fails(0);
    lab.run(&server.url, "update apply")
        .fails(6)
        .tells("update_user and update_password are not both set");
    let heads = server.heads.lock().expect("heads").concat();
    assert!(!heads.to_lowercase().contains("authorization"), "{heads}");
}

#[test]
fn missing_settings_are_named() {
    let lab = Lab::new();
    for verb in ["check", "download", "apply"] {
        lab.run("", &["update", verb]).fails(6).tells("update_base_url is not set");
        let mut command = lab.command("http://127.0.0.1:1", &["update", verb]);
        command.env("CMS_UPDATE__PUBLIC_KEY", "");
        finish(command, None).fails(6).tells("update.public_key is not set");
    }
    let mut command = lab.command("http://127.0.0.1:1", "update check");
    command.env("CMS_UPDATE__PUBLIC_KEY", "AAAA");
    finish(command, None).fails(1).tells("`update.public_key` must be one or two ed25519 keys");
}

#[test]
fn a_program_of_a_package_is_left_alone() {
    let lab = Lab::new();
    let tools = tempfile::tempdir().expect("a folder");
    let tool = tools.path().join("dpkg-query");
    std::fs::write(&tool, "#!/bin/sh\necho \"cms: $3\"\n").expect("written");
    std::process::Command::new("chmod").arg("755").arg(&tool).status().expect("chmod");
    let path = std::env::var("PATH").expect("a path");
    let mut command = lab.command("http://127.0.0.1:1", "update apply");
    command.env("PATH", format!("{}:{path}", tools.path().display()));
    finish(command, None).fails(6).tells("belongs to a package manager (dpkg-query)");
}
