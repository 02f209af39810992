//! `preview`, and `start_test`: a funnel tried by its author.

use serde_json::{Value as Json, json};

use crate::{
    funnels::{ACTION, drawn, made},
    support::{Site, Visit, each, has, with},
};

#[tokio::test]
async fn a_step_is_shown_with_where_answers_lead_and_why() {
    let site = Site::open().await;
    made(&site, &drawn()).await;
    let before = site.traces().await;
    let look = async |answers: Json| {
        let asked = json!({"funnel_id": "leads", "answers": answers});
        site.staff("preview", asked).expect(200).await.data()
    };
    let rich = look(json!({"mail": " A@Example.ORG ", "budget": "5000"})).await;
    has!(rich, {"/node/id": 1, "node_type": "step", "/node/config/fields/0/max_length": 254,
                "/next/name": "Call", "next_type": "end", "can_complete": true, "errors": []});
    assert_eq!(each(&rich["trace"], "branch_label"), ["default", "true"]);
    has!(rich["trace"], {"/0/result": null, "/1/result": true, "/1/rules/0/field": "budget",
                         "/1/rules/0/answer": 5000, "/1/rules/0/result": true});
    let poor = look(json!({"mail": "a@example.org"})).await;
    has!(poor, {"/next/name": "Sorry", "/trace/1/result": false});
    let wrong = look(json!({"budget": "much"})).await;
    assert_eq!(each(&wrong["errors"], "field"), ["mail", "budget"]);
    has!(wrong, {"next": null, "can_complete": false});
    let end = site.staff("preview", json!({"funnel_id": 1, "node_id": 4})).expect(200).await.data();
    has!(end, {"node_type": "end", "can_complete": true, "next": null});
    assert_eq!(site.traces().await, before, "nothing is stored");
}

/// Two branches meet again behind a condition. What was asked on the other branch decides nothing,
/// nor its hidden and computed fields of the same id.
#[tokio::test]
async fn a_preview_a_trial_and_a_visit_lead_to_the_same() {
    let site = Site::open().await;
    let rule = |field: &str, op: &str, value: Json| {
        let rule = json!({"field": field, "op": op, "value": value});
        json!({"rules": {"rules": [rule]}})
    };
    let branch = |hidden: &str, computed: &str, asked: &str| {
        json!({"fields": [
            {"id": "from", "type": "hidden", "default": hidden},
            {"id": "part", "type": "calculated", "expression": computed},
            {"id": asked, "type": "number", "max": 10}]})
    };
    let (a, b) = (branch("a", "1", "n"), branch("b", "2", "m"));
    let yes = json!([{"id": "yes", "type": "yes_no", "required": true}]);
    for (slug, last) in [
        ("hidden", rule("from", "equals", json!("b"))),
        ("computed", rule("part", "equals", json!(2))),
        ("asked", rule("n", "greater_than", json!(5))),
    ] {
        let funnel = json!({
            "name": slug, "slug": slug, "start_node_id": -1,
            "nodes": [
                {"client_id": -1, "type": "step", "name": "which", "config_json": {"fields": yes}},
                {"client_id": -2, "type": "condition", "name": "a?",
                 "config_json": rule("yes", "equals", json!(true))},
                {"client_id": -3, "type": "step", "name": "a", "config_json": a},
                {"client_id": -4, "type": "step", "name": "b", "config_json": b},
                {"client_id": -5, "type": "condition", "name": "last?", "config_json": last},
                {"client_id": -6, "type": "end", "name": "holds"},
                {"client_id": -7, "type": "end", "name": "fails"},
            ],
            "edges": [
                {"from_node_id": -1, "to_node_id": -2},
                {"from_node_id": -2, "to_node_id": -3, "branch_label": "true"},
                {"from_node_id": -2, "to_node_id": -4, "branch_label": "false"},
                {"from_node_id": -3, "to_node_id": -5},
                {"from_node_id": -4, "to_node_id": -5},
                {"from_node_id": -5, "to_node_id": -6, "branch_label": "true"},
                {"from_node_id": -5, "to_node_id": -7, "branch_label": "false"},
            ],
        });
        let funnel = site.funnel(funnel).await;
        for (step, other, answers) in [
            ("a", "b", json!({"yes": true, "n": 8})),
            ("a", "b", json!({"yes": true, "n": "3"})),
            ("b", "a", json!({"yes": false, "n": 8})),
            ("b", "a", json!({"yes": false, "n": 80})),
        ] {
            let preview = async |node: &str| {
                let asked = json!({"funnel_id": funnel.id, "node_id": funnel.node(node)});
                let asked = with(asked, json!({"answers": answers}));
                site.staff("preview", asked).expect(200).await.data()["next"]["name"].clone()
            };
            let test = json!({"id": funnel.id, "answers": answers});
            let tried = site.staff("test", test).expect(200).await.data();
            let visit = site.visit(slug).await;
            visit.answers(json!({"yes": answers["yes"]})).await;
            let own = if step == "a" { json!({"n": answers["n"]}) } else { json!({}) };
            let end = visit.answers(own).await["node"]["name"].clone();
            for node in [step, "last?"] {
                assert_eq!(preview(node).await, end, "{slug} {node} {answers}");
            }
            assert_eq!(each(&tried["path"], "name").last(), Some(&end), "{slug} {answers}");
            // Answers that lead elsewhere: all good ones count.
            let is_refused = answers["n"] == 80;
            assert_eq!(preview(other).await == Json::Null, is_refused, "{slug} {answers}");
        }
    }
}

#[tokio::test]
async fn what_is_only_drawn_is_shown_too() {
    let site = Site::open().await;
    let asked = |node: i64| json!({"definition": drawn(), "node_id": node});
    let shown = site.staff("preview", asked(-2)).expect(200).await.data();
    has!(shown, {"/node/config": {}, "/next/name": "Sorry"});
    let mut half = asked(-1);
    half["definition"]["edges"] = json!([]);
    half["answers"] = json!({"mail": "a@example.org"});
    let shown = site.staff("preview", half.clone()).expect(200).await.data();
    has!(shown, {"next": null, "can_complete": true});
    half["definition"]["nodes"][0]["type"] = json!("loop");
    for (body, status, code) in [
        (half, 422, "validation_failed"),
        (asked(-77), 422, "validation_failed"),
        (json!({"node_id": 1}), 422, "validation_failed"),
        (json!({"funnel_id": 99}), 404, "not_found"),
        (json!({"funnel_id": 1, "colour": 1}), 422, "validation_failed"),
        (json!([]), 400, "bad_json"),
    ] {
        site.staff("preview", body).refused(status, code).await;
    }
}

#[tokio::test]
async fn who_may_only_see_funnels_tries_stored_ones() {
    let site = Site::open().await;
    made(&site, &drawn()).await;
    let viewer = site.person("viewer", json!(["formfunnel_funnels_view"])).await;
    let ask = |action: &str, body: Json| {
        site.ask(&format!("POST {ACTION}={action}")).bearer(&viewer.token).json(body)
    };
    for (action, body, may) in [
        ("preview", json!({"funnel_id": 1}), true),
        ("test", json!({"id": 1}), true),
        ("routing_test", json!({"funnel_id": 1}), true),
        ("publish", json!({"id": 1, "dry_run": true}), true),
        ("preview", json!({"definition": drawn(), "node_id": -1}), false),
        ("explain", json!({"condition": null}), false),
        ("publish", json!({"id": 1, "dry_run": false}), false),
        ("publish", json!({"id": 1}), false),
        ("save", json!({"id": 1, "dry_run": true}), false),
    ] {
        match may {
            true => ask(action, body).expect(200).await,
            false => ask(action, body).refused(403, "permission_denied").await,
        };
    }
}

#[tokio::test]
async fn an_author_tries_a_funnel_and_nobody_is_told() {
    let site = Site::open().await;
    let settings = json!({"page_url": "https://example.org/offer", "max_submissions": 1});
    let mails = json!([{"recipients": "sales@example.org", "auto_reply_enabled": 1},
                       {"recipients": "sales@example.org", "trigger_event": "abandoned"}]);
    let funnel = json!({"save_abandoned": 1, "settings_json": settings, "email_routings": mails});
    let id = site.leads(funnel).await.id;
    let editor = site.person("editor", json!(["formfunnel_funnels_edit"])).await;
    let viewer = json!(["formfunnel_funnels_view", "formfunnel_inbox_edit"]);
    let viewer = site.person("viewer", viewer).await;
    let start =
        || site.ask(&format!("POST {ACTION}=start_test")).json(json!({"funnel_id": "leads"}));
    start().bearer(&viewer.token).refused(403, "permission_denied").await;
    start().refused(401, "login_required").await;
    let before = site.database.rows("cms_events").await;
    for completes in [true, false] {
        let started = start().bearer(&editor.token).expect(201).await.data();
        let url = started["url"].as_str().unwrap();
        let token = url.strip_prefix("https://example.org/offer#cms-resume=").unwrap();
        let back = site.visitor("resume", json!({"token": token})).expect(200).await.json();
        assert_eq!(back["session_uuid"], started["session_uuid"]);
        let session = started["session_uuid"].as_str().unwrap().to_owned();
        let visit = Visit { site: &site, session };
        visit.answers(json!({"name": "Ada", "mail": "ada@example.com"})).await;
        if completes {
            visit.answers(json!({"budget": 1})).await;
            visit.complete(None).expect(200).await;
        } else {
            visit.abandon().await;
            visit.answers(json!({"budget": 1})).await;
            site.clock.advance(2 * 3_600_000);
            site.process_abandoned().await;
        }
        assert!(visit.is("is_test").await);
    }
    assert_eq!(site.database.rows("cms_events").await, before, "no event of the visits");
    assert_eq!(site.database.rows("cms_mails").await, 0);
    site.clock.advance(30 * 3_600_000);
    site.process_abandoned().await;
    let told = site.get(&format!("{ACTION}=analytics&funnel_id={id}")).await;
    has!(told["totals"], {"started": 0, "engaged": 0, "completed": 0, "abandoned": 0,
                          "in_progress": 0, "spam": 0});
    for (test, listed) in [(true, 2), (false, 0)] {
        let page = site.get(&format!("{ACTION}=submissions&filter[is_test]={test}")).await;
        assert_eq!(page.as_array().unwrap().len(), listed, "{test}");
    }
    let made = "cms_audit where table_name = 'formfunnel_submissions' and action = 'create'";
    assert_eq!(site.database.rows(made).await, 2, "the author's");
    // Tests are no submissions: the funnel is not full.
    let visit = site.visit("leads").await;
    assert!(!visit.is("is_test").await);
    assert_eq!(site.raised("formfunnel.started").await, 1);
}
