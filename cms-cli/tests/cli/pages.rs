//! `cms pages`

use crate::{
    leaves::PAGES,
    support::{cms, cms_with, site},
};

#[test]
fn a_plan_keeps_what_is_not_named() {
    let dir = site();
    cms_with(dir.path(), &["items", "create", "pages", "-"], PAGES).ok();
    let (publish, take_off) = ("2998-12-24T06:00:00Z", "2999-01-06T06:00:00Z");
    let plan = |args: &[&str]| {
        let run = cms(dir.path(), &[&["pages", "schedule", "/", "--json"], args].concat());
        let shown = run.json()["data"].clone();
        ["publish_at", "take_off_at"].map(|name| shown[name].as_str().map(str::to_owned))
    };
    let is = |found: [Option<String>; 2], expected: [Option<&str>; 2]| {
        assert_eq!(found.each_ref().map(Option::as_deref), expected);
    };
    is(plan(&["--publish", publish]), [Some(publish), None]);
    is(plan(&["--take-off", take_off]), [Some(publish), Some(take_off)]);
    is(plan(&[]), [Some(publish), Some(take_off)]);
    let shown = cms(dir.path(), &["pages", "schedule", "/"]).ok();
    assert!(shown.contains(&format!("publish_at\t{publish}\n")), "{shown}");
    is(plan(&["--no-publish"]), [None, Some(take_off)]);
    is(plan(&["--publish", publish, "--no-take-off"]), [Some(publish), None]);
    is(plan(&["--clear"]), [None, None]);
    for wrong in [["--publish", publish, "--no-publish"], ["--clear", "--publish", publish]] {
        let args = [&["pages", "schedule", "/"][..], &wrong].concat();
        cms(dir.path(), &args).fails(2);
    }
}

#[test]
fn a_page_is_taken_off_after_a_question() {
    let dir = site();
    cms_with(dir.path(), &["items", "create", "pages", "-"], PAGES).ok();
    cms(dir.path(), &["pages", "publish", "/"]).ok();
    let run = cms(dir.path(), &["pages", "take-off", "/"]).fails(2);
    assert!(run.err.contains("--yes"), "{run:?}");
    assert_eq!(
        cms(dir.path(), &["pages", "show", "/", "--json"]).json()["data"]["published"],
        true
    );
    cms(dir.path(), &["pages", "take-off", "/", "--yes"]).ok();
}

#[test]
fn options_keep_their_older_names() {
    let dir = site();
    let run = |args: &[&str]| cms(dir.path(), args);
    cms_with(dir.path(), &["items", "create", "pages", "-"], PAGES).ok();
    for name in ["--language", "--lang"] {
        let german = run(&["items", "get", "pages", "1", name, "de", "--json"]).json();
        assert_eq!(german["data"]["title"], "Start", "{name}");
    }
    for name in ["--out", "--output"] {
        let file = dir.path().join(format!("widgets{name}.json"));
        run(&["widgets", "rebuild", name, file.to_str().expect("a path")]).ok();
        assert!(file.exists(), "{name}");
    }
    for name in ["--expected", "--expect"] {
        let again = ["webhooks", "deliveries", "redeliver", "--status", "failed", name];
        run(&[&again[..], &["7"]].concat()).fails(6);
    }
    for ttl in ["60", "2h"] {
        run(&["pages", "link", "/", "--ttl", ttl]).ok();
        run(&["cache", "ttl", ttl]).ok();
    }
    run(&["cache", "ttl", "soon"]).fails(2);
}
