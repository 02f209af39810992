//! `cms pages`

use serde_json::json;

use crate::{
    leaves::PAGES,
    support::{Served, cms, cms_with, site},
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

#[test]
fn a_refused_widget_leaves_no_row() {
    let dir = site();
    cms_with(dir.path(), "items create pages -", PAGES).ok();
    let place = |args: &str, values: &str| {
        cms_with(dir.path(), &format!("widgets place {args} --data -"), values)
    };
    let rows = || cms(dir.path(), "pages tree / --json").json()["data"]["rows"].clone();
    for (widget, values) in [("title", r#"{"tittle": "Hi"}"#), ("nothing", "{}")] {
        place(&format!("{widget} /"), values).fails(1);
        assert_eq!(rows(), json!([]), "{widget}");
    }
    // Without the right to remove the row, the message names it.
    let key = dir.path().join("key").display().to_string();
    let rights = "--right 'GET /api/backend/item?table=pages' \
                  --right 'GET,POST /api/backend/pagebuilder'";
    cms(dir.path(), &format!("keys create --name k {rights} --out {key}")).ok();
    let server = Served::start(dir.path(), &[]);
    let refused = place(&format!("nothing / --url {} --key-file {key}", server.url), "{}");
    refused.fails(8).tells("there is no widget").tells("cms pages remove / row ");
    assert_eq!(rows()[0]["cols"][0]["widgets"], json!([]));
}

/// The draft is read first, so the message needs no word of a tag.
#[test]
fn a_node_that_stands_elsewhere_is_named_with_the_page() {
    let dir = site();
    let run = |args: &str| cms_with(dir.path(), args, r#"{"title": "Hi"}"#);
    cms_with(dir.path(), "items create pages -", PAGES).ok();
    run("widgets place title / --data -").ok();
    for (command, node) in [
        ("pages edit /de widget 1 -", "widget 1"),
        ("pages edit / widget 7 -", "widget 7"),
        ("pages move /de row 1 --position 0", "row 1"),
        ("pages remove /de col 1 --yes", "col 1"),
        ("pages add /de col --in 1", "row 1"),
        ("pages add /de item --in 1", "widget 1"),
        ("widgets place title /de --col 1 --data -", "col 1"),
    ] {
        run(command).fails(5).tells(&format!("{node} does not stand in the draft of /"));
    }
}

#[test]
fn a_copy_over_a_full_draft_names_its_flag() {
    let dir = site();
    let run = |args: &str| cms(dir.path(), args);
    cms_with(dir.path(), "items create pages -", PAGES).ok();
    run("pages add / row").ok();
    run("pages copy / /de").ok();
    run("pages copy / /de").fails(6).tells("--replace overwrites it");
    run("pages copy / /de --replace").ok();
    run("pages copy / /").fails(1).tells("another page is expected");
}
