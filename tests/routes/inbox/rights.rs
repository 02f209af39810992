//! Who may do what: none, view, edit.

use serde_json::json;

use super::{all_sent, at, get, sent, site, update};

#[tokio::test]
async fn whoever_may_only_change_learns_nothing() {
    let site = site().await;
    let id = sent(&site, "Ada", 10).await;
    let editor = site.person("editor", json!(["formfunnel_inbox_edit"])).await;
    let key = site.key(&[&at("POST", "submissions_bulk"), &at("POST", "submission_update")]).await;
    for action in ["submissions", "submission_get&id=1", "views", "assignable_users", "file&file=a"]
    {
        let line = at("GET", action);
        site.ask(&line).bearer(&editor.token).refused(403, "permission_denied").await;
        site.ask(&line).key(&key).refused(401, "api_key_forbidden").await;
    }
    // How many match would tell what the inbox holds.
    let line = at("POST", "submissions_bulk");
    for expected in [0, 1] {
        let body = json!({"op": "set_status", "filter": {"contact_email": "ada@example.org"},
                          "expected": expected, "value": "rejected"});
        let refused = site.ask(&line).bearer(&editor.token).json(body.clone());
        let by_user = refused.refused(403, "permission_denied").await.json();
        site.ask(&line).key(&key).json(body).refused(401, "api_key_forbidden").await;
        assert!(!by_user["detail"].as_str().unwrap().contains("matches"));
    }
    // Nor does a reply say what was there before.
    for value in ["qualified", "qualified"] {
        let body = json!({"op": "set_status", "ids": [id], "value": value});
        let done = site.ask(&line).bearer(&editor.token).json(body).expect(200).await.data();
        assert_eq!(done, json!({"matched": 1}));
        let body = json!({"id": id, "inbox_status": value});
        let update = site.ask(&at("POST", "submission_update")).key(&key).json(body);
        assert_eq!(update.expect(200).await.data(), json!({"id": id}));
    }
    assert_eq!(get(&site, id).await["inbox_status"], "qualified");
}

#[tokio::test]
async fn whoever_may_only_see_changes_nothing() {
    let site = site().await;
    let id = sent(&site, "Ada", 10).await;
    let viewer = site.person("viewer", json!(["formfunnel_inbox_view"])).await;
    let drawer =
        site.person("drawer", json!(["formfunnel_funnels_view", "formfunnel_funnels_edit"])).await;
    let list = at("GET", "submissions");
    site.ask(&list).bearer(&viewer.token).expect(200).await;
    site.ask(&list).bearer(&drawer.token).refused(403, "permission_denied").await;
    for (action, body) in [
        ("submission_update", json!({"id": id, "inbox_status": "rejected"})),
        ("submission_delete", json!({"id": id})),
        ("submissions_bulk", json!({"op": "delete", "ids": [id]})),
        ("undo", json!({})),
        ("views", json!({"name": "a"})),
    ] {
        for person in [&viewer, &drawer] {
            let ask = site.ask(&at("POST", action)).bearer(&person.token).json(body.clone());
            ask.refused(403, "permission_denied").await;
        }
    }
    let key = site.key(&["GET /api/backend/formfunnel?action=submissions"]).await;
    site.ask(&list).key(&key).expect(200).await;
    let one = at("GET", &format!("submission_get&id={id}"));
    site.ask(&one).key(&key).refused(401, "api_key_forbidden").await;
    assert_eq!(get(&site, id).await["inbox_status"], "new");
}

#[tokio::test]
async fn a_key_for_one_funnel_sees_that_funnel() {
    let site = site().await;
    sent(&site, "Ada", 10).await;
    let (list, own) = (at("GET", "submissions"), at("GET", "submissions&filter[funnel_id]=7"));
    let key = site.key(&[&own]).await;
    site.ask(&list).key(&key).refused(401, "api_key_forbidden").await;
    assert_eq!(site.ask(&own).key(&key).expect(200).await.data(), json!([]));
}

#[tokio::test]
async fn a_key_for_one_state_learns_no_numbers_of_others() {
    let site = site().await;
    let [_, other] = all_sent(&site, ["Ada", "Bob"]).await;
    update(&site, other, json!({"inbox_status": "converted"})).await;
    let line = at("GET", "submissions&filter[inbox_status]=new");
    let bound = site.key(&[&line]).await;
    let free = site.key(&[&line, &at("GET", "submissions")]).await;
    for asked in ["", "&filter[contact_email][starts_with]=b", "&search=bob"] {
        let line = format!("{line}{asked}");
        let page = site.ask(&line).key(&bound).expect(200).await.json();
        assert!(page["meta"].get("counts").is_none_or(|counts| counts.is_null()), "{page}");
        let page = site.ask(&line).key(&free).expect(200).await.json();
        assert_eq!(page["meta"]["counts"]["converted"], 1, "{page}");
    }
}

#[tokio::test]
async fn whoever_may_only_change_erases_without_learning_what() {
    let site = site().await;
    sent(&site, "Ada", 10).await;
    let editor = site.person("editor", json!(["formfunnel_inbox_edit"])).await;
    let line = at("POST", "erase");
    let key = site.key(&[&line]).await;
    let asked = || site.ask(&line).json(json!({"email": "ada@example.org", "dry_run": true}));
    asked().bearer(&editor.token).refused(403, "permission_denied").await;
    asked().key(&key).refused(401, "api_key_forbidden").await;
    // The second as for an address that nobody has used.
    for email in ["ada@example.org", "eve@example.org"] {
        let erase = site.ask(&line).bearer(&editor.token).json(json!({"email": email}));
        let receipt = erase.expect(200).await.data();
        let mut names: Vec<_> = receipt.as_object().unwrap().keys().map(String::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["database", "digest", "dry_run", "erased_at", "erased_by"], "{email}");
        assert_eq!(site.database.rows("cms_formfunnel_submissions").await, 0, "{email}");
    }
}
