//! `--as USER`: the operator acts as a user

use std::path::Path;

use crate::support::{PASSWORD, cms, cms_with, site_of_ana};

/// The user `bo` of a group with two rights.
fn user_bo(dir: &Path, one: &str, two: &str) {
    cms(dir, &format!("groups create readers --right {one} --right {two}")).ok();
    cms_with(dir, "users create bo --group readers --password-stdin", PASSWORD).ok();
}

#[test]
fn commands_see_and_do_what_the_user_may() {
    let dir = site_of_ana();
    let run = |args: &str| cms(dir.path(), args);
    user_bo(dir.path(), "formfunnel_inbox_view", "formfunnel_inbox_edit");

    let me = run("whoami --as bo --json").json();
    assert_eq!((&me["data"]["username"], &me["data"]["id"]), (&"bo".into(), &2.into()));
    assert_eq!(run("--as 2 whoami --json").json()["data"]["username"], "bo");
    for refused in ["keys list", "items list notes", "users list"] {
        run(&format!("{refused} --as bo")).fails(4);
    }
    run("groups rights readers --grant keys_keys_view --as bo").fails(4);

    run("inbox views save Mine --where inbox_status=new --as bo").ok();
    assert!(run("inbox views list --as bo").ok().contains("Mine"));
    for other in ["", "--as ana"] {
        let views = run(&format!("inbox views list {other}")).ok();
        assert!(!views.contains("Mine"), "{views}");
    }

    cms_with(dir.path(), "items create notes - --as ana", r#"{"n": 1}"#).ok();
    let audit = run("audit list").ok();
    let line = audit.lines().find(|line| line.contains("\tcreate\tnotes\t")).expect("an entry");
    assert!(line.contains("user 1 (ana)"), "{line}");
    // Each session has ended with its command.
    for user in ["ana", "bo"] {
        assert_eq!(run(&format!("users sessions {user}")).ok(), "");
    }

    run("whoami --as nobody").fails(5);
    run("users disable bo").ok();
    run("whoami --as bo").fails(6).tells("cms users enable bo");
    for wrong in [
        "whoami --as ana --url http://127.0.0.1:9",
        "serve --as ana",
        "migrate up --as ana",
        "plugins apply --as ana",
    ] {
        run(wrong).fails(2).tells("--as ");
    }
    run("context add far --url http://127.0.0.1:9").ok();
    run("whoami --as ana --context far").fails(2);
}

/// Whoever may change keys and not see them gets the new value alone.
#[test]
fn a_key_is_rotated_by_a_caller_that_may_read_none() {
    let dir = site_of_ana();
    let run = |args: &str| cms(dir.path(), args);
    user_bo(dir.path(), "settings_settings_view", "keys_keys_edit");
    let env = run("theme env --as bo").ok();
    assert!(!env.contains("NUXT_API_KEY=cms_"), "{env}");
    // bo cannot know that there is no such key yet.
    run("theme env --rotate-key --as bo").fails(2).tells("--yes");
    let mut values: Vec<String> = Vec::new();
    // Made, then changed.
    for _ in 0..2 {
        let env = run("theme env --rotate-key --yes --as bo").ok();
        let key = env.lines().find_map(|line| line.strip_prefix("NUXT_API_KEY=")).expect("a key");
        values.push(key.to_owned());
    }
    assert!(values[0] != values[1] && values[1].len() > 20, "{values:?}");
    let rotated = run("keys rotate 1 --yes --json --as bo").json();
    assert!(rotated["data"]["key"].as_str().is_some_and(|key| key.len() > 20), "{rotated}");
    run("keys list --as bo").fails(4);
}
