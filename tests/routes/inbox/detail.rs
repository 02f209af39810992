//! One submission: its answers, the way in words, its files and mails.

use serde_json::json;

use super::{at, bulk, get, id, sent, site, update};
use crate::support::{each, has};

#[tokio::test]
async fn a_submission_tells_the_way_that_it_took_and_why() {
    let site = site().await;
    let rich = get(&site, sent(&site, "Ada", 9000).await).await;
    let passed = rich["path_resolved"].as_array().unwrap();
    assert_eq!(each(&rich["path_resolved"], "name"), ["who", "budget", "call", "thanks"]);
    has!(passed[0], {"/answers/0/text": "Ada", "/config/fields/0/id": "name"});
    let words = [
        "From \"budget\" to \"rich?\".",
        "From \"rich?\" to \"call\", because its condition holds: budget greater or equal 5000? \
         yes, it is 9000.",
    ];
    assert_eq!(each(&passed[1]["ways"], "words"), words);
    has!(passed[1]["ways"][1], {"branch_label": "true", "result": true, "/rules/0/answer": 9000});
    let poor = get(&site, sent(&site, "Bob", 10).await).await;
    let way = &poor["path_resolved"][1]["ways"][1];
    assert_eq!(way["to_name"], "sorry");
    assert!(way["words"].as_str().unwrap().contains("does not hold"), "{way}");
    // Taken from what happened: the edges of the events are those of the words.
    let taken = "cms_formfunnel_events where kind = 'edge' and on_path";
    let told = [&rich, &poor].into_iter().flat_map(|one| each(&one["path_resolved"], "ways"));
    let told: usize = told.map(|ways| ways.as_array().unwrap().len()).sum();
    assert_eq!(site.database.rows(taken).await, told as i64);
}

/// Names of columns, never values: what somebody noted is for those who may read notes.
#[tokio::test]
async fn a_submission_tells_who_changed_what_and_when() {
    let site = site().await;
    let ana = site.person("ana", json!(["formfunnel_inbox_view", "formfunnel_inbox_edit"])).await;
    let id = sent(&site, "Ada", 10).await;
    let by_visitor = get(&site, id).await["history"].clone();
    assert_eq!(by_visitor[0]["actor"]["kind"], "visitor", "{by_visitor}");
    site.clock.advance(1000);
    let at_ana = cms_core::rfc3339(site.clock.now());
    let hers = json!({"id": id, "inbox_status": "contacted", "inbox_notes": "Secret note"});
    site.ask(&at("POST", "submission_update")).bearer(&ana.token).json(hers).expect(200).await;
    site.clock.advance(1000);
    bulk(&site, json!({"op": "set_status", "ids": [id], "value": "qualified"})).await;
    let history = get(&site, id).await["history"].clone();
    has!(history[0], {"/actor/kind": "key", "columns": ["inbox_status"]});
    let expected = json!({
        "actor": {"kind": "user", "id": ana.id, "name": "ana"}, "action": "update",
        "columns": ["inbox_status", "inbox_notes"], "created_at": at_ana,
    });
    assert_eq!(history[1], expected);
    let (newer, older) = history.as_array().unwrap().split_at(2);
    assert_eq!((newer.len(), older), (2, by_visitor.as_array().unwrap().as_slice()));
    assert!(!history.to_string().contains("Secret note"), "{history}");
    // It is short, however much was done.
    for n in 0..60 {
        update(&site, id, json!({"inbox_notes": format!("{n}")})).await;
    }
    assert_eq!(get(&site, id).await["history"].as_array().unwrap().len(), 50);
    // Of this submission alone.
    let other = sent(&site, "Bob", 10).await;
    let kinds = each(&get(&site, other).await["history"], "/actor/kind");
    assert!(!kinds.is_empty() && kinds.iter().all(|kind| kind == "visitor"), "{kinds:?}");
}

#[tokio::test]
async fn a_visit_under_way_ends_where_it_stands() {
    let site = site().await;
    let visit = site.ada(10).await;
    // Back, and on another way: only the last one counts.
    let node = get(&site, id(&visit).await).await["path"][1].as_i64();
    visit.step(node, json!({"budget": 9000})).expect(200).await;
    let shown = get(&site, id(&visit).await).await;
    let passed = shown["path_resolved"].as_array().unwrap();
    has!(passed.last().unwrap(), {"name": "call", "ways": []});
    assert_eq!(passed[1]["ways"][1]["to_name"], "call");
    assert_eq!(shown["status"], "in_progress");
    site.admin(&at("GET", "submission_get&id=99")).refused(404, "not_found").await;
    site.admin(&at("GET", "submission_get")).refused(400, "bad_query").await;
}

#[tokio::test]
async fn the_way_is_that_of_the_version_of_the_visit() {
    let site = site().await;
    let id = sent(&site, "Ada", 9000).await;
    let mut drawn = site.admin(&at("GET", "get&id=1")).expect(200).await.data();
    for node in drawn["nodes"].as_array_mut().unwrap() {
        node["client_id"] = node["id"].take();
        node.as_object_mut().unwrap().remove("id");
        node["name"] = json!("renamed");
    }
    for edge in drawn["edges"].as_array_mut().unwrap() {
        edge.as_object_mut().unwrap().remove("id");
    }
    let saved = json!({"id": 1, "nodes": drawn["nodes"], "edges": drawn["edges"]});
    site.staff("save", saved).expect(200).await;
    site.publish(1).await;
    assert_eq!(get(&site, id).await["path_resolved"][0]["name"], "who");
}

#[tokio::test]
async fn a_file_is_saved_and_never_shown() {
    let site = site().await;
    let visit = site.ada(9000).await;
    let pdf = b"%PDF-1.4\n1 0 obj\n<<>>\nendobj\ntrailer\n<<>>\n%%EOF\n";
    let file = visit.upload("paper", pdf).await.json()["file"].clone();
    visit.answers(json!({"paper": [file]})).await;
    let shown = get(&site, id(&visit).await).await;
    has!(shown["files"][0], {"file": file, "name": "a.pdf", "attached": true});
    let action = format!("file&file={}", file.as_str().unwrap());
    let reply = site.admin(&at("GET", &action)).expect(200).await;
    assert_eq!(reply.text().as_bytes(), pdf);
    assert_eq!(reply.header("content-type"), "application/pdf");
    assert_eq!(reply.header("x-content-type-options"), "nosniff");
    assert!(reply.header("content-disposition").starts_with("attachment; filename=\"a.pdf\""));
    for unknown in ["file&file=none", "file&file=%00"] {
        let refused = site.admin(&at("GET", unknown)).send().await;
        assert!([400, 404].contains(&refused.status.as_u16()), "{unknown}: {}", refused.text());
    }
    // What is deleted takes its files along.
    site.staff("submission_delete", json!({"id": id(&visit).await})).expect(200).await;
    site.admin(&at("GET", &action)).refused(404, "not_found").await;
    assert_eq!(site.database.rows("cms_formfunnel_uploads").await, 0);
}
