//! All submissions with their answers, as a table or as lines of JSON.

use serde_json::{Value as Json, json};

use super::{at, list::copies, post, sent, site};
use crate::support::{Site, visits::leads};

async fn table(site: &Site, query: &str) -> String {
    let line = at("GET", &format!("export{query}"));
    site.admin(&line).expect(200).await.text()
}

#[tokio::test]
async fn a_table_has_a_column_for_each_answer_and_no_formula() {
    let site = site().await;
    let visit = site.visit("leads").await;
    visit.answers(json!({"name": "=HYPERLINK(\"x\")", "mail": "ada@example.org"})).await;
    visit.answers(json!({"budget": 9000})).await;
    visit.answers(json!({"phone": "030 123456"})).await;
    visit.complete(None).expect(200).await;
    let update = json!({"id": 1, "inbox_notes": "@Gr\u{f6}\u{df}e"});
    post(&site, "submission_update", update).expect(200).await;
    let reply = site.admin(&at("GET", "export&funnel_id=leads")).expect(200).await;
    assert!(reply.header("content-type").starts_with("text/csv"));
    assert!(reply.header("content-disposition").contains("leads-inbox.csv"));
    let text = reply.text();
    let text = text.strip_prefix('\u{feff}').expect("a byte order mark");
    let mut lines = text.split("\r\n");
    let names: Vec<_> = lines.next().unwrap().split(',').collect();
    assert_eq!(names[0], "submission.id");
    let fields = ["name", "mail", "campaign", "budget", "phone", "paper"];
    let first = names.iter().position(|name| *name == "name").unwrap();
    assert_eq!(names[first..first + 6], fields);
    assert_eq!(names[first + 6..], ["submission.inbox_notes", "submission.more"]);
    let row = lines.next().unwrap();
    let answers = ",\"'=HYPERLINK(\"\"x\"\")\",ada@example.org,none,9000,'+4930123456,,";
    assert!(row.contains(answers), "{row}");
    assert!(row.ends_with("'@Gr\u{f6}\u{df}e,"), "{row}");
    assert_eq!(lines.next(), Some(""));
    assert!(table(&site, "&funnel_id=1&bom=false").await.starts_with("submission.id,"));
    assert!(!text.contains("session"), "{text}");
}

#[tokio::test]
async fn all_funnels_have_their_answers_in_the_last_column() {
    let site = site().await;
    sent(&site, "Ada", 10).await;
    let mut other = leads();
    other["slug"] = json!("other");
    site.funnel(other).await;
    let text = table(&site, "").await;
    let row = text.split("\r\n").nth(1).unwrap();
    assert!(row.contains("\"\"budget\"\":\"\"10\"\""), "{row}");
    assert_eq!(table(&site, "&funnel_id=other").await.split("\r\n").count(), 2, "only names");
    let lines = site.admin(&at("GET", "export&format=jsonl")).expect(200).await;
    assert_eq!(lines.header("content-type"), "application/jsonl");
    let line: Json = serde_json::from_str(lines.text().trim_end()).unwrap();
    assert_eq!((&line["submission_id"], &line["inbox_notes"]), (&json!(1), &json!("")));
    assert_eq!(line["answers"][0]["value"], "Ada");
}

#[tokio::test]
async fn a_condition_names_the_funnel_as_well() {
    let site = site().await;
    sent(&site, "Ada", 10).await;
    let of_one = table(&site, "&funnel_id=leads").await;
    for condition in ["filter[funnel_id]=1", "filter[funnel_id][in]=1", "filter[funnel_id][eq]=1"] {
        assert_eq!(table(&site, &format!("&{condition}")).await, of_one, "{condition}");
    }
    let line = at("GET", "export&format=jsonl&filter[funnel_id]=1");
    let reply = site.admin(&line).expect(200).await;
    assert!(reply.header("content-disposition").contains("leads-inbox.jsonl"));
    for condition in ["filter[funnel_id][in]=1,2", "filter[funnel_id][lte]=1"] {
        let row = table(&site, &format!("&{condition}")).await;
        assert!(row.contains("\"\"budget\"\":\"\"10\"\""), "{condition}: {row}");
    }
    let none = table(&site, "&filter[funnel_id]=99").await;
    assert_eq!(none.split("\r\n").count(), 2, "only names: {none}");
    let other = table(&site, "&funnel_id=leads&filter[funnel_id]=99").await;
    assert_eq!(other.split("\r\n").count(), 2, "both count: {other}");
}

#[tokio::test]
async fn many_are_read_page_by_page_under_conditions() {
    let site = site().await;
    sent(&site, "Ada", 10).await;
    site.database.run(copies(333)).await;
    let lines = table(&site, "&format=jsonl&sort=submission_id").await;
    let ids: Vec<_> = lines
        .lines()
        .map(|line| serde_json::from_str::<Json>(line).unwrap()["submission_id"].as_i64().unwrap())
        .collect();
    assert_eq!(ids, (1..=334).collect::<Vec<_>>());
    let some = table(&site, "&format=jsonl&filter[submission_id][lte]=40").await;
    assert_eq!(some.lines().count(), 40);
    for wrong in [
        "&format=xls",
        "&bom=maybe",
        "&filter[inbox_state]=new",
        "&sort=session_uuid",
        "&limit=5",
        "&filter[is_spam]=maybe",
        "&cursor=c",
    ] {
        site.admin(&at("GET", &format!("export{wrong}"))).refused(400, "bad_query").await;
    }
    let gone = at("GET", "export&funnel_id=none");
    site.admin(&gone).refused(404, "not_found").await;
}

#[tokio::test]
async fn the_script_of_the_plugin_does_the_same() {
    let site = site().await;
    sent(&site, "Ada", 10).await;
    let line = "POST /api/backend/actions/script";
    let run = |data: Json| -> Json {
        json!({"plugin": "formfunnel", "button_id": "export", "id": null, "data": data})
    };
    let by_script = site.admin(line).json(run(json!({"funnel_id": 1}))).expect(200).await;
    assert_eq!(by_script.text(), table(&site, "&funnel_id=leads").await);
    let none = json!({"filter": {"inbox_status": "rejected"}, "format": "jsonl"});
    assert_eq!(site.admin(line).json(run(none)).expect(200).await.text(), "");
    assert!(site.admin(line).json(run(Json::Null)).expect(200).await.text().len() > 100);
    for wrong in [json!({"filters": {}}), json!({"filter": {"inbox_state": "new"}})] {
        site.admin(line).json(run(wrong)).refused(422, "validation_failed").await;
    }
    // Who may see the inbox may take it along, and nobody else.
    let viewer = site.person("viewer", json!(["formfunnel_inbox_view"])).await;
    site.ask(line).bearer(&viewer.token).json(run(json!({}))).expect(200).await;
    let blind = json!(["formfunnel_inbox_edit", "formfunnel_export_edit"]);
    let blind = site.person("blind", blind).await;
    let refused = site.ask(line).bearer(&blind.token).json(run(json!({})));
    refused.refused(403, "permission_denied").await;
    let key = site.key(&[line]).await;
    site.ask(line).key(&key).json(run(json!({}))).refused(401, "api_key_forbidden").await;
    let right = "GET /api/backend/formfunnel?action=submissions";
    let key = site.key(&[line, right]).await;
    site.ask(line).key(&key).json(run(json!({}))).expect(200).await;
}
