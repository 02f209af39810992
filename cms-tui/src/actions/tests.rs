//! The table is complete and unambiguous.

use std::collections::{BTreeMap, BTreeSet};

use super::{ACTIONS, KeyMap, Right, Scene};
use crate::keys::KeysFile;

#[test]
fn every_action_has_its_own_name_and_a_help_text() {
    let mut names = BTreeSet::new();
    for action in ACTIONS {
        assert!(names.insert(action.name), "{} stands twice", action.name);
        assert!(!action.help.is_empty() && !action.verb().is_empty(), "{}", action.name);
        // Whatever changes something at the site has a command line.
        assert!(action.right == Right::Free || !action.cli.is_empty(), "{}", action.name);
    }
}

/// A footer shows it, and the reason why something cannot be done begins with it.
#[test]
fn the_help_of_a_key_begins_with_a_short_label() {
    for action in ACTIONS.iter().filter(|one| !one.keys.is_empty()) {
        let is_screens = !["app", "go", "list"].contains(&action.noun());
        let label = action.label();
        assert!(!label.is_empty(), "{}", action.name);
        assert!(!is_screens || crate::text::width(label) <= 15, "{}: {label}", action.name);
    }
}

#[test]
fn a_key_means_one_thing_on_a_screen() {
    let mut seen = BTreeMap::new();
    for action in ACTIONS {
        for key in action.keys.split(' ').filter(|key| !key.is_empty()) {
            let other = seen.insert((action.noun(), key), action.name);
            assert_eq!(other, None, "{key} of {}", action.name);
        }
    }
}

#[test]
fn what_is_missing_is_told() {
    let held = vec!["keys_keys_view".to_owned()];
    let row = serde_json::json!({"id": 3, "active": true, "name": "it's"});
    let scene = Scene { noun: "keys", rights: Some(&held), row: Some(&row), ..Scene::default() };
    let why = |name: &str| super::find(name).expect("an action").disabled(&scene);
    assert_eq!(
        why("keys.rotate").as_deref(),
        Some("needs the right keys_keys_edit, which you do not hold")
    );
    assert_eq!(why("keys.show"), None);
    assert_eq!(why("go.users").as_deref(), Some("only administrators may"));
    let scene = Scene { noun: "webhooks", row: Some(&row), ..Scene::default() };
    let why = super::find("webhooks.activate").expect("an action").disabled(&scene);
    assert_eq!(why.as_deref(), Some("it is active already"));
    for (status, retry, cancel) in [
        ("retry", None, None),
        ("sending", Some("it is being sent"), Some("it is being sent")),
        ("held", Some("it is held until its webhook is on; press 2, then t"), None),
    ] {
        let row = serde_json::json!({"id": 3, "status": status});
        let scene = Scene { noun: "queue", row: Some(&row), ..Scene::default() };
        for (name, why) in [("queue.retry", retry), ("queue.cancel", cancel)] {
            let told = super::find(name).expect("an action").disabled(&scene);
            assert_eq!(told.as_deref(), why, "{name} {status}");
        }
    }
    let line = super::find("users.edit").expect("an action").command_line(&scene);
    assert_eq!(line.as_deref(), Some("cms users edit USERNAME --rename NAME"));
    assert_eq!(scene.fill("x {id} {name}", &[&row]), r"x 3 'it'\''s'");
}

#[test]
fn a_read_only_session_looks_at_everything_and_changes_nothing() {
    let row = serde_json::json!({"id": 3, "active": false});
    for action in ACTIONS {
        let noun = action.noun();
        let scene =
            Scene { noun, row: Some(&row), readonly: true, is_operator: true, ..Scene::default() };
        let why = action.disabled(&scene);
        let is_refused = why.as_deref() == Some(super::READONLY);
        assert_eq!(is_refused, action.changes, "{}: {why:?}", action.name);
    }
    let changes = |name: &str| super::find(name).expect("an action").changes;
    for name in ["records.new", "records.edit", "records.set", "records.delete", "keys.toggle"] {
        assert!(changes(name), "{name}");
    }
    for name in ["go.webhooks", "go.keys", "webhooks.show", "keys.check", "keys.rights"] {
        assert!(!changes(name), "{name}");
    }
}

#[test]
fn a_line_says_the_site_and_what_the_key_does() {
    let (one, two) = (serde_json::json!({"id": 1, "active": false}), serde_json::json!({"id": 2}));
    let scene = Scene {
        noun: "keys",
        row: Some(&one),
        marks: vec![&one, &two],
        site: "--context prod",
        ..Scene::default()
    };
    for (name, line) in [
        ("keys.delete", "cms --context prod keys delete 1"),
        ("keys.toggle", "cms --context prod keys enable 1 2"),
        ("keys.rotate", "cms --context prod keys rotate 1 --grace GRACE"),
        ("keys.expire", "cms --context prod keys expire 1 --on DAY"),
    ] {
        let action = super::find(name).expect("an action");
        assert_eq!(action.command_line(&scene).as_deref(), Some(line));
    }
}

#[test]
fn a_value_is_one_word_of_a_command_and_never_an_option() {
    let words = |name: &str| {
        let row = serde_json::json!({"id": 3, "name": name});
        let scene = Scene { row: Some(&row), ..Scene::default() };
        let line = scene.fill("x {name}", &[&row]);
        (scene.own_words("x {id} n={name} '{\"a\": 1}' {name}"), line)
    };
    let (own, line) = words("a' --yes x '");
    let own = own.expect("words");
    assert_eq!(own, ["x", "3", "n=a' --yes x '", "{\"a\": 1}", "a' --yes x '"]);
    assert_eq!(line, r"x 'a'\'' --yes x '\'''");
    for wrong in ["--url=https://evil", "-x", "a\nb", "\u{1b}[2J"] {
        assert!(words(wrong).0.is_err(), "{wrong:?}");
    }
    assert_eq!(words("a\u{1b}[2J").1, "x NAME");
}

#[test]
fn users_change_keys_and_add_commands() {
    let file = KeysFile::parse(
        "[keys]\n\"keys.rotate\" = [\"Ctrl-o\"]\n[commands]\nshow = {key = \"X\", \
         run = \"cms keys show {id}\", on = \"keys\"}",
    );
    let map = KeyMap::new(&file.expect("a file")).expect("keys");
    let row = serde_json::json!({"id": 3});
    let scene = Scene { noun: "keys", is_list: true, row: Some(&row), ..Scene::default() };
    let action = |key: &str| map.action(key.parse().expect("a key"), &scene).map(|one| one.name);
    assert_eq!(action("Ctrl-o"), Some("keys.rotate"));
    assert_eq!(action("S"), None);
    assert_eq!(action("j"), Some("list.down"));
    let own = map.own("X".parse().expect("a key"), &scene);
    let words = own.map(|own| scene.own_words(own));
    assert_eq!(words, Some(Ok(["cms", "keys", "show", "3"].map(str::to_owned).to_vec())));
    for wrong in ["[keys]\n\"keys.no\" = [\"x\"]", "[keys]\n\"keys.new\" = [\"xx\"]"] {
        assert!(KeyMap::new(&KeysFile::parse(wrong).expect("toml")).is_err(), "{wrong}");
    }
}
