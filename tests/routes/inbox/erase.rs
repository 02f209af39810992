//! Everything of an address is erased wherever it lies, and nothing of its neighbours.

use std::path::Path;

use serde_json::{Value as Json, json};

use super::{page, sent, site, update};
use crate::support::{Answer, Receiver, Site, has, leads, webhooks::open, with};

const ADDRESS: &str = "Zora.Quill@Example.org";
/// What else the person has sent.
const SECRETS: [&str; 5] = [
    "zora.quill@example.org", "Zora Quillfeather", "xylophone-7431", "+49309998887", "papyrus-5512",
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
    // Files that cannot be searched, and one that only has the name of such a file.
    let files: [(&str, &[u8]); 5] = [
        ("dump.D.GZ", b"\x1f\x8b\x08"),
        ("my.cms", b"\x28\xb5\x2f\xfd"),
        ("my.cms-backup", b"age-encryption.org/v1\n"),
        ("table.xlsx", b"PK\x03\x04"),
        ("empty.gz", b""),
    ];
    for (name, begins) in files {
        std::fs::write(data.join(name), begins).unwrap();
    }
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
    let state = |sqlite| if site.database.is_postgres() { "server" } else { sqlite };
    assert_eq!(looked["database"], state("holds"));
    let stranger = json!({"email": "nobody@nowhere.example", "dry_run": true});
    let stranger = site.staff("erase", stranger).expect(200).await.data();
    has!(stranger, {"removed": {}, "database": state("clean"), "copies": []});

    let done = site.staff("erase", json!({"email": ADDRESS})).expect(200).await;
    let receipt = done.data();
    assert!(!done.text().to_lowercase().contains(SECRETS[0]), "{}", done.text());
    let count = |kind: &str| receipt["removed"][kind]["count"].as_u64().unwrap_or_default();
    assert_eq!(receipt["removed"]["submissions"]["ids"], looked["removed"]["submissions"]["ids"]);
    assert_eq!((count("notes"), count("views")), (1, 1), "{receipt}");
    assert!(count("events") >= 2 && count("mails") >= 1, "{receipt}");
    has!(receipt, {"copies": ["old.db.bak"], "database": state("clean")});
    let mut unread: Vec<String> = serde_json::from_value(receipt["unread"].clone()).unwrap();
    unread.sort_unstable();
    assert_eq!(unread, ["dump.D.GZ", "my.cms", "my.cms-backup", "table.xlsx"]);
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

/// The person's submissions are found in every spelling, and those of longer addresses stay.
#[tokio::test(flavor = "multi_thread")]
async fn an_address_is_found_in_every_spelling_and_as_a_whole() {
    /// A name, an address, and whether they go.
    type Sent = (&'static str, Option<&'static str>, bool);
    let site = site().await;
    let cases: [(&str, &[Sent]); 6] = [
        (
            "neil@example.org",
            &[
                ("N", Some("o'neil@example.org"), false),
                ("N", Some("_neil@example.org"), false),
                ("N", Some("x/neil@example.org"), true),
                ("N", Some("neil@example.org"), true),
                ("bob@example.org/neil@example.org", None, true),
            ],
        ),
        (
            "JÖRG@example.org",
            &[("J", Some("JÖRG@example.org"), true), ("J", Some("jörg@example.org"), true)],
        ),
        ("jörg@example.net", &[("J", Some("JÖRG@example.net"), true)]),
        (
            "ida@bücher.example",
            &[
                ("I", Some("ida@bücher.example"), true),
                ("to IDA@BÜCHER.example", None, true),
                ("to frida@bücher.example", None, false),
            ],
        ),
        (
            "ada+tag@example.org",
            &[
                ("?m=ada+tag%40example.org", None, true),
                ("_ada+tag@example.org_ is mine", None, true),
                ("-ada+tag@example.org", None, false),
                ("- ada+tag@example.org", None, true),
            ],
        ),
        ("tag@example.org", &[("?m=ada%2Btag%40example.org", None, false)]),
    ];
    for (address, visits) in cases {
        let mut expected = Vec::new();
        for (name, mail, goes) in visits {
            let visit = site.visit("leads").await;
            visit.answers(json!({"name": name, "mail": mail})).await;
            let id = super::id(&visit).await;
            if *goes {
                expected.push(id.to_string());
            }
        }
        let before = site.database.rows("cms_formfunnel_submissions").await;
        let erased = site.staff("erase", json!({"email": address})).expect(200).await.data();
        let found = &erased["removed"]["submissions"]["ids"];
        assert_eq!(found.as_array().map_or(0, Vec::len), expected.len(), "{address}: {erased}");
        assert!(expected.is_empty() || *found == json!(expected), "{address}: {erased}");
        let after = site.database.rows("cms_formfunnel_submissions").await;
        assert_eq!(before - after, expected.len() as i64, "{address}");
    }
}

/// Whoever was deleted before still has answers in events without the address.
#[tokio::test(flavor = "multi_thread")]
async fn events_of_deleted_submissions_are_erased() {
    let site = site().await;
    site.funnel(funnel()).await;
    let hook = json!({"name": "crm", "url": "https://crm.example/in", "events": ["*"]});
    site.create("/api/backend/webhooks", hook).await;
    let zora = [SECRETS[1], ADDRESS, "one xylophone-7431", "030 9998887", "papyrus-5512"];
    let zora = visited(&site, zora).await;
    let other = ["Zora Quillan", "zora.quillan@example.org", "eleven", "030 5551234", "p"];
    visited(&site, other).await;
    site.staff("submission_delete", json!({"id": zora})).expect(200).await;
    let about = async |text: &str| {
        site.database.rows(&format!("cms_events where body like '%{text}%'")).await
    };
    let (hers, others) = (about(SECRETS[2]).await, about("eleven").await);
    assert!(hers > 0 && others > 0);
    let looked = json!({"email": ADDRESS, "dry_run": true});
    let looked = site.staff("erase", looked).expect(200).await.data();
    let erased = site.staff("erase", json!({"email": ADDRESS})).expect(200).await.data();
    assert_eq!(looked["removed"]["events"], erased["removed"]["events"]);
    assert_eq!(erased["removed"]["submissions"], Json::Null, "it was deleted before");
    for secret in SECRETS {
        assert_eq!(about(secret).await, 0, "{secret}");
    }
    assert_eq!(about("eleven").await, others);
    let waiting = "cms_webhook_queue where event_id not in (select id from cms_events)";
    assert_eq!(site.database.rows(waiting).await, 0);
}

/// Kept replies, faults of providers and sources of visits: the person's go, others stay.
#[tokio::test(flavor = "multi_thread")]
async fn small_tables_lose_the_address_alone() {
    let site = site().await;
    let (own, longer) = ("zora.quill@example.org", "d''zora.quill@example.org");
    for row in [
        format!("'own', 200, '{{\"mail\":\"{own}\"}}'"),
        format!("'for {own}', 204, null"),
        format!("'longer', 200, '{{\"mail\":\"{longer}\"}}'"),
        format!("'under way {own}', 0, null"),
    ] {
        let columns = "idempotency_key, status, body, caller, fingerprint, created_at";
        let row = format!("insert into cms_idempotency ({columns}) values ({row}, 'c', 'f', 1)");
        site.database.run(row).await;
    }
    for (name, text) in [("own", own), ("longer", longer)] {
        let provider = format!("('{name}', 1, 0, '550 <{text}> is unknown')");
        let columns = "name, faults, rests_until, reason";
        let row = format!("insert into cms_mail_providers ({columns}) values {provider}");
        site.database.run(row).await;
        for day in ["2026-11-20", "2026-11-21"] {
            let row = format!("select id, '{day}', 'source', '{text}', 1, 2 from cms_formfunnels");
            let columns = "funnel_id, day, what, name, version, visits";
            site.database.run(format!("insert into cms_formfunnel_tally ({columns}) {row}")).await;
        }
    }
    let looked = json!({"email": ADDRESS, "dry_run": true});
    let looked = site.staff("erase", looked).expect(200).await.data();
    let erased = site.staff("erase", json!({"email": ADDRESS})).expect(200).await.data();
    assert_eq!(erased["removed"]["replies"]["count"], 2, "{erased}");
    assert_eq!(erased["removed"], looked["removed"]);
    for (rows, left) in [
        ("cms_idempotency where idempotency_key = 'longer'", 1),
        ("cms_idempotency where status = 0", 1),
        ("cms_idempotency where caller = 'c'", 2),
        ("cms_mail_providers where name = 'own' and reason is null", 1),
        ("cms_mail_providers where name = 'longer' and reason like '550 %'", 1),
        ("cms_formfunnel_tally where name = 'zora.quill@example.org'", 0),
        ("cms_formfunnel_tally where name = '[erased]' and visits = 2", 2),
        ("cms_formfunnel_tally where name = 'd''zora.quill@example.org'", 2),
    ] {
        assert_eq!(site.database.rows(rows).await, left, "{rows}");
    }
}

/// Keys and users that are deleted leave no names of people in views and bulk changes.
#[tokio::test]
async fn views_and_bulk_changes_go_with_their_owner() {
    let site = site().await;
    let submission = sent(&site, "Ada", 10).await;
    let (id, key) = site.key_with(|_| {}, &["*"]).await;
    let rights = json!(["formfunnel_inbox_view", "formfunnel_inbox_edit"]);
    let (ana, bob) = (site.person("ana", rights.clone()).await, site.person("bob", rights).await);
    let view = json!({"name": "Ada", "query": {"filter": {"search": "ada@example.org"}}});
    for (is_key, caller, status) in [
        (true, &site.admin, "contacted"),
        (true, &key, "qualified"),
        (false, &ana.token, "contacted"),
        (false, &bob.token, "qualified"),
    ] {
        let post = |action: &str| {
            let ask = site.ask(&super::at("POST", action));
            if is_key { ask.key(caller) } else { ask.bearer(caller) }
        };
        post("views").json(view.clone()).expect(200).await;
        let change = json!({"op": "set_status", "ids": [submission], "value": status});
        post("submissions_bulk").json(change).expect(200).await;
    }
    site.delete(&format!("/api/backend/keys?id={id}")).await;
    site.delete(&format!("/api/backend/users?id={}", ana.id)).await;
    site.cms.expire().await.unwrap();
    for table in ["cms_formfunnel_views", "cms_formfunnel_bulks"] {
        let gone = format!("{table} where owner in ('key:{id}', 'user:{}')", ana.id);
        let left = site.database.rows(table).await;
        assert_eq!((site.database.rows(&gone).await, left), (0, 2), "{table}");
    }
}

/// Submissions of forms, and whoever is interrupted goes on.
#[tokio::test(flavor = "multi_thread")]
async fn forms_are_erased_too_and_an_interruption_is_made_good() {
    let site = site().await;
    let form = json!({"name": "contact", "fields": [
        {"id": "mail", "type": "email"}, {"id": "text", "type": "long_text"}]});
    site.create("/api/backend/item?table=forms", form).await;
    let mail = SECRETS[0];
    for (mail, text) in [(mail, SECRETS[4]), (mail, SECRETS[2]), ("b@example.org", "hello")] {
        let answers = json!({"form": "contact", "answers": {"mail": mail, "text": text}});
        site.ask("POST /api/form/submit").json(answers).expect(201).await;
    }
    // The first is deleted already; one of its events has other answers only.
    site.delete("/api/backend/forms/submissions?id=1").await;
    let event = format!(
        "insert into cms_events (id, name, body, created_at) select 'other', name, \
         replace(body, '{mail}', ''), created_at from cms_events \
         where name = 'form.submitted' and body like '%{}%'",
        SECRETS[4]
    );
    site.database.run(event).await;
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
    for secret in [SECRETS[0], SECRETS[2], SECRETS[4]] {
        assert!(!held(&site, secret).await, "{secret}");
    }
    assert_eq!(site.database.rows("cms_form_submissions").await, 1);
    assert_eq!(site.raised("form.submitted").await, 1);
}

/// The receiver repeats what it is sent, and its answer comes after the erasure.
#[tokio::test]
async fn an_attempt_under_way_writes_nothing_back() {
    let echo = Receiver::scripted(|_, delivery| {
        let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", delivery.body.len());
        Answer::Raw([head.as_bytes(), &delivery.body].concat())
    });
    let (echo, site) = (echo.await, Site::with(open).await);
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
