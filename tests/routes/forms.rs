//! `/api/backend/item?table=forms`, `/api/form/submit`, `/api/backend/forms/submissions`.

use serde_json::{Value as Json, json};

use crate::{
    forms::{contact, open, submit},
    support::{Site, each, has, pick},
};

const FORMS: &str = "/api/backend/item?table=forms";
const SUBMISSIONS: &str = "/api/backend/forms/submissions";

#[tokio::test]
async fn forms_are_items_and_checked_whole() {
    let site = Site::open().await;
    let form = site.create(FORMS, contact()).await;
    has!(form, {"active": true, "min_seconds": 0, "recipients": [], "retention_days": null,
                "fields": contact()["fields"]});
    site.admin(&format!("POST {FORMS}")).json(contact()).refused(409, "conflict").await;
    let before = site.traces().await;
    let wrong = json!({
        "name": "A b",
        "fields": [{"id": "a", "type": "email"}, {"id": "a", "type": "nps"},
                   {"id": "b", "type": "x"}, {"id": "c", "type": "number", "colour": 1},
                   {"id": "d", "type": "signature"}],
        "recipients": ["a@example.org", "b@example.org\r\nBcc: c@example.org"],
        "redirect_url": "javascript:alert(1)",
        "retention_days": 0,
    });
    let told = site.invalid(&format!("POST {FORMS}"), wrong).await;
    let mut told = each(&told["errors"], "field");
    told.sort_by_key(Json::to_string);
    let expected = "fields[1] fields[2] fields[3] fields[4] name recipients[1] redirect_url \
                    retention_days";
    assert_eq!(told, expected.split(' ').collect::<Vec<_>>());
    // A list in a column is checked as well when only an entry is added.
    let list = json!({"table": "forms", "column": "recipients", "id": form["id"], "add": ["x"]});
    site.invalid("POST /api/backend/actions/checklist", list).await;
    assert_eq!(site.traces().await, before);
    // Whoever saw an older form changes nothing.
    let one = format!("{FORMS}&id={}", form["id"]);
    let tag = site.admin(&format!("GET {one}")).expect(200).await.header("etag").to_owned();
    let patch = |title: &str| site.admin(&format!("PATCH {one}")).json(json!({"title": title}));
    patch("Write").header("if-match", &tag).expect(200).await;
    patch("Late").header("if-match", &tag).refused(412, "stale").await;
}

#[tokio::test]
async fn submissions_are_listed_shown_and_removed() {
    let site = Site::open().await;
    open(&site, "contact", json!({})).await;
    open(&site, "other", json!({})).await;
    for (form, name) in [("contact", "Ada"), ("other", "Bob"), ("contact", "Cy"), ("contact", "Di")]
    {
        let answers = json!({"name": name, "mail": "A@Example.org"});
        submit(&site, json!({"form": form, "answers": answers})).expect(201).await;
        site.clock.advance(60_000);
    }
    let list = async |query: &str| {
        let page = site.admin(&format!("GET {SUBMISSIONS}?{query}")).expect(200).await.json();
        let names = each(&page["data"], "summary");
        let names: Vec<_> = names.iter().map(|name| name.as_str().unwrap()).collect();
        (names.join(", ").replace(" · A@example.org", ""), page["meta"]["next"].clone())
    };
    let next = list("form=contact&limit=2").await.1;
    let next = next.as_str().unwrap();
    for (query, names) in [
        ("limit=9", "Di, Cy, Bob, Ada"),
        ("form=contact", "Di, Cy, Ada"),
        ("form=2", "Bob"),
        ("since=2026-11-21T09:31:00Z&until=2026-11-21T09:33:00Z", "Cy, Bob"),
        ("form=contact&until=2026-11-21T09:31:00Z", "Ada"),
        ("spam=true", ""),
        ("form=contact&limit=2", "Di, Cy"),
        (&format!("form=contact&limit=2&cursor={next}"), "Ada"),
    ] {
        assert_eq!(list(query).await.0, names, "{query}");
    }
    for (query, status, code) in [
        (format!("limit=2&cursor={next}"), 400, "bad_query"),
        ("form=none".to_owned(), 404, "not_found"),
        ("form=a%00b".to_owned(), 400, "bad_query"),
        ("since=yesterday".to_owned(), 400, "bad_query"),
        ("spam=maybe".to_owned(), 400, "bad_query"),
        ("id=99".to_owned(), 404, "not_found"),
    ] {
        site.admin(&format!("GET {SUBMISSIONS}?{query}")).refused(status, code).await;
    }
    let whole = json!({
        "id": 1, "form": "contact", "created_at": "2026-11-21T09:30:00Z", "spam": false,
        "summary": "Ada · A@example.org",
        "answers": [
            {"field": "name", "type": "short_text", "label": "Name", "value": "Ada", "text": "Ada"},
            {"field": "mail", "type": "email", "label": "", "value": "A@example.org",
             "text": "A@example.org"}],
    });
    assert_eq!(site.get(&format!("{SUBMISSIONS}?id=1")).await, whole);
    site.delete(&format!("{SUBMISSIONS}?id=1")).await;
    site.admin(&format!("DELETE {SUBMISSIONS}?id=1")).refused(404, "not_found").await;
    let audit = site.get("/api/backend/audit?table=form_submissions").await;
    let told = |row: &Json| format!("{} {} {}", row["actor"]["kind"], row["action"], row["row_id"]);
    assert_eq!(told(&audit[0]), r#""key" "delete" "1""#);
    assert_eq!(told(&audit[4]), r#""visitor" "create" "1""#);
    // With the form everything goes.
    site.delete(&format!("{FORMS}&id=1")).await;
    assert_eq!(list("limit=9").await.0, "Bob");
}

#[tokio::test]
async fn submissions_are_exported_as_a_table() {
    let site = Site::open().await;
    let fields = json!([
        {"id": "note", "type": "short_text"},
        {"id": "how", "type": "single_choice", "allow_other": true,
         "options": [{"id": "a", "label": "By bike"}]},
        {"id": "hello", "type": "statement"},
        {"id": "many", "type": "multiple_choice",
         "options": [{"id": "a", "label": "One"}, {"id": "b", "label": "Two"}]},
        {"id": "age", "type": "number"},
        {"id": "old", "type": "number"},
    ]);
    open(&site, "survey", json!({"fields": fields})).await;
    for answers in [
        json!({"note": "=1+1", "how": "a", "many": ["b", "a"], "old": -2.5}),
        json!({"note": "a, \"b\"", "how": "other", "how.other": "@walk", "age": -7.5}),
    ] {
        submit(&site, json!({"form": "survey", "answers": answers})).expect(201).await;
        site.clock.advance(1000);
    }
    let fewer = &fields.as_array().unwrap()[..5];
    site.patch(&format!("{FORMS}&id=1"), json!({"fields": fewer})).await;
    let table = site.admin(&format!("GET {SUBMISSIONS}/export?form=survey")).expect(200).await;
    assert!(table.header("content-type").starts_with("text/csv"));
    assert!(table.header("content-disposition").contains("survey-submissions.csv"));
    let expected = "\u{feff}submission.id,submission.created_at,submission.spam,note,how,how.other,\
        many,age,submission.more\r\n\
        2,2026-11-21T09:30:01Z,false,\"a, \"\"b\"\"\",other,'@walk,,-7.5,\r\n\
        1,2026-11-21T09:30:00Z,false,'=1+1,By bike,,One; Two,,\
        \"{\"\"old\"\":\"\"-2.5\"\"}\"\r\n";
    assert_eq!(table.text(), expected);
    let plain = site.admin(&format!("GET {SUBMISSIONS}/export?form=survey&bom=false"));
    assert!(plain.expect(200).await.text().starts_with("submission.id,"));
    // Outside of tables it reads as a sentence.
    let whole = site.get(&format!("{SUBMISSIONS}?id=1")).await;
    assert_eq!(pick(&whole["answers"], "field", "many")["text"], "One, Two");
    let one = format!("GET {SUBMISSIONS}/export?form=1&since=2026-11-21T09:30:01Z");
    assert_eq!(site.admin(&one).expect(200).await.text().lines().count(), 2);
    site.admin(&format!("GET {SUBMISSIONS}/export?form=none")).refused(404, "not_found").await;
    site.admin(&format!("GET {SUBMISSIONS}/export")).refused(400, "bad_query").await;
    // More than are read at once.
    for _ in 0..40 {
        submit(&site, json!({"form": "survey", "answers": {"note": "x"}})).expect(201).await;
    }
    let all = site.admin(&format!("GET {SUBMISSIONS}/export?form=survey")).expect(200).await.text();
    let id = |line: &str| -> i64 { line.split(',').next().unwrap().parse().unwrap() };
    let ids: Vec<_> = all.lines().skip(1).map(id).collect();
    assert_eq!(ids, (1..=42).rev().collect::<Vec<_>>());
}

#[tokio::test]
async fn what_is_computed_is_stored_and_never_taken_from_the_page() {
    let site = Site::open().await;
    let fields = json!([
        {"id": "seats", "type": "number"},
        {"id": "price", "type": "calculated", "label": "Price", "expression": "seats * 99.5"},
    ]);
    open(&site, "seats", json!({"fields": fields})).await;
    let answers = json!({"seats": 3, "price": 1});
    submit(&site, json!({"form": "seats", "answers": answers})).expect(201).await;
    let list = site.admin(&format!("GET {SUBMISSIONS}")).expect(200).await.json();
    let one = site.admin(&format!("GET {SUBMISSIONS}?id={}", list["data"][0]["id"]));
    let answers = one.expect(200).await.data()["answers"].clone();
    has!(answers[1], {"field": "price", "value": 298.5});
    let wrong = json!({"name": "wrong", "fields": [
        {"id": "price", "type": "calculated", "expression": "nobody * 2"}]});
    site.admin(&format!("POST {FORMS}")).json(wrong).refused(422, "validation_failed").await;
}
