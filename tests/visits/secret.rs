//! The session is the visitor's secret: it stands in its own column, and nowhere else.

use serde_json::{Value as Json, json};

use super::crash::{call, serve};
use crate::support::{TestDatabase, search, visits::leads};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_stands_in_no_log_and_in_no_table_but_its_own() {
    let database = TestDatabase::new().await;
    let mut saving = leads();
    saving["save_abandoned"] = 1.into();
    saving["settings_json"] = json!({"page_url": "https://example.org/offer"});
    saving["email_routings"] = json!([
        {"recipients": "a@example.org", "subject": "{{*}} {{_submission.url}}"},
        {"recipients": "b@example.org", "subject": "{{*}}", "trigger_event": "abandoned",
         "body_html": "{{_resume_url}}"},
    ]);
    let served = serve(&database, saving, "debug").await;
    let send = async |action: &str, body: Json| call(&served.url, action, body).await.unwrap();
    let started = send("start", json!({"funnel_id": "leads"})).await.1;
    let session = started["session_uuid"].as_str().unwrap().to_owned();
    let own = |mut body: Json| {
        body["session_uuid"] = session.clone().into();
        body
    };
    for (action, body, status) in [
        ("step", json!({"answers": {}}), 422),
        ("step", json!({"answers": {"name": "Ada"}, "node_id": 999}), 409),
        ("step", json!({"answers": {"name": "Ada"}, "more": 1}), 422),
        ("step", json!({"answers": {"name": "Ada"}}), 200),
        ("abandon", json!({}), 204),
        ("resume", json!({}), 200),
        ("complete", json!({}), 422),
        ("complete", json!({"answers": {"budget": 1}}), 200),
        ("complete", json!({}), 200),
        ("step", json!({"answers": {"budget": 1}}), 409),
    ] {
        let reply = send(action, own(body.clone())).await;
        assert_eq!(reply.0, status, "{action} {body} {}", reply.1);
        assert!(action == "start" || !reply.1.to_string().contains(&session));
    }
    let (code, log) = served.terminate();
    assert_eq!(code, Some(0));
    assert!(log.contains("formfunnel"), "the log tells of the calls");
    assert!(!log.contains(&session));
    let holders = search::holders(&database, &session).await;
    assert_eq!(holders, ["cms_formfunnel_submissions"]);
    let hidden = "update cms_formfunnel_submissions set session_uuid = 'x'";
    database.run(hidden.to_owned()).await;
    assert!(search::holders(&database, &session).await.is_empty());
}
