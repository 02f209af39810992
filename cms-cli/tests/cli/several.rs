//! Verbs that take several ids, or `-` for those on standard input

use serde_json::{Value as Json, json};

use crate::support::{PASSWORD, Served, both_ways, cms, cms_with, site, site_of_ana};

#[test]
fn keys_change_together() {
    let dir = site();
    let run = |args: &str| cms(dir.path(), &format!("keys {args}"));
    for name in ["a", "b", "c"] {
        run(&format!("create --name {name} --right 'GET /api/pages'")).ok();
    }
    let active = || {
        let page = run("list --json").json();
        let rows = page["data"].as_array().expect("a list").clone();
        rows.iter().map(|key| key["active"] == true).collect::<Vec<_>>()
    };
    let changed = run("disable a 2 --json").json();
    assert_eq!(changed["data"].as_array().map(Vec::len), Some(2), "{changed}");
    assert_eq!(active(), [false, false, true]);
    assert_eq!(run("enable a b").ok().lines().count(), 2);
    // One is shown as a record, as ever.
    assert_eq!(run("disable c --json").json()["data"]["id"], 3);
    // Lists go into verbs through a pipe.
    let list = run("list").ok();
    cms_with(dir.path(), "keys enable -", &list).ok();
    assert_eq!(active(), [true, true, true]);
    // A name that nobody has: nothing is done.
    run("disable a none").fails(5);
    assert_eq!(active(), [true, true, true]);
    run("delete 1 99 2 --yes").fails(8).tells("Done before the failure: 1\n");
    cms_with(dir.path(), "keys delete -", "2\n").fails(2);
    cms_with(dir.path(), "keys delete - --yes", "2\nc\n").ok();
    assert_eq!(run("list").ok(), "");
}

#[test]
fn numbers_are_looked_for_together_and_named_in_the_question() {
    let dir = site();
    for name in ["web", "shop", "press"] {
        cms(dir.path(), &format!("keys create --name {name} --right 'GET /api/pages'")).ok();
    }
    let server = Served::start(dir.path(), &[]);
    let [_, remote] = both_ways(dir.path(), &server);
    let requests = || {
        let key = cms(dir.path(), &format!("keys show k --json {remote}")).json();
        key["data"]["requests"].as_i64().expect("a number")
    };
    let before = requests();
    cms_with(dir.path(), &format!("keys disable - {remote}"), "1\n2\n3\n").ok();
    // One looks for all three, three change them, two show the key.
    assert_eq!(requests() - before, 6);
    // Numbers of no key stand for themselves.
    let asked = cms_with(dir.path(), "keys delete -", "1\n2\nPRESS\n97\n98\n99\n100\n").fails(2);
    asked.tells("Delete 7 API keys: 1 (web), 2 (shop), press, 97, 98 and 2 more? Programs");
    let deleted = cms(dir.path(), "keys delete 1 SHOP 3 shop 1 --yes");
    deleted.tells("3 API keys deleted: 1 (web), shop, 3 (press)\n").ok();
}

/// What only has it for a name is told with its id, and left as it is.
#[test]
fn a_number_is_an_id() {
    let dir = site();
    let run = |args: &[&str]| cms(dir.path(), &[&["keys"], args].concat());
    for name in ["777", "2", "c", "3"] {
        run(&["create", "--name", name, "--right", "GET /api/pages"]).ok();
    }
    let id = |named: &str| run(&["show", named, "--json"]).json()["data"]["id"].clone();
    assert_eq!(["1", "2", "3", "4", "c"].map(id), [1, 2, 3, 4, 3].map(Json::from));
    for named in
        [&["show", "777"][..], &["delete", "2", "777", "--yes"], &["rotate", "777", "--yes"]]
    {
        let refused = run(named).fails(5);
        let told = "no API key has the id 777; the one named 777 has the id 1";
        assert!(refused.err.contains(told), "{refused:?}");
    }
    run(&["delete", "1", "3", "--yes"]).ok();
    let left = run(&["list", "--json"]).json();
    let ids = left["data"].as_array().expect("a list").iter().map(|key| &key["id"]);
    assert_eq!(ids.collect::<Vec<_>>(), [2, 4]);
    // So is the view of a page.
    let page = json!({"language_short": "en", "url_rewrite": "/gone", "title": "Gone",
                      "view": "404"});
    cms_with(dir.path(), &["items", "create", "pages", "-"], &page.to_string()).ok();
    let show = |page: &str| cms(dir.path(), &["pages", "show", page]);
    show("1").ok();
    let refused = show("404").fails(5);
    assert!(refused.err.contains("the one named 404 has the id 1"), "{refused:?}");
    show("405").fails(5);
}

#[test]
fn users_and_jobs_change_together() {
    let dir = site_of_ana();
    let run = |args: &str| cms(dir.path(), args);
    run("groups create readers --right pages_pages_view").ok();
    for name in ["bo", "cy"] {
        let create = format!("users create {name} --group readers --password-stdin");
        cms_with(dir.path(), &create, PASSWORD).ok();
    }
    run("users disable bo 3").ok();
    let list = || run("users list").ok();
    let off = || {
        let page = run("users list --json").json();
        page["data"].as_array().expect("a list").iter().filter(|one| one["active"] == false).count()
    };
    assert_eq!(off(), 2);
    cms_with(dir.path(), "users enable -", &list()).ok();
    assert_eq!(off(), 0);
    run("users delete bo cy").fails(2);
    run("users delete bo cy --yes").ok();
    assert_eq!(list().lines().count(), 1, "{}", list());

    run("queue retry x").fails(2);
    run("queue retry 7 8").fails(5);
    cms_with(dir.path(), "queue retry - 3", "").fails(2);
    let nothing = cms_with(dir.path(), "queue cancel - --yes", "\n");
    assert_eq!((nothing.code, nothing.out.as_str()), (0, ""), "{nothing:?}");
    for verb in ["pause", "activate", "delete"] {
        run(&format!("webhooks {verb} none --yes")).fails(5);
    }
}
