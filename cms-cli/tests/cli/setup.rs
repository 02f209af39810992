//! `cms init`, `config`, `doctor`, `migrate`, `completions` and help.

use std::{fs, os::unix::fs::PermissionsExt};

use crate::support::{cms, site, site_of_ana};

#[test]
fn init_makes_a_site_and_changes_nothing_the_second_time() {
    let dir = tempfile::tempdir().expect("a folder");
    let first = cms(dir.path(), &["init"]);
    assert!(first.err.contains("made  cms.toml") && first.err.contains("cms serve"), "{first:?}");
    let read = || {
        ["cms.toml", "cms.local.toml"]
            .map(|name| fs::read_to_string(dir.path().join(name)).expect(name))
    };
    let before = read();
    let mode = fs::metadata(dir.path().join("cms.local.toml")).expect("local").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let second = cms(dir.path(), &["init", "--json"]).json();
    assert_eq!(second["data"]["made"].as_array().map(Vec::len), Some(0), "{second}");
    assert_eq!(read(), before);
    cms(dir.path(), &["doctor"]).ok();
}

#[test]
fn data_is_for_its_owner_and_doctor_names_what_is_not() {
    let dir = tempfile::tempdir().expect("a folder");
    cms(dir.path(), &["init"]).ok();
    cms(dir.path(), &["items", "list", "pages"]).ok();
    let mode = |name: &str| {
        let path = dir.path().join(name);
        fs::metadata(path).map(|meta| meta.permissions().mode() & 0o777).ok()
    };
    assert_eq!((mode("data"), mode("data/cms.db")), (Some(0o700), Some(0o600)));
    for beside in ["data/cms.db-wal", "data/cms.db-shm"] {
        assert!(mode(beside).is_none_or(|mode| mode == 0o600), "{beside}");
    }
    assert!(!cms(dir.path(), &["doctor"]).ok().contains("others can read"));

    for (name, wider) in [("data", 0o755), ("data/cms.db", 0o644)] {
        let path = dir.path().join(name);
        fs::set_permissions(&path, fs::Permissions::from_mode(wider)).expect("a mode");
        let named = format!("{} has mode {wider:04o}", path.display());
        assert!(cms(dir.path(), &["doctor"]).ok().contains(&named), "{named}");
    }
}

#[test]
fn init_completes_a_local_file_without_touching_what_is_there() {
    let dir = tempfile::tempdir().expect("a folder");
    fs::write(
        dir.path().join("cms.local.toml"),
        "password_salt = \"kept\"\n[mail]\nsmtp_url = \"smtp://h\"\n",
    )
    .expect("written");
    cms(dir.path(), &["init"]).ok();
    let text = fs::read_to_string(dir.path().join("cms.local.toml")).expect("local");
    assert!(
        text.contains("password_salt = \"kept\"") && text.matches("password_salt").count() == 1,
        "{text}"
    );
    assert!(text.starts_with("encryption_key = "), "{text}");
    cms(dir.path(), &["config", "validate"]).ok();
}

#[test]
fn no_secret_is_shown() {
    let dir = site();
    let local = fs::read_to_string(dir.path().join("cms.local.toml")).expect("local");
    let secrets: Vec<_> =
        local.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase())).collect();
    assert_eq!(secrets.len(), 2);
    for args in [
        &["config", "show", "--origin"][..],
        &["config", "show", "--json"],
        &["config", "get", "encryption_key"],
        &["doctor"],
    ] {
        let run = cms(dir.path(), args);
        for secret in &secrets {
            let value = secret.split('"').nth(1).expect("a value");
            assert!(!run.out.contains(value) && !run.err.contains(value), "{args:?}");
        }
    }
    let shown = cms(dir.path(), &["config", "show", "--origin"]).ok();
    assert!(shown.contains("encryption_key\t***\tcms.local.toml:"), "{shown}");
    assert!(shown.contains("timezone\tUTC\tdefault"), "{shown}");
}

#[test]
fn doctor_finds_what_is_wrong_and_says_how_to_mend_it() {
    let dir = site();
    fs::set_permissions(dir.path().join("cms.local.toml"), fs::Permissions::from_mode(0o644))
        .expect("mode");
    let broken = dir.path().join("plugins/broken");
    fs::create_dir_all(&broken).expect("a folder");
    fs::write(
        broken.join("plugin.json"),
        r#"{"id": "broken", "name": "B", "version": "1", "tables": [{"name": "T"}]}"#,
    )
    .expect("written");
    let run = cms(dir.path(), &["doctor"]).fails(1);
    assert!(
        run.out.contains("error\tsettings_files\tcms.local.toml has mode 0644")
            && run.out.contains("chmod 600"),
        "{run:?}"
    );
    assert!(
        run.out.contains("error\tplugin\tbroken: ") && run.out.contains("ok\tplugin\tnotes"),
        "{run:?}"
    );
    fs::write(dir.path().join("cms.toml"), "lisen = \"x\"\n").expect("written");
    let run = cms(dir.path(), &["doctor"]).fails(1);
    assert!(run.out.contains("did you mean `listen`"), "{run:?}");
    assert!(cms(dir.path(), &["keys", "list"]).fails(1).err.contains("cms.toml:1"));
}

#[test]
fn migrations_wait_when_they_are_told_to() {
    let dir = tempfile::tempdir().expect("a folder");
    fs::write(dir.path().join("cms.toml"), "migrate = false\n").expect("written");
    for args in [&["migrate", "status"][..], &["keys", "list"], &["serve"]] {
        assert!(cms(dir.path(), args).fails(7).err.contains("cms migrate up"), "{args:?}");
    }
    assert!(cms(dir.path(), &["migrate", "up"]).ok().contains("just applied"));
    assert!(!cms(dir.path(), &["migrate", "status"]).ok().contains("pending"));
    cms(dir.path(), &["keys", "list"]).ok();
}

#[test]
fn tables_of_a_new_plugin_are_pending() {
    let dir = site_of_ana();
    cms(dir.path(), &["plugins", "new", "shop"]).ok();
    let told = cms(dir.path(), &["migrate", "status"]);
    assert!(told.code == 0 && told.err.contains("plugins are pending"), "{told:?}");
    assert!(told.out.contains("tables of the plugin shop"), "{told:?}");
    let steps = cms(dir.path(), &["migrate", "status", "--json"]).json();
    let last = steps["data"].as_array().and_then(|steps| steps.last()).expect("steps");
    assert_eq!(last["applied"], false);
    cms(dir.path(), &["migrate", "up"]).ok();
    assert!(cms(dir.path(), &["migrate", "status"]).err.contains("is up to date"));
}

#[test]
fn an_administrator_that_is_there_needs_no_password() {
    let dir = site_of_ana();
    cms(dir.path(), &["init", "--admin", "ana"]).ok();
    cms(dir.path(), &["init", "--admin", "bo"]).fails(2);
    let empty = tempfile::tempdir().expect("a folder");
    std::fs::write(empty.path().join("cms.toml"), "").expect("written");
    cms(empty.path(), &["init", "--admin", "bo"]).fails(2);
    assert!(!empty.path().join("cms.local.toml").exists());
}

#[test]
fn completions_and_help() {
    let dir = tempfile::tempdir().expect("a folder");
    for (shell, sign) in
        [("bash", "complete -F _cms"), ("zsh", "#compdef cms"), ("fish", "complete -c cms")]
    {
        assert!(cms(dir.path(), &["completions", shell]).ok().contains(sign), "{shell}");
    }
    let codes = cms(dir.path(), &["help", "exit-codes"]).ok();
    for code in ["    0  done", "    6  refused", "    9  too many", "  130  "] {
        assert!(codes.contains(code), "{codes}");
    }
    let alone = cms(dir.path(), &[]).ok();
    assert!(
        (10..=16).contains(&alone.lines().count()) && alone.contains("Next: cms init"),
        "{alone}"
    );
    assert_eq!(cms(dir.path(), &["version"]).ok(), "cms 3.0.0\n");
    assert_eq!(fs::read_dir(dir.path()).expect("folder").count(), 0, "nothing is made on the way");
}
