//! `cms pages`

use crate::{
    leaves::PAGES,
    support::{cms, cms_with, site},
};

#[test]
fn a_plan_keeps_what_is_not_named() {
    let dir = site();
    cms_with(dir.path(), "items create pages -", PAGES).ok();
    let (publish, take_off) = ("2998-12-24T06:00:00Z", "2999-01-06T06:00:00Z");
    let plan = |args: &str| {
        let run = cms(dir.path(), &format!("pages schedule / --json {args}"));
        let shown = run.json()["data"].clone();
        ["publish_at", "take_off_at"].map(|name| shown[name].as_str().map(str::to_owned))
    };
    let is = |found: [Option<String>; 2], expected: [Option<&str>; 2]| {
        assert_eq!(found.each_ref().map(Option::as_deref), expected);
    };
    is(plan(&format!("--publish {publish}")), [Some(publish), None]);
    is(plan(&format!("--take-off {take_off}")), [Some(publish), Some(take_off)]);
    is(plan(""), [Some(publish), Some(take_off)]);
    cms(dir.path(), "pages schedule /").shows(&format!("publish_at\t{publish}\n"));
    is(plan("--no-publish"), [None, Some(take_off)]);
    is(plan(&format!("--publish {publish} --no-take-off")), [Some(publish), None]);
    is(plan("--clear"), [None, None]);
    for wrong in ["--no-publish", "--clear"] {
        cms(dir.path(), &format!("pages schedule / --publish {publish} {wrong}")).fails(2);
    }
}

#[test]
fn a_page_is_taken_off_after_a_question() {
    let dir = site();
    cms_with(dir.path(), "items create pages -", PAGES).ok();
    cms(dir.path(), "pages publish /").ok();
    cms(dir.path(), "pages take-off /").fails(2).tells("--yes");
    assert_eq!(cms(dir.path(), "pages show / --json").json()["data"]["published"], true);
    cms(dir.path(), "pages take-off / --yes").ok();
}

#[test]
fn options_keep_their_older_names() {
    let dir = site();
    let run = |args: &str| cms(dir.path(), args);
    cms_with(dir.path(), "items create pages -", PAGES).ok();
    for name in ["--language", "--lang"] {
        let german = run(&format!("items get pages 1 {name} de --json")).json();
        assert_eq!(german["data"]["title"], "Start", "{name}");
    }
    for name in ["--out", "--output"] {
        let file = dir.path().join(format!("widgets{name}.json"));
        run(&format!("widgets rebuild {name} {}", file.display())).ok();
        assert!(file.exists(), "{name}");
    }
    for name in ["--expected", "--expect"] {
        run(&format!("webhooks deliveries redeliver --status failed {name} 7")).fails(6);
    }
    for ttl in ["60", "2h"] {
        run(&format!("pages link / --ttl {ttl}")).ok();
        run(&format!("cache ttl {ttl}")).ok();
    }
    run("cache ttl soon").fails(2);
}
