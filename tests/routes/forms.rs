//! `/api/backend/item?table=forms`, `/api/form/submit`, `/api/backend/forms/submissions`.

use serde_json::{Value as Json, json};

use crate::{
    forms::{contact, open, submit},
    support::Site,
};

const FORMS: &str = "/api/backend/item?table=forms";
const SUBMISSIONS: &str = "/api/backend/forms/submissions";

#[tokio::test]
async fn forms_are_items_and_checked_whole() {
    let site = Site::open().await;
    let made = site.admin(&format!("POST {FORMS}")).json(contact()).expect(201).await;
    let form = made.data();
    assert_eq!((&form["active"], &form["min_seconds"]), (&json!(true), &json!(0)));
    assert_eq!((&form["recipients"], &form["retention_days"]), (&json!([]), &Json::Null));
    assert_eq!(form["fields"], contact()["fields"]);
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
    let refused =
        site.admin(&format!("POST {FORMS}")).json(wrong).refused(422, "validation_failed");
    let told = refused.await.json();
    let mut told: Vec<_> = told["errors"].as_array().unwrap().iter().map(|e| &e["field"]).collect();
    told.sort_by_key(|field| field.to_string());
    let expected = [
        "fields[1]",
        "fields[2]",
        "fields[3]",
        "fields[4]",
        "name",
        "recipients[1]",
        "redirect_url",
        "retention_days",
    ];
    assert_eq!(told, expected.map(Json::from).iter().collect::<Vec<_>>());
    // A list in a column is checked as well when only an entry is added.
    let list = json!({"table": "forms", "column": "recipients", "id": form["id"], "add": ["x"]});
    let add = site.admin("POST /api/backend/actions/checklist").json(list);
    add.refused(422, "validation_failed").await;
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
        submit(&site, json!({"form": form, "answers": {"name": name, "mail": "A@Example.org"}}))
            .expect(201)
            .await;
        site.clock.advance(60_000);
    }
    let list = async |query: &str| {
        let page = site.admin(&format!("GET {SUBMISSIONS}?{query}")).expect(200).await.json();
        let rows = page["data"].as_array().unwrap().clone();
        let names: Vec<_> =
            rows.iter().map(|row| row["summary"].as_str().unwrap().to_owned()).collect();
        (names.join(", ").replace(" · A@example.org", ""), page["meta"]["next"].clone())
    };
    assert_eq!(list("limit=9").await.0, "Di, Cy, Bob, Ada");
    assert_eq!(list("form=contact").await.0, "Di, Cy, Ada");
    assert_eq!(list("form=2").await.0, "Bob");
    assert_eq!(list("since=2026-11-21T09:31:00Z&until=2026-11-21T09:33:00Z").await.0, "Cy, Bob");
    assert_eq!(list("form=contact&until=2026-11-21T09:31:00Z").await.0, "Ada");
    assert_eq!(list("spam=true").await.0, "");
    let (first, next) = list("form=contact&limit=2").await;
    let next = next.as_str().unwrap();
    assert_eq!(
        (first.as_str(), list(&format!("form=contact&limit=2&cursor={next}")).await.0),
        ("Di, Cy", "Ada".to_owned())
    );
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
    let one = site.admin(&format!("GET {SUBMISSIONS}?id=1")).expect(200).await.data();
    assert_eq!(
        one,
        json!({
            "id": 1, "form": "contact", "created_at": "2026-11-21T09:30:00Z", "spam": false,
            "summary": "Ada · A@example.org",
            "answers": [
                {"field": "name", "type": "short_text", "label": "Name", "value": "Ada",
                 "text": "Ada"},
                {"field": "mail", "type": "email", "label": "", "value": "A@example.org",
                 "text": "A@example.org"},
            ],
        })
    );
    site.admin(&format!("DELETE {SUBMISSIONS}?id=1")).expect(204).await;
    site.admin(&format!("DELETE {SUBMISSIONS}?id=1")).refused(404, "not_found").await;
    let audit =
        site.admin("GET /api/backend/audit?table=form_submissions").expect(200).await.data();
    let told = |row: &Json| format!("{} {} {}", row["actor"]["kind"], row["action"], row["row_id"]);
    assert_eq!(told(&audit[0]), r#""key" "delete" "1""#);
    assert_eq!(told(&audit[4]), r#""visitor" "create" "1""#);
    // With the form everything goes.
    site.admin(&format!("DELETE {FORMS}&id=1")).expect(204).await;
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
    let mut fewer = fields.as_array().unwrap().clone();
    fewer.pop();
    let patch = json!({"fields": fewer});
    site.admin(&format!("PATCH {FORMS}&id=1")).json(patch).expect(200).await;
    let table = site.admin(&format!("GET {SUBMISSIONS}/export?form=survey")).expect(200).await;
    assert!(table.header("content-type").starts_with("text/csv"));
    assert!(table.header("content-disposition").contains("survey-submissions.csv"));
    let expected = "submission.id,submission.created_at,submission.spam,note,how,how.other,many,\
        age,submission.more\r\n\
        2,2026-11-21T09:30:01Z,false,\"a, \"\"b\"\"\",other,'@walk,,-7.5,\r\n\
        1,2026-11-21T09:30:00Z,false,'=1+1,By bike,,One; Two,,\
        \"{\"\"old\"\":\"\"-2.5\"\"}\"\r\n";
    assert_eq!(table.text(), expected);
    let text = table.text();
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let names: Vec<_> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let read: Vec<_> = reader.records().map(Result::unwrap).collect();
    let cell = |row: usize, name: &str| {
        read[row][names.iter().position(|known| known == name).unwrap()].to_owned()
    };
    for (row, name, holds) in [
        (0, "submission.id", "2"),
        (0, "submission.spam", "false"),
        (0, "note", "a, \"b\""),
        (0, "how", "other"),
        (0, "how.other", "'@walk"),
        (0, "age", "-7.5"),
        (1, "submission.created_at", "2026-11-21T09:30:00Z"),
        (1, "note", "'=1+1"),
        (1, "how", "By bike"),
        (1, "many", "One; Two"),
        (1, "age", ""),
        (1, "submission.more", r#"{"old":"-2.5"}"#),
    ] {
        assert_eq!(cell(row, name), holds, "row {row}, {name}");
    }
    // Outside of tables it reads as a sentence.
    let whole = site.admin(&format!("GET {SUBMISSIONS}?id=1")).expect(200).await.data();
    let many = whole["answers"].as_array().unwrap().iter().find(|one| one["field"] == "many");
    assert_eq!(many.unwrap()["text"], "One, Two");
    let one = format!("GET {SUBMISSIONS}/export?form=1&since=2026-11-21T09:30:01Z");
    assert_eq!(site.admin(&one).expect(200).await.text().lines().count(), 2);
    site.admin(&format!("GET {SUBMISSIONS}/export?form=none")).refused(404, "not_found").await;
    site.admin(&format!("GET {SUBMISSIONS}/export")).refused(400, "bad_query").await;
    // More than are read at once.
    for _ in 0..40 {
        let answered = json!({"form": "survey", "answers": {"note": "x"}});
        submit(&site, answered).expect(201).await;
    }
    let all = site.admin(&format!("GET {SUBMISSIONS}/export?form=survey")).expect(200).await.text();
    let ids: Vec<i64> =
        all.lines().skip(1).map(|line| line.split(',').next().unwrap().parse().unwrap()).collect();
    assert_eq!(ids, (1..=42).rev().collect::<Vec<_>>());
}

#[tokio::test]
async fn what_is_computed_is_stored_and_never_taken_from_the_page() {
    let site = Site::open().await;
    let fields = json!([
        {"id": "seats", "type": "number"},
        {"id": "price", "type": "calculated", "label": "Price", "expression": "seats * 99.5"},
    ]);
    let more = json!({"fields": fields});
    open(&site, "seats", more).await;
    let answers = json!({"seats": 3, "price": 1});
    submit(&site, json!({"form": "seats", "answers": answers})).expect(201).await;
    let list = site.admin(&format!("GET {SUBMISSIONS}")).expect(200).await.json();
    let one = site.admin(&format!("GET {SUBMISSIONS}?id={}", list["data"][0]["id"]));
    let answers = one.expect(200).await.data()["answers"].clone();
    assert_eq!((&answers[1]["field"], &answers[1]["value"]), (&json!("price"), &json!(298.5)));
    let wrong = json!({"name": "wrong", "fields": [
        {"id": "price", "type": "calculated", "expression": "nobody * 2"}]});
    site.admin(&format!("POST {FORMS}")).json(wrong).refused(422, "validation_failed").await;
}
