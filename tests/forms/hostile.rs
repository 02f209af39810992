//! Forty-odd hostile submissions, each with its outcome. Whatever is refused leaves no row.

use cms_core::settings::{LimiterStore, Settings};
use serde_json::{Value as Json, json};

use super::{open, submit};
use crate::support::{Ask, Site, each, pick};

/// What a submission comes to.
#[derive(Debug)]
enum Outcome {
    /// Refused with status, code and the codes of fields.
    Refused(u16, &'static str, &'static [&'static str]),
    /// Stored: the answer to this field is this.
    Stored(&'static str, Json),
    /// Stored, and marked as a program's.
    Spam,
}

use Outcome::{Refused, Spam, Stored};

const INVALID: &str = "validation_failed";

fn fields() -> Json {
    let options = json!([{"id": "a", "label": "One"}, {"id": "b", "label": "Two"}]);
    json!([
        {"id": "name", "type": "short_text", "max_length": 50},
        {"id": "mail", "type": "email"},
        {"id": "message", "type": "long_text"},
        {"id": "age", "type": "number", "min": 0, "max": 150},
        {"id": "page", "type": "url"},
        {"id": "one", "type": "single_choice", "options": options, "allow_other": true},
        {"id": "many", "type": "multiple_choice", "options": options},
        {"id": "rows", "type": "repeater", "columns": [{"id": "c", "type": "short_text"}]},
        {"id": "grid", "type": "matrix", "rows": options, "columns": options},
        {"id": "day", "type": "date"},
        {"id": "stars", "type": "rating"},
        {"id": "read", "type": "statement"},
        {"id": "agreed", "type": "consent", "must_accept": false},
    ])
}

/// Answers to the form.
#[rustfmt::skip]
fn answers() -> Vec<(Json, Outcome)> {
    let bad = |codes| Refused(422, INVALID, codes);
    let text = |text: &str| json!(text);
    vec![
        // Wrong types.
        (json!({"name": {"$gt": 1}}), bad(&["type"])),
        (json!({"name": ["a"]}), bad(&["type"])),
        (json!({"name": true, "mail": 1, "many": "a"}), bad(&["type", "type", "type"])),
        (json!({"age": "1e3"}), bad(&["type"])),
        (json!({"age": "0x10"}), bad(&["type"])),
        (json!({"age": -1}), bad(&["min"])),
        (json!({"stars": 2.5}), bad(&["type"])),
        (json!({"day": "2026-02-30"}), bad(&["format"])),
        (json!({"one": "c"}), bad(&["unknown_option"])),
        (json!({"many": ["a", "__proto__"]}), bad(&["unknown_option"])),
        (json!({"grid": {"__proto__": "a"}}), bad(&["unknown_row"])),
        (json!({"rows": [{"d": "x"}]}), bad(&["unknown_column"])),
        // Too much.
        (json!({"name": "x".repeat(51)}), bad(&["max_length"])),
        (json!({"message": "x".repeat(5001)}), bad(&["max_length"])),
        (json!({"rows": vec![json!({"c": "x"}); 21]}), bad(&["max"])),
        (json!({"one": "other", "one.other": "x".repeat(256)}), bad(&["max_length"])),
        // Headers, several recipients, and names in fields of mail.
        (json!({"mail": "a@example.org\r\nBcc: all@example.org"}), bad(&["characters"])),
        (json!({"mail": "a@example.org, b@example.org"}), bad(&["format"])),
        (json!({"mail": "Ada <a@example.org>"}), bad(&["format"])),
        (json!({"mail": "a@example.org%0aBcc:b@example.org"}), bad(&["format"])),
        (json!({"name": "Ada\r\nSubject: x"}), bad(&["characters"])),
        // Control characters.
        (json!({"name": "a\u{0}b"}), bad(&["format"])),
        (json!({"message": "a\u{1b}[2J"}), bad(&["characters"])),
        // Addresses that run something or name a password.
        (json!({"page": "javascript:alert(1)"}), bad(&["scheme"])),
        (json!({"page": "https://user:pass@example.org/"}), bad(&["format"])),
        // What is a text, whatever it looks like, stays one.
        (json!({"name": "<script>alert(1)</script>"}),
         Stored("name", text("<script>alert(1)</script>"))),
        (json!({"name": "=HYPERLINK(\"http://evil\")"}),
         Stored("name", text("=HYPERLINK(\"http://evil\")"))),
        (json!({"name": "a;=1+1"}), Stored("name", text("a;=1+1"))),
        (json!({"name": "'; drop table cms_forms; --"}),
         Stored("name", text("'; drop table cms_forms; --"))),
        (json!({"name": "{{ mail }} ${7*7}"}), Stored("name", text("{{ mail }} ${7*7}"))),
        (json!({"name": "a\u{202e}b\u{200f}"}), Stored("name", text("a\u{202e}b\u{200f}"))),
        (json!({"name": "e\u{301}"}), Stored("name", text("\u{e9}"))),
        (json!({"message": "a\r\nb"}), Stored("message", text("a\nb"))),
        (json!({"many": ["b", "a", "b"]}), Stored("many", json!(["a", "b"]))),
        // Unknown members of the answers are left aside, and nobody else's proof counts.
        (json!({"name": "x", "__proto__": {"admin": true}, "id": 99}), Stored("name", text("x"))),
        (json!({"agreed": true, "agreed.version": 9, "agreed.at": "1970"}),
         Stored("agreed.version", json!(1))),
        (json!({"name": "x", "read": "an answer"}), Stored("name", text("x"))),
    ]
}

/// Whole bodies, as they are sent.
fn bodies() -> Vec<(Vec<u8>, Outcome)> {
    let body = |json: Json| json.to_string().into_bytes();
    let with = |name: &str, value: Json| {
        let mut whole = json!({"form": "contact", "answers": {"name": "x"}});
        whole[name] = value;
        body(whole)
    };
    let (open, close) = ("{\"a\":".repeat(200), "}".repeat(200));
    let deep = format!("{{\"form\":\"contact\",\"answers\":{open}1{close}}}");
    let no_utf8 = b"{\"form\":\"contact\",\"answers\":{\"name\":\"\xff\"}}".to_vec();
    let twice = br#"{"form":"contact","answers":{"name":"first","name":"last"}}"#.to_vec();
    vec![
        (with("form", json!("none")), Refused(404, "not_found", &[])),
        (with("form", json!(99)), Refused(404, "not_found", &[])),
        (with("form", json!("../contact")), Refused(404, "not_found", &[])),
        (with("form", json!("closed")), Refused(404, "not_found", &[])),
        (with("form", json!(["contact"])), Refused(422, INVALID, &["format"])),
        (with("form", json!("a\u{0}")), Refused(422, INVALID, &["format"])),
        (with("answers", json!(["x"])), Refused(422, INVALID, &["type"])),
        (with("recipients", json!(["evil@example.org"])), Refused(422, INVALID, &["unexpected"])),
        (with("trap", json!({"a": 1})), Refused(422, INVALID, &["type"])),
        (body(json!({"answers": {}})), Refused(422, INVALID, &["required"])),
        (body(json!([{"form": "contact", "answers": {}}])), Refused(400, "bad_json", &[])),
        (deep.into_bytes(), Refused(422, INVALID, &["range"])),
        (no_utf8, Refused(400, "bad_json", &[])),
        (vec![b' '; (1 << 20) + 1], Refused(413, "payload_too_large", &[])),
        (twice, Stored("name", json!("last"))),
        (with("trap", json!("http://spam.example")), Spam),
    ]
}

async fn counts(site: &Site) -> [i64; 2] {
    [site.database.rows("cms_form_submissions").await, site.database.rows("cms_events").await]
}

async fn judge(site: &Site, what: &str, ask: Ask, outcome: Outcome) {
    let before = counts(site).await;
    let reply = ask.send().await;
    let grown = counts(site).await;
    let grown = [grown[0] - before[0], grown[1] - before[1]];
    let json = reply.json();
    let what = what.chars().take(200).collect::<String>();
    match outcome {
        Refused(status, code, fields) => {
            assert_eq!(reply.status, status, "{what}: {json}");
            assert_eq!(json["error"], code, "{what}: {json}");
            let told = json["errors"].as_array().cloned().unwrap_or_default();
            assert_eq!(each(&told.into(), "code"), fields, "{what}: {json}");
            assert_eq!(grown, [0, 0], "{what}: nothing is written");
        }
        Stored(..) | Spam => {
            assert_eq!(reply.status.as_u16(), 201, "{what}: {json}");
            let path = format!("GET /api/backend/forms/submissions?id={}", json["data"]["id"]);
            let stored = site.admin(&path).expect(200).await.data();
            let is_spam = matches!(outcome, Spam);
            assert_eq!(stored["spam"], is_spam, "{what}");
            assert_eq!(grown, [1, i64::from(!is_spam)], "{what}");
            if let Stored(field, value) = outcome {
                let answer = pick(&stored["answers"], "field", field);
                assert_eq!(answer["value"], value, "{what}: {stored}");
            }
        }
    }
}

#[tokio::test]
async fn hostile_submissions_have_coded_outcomes() {
    let site = Site::open().await;
    open(&site, "contact", json!({"fields": fields()})).await;
    open(&site, "closed", json!({"active": false})).await;
    let (answers, bodies) = (answers(), bodies());
    assert!(answers.len() + bodies.len() >= 40);
    for (answers, outcome) in answers {
        let ask = submit(&site, json!({"form": "contact", "answers": answers}));
        judge(&site, &answers.to_string(), ask, outcome).await;
    }
    for (body, outcome) in bodies {
        let what = String::from_utf8_lossy(&body).into_owned();
        judge(&site, &what, site.ask("POST /api/form/submit").body(body), outcome).await;
    }
    // Pages of other websites, other methods and other kinds of bodies.
    let good = json!({"form": "contact", "answers": {"name": "x"}});
    let post = "POST /api/form/submit";
    for (line, header, status, code) in [
        (post, ("origin", "https://evil.example"), 403, "origin_not_allowed"),
        (post, ("origin", "null"), 403, "origin_not_allowed"),
        (post, ("x-api-key", "cms_k1_wrong"), 401, "api_key_invalid"),
        (post, ("content-type", "text/plain"), 415, "unsupported_media_type"),
        ("PATCH /api/form/submit", ("accept", "*/*"), 405, "method_not_allowed"),
        ("POST /api/form/submit?form=contact", ("accept", "*/*"), 400, "bad_query"),
    ] {
        let ask = site.ask(line).header(header.0, header.1).body(good.to_string());
        judge(&site, &format!("{line} {header:?}"), ask, Refused(status, code, &[])).await;
    }
    // In a table, no cell is a formula.
    let table = "GET /api/backend/forms/submissions/export?form=contact";
    let table = site.admin(table).expect(200).await.text();
    assert!(table.contains("a;'=1+1") && !table.contains(";="), "{table}");
    assert!(table.contains("\"'=HYPERLINK(\"\"http://evil\"\")\""), "{table}");
}

/// A flood from one network ends at the limiter.
#[tokio::test]
async fn a_flood_is_limited() {
    let memory = |settings: &mut Settings| settings.limiter.store = LimiterStore::Memory;
    let site = Site::with(memory).await;
    open(&site, "contact", json!({})).await;
    let good = json!({"form": "contact", "answers": {"name": "x"}});
    for _ in 0..100 {
        submit(&site, good.clone()).expect(201).await;
    }
    let before = counts(&site).await;
    let refused = submit(&site, good).refused(429, "rate_limited").await;
    assert!(refused.headers.contains_key("retry-after"));
    assert_eq!(counts(&site).await, before);
}
