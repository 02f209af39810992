//! `?action=start_test`: a funnel tried by its author.

use serde_json::json;

use crate::support::{
    Site,
    visits::{Visit, leads},
};

#[tokio::test]
async fn an_author_tries_a_funnel_and_nobody_is_told() {
    let site = Site::open().await;
    let mut funnel = leads();
    funnel["save_abandoned"] = 1.into();
    funnel["settings_json"] =
        json!({"page_url": "https://example.org/offer", "max_submissions": 1});
    funnel["email_routings"] = json!([
        {"recipients": "sales@example.org", "auto_reply_enabled": 1},
        {"recipients": "sales@example.org", "trigger_event": "abandoned"},
    ]);
    let id = site.funnel(funnel).await.id;
    let editor = json!(["formfunnel_funnels_edit"]);
    let editor = site.person("editor", editor).await;
    let line = "POST /api/backend/formfunnel?action=start_test";
    let start = || site.ask(line).json(json!({"funnel_id": "leads"}));
    let viewer = json!(["formfunnel_funnels_view", "formfunnel_inbox_edit"]);
    let viewer = site.person("viewer", viewer).await;
    start().bearer(&viewer.token).refused(403, "permission_denied").await;
    start().refused(401, "login_required").await;
    let before = site.database.count("select count(*) from cms_events").await;
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
            site.cms.funnels().process_abandoned().await.unwrap();
        }
        assert_eq!(visit.column("case when is_test then 1 else 0 end").await, 1);
    }
    let after = site.database.count("select count(*) from cms_events").await;
    assert_eq!(after, before, "no event of the visits");
    assert_eq!(site.database.count("select count(*) from cms_mails").await, 0);
    site.clock.advance(30 * 3_600_000);
    site.cms.funnels().process_abandoned().await.unwrap();
    let line = format!("GET /api/backend/formfunnel?action=analytics&funnel_id={id}");
    let totals = site.admin(&line).expect(200).await.data()["totals"].clone();
    for number in ["started", "engaged", "completed", "abandoned", "in_progress", "spam"] {
        assert_eq!(totals[number], 0, "{number}: {totals}");
    }
    let listed = async |test: bool| {
        let query = format!("action=submissions&filter[is_test]={test}");
        let page = site.admin(&format!("GET /api/backend/formfunnel?{query}")).expect(200).await;
        page.data().as_array().unwrap().len()
    };
    assert_eq!((listed(true).await, listed(false).await), (2, 0));
    let made = "select count(*) from cms_audit where table_name = 'formfunnel_submissions' \
                and action = 'create'";
    assert_eq!(site.database.count(made).await, 2, "the author's");
    // Tests are no submissions: the funnel is not full.
    let visit = site.visit("leads").await;
    assert_eq!(visit.column("case when is_test then 1 else 0 end").await, 0);
    assert_eq!(site.raised("formfunnel.started").await, 1);
}
