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

/// A site with some files, of which a post and the settings show two.
pub(super) async fn with_media() -> TestSite {
    let site = TestSite::open().await;
    let film = b"\0\0\0\x14ftypmp42\0\0\0\0mp42\0\0\0\0mdat";
    for (folder, name, content) in [
        ("", "terms.pdf", b"%PDF-1.7\n%%EOF".to_vec()),
        ("films", "workshop.mp4", film.to_vec()),
        ("products", "bicycle.png", png(3000, 2000, 480_000)),
        ("products/2026", "日本の自転車.png", png(640, 480, 52_000)),
        ("", "logo.png", png(320, 80, 900)),
    ] {
        site.clock.advance(60_000);
        site.upload(folder, name, &content).await;
    }
    let alt = json!({"en": "A red bicycle", "de": "Ein rotes Fahrrad, von der Seite gesehen"});
    let texts = json!({"alt": alt, "title": {"en": "Bicycle"}, "focal_x": 0.5, "focal_y": 0.25});
    site.does(Ask::patch("/api/backend/media").query("id", 3), texts).await;
    let file = Ask::get("/api/backend/media").query("id", 3);
    let answer = site.client().send(file).await.expect("a file").json().expect("JSON");
    let path = &answer["data"]["path"];
    let settings = Ask::post("/api/backend/item").query("table", "settings");
    let hero = json!({"name": "hero", "value": {"picture": path}, "public": true});
    site.does(settings, hero).await;
    let menu = Ask::post("/api/backend/item").query("table", "menu_items");
    let entry = json!({
        "menu": "main", "title": "Bicycles", "url": path, "language_short": "en",
    });
    site.does(menu, entry).await;
    site
}

/// A picture of so many pixels and bytes that nobody can unpack.
fn png(width: u32, height: u32, length: u32) -> Vec<u8> {
    let mut file = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    file.extend([width.to_be_bytes(), height.to_be_bytes()].concat());
    file.extend([8, 6, 0, 0, 0, 0, 0, 0, 0]);
    file.extend(length.to_be_bytes());
    file.extend(b"IDAT");
    file.resize(file.len() + length as usize + 4, 0);
    file.extend(b"\0\0\0\0IEND\0\0\0\0");
    file
}

/// A site with four pages. The first is published, planned, and its draft has changed since.
pub(super) async fn with_pages() -> TestSite {
    let site = TestSite::open().await;
    let pages = Ask::post("/api/backend/item").query("table", "pages");
    for (language, address, title) in [
        ("en", "/", "Home"),
        ("de", "/de", "Startseite"),
        ("en", "/about", "About us"),
        ("en", "/bicycles", "Räder, die laufen 日本の自転車"),
    ] {
        let mut page = json!({"language_short": language, "url_rewrite": address, "title": title});
        if language == "de" {
            page["base_id"] = 1.into();
        }
        site.does(pages.clone(), page).await;
    }
    let [first, second] =
        [site.node("row", 1, json!({})).await, site.node("row", 1, json!({})).await];
    let col = site.node("col", first, json!({})).await;
    let title = json!({"title": "Bicycles that last", "level": "h1", "align": "left"});
    let title = site.node("widget", col, json!({"widget": "title", "data": title})).await;
    let reasons = json!({"title": "Why us", "per_row": 3});
    let reasons = site.node("widget", col, json!({"widget": "uspIconList", "data": reasons})).await;
    for reason in ["Made to be repaired", "Chains for ten winters", "軽い"] {
        site.node("item", reasons, json!({"data": {"title": reason, "icon": "wrench"}})).await;
    }
    let [left, right] =
        [site.node("col", second, json!({})).await, site.node("col", second, json!({})).await];
    let text = "<h2>How to tell when a chain is worn</h2>\n<p>Measure twelve links.</p>";
    site.node("widget", left, json!({"widget": "html", "data": {"text": text}})).await;
    site.node("widget", right, json!({"widget": "spacer", "data": {}})).await;
    site.clock.advance(60_000);
    site.page("publish", json!({"page_id": 1})).await;
    site.clock.advance(3_600_000);
    let set = Ask::patch("/api/backend/pagebuilder").query("widget_id", title);
    site.does(set, json!({"data": {"title": "Bicycles for ten winters"}})).await;
    site.page("publish", json!({"page_id": 1})).await;
    site.clock.advance(600_000);
    let set = Ask::patch("/api/backend/pagebuilder").query("widget_id", title);
    let data = json!({"title": "Bicycles for twenty winters", "subtitle": "And one summer"});
    site.does(set, json!({"data": data})).await;
    let link = json!({"title": "See all", "link": "/bicycles", "style": "primary"});
    site.node("widget", right, json!({"widget": "button", "data": link})).await;
    site.page("move", json!({"kind": "row", "id": second, "position": 0})).await;
    let times = json!({"page_id": 1, "publish_at": "2026-12-24T06:00:00Z"});
    site.page("schedule", times).await;
    site.clock.advance(30_000);
    site
}

/// A site with a funnel that people have walked through; ana and ben answer them.
pub(super) async fn with_inbox() -> TestSite {
    let site = TestSite::with(|settings| {
        settings.mail.from = Some("Shop <shop@example.org>".to_owned());
        settings.mail.smtp_url = Some(Secret::new("smtp://127.0.0.1:9"));
    });
    let site = site.await;
    let rights = ["inbox_view", "inbox_edit", "funnels_view", "funnels_edit"];
    let rights = rights.map(|right| format!("formfunnel_{right}"));
    let support = json!({"name": "support", "rights": rights});
    site.does(Ask::post("/api/backend/user_groups"), support).await;
    for name in ["ana", "ben"] {
        let user = json!({"username": name, "password": "a long password", "groups": ["support"]});
        site.does(Ask::post("/api/backend/users"), user).await;
    }
    let made = site.funnel(solar()).await;
    for (name, company, bill) in VISITORS {
        site.clock.advance(7 * 60_000);
        let mail = format!("{}@example.com", name.to_lowercase().replace(' ', "."));
        let mut visit = vec![json!({"name": name, "mail": mail, "company": company})];
        visit.extend(bill.map(|bill| json!({"bill": bill, "roof": "south"})));
        let is_long = bill.is_some_and(|bill| bill > 100);
        visit.extend(is_long.then(|| json!({"phone": "+34 600 123 456", "when": "in 3 months"})));
        site.visit(made, &visit, bill.is_some()).await;
    }
    site.clock.advance(3 * 60_000);
    site
}

/// Name, company, monthly bill. A visitor without a bill leaves at that step.
const VISITORS: [(&str, &str, Option<i64>); 9] = [
    ("Ada Lovelace", "Engines", Some(240)),
    ("Grace Hopper", "", Some(60)),
    ("Julia Alvarez", "Casa Sol", Some(180)),
    ("Li Wei", "", None),
    ("O'Petrov", "Heat & Co", Some(320)),
    ("Sara Dupont", "", Some(45)),
    ("Kim Novak", "日本の自転車", Some(150)),
    ("Räder Müller", "Räder", None),
    ("Mia Berg", "Berg AG", Some(410)),
];

fn solar() -> serde_json::Value {
    let rules = json!({"operator": "AND", "rules": [
        {"field": "bill", "op": "greater_than", "value": 100},
    ]});
    json!({
        "name": "Solar quote", "slug": "solar", "start_node_id": -1, "save_abandoned": 1,
        "nodes": [
            {"client_id": -1, "type": "step", "name": "Contact", "config_json": {"fields": [
                {"id": "name", "type": "short_text", "label": "Name", "required": true},
                {"id": "mail", "type": "email", "label": "E-mail"},
                {"id": "company", "type": "short_text", "label": "Company"},
            ]}},
            {"client_id": -2, "type": "step", "name": "Bill", "config_json": {"fields": [
                {"id": "bill", "type": "number", "label": "Monthly bill", "required": true},
                {"id": "roof", "type": "short_text", "label": "Roof"},
            ]}},
            {"client_id": -3, "type": "condition", "name": "Eligible?",
             "config_json": {"rules": rules}},
            {"client_id": -4, "type": "step", "name": "Call", "config_json": {"fields": [
                {"id": "phone", "type": "phone", "default_country": "ES", "label": "Telephone"},
                {"id": "when", "type": "short_text", "label": "When"},
            ]}},
            {"client_id": -5, "type": "end", "name": "Thank you", "config_json": {}},
            {"client_id": -6, "type": "end", "name": "Not eligible", "config_json": {
                "end_kind": "disqualified"}},
        ],
        "edges": [
            {"from_node_id": -1, "to_node_id": -2, "branch_label": "default"},
            {"from_node_id": -2, "to_node_id": -3, "branch_label": "default"},
            {"from_node_id": -3, "to_node_id": -4, "branch_label": "true"},
            {"from_node_id": -3, "to_node_id": -6, "branch_label": "false"},
            {"from_node_id": -4, "to_node_id": -5, "branch_label": "default"},
        ],
        "email_routings": [
            {"recipients": "sales@example.org", "subject": "A lead: {{ name }}",
             "body_html": "{{*:table}}", "condition_json": rules},
            {"recipients": "info@example.org", "subject": "Another: {{ name }}",
             "body_html": "{{*:table}}"},
        ],
    })
}
