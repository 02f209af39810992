//! Everything of an address is erased wherever it lies, and nothing of its neighbours.

use std::path::Path;

use serde_json::{Value as Json, json};

use super::{page, sent, site, update};
use crate::support::{Answer, Receiver, Site, has, leads, webhooks::open, with};

const ADDRESS: &str = "Zora.Quill@Example.org";
/// What else the person has sent.
const SECRETS: [&str; 5] = [
    "zora.quill@example.org",
    "Zora Quillfeather",
    "xylophone-7431",
    "+49309998887",
    "papyrus-5512",
];

/// The files of the site whose bytes hold a text, whatever the case of ASCII letters.
fn files_with(folder: &Path, text: &str) -> Vec<String> {
    let (mut found, needle) = (Vec::new(), text.to_ascii_lowercase().into_bytes());
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files_with(&path, text));
            continue;
        }
        let bytes = std::fs::read(&path).unwrap().to_ascii_lowercase();
        if bytes.windows(needle.len()).any(|part| part == needle) {
            found.push(path.file_name().unwrap().to_string_lossy().into_owned());
        }
    }
    found
}

/// The rows of the database, and the bytes of the site's files.
async fn held(site: &Site, text: &str) -> bool {
    let rows = site.database.dump("cms").await.to_lowercase();
    let files = files_with(site.database.folder(), text);
    rows.contains(&text.to_lowercase()) || !files.is_empty()
}

fn funnel() -> Json {
    let mail = json!({
        "recipients": "sales@example.com", "subject": "Lead {{ name }}", "body_html": "{{*:table}}",
        "auto_reply_enabled": true, "auto_reply_subject": "Thanks {{ name }}",
        "auto_reply_body_html": "You wrote {{ budget }}",
    });
    let members = json!({"slug": "quest", "settings_json": {}, "email_routings": [mail]});
    let mut funnel = with(leads(), members);
    funnel["nodes"][1]["config_json"]["fields"][0]["type"] = json!("short_text");
    funnel["nodes"][2]["config_json"]["rules"]["rules"][0] =
        json!({"field": "budget", "op": "contains", "value": "e"});
    funnel
}

/// A whole visit with a file. Returns the submission.
async fn visited(site: &Site, [name, mail, budget, phone, paper]: [&str; 5]) -> i64 {
    let visit = site.visit("quest").await;
    visit.answers(json!({"name": name, "mail": mail})).await;
    visit.answers(json!({"budget": budget})).await;
    let file = format!("%PDF-1.4\n{paper}\n%%EOF\n");
    let sent = visit.upload("paper", file.as_bytes()).await.json();
    visit.answers(json!({"phone": phone, "paper": [sent["file"]]})).await;
    visit.complete(None).expect(200).await;
    super::id(&visit).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_goes_without_a_trace_and_neighbours_stay() {
    let site = site().await;
    site.funnel(funnel()).await;
    let hook = json!({"name": "crm", "url": "https://crm.example/in", "events": ["*"]});
    site.create("/api/backend/webhooks", hook).await;
    let neighbour = sent(&site, "Adam", 10).await;
    let quillan = ["Zora Quillan", "zora.quillan@example.org", "eleven", "030 5551234", "p"];
    let other = visited(&site, quillan).await;
    let (mail, budget) = ("ZORA.quill@EXAMPLE.org", "one xylophone-7431");
    let zora = ["Zora Quillfeather", mail, budget, "030 9998887", "papyrus-5512"];
    let zora = visited(&site, zora).await;
    // Once more, under way, the address in another answer and in the page that it came from.
    let visit = site.visit("quest").await;
    visit.answers(json!({"name": "it's me zora.quill@example.org", "mail": null})).await;
    let under_way = super::id(&visit).await;
    let source = "source_url = 'https://x.example/?m=zora.quill%40example.org', \
                  utm_source = 'zora.quill@example.org'";
    visit.set(source).await;
    update(&site, neighbour, json!({"inbox_notes": "knows zora.quill@example.org, nice"})).await;
    let view = json!({"name": "Her", "query": {"filter": {"search": "zora.quill@example.org"}}});
    site.staff("views", view).expect(200).await;
    site.clock.advance(300_000);
    site.cms.funnels().tend_inbox().await.unwrap();
    let data = site.database.folder().join("data");
    std::fs::write(data.join("old.db.bak"), "..zora.quill@example.org..").unwrap();
    std::fs::write(data.join("dump.gz"), "?").unwrap();
    for secret in SECRETS {
        // PostgreSQL shows the bytes of a file as digits.
        let is_shown = !site.database.is_postgres() || secret != SECRETS[4];
        assert!(!is_shown || held(&site, secret).await, "{secret}");
    }
    let column = async |column: &str, id: i64| {
        let row = format!("select {column} from cms_formfunnel_submissions where id = {id}");
        site.database.text(&row).await
    };
    let rows = async |id: i64| column("answers_json || summary", id).await;
    let (adam, quillan) = (rows(neighbour).await, rows(other).await);

    let asked = json!({"email": ADDRESS, "dry_run": true});
    let looked = site.staff("erase", asked).expect(200).await.data();
    let ids = [zora.to_string(), under_way.to_string()];
    assert_eq!(looked["removed"]["submissions"]["ids"], json!(ids));
    assert!(held(&site, SECRETS[0]).await, "looking removes nothing");

    let done = site.staff("erase", json!({"email": ADDRESS})).expect(200).await;
    let receipt = done.data();
    assert!(!done.text().to_lowercase().contains(SECRETS[0]), "{}", done.text());
    let count = |kind: &str| receipt["removed"][kind]["count"].as_u64().unwrap_or_default();
    assert_eq!(receipt["removed"]["submissions"]["ids"], looked["removed"]["submissions"]["ids"]);
    assert_eq!((count("notes"), count("views")), (1, 1), "{receipt}");
    assert!(count("events") >= 2 && count("mails") >= 1, "{receipt}");
    let database = if site.database.is_postgres() { "server" } else { "clean" };
    has!(receipt, {"copies": ["old.db.bak"], "unread": ["dump.gz"], "database": database});
    std::fs::remove_file(data.join("old.db.bak")).unwrap();
    for secret in SECRETS {
        let files = files_with(site.database.folder(), secret);
        assert!(!held(&site, secret).await, "{secret}: {files:?}");
    }
    assert_eq!(column("inbox_notes", neighbour).await, "knows [erased], nice");
    assert_eq!((rows(neighbour).await, rows(other).await), (adam, quillan));
    for text in ["zora.quillan@example.org", "eleven"] {
        let found = page(&site, &format!("&search={text}")).await.data();
        assert_eq!(found[0]["submission_id"], other, "{text}");
    }
    let events = "select count(*) from cms_events where body like '%zora.quillan@example.org%'";
    assert!(site.database.count(events).await > 0, "the events of others stay");
    let noted = "select row_id from cms_audit where action = 'erase'";
    assert_eq!(site.database.text(noted).await, receipt["digest"].as_str().unwrap());

    // The visits stay in the numbers of their day.
    let started = "select cast(coalesce(sum(started), 0) as bigint) from cms_formfunnel_daily";
    assert_eq!(site.database.count(started).await, 2);
    let again = site.staff("erase", json!({"email": ADDRESS})).expect(200).await.data();
    has!(again, {"removed": {}, "digest": receipt["digest"]});
    for wrong in [json!({"email": "zora"}), json!({"email": ""}), json!({})] {
        site.staff("erase", wrong).refused(422, "validation_failed").await;
    }
}

/// Submissions of forms, and whoever is interrupted goes on.
#[tokio::test(flavor = "multi_thread")]
async fn forms_are_erased_too_and_an_interruption_is_made_good() {
    let site = site().await;
    let form = json!({"name": "contact", "fields": [
        {"id": "mail", "type": "email"}, {"id": "text", "type": "long_text"}]});
    site.create("/api/backend/item?table=forms", form).await;
    for (mail, text) in [("zora.quill@example.org", "xylophone-7431"), ("b@example.org", "hello")] {
        let answers = json!({"form": "contact", "answers": {"mail": mail, "text": text}});
        site.ask("POST /api/form/submit").json(answers).expect(201).await;
    }
    let zora = sent(&site, "Zora.Quill", 9000).await;
    let address = cms_core::mail::MailAddress::parse(ADDRESS).unwrap();
    let mut eraser = site.cms.eraser(&address, false);
    // The first part is removed; then the process ends.
    let found = eraser.find().await.unwrap().unwrap();
    let mut change = site.cms.change(cms_core::Actor::Operator).await.unwrap();
    eraser.remove(&mut change, found).await.unwrap();
    change.commit().await.unwrap();
    drop(eraser);
    let receipt = site.staff("erase", json!({"email": ADDRESS})).expect(200).await.data();
    assert_eq!(receipt["removed"]["form_submissions"]["count"], 1, "{receipt}");
    assert_eq!(receipt["removed"]["submissions"]["ids"], json!([zora.to_string()]), "{receipt}");
    for secret in [SECRETS[0], SECRETS[2]] {
        assert!(!held(&site, secret).await, "{secret}");
    }
    assert_eq!(site.database.rows("cms_form_submissions").await, 1);
}

/// The receiver repeats what it is sent, and its answer comes after the erasure.
#[tokio::test]
async fn an_attempt_under_way_writes_nothing_back() {
    let echo = Receiver::scripted(|_, delivery| {
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", delivery.body.len());
        Answer::Raw([head.as_bytes(), &delivery.body].concat())
    });
    let (echo, site) = (echo.await, Site::builder().await.settings(open).open().await);
    site.funnel(leads()).await;
    site.webhook(&echo.url, &["*"]).await;
    sent(&site, "Zora.Quill", 10).await;
    let mut worker = site.worker();
    assert!(worker.claim().await.unwrap() > 0);
    let receipt = site.staff("erase", json!({"email": ADDRESS})).expect(200).await.data();
    assert!(receipt["removed"]["events"]["count"].as_u64().unwrap() > 0, "{receipt}");
    let settled = worker.step().await.unwrap();
    assert!(settled.lost > 0, "{settled:?}");
    assert_eq!(site.database.rows("cms_webhook_deliveries where response like '%uill@%'").await, 0);
    let logged = "cms_webhook_deliveries where outcome = 'lease_lost'";
    assert!(site.database.rows(logged).await > 0, "that it was sent is known");
}
