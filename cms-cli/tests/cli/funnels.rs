//! `cms funnels`

use serde_json::{Value as Json, json};

use crate::{
    leaves::FUNNEL,
    support::{Served, both_ways, cms, cms_with, site},
};

#[test]
fn a_funnel_is_imported_drawn_published_and_exported() {
    let dir = site();
    cms_with(dir.path(), "funnels import -", FUNNEL).ok();
    let server = Served::start(dir.path(), &[]);
    // Over the network as in the folder.
    for at in both_ways(dir.path(), &server) {
        let run = |args: &str| cms(dir.path(), &format!("funnels {args} {at}"));
        let drawn = run("graph good").ok();
        assert!(drawn.contains("\u{25b6} 1 step \"Who\": mail (email)\n    \u{2192} 2 \"Thanks\""));
        assert!(run("graph good --dot").ok().contains("n1 -> n2;"));
        assert!(run("show 1").ok().contains("1 \u{2192} 2 (default)"));
        let answers = dir.path().join("answers.json");
        std::fs::write(&answers, r#"{"mail": "ada@example.org"}"#).expect("written");
        let answers = answers.to_str().expect("a path");
        run(&format!("preview good --answers {answers}"))
            .shows("1 \u{2192} 2 (default)\n\u{2192} 2 end \"Thanks\"");
        run("check good --strict").ok();
        let published = run("publish good --json").json();
        assert_eq!(published["data"]["version"], 1);
        assert!(run("list --status published").ok().contains("good"));
        run("archive good").fails(2);
        run("archive good --yes").ok();
        assert_eq!(run("list --status published").ok(), "");
        run("show none").fails(5);
    }
    let run = |args: &str| cms(dir.path(), &format!("funnels {args}"));
    run("duplicate good --slug copy").ok();
    let exported = |slug: &str| -> Json {
        serde_json::from_str(&run(&format!("export {slug}")).ok()).expect("JSON")
    };
    let (mut original, mut copy) = (exported("good"), exported("copy"));
    assert_eq!((original["slug"].take(), copy["slug"].take()), ("good".into(), "copy".into()));
    assert_eq!(original, copy);
    // What was exported makes the same again.
    let file = dir.path().join("good.json");
    let name = file.to_str().expect("a path");
    run(&format!("export good --out {name}")).ok();
    run(&format!("import {name}")).fails(6);
    run(&format!("import {name} --slug again")).ok();
    let mut again = exported("again");
    assert_eq!(again["slug"].take(), "again");
    assert_eq!(original, again);
    // Applied, it is saved over the funnel of its slug, whose nodes stay, and made where none is.
    let mut changed = exported("good");
    changed["name"] = "Better".into();
    changed["nodes"][1]["name"] = "Bye".into();
    std::fs::write(&file, changed.to_string()).expect("written");
    run(&format!("apply {name}")).ok();
    assert_eq!(exported("good"), changed);
    let shown = run("show good --json").json()["data"].clone();
    assert_eq!((&shown["id"], &shown["nodes"][0]["id"]), (&1.into(), &1.into()));
    assert_eq!((&shown["start_node_id"], &shown["status"]), (&1.into(), &"archived".into()));
    let other = site();
    cms(other.path(), &format!("funnels apply {name}")).ok();
    assert!(cms(other.path(), "funnels list").ok().contains("Better"));
    cms_with(other.path(), "funnels apply -", r#"{"name": "No slug"}"#).fails(2);
}

/// Nodes are known by type and name, mail rules by event and subject, wherever the file has them.
#[test]
fn an_applied_funnel_keeps_the_ids_of_what_stays() {
    let dir = site();
    cms_with(dir.path(), "funnels import -", FUNNEL).ok();
    let run = |args: &str| cms(dir.path(), &format!("funnels {args}"));
    let apply = |sent: &Json| cms_with(dir.path(), "funnels apply -", &sent.to_string());
    let shown = |id: i64| run(&format!("show {id} --json")).json()["data"].clone();
    let ids = |list: &Json| -> Vec<Option<i64>> {
        list.as_array().expect("a list").iter().map(|one| one["id"].as_i64()).collect()
    };
    let original: Json = serde_json::from_str(&run("export good").ok()).expect("JSON");
    let before = shown(1);
    assert_eq!(ids(&before["nodes"]), [Some(1), Some(2)]);
    apply(&original).tells("stays as it is").ok();
    assert_eq!(shown(1), before);
    // A new step in front of the others, which change places.
    let mut sent = original.clone();
    sent["nodes"] = json!([
        {"client_id": -1, "type": "step", "name": "New", "config_json": {
            "fields": [{"id": "name", "type": "short_text"}]}},
        {"client_id": -2, "type": "end", "name": "Thanks"},
        {"client_id": -3, "type": "step", "name": "Who", "config_json": {
            "fields": [{"id": "mail", "type": "email"}]}},
    ]);
    sent["edges"] = json!([
        {"from_node_id": -1, "to_node_id": -3}, {"from_node_id": -3, "to_node_id": -2},
    ]);
    let mut other = sent["email_routings"][0].clone();
    other["subject"] = "Other".into();
    sent["email_routings"][0]["cc"] = "b@example.org".into();
    let rules = sent["email_routings"].as_array_mut().expect("rules");
    rules.insert(0, other);
    for (at, rule) in rules.iter_mut().enumerate() {
        rule["sort_order"] = at.into();
    }
    // The id of a rule in a file is one of another site.
    let mut numbered = sent.clone();
    numbered["email_routings"][0]["id"] = 1.into();
    apply(&numbered).tells("Mail rules count at once").ok();
    let after = shown(1);
    assert_eq!(ids(&after["nodes"]), [Some(3), Some(2), Some(1)]);
    assert_eq!((&after["start_node_id"], &after["rev"]), (&3.into(), &2.into()));
    assert_eq!(ids(&after["email_routings"]), [Some(2), Some(1)]);
    assert_eq!(after["email_routings"][1]["cc"], "b@example.org");
    // What the file no longer has is removed.
    apply(&original).ok();
    let back = shown(1);
    for name in ["nodes", "edges", "email_routings", "start_node_id"] {
        assert_eq!(back[name], before[name], "{name}");
    }
    // Another language is another funnel, in whatever case the file writes the language.
    numbered["language_short"] = "de".into();
    apply(&numbered).ok();
    sent["language_short"] = "DE".into();
    sent["name"] = "Gut".into();
    apply(&sent).ok();
    let all = run("list --language * --json").json();
    assert_eq!(ids(&all["data"]), [Some(1), Some(2)]);
    let german = shown(2);
    assert_eq!((&german["name"], &german["language_short"]), (&"Gut".into(), &"DE".into()));
    assert_eq!(shown(1), back);
}

#[test]
fn what_is_wrong_is_told_and_nothing_is_saved() {
    let dir = site();
    cms_with(dir.path(), "funnels import -", FUNNEL).ok();
    let run = |args: &str| cms(dir.path(), &format!("funnels {args}"));
    let edit = |text: &str| cms_with(dir.path(), "funnels edit good -", text);
    let refused = edit(r#"{"nodes": [{"client_id": 0}], "funnel": {"slug": "7"}}"#).fails(1);
    for told in ["nodes[0].client_id", "funnel.slug", "edges[0].from_node_id"] {
        assert!(refused.err.contains(told), "{refused:?}");
    }
    edit(r#"{"rev": 7}"#).fails(6);
    edit(r#"{"node": []}"#).fails(2);
    edit("[").fails(2);
    assert_eq!(run("show good --json").json()["data"]["rev"], 1);
    edit(r#"{"rev": 1, "email_routings": []}"#).ok();
    assert_eq!(run("routing list good").ok(), "");
    let rules = r#"[{"recipients": "nobody"}]"#;
    cms_with(dir.path(), "funnels routing set good -", rules).fails(1);
    cms_with(dir.path(), "funnels routing set good -", "{}").fails(2);
    let rules = r#"[{"recipients": "a@example.org"}]"#;
    cms_with(dir.path(), "funnels routing set good -", rules).ok();
    assert!(run("routing list good").ok().contains("a@example.org"));
    run("create Empty").ok();
    run("check empty").fails(1).tells("at least one step");
    run("publish empty").fails(6);
    // Without a terminal there is no editor.
    run("edit good").fails(2);
    run("delete good").fails(2);
    run("delete good --yes").ok();
    run("show good").fails(5);
}

/// Whoever may change funnels and read none publishes, archives and deletes them. With `--rev` only
/// what they have seen.
#[test]
fn verbs_that_change_read_nothing() {
    let dir = site();
    let dir = dir.path();
    cms_with(dir, "funnels import -", FUNNEL).ok();
    let right = "POST /api/backend/formfunnel";
    let key = dir.join("key");
    let file = key.to_str().expect("a path");
    cms(dir, &format!("keys create --name k --right '{right}' --out {file}")).ok();
    let served = Served::start(dir, &[]);
    let run =
        |args: &str| cms(dir, &format!("funnels {args} --url {} --key-file {file}", served.url));
    run("show good").fails(4);
    for verb in ["publish", "archive", "delete"] {
        run(&format!("{verb} good --rev 7 --yes")).fails(6);
    }
    run("publish good --rev 1").ok();
    run("archive good --rev 1 --yes").ok();
    run("publish 1").ok();
    run("archive 1 --yes").ok();
    run("delete 1 --yes").ok();
    cms(dir, "funnels show good").fails(5);
}

/// A funnel with a branch and a rule for one side of it.
const BRANCHED: &str = r#"{
    "name": "Leads", "slug": "leads", "start_node_id": -1,
    "nodes": [
        {"client_id": -1, "type": "step", "name": "Who", "config_json": {"fields": [
            {"id": "mail", "type": "email", "required": true},
            {"id": "budget", "type": "number"}]}},
        {"client_id": -2, "type": "condition", "name": "Rich", "config_json": {"rules": {"rules": [
            {"field": "budget", "op": "greater_or_equal", "value": 5000}]}}},
        {"client_id": -3, "type": "end", "name": "Call"},
        {"client_id": -4, "type": "end", "name": "Sorry"}
    ],
    "edges": [
        {"from_node_id": -1, "to_node_id": -2},
        {"from_node_id": -2, "to_node_id": -3, "branch_label": "true"},
        {"from_node_id": -2, "to_node_id": -4, "branch_label": "false"}
    ],
    "email_routings": [{"recipients": "sales@example.org", "subject": "Call {{ mail }}",
        "condition_json": {"rules": [{"field": "budget", "op": "is_not_empty"}]}}]
}"#;

#[test]
fn answers_are_tried_and_conditions_explained() {
    let dir = site();
    cms_with(dir.path(), "funnels import -", BRANCHED).ok();
    let tried = |verb: &str, answers: &str| {
        cms_with(dir.path(), &format!("funnels {verb} --answers -"), answers).ok()
    };
    let rich = tried("test leads", r#"{"mail": "ada@example.org", "budget": 6000}"#);
    for line in [
        "1. step 1 \"Who\"",
        "2. condition 2 \"Rich\" → true",
        "✓ rules[0]: budget greater_or_equal 5000 (answer: 6000)",
        "3. end 3 \"Call\"",
        "The visit ends at \"Call\".",
    ] {
        assert!(rich.contains(line), "{line}: {rich}");
    }
    let stops = tried("test leads", r#"{"budget": 6000}"#);
    assert!(stops.contains("mail: ") && stops.contains("(required)"), "{stops}");
    assert!(stops.contains("The visit stops at \"Who\"."), "{stops}");
    let routed = tried("routing test leads", r#"{"mail": "a@example.org", "budget": 1}"#);
    assert!(routed.contains("rule 1 writes"), "{routed}");
    assert!(routed.contains("notice to sales@example.org: Call a@example.org"), "{routed}");
    let nobody = cms_with(dir.path(), "funnels routing test leads --answers -", "{}");
    let nobody = nobody.tells("mail: an answer is expected (required)").ok();
    assert!(nobody.contains("No rule matches: nobody is written to."), "{nobody}");
    let condition = dir.path().join("condition.json");
    let rule = r#"{"rules": [{"field": "budget", "op": "less_than", "value": 5}]}"#;
    std::fs::write(&condition, rule).expect("written");
    let file = condition.to_str().expect("a path");
    let explained = tried(&format!("explain --condition {file}"), r#"{"budget": 7}"#);
    assert!(explained.contains("✗ rules[0]: budget less_than 5 (answer: 7)"), "{explained}");
    assert!(explained.ends_with("The condition does not hold.\n"), "{explained}");
    std::fs::write(&condition, r#"{"rules": [{"field": "budget", "op": "under"}]}"#)
        .expect("written");
    cms(dir.path(), &format!("funnels explain --condition {file} --validate")).fails(1);
}

#[test]
fn only_what_was_checked_is_published() {
    let dir = site();
    cms_with(dir.path(), "funnels import -", BRANCHED).ok();
    let run = |args: &str| cms(dir.path(), &format!("funnels {args}"));
    run("check leads").ok();
    let rename = r#"{"funnel": {"name": "Renamed"}}"#;
    cms_with(dir.path(), "funnels edit leads -", rename).ok();
    run("publish leads --rev 1").fails(6).tells("saved since");
    assert_eq!(run("show leads --json").json()["data"]["status"], "draft");
    run("publish leads --rev 2").ok();
    run("publish leads").ok();
    assert!(run("list --language *").ok().contains("leads"));
    let stats = run("stats").ok();
    assert!(stats.starts_with("leads\t0\t") && stats.trim_end().ends_with("\t\t1"), "{stats}");
}
