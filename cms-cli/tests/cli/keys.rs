//! `cms keys`

use std::{fs, os::unix::fs::PermissionsExt};

use crate::support::{at_terminal, cms, has, site};

const BLOG: &str = "GET,POST /api/backend/item?table=notes";

#[test]
fn the_value_is_shown_once_and_alone() {
    let dir = site();
    let made = cms(dir.path(), &format!("keys create --name ci --right '{BLOG}'"));
    let value = made.out.trim().to_owned();
    assert!(
        value.starts_with("cms_k1_") && made.out.lines().count() == 1 && made.err.contains("once"),
        "{made:?}"
    );
    let quiet = cms(dir.path(), &format!("keys create -q --name ci --right '{BLOG}'"));
    assert!(quiet.err.is_empty() && quiet.out.lines().count() == 1, "{quiet:?}");
    for args in ["keys list", "keys show 1", "keys list --json"] {
        assert!(!cms(dir.path(), args).ok().contains(&value), "{args:?}");
    }
}

#[test]
fn the_value_goes_into_a_new_file_of_its_owner() {
    let dir = site();
    let file = dir.path().join("ci.key");
    let name = file.to_str().expect("a path");
    let made = cms(dir.path(), &format!("keys create --name ci --right * --out {name}"));
    assert_eq!((made.code, made.out.as_str()), (0, ""), "{made:?}");
    assert_eq!(fs::metadata(&file).expect("file").permissions().mode() & 0o777, 0o600);
    let value = fs::read_to_string(&file).expect("a value");
    assert!(value.starts_with("cms_k1_"));
    cms(dir.path(), &format!("keys rotate 1 --yes --out {name}")).fails(1);
    assert_eq!(fs::read_to_string(&file).expect("a value"), value, "an existing file stays");
    cms(dir.path(), "keys create --name '' --out unmade.key").fails(1);
    assert!(!dir.path().join("unmade.key").exists());
}

#[test]
fn a_key_through_its_life() {
    let dir = site();
    let run = |args: &str| cms(dir.path(), args);
    let made = run(&format!(
        "keys create --json --name ci --right '{BLOG}' --expires 2099-01-01 --inactive"
    ))
    .json();
    has(&made["data"], [("/active", false.into()), ("/expires_on", "2099-01-01".into())]);
    let check = "keys check 1 get /api/backend/item?table=notes";
    assert_eq!(run(check).fails(1).out, "api_key_disabled\n");
    run("keys enable 1").ok();
    assert_eq!(run(check).ok(), "allowed\n");
    assert_eq!(
        run("keys check 1 DELETE /api/backend/item?table=notes").fails(1).out,
        "api_key_forbidden\n"
    );
    let changed = run("keys rights 1 --json --grant 'PATCH /api/backend/item?table=notes' \
                       --revoke 'POST /api/backend/item?table=notes'");
    assert_eq!(changed.json()["data"]["rights"][0]["methods"], serde_json::json!(["GET", "PATCH"]));
    run("keys expire 1 --on 2000-01-01").ok();
    assert_eq!(run(check).fails(1).out, "api_key_expired\n");
    run("keys expire 1 --never").ok();
    run("keys disable 1").ok();
    assert_eq!(run(check).fails(1).out, "api_key_disabled\n");
    run("keys rotate 1 --grace 10m").ok();
    run("keys rotate 1 --grace 8d").fails(1);
    run("keys delete 1 --yes").ok();
    run("keys show 1").fails(5);
    let log = run("audit list").ok();
    assert!(
        log.lines().next().is_some_and(|line| line.contains("\tdelete\tapi_keys\t1\t")),
        "{log}"
    );
}

#[test]
fn members_of_a_key_are_edited() {
    let dir = site();
    let run = |args: &str| cms(dir.path(), &format!("keys {args}"));
    run(&format!("create --name ci --right '{BLOG}'")).ok();
    let members = "--name build --expires-on 2099-01-01 --active false";
    let edited = run(&format!("edit ci {members} --json")).json();
    has(
        &edited["data"],
        [
            ("/name", "build".into()),
            ("/expires_on", "2099-01-01".into()),
            ("/active", false.into()),
            ("/rights/0/methods/1", "POST".into()),
        ],
    );
    // What is not named stays; an empty value is null.
    let edited = run("edit build --expires-on '' --json").json();
    has(&edited["data"], [("/expires_on", ().into()), ("/name", "build".into())]);
    run("edit build").fails(2).tells("name a column");
    run("edit build --active maybe").fails(2);
    run("edit build --expires-on tomorrow").fails(2).tells("a day such as 2027-01-31");
    run("edit build --name ''").fails(1);
    assert_eq!(run("show 1 --json").json()["data"]["name"], "build");
}

#[test]
fn a_rotation_that_ends_the_old_value_is_asked_about_at_a_terminal() {
    let dir = site();
    cms(dir.path(), &format!("keys create --name ci --right '{BLOG}'")).ok();
    let rotate = |args: &str, answers: &str| {
        at_terminal(dir.path(), &format!("keys rotate 1 {args}"), &[], answers)
    };
    let left = rotate("", "n\n").fails(3);
    assert!(
        left.out.contains("Give the API key 1 (ci) a new value? The old one stops at once")
            && !left.out.contains("_k1_"),
        "{left:?}"
    );
    assert!(rotate("", "y\n").ok().contains("_k1_"));
    assert!(rotate("--grace 1h", "").ok().contains("_k1_"));
    // Without a terminal nothing is ended without --yes.
    cms(dir.path(), "keys rotate 1").fails(2).tells("--yes").tells("--grace");
    assert!(cms(dir.path(), "keys rotate 1 --yes").ok().contains("_k1_"));
}

#[test]
fn the_first_key_of_a_theme_is_made_without_a_question() {
    let dir = site();
    let rotate = |args: &str| cms(dir.path(), &format!("theme env --rotate-key {args}"));
    cms(dir.path(), &format!("keys create --name themes --right '{BLOG}'")).ok();
    rotate("").shows("NUXT_API_KEY=cms_k1_");
    rotate("").fails(2).tells("stops at once");
    rotate("--grace 1h").shows("NUXT_API_KEY=cms_k1_");
}

#[test]
fn a_doubtful_key_is_made_with_a_warning() {
    let dir = site();
    let made = |name: &str, args: &str| {
        let run = cms(dir.path(), &format!("keys create --name {name} {args}"));
        assert!(run.code == 0 && run.out.contains("_k1_"), "{run:?}");
        run.err
    };
    let right = format!("--right '{BLOG}'");
    assert!(!made("ci", &right).contains("warning"));
    assert!(made("bare", "").contains("warning: the key has no right"));
    let past = made("past", &format!("{right} --expires 2020-01-01"));
    assert!(past.contains("warning: the key has expired already"), "{past}");
    let twin = made("ci", &right);
    assert!(twin.contains("warning: the key 1 is named \"ci\" too"), "{twin}");
}

#[test]
fn a_key_is_named_by_its_name_too() {
    let dir = site();
    let run = |args: &str| cms(dir.path(), &format!("keys {args}"));
    for name in ["ci", "CI", "Shop", "twin", "twin", "Äpfel", "workshop"] {
        run(&format!("create --name {name} --right '{BLOG}'")).ok();
    }
    let id = |name: &str| run(&format!("show {name} --json")).json()["data"]["id"].clone();
    assert_eq!(
        [id("ci"), id("CI"), id("shop"), id("2"), id("äPFEL")],
        [1, 2, 3, 2, 6].map(serde_json::Value::from)
    );
    let twins = run("show twin").fails(5);
    assert!(twins.err.contains("2 API keys are named \"twin\": 4, 5"), "{twins:?}");
    assert!(twins.err.contains("by its id"), "{twins:?}");
    assert!(run("delete none --yes").fails(5).err.contains("cms keys list"));
    run("disable shop").ok();
    let check = run("check shop GET /api/backend/item?table=notes").fails(1);
    assert_eq!(check.out, "api_key_disabled\n");
    run("rights shop --grant 'GET /api/menu'").ok();
    run("expire shop --never").ok();
    run("denied shop").ok();
    run("delete shop --yes").ok();
    run("show 3").fails(5);
}
