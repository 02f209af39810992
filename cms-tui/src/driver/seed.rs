//! A site with a little of everything.

use cms_core::Secret;
use cms_http::client::Ask;
use serde_json::json;

use super::site::TestSite;

pub(super) async fn seeded() -> TestSite {
    // One attempt at a time, so that attempts have the same order in every run.
    let site = TestSite::with(|settings| settings.webhooks.concurrency = 1).await;
    for n in 1..=60 {
        site.post(&format!("How to tell when chain {n} is worn")).await;
    }
    let pages = json!([{"endpoint": "/api/pages", "methods": ["GET"]}]);
    site.key("export-job", json!({"rights": pages, "expires_on": "2026-11-30"})).await;
    let item = json!({"endpoint": "/api/backend/item", "methods": ["GET", "POST"]});
    site.key("mobile-app", json!({"rights": [item]})).await;
    site.key("ci", json!({"rights": [{"endpoint": "*"}], "active": false})).await;
    let editors = json!({"name": "editors", "rights": ["blog_posts_view", "blog_posts_edit"]});
    site.does(Ask::post("/api/backend/user_groups"), editors).await;
    for origin in ["https://shop.example.org", "https://www.example.org"] {
        site.does(Ask::post("/api/backend/origins"), json!({"origin": origin})).await;
    }
    let wrong = json!({"username": "nobody", "password": "not the password"});
    let login = Ask::post("/api/backend/auth/login").json(&wrong);
    assert!(site.client().send(login).await.is_err());
    site.webhook("crm-sync", "http://127.0.0.1:9/in").await;
    site.webhook("warehouse", "http://127.0.0.1:9/stock").await;
    for n in 61..=66 {
        site.post(&format!("Räder, die laufen {n} 日本の自転車")).await;
    }
    for _ in 0..14 {
        site.clock.advance(2_000);
        site.delivers().await;
    }
    // The first jobs are tried once more.
    site.clock.advance(20_000);
    for _ in 0..2 {
        site.delivers().await;
    }
    site
}

/// A site with a form that three people and a program have answered; its mail server is away.
pub(super) async fn with_forms() -> TestSite {
    let site = TestSite::with(|settings| {
        settings.mail.from = Some("Shop <shop@example.org>".to_owned());
        settings.mail.smtp_url = Some(Secret::new("smtp://127.0.0.1:9"));
    });
    let site = site.await;
    let fields = json!([
        {"id": "name", "type": "short_text", "label": "Name", "required": true},
        {"id": "mail", "type": "email", "label": "E-mail"},
        {"id": "message", "type": "long_text", "label": "Message"},
    ]);
    let contact = json!({
        "name": "contact", "title": "Write to us", "fields": fields,
        "recipients": ["ana@example.org"], "retention_days": 90,
    });
    let survey = json!({"name": "survey", "fields": [], "active": false});
    for form in [contact, survey] {
        site.does(Ask::post("/api/backend/item").query("table", "forms"), form).await;
    }
    for (name, trap) in
        [("Ada", ""), ("Grace", ""), ("Buy now", "http://spam.example"), ("Linus", "")]
    {
        site.clock.advance(60_000);
        let answers = json!({"name": name, "message": "When do you open?\nThank you."});
        let answered = json!({"form": "contact", "answers": answers, "trap": trap});
        site.does(Ask::post("/api/form/submit"), answered).await;
    }
    site.cms.mail().postman().step().await.expect("a step");
    site.clock.advance(5_000);
    site
}
