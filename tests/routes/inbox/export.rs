//! All submissions with their answers, as a table or as lines of JSON. A real spreadsheet program
//! opens the table: `CMS_TEST_SPREADSHEET=soffice`, as `.ci/full` does.

use std::{path::Path, process::Command};

use serde_json::{Value as Json, json};

use super::{at, list::copies, sent, site, update};
use crate::support::{Site, each, has, with};

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
    update(&site, 1, json!({"inbox_notes": "@Gr\u{f6}\u{df}e"})).await;
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
    let answers = ",\"'=HYPERLINK(\"\"x\"\")\",ada@example.org,none,9000,+4930123456,,";
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
    site.leads(json!({"slug": "other"})).await;
    let text = table(&site, "").await;
    let row = text.split("\r\n").nth(1).unwrap();
    assert!(row.contains("\"\"budget\"\":\"\"10\"\""), "{row}");
    assert_eq!(table(&site, "&funnel_id=other").await.split("\r\n").count(), 2, "only names");
    let lines = site.admin(&at("GET", "export&format=jsonl")).expect(200).await;
    assert_eq!(lines.header("content-type"), "application/jsonl");
    let line: Json = serde_json::from_str(lines.text().trim_end()).unwrap();
    has!(line, {"submission_id": 1, "inbox_notes": "", "/answers/0/value": "Ada"});
}

#[tokio::test]
async fn a_condition_names_the_funnel_as_well() {
    let site = site().await;
    sent(&site, "Ada", 10).await;
    let of_one = table(&site, "&funnel_id=leads").await;
    for condition in ["filter[funnel_id]=1", "filter[funnel_id][in]=1", "filter[funnel_id][eq]=1"] {
        assert_eq!(table(&site, &format!("&{condition}")).await, of_one, "{condition}");
    }
    let reply = site.admin(&at("GET", "export&format=jsonl&filter[funnel_id]=1")).expect(200).await;
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
    let rows: Vec<Json> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(each(&rows.into(), "submission_id"), (1..=334).collect::<Vec<_>>());
    let some = table(&site, "&format=jsonl&filter[submission_id][lte]=40").await;
    assert_eq!(some.lines().count(), 40);
    let wrong = "format=xls bom=maybe filter[inbox_state]=new sort=session_uuid limit=5 \
                 filter[is_spam]=maybe cursor=c";
    for wrong in wrong.split(' ') {
        site.admin(&at("GET", &format!("export&{wrong}"))).refused(400, "bad_query").await;
    }
    site.admin(&at("GET", "export&funnel_id=none")).refused(404, "not_found").await;
}

#[tokio::test]
async fn the_script_of_the_plugin_does_the_same() {
    let site = site().await;
    sent(&site, "Ada", 10).await;
    let line = "POST /api/backend/actions/script";
    let run = |data: Json| {
        let button = json!({"plugin": "formfunnel", "button_id": "export", "id": null});
        site.ask(line).json(with(button, json!({"data": data})))
    };
    let admin = |data: Json| run(data).key(&site.admin);
    let by_script = admin(json!({"funnel_id": 1})).expect(200).await;
    assert_eq!(by_script.text(), table(&site, "&funnel_id=leads").await);
    let none = json!({"filter": {"inbox_status": "rejected"}, "format": "jsonl"});
    assert_eq!(admin(none).expect(200).await.text(), "");
    assert!(admin(Json::Null).expect(200).await.text().len() > 100);
    for wrong in [json!({"filters": {}}), json!({"filter": {"inbox_state": "new"}})] {
        admin(wrong).refused(422, "validation_failed").await;
    }
    // Who may see the inbox may take it along, and nobody else.
    let all = || run(json!({}));
    let viewer = site.person("viewer", json!(["formfunnel_inbox_view"])).await;
    all().bearer(&viewer.token).expect(200).await;
    let blind = json!(["formfunnel_inbox_edit", "formfunnel_export_edit"]);
    let blind = site.person("blind", blind).await;
    all().bearer(&blind.token).refused(403, "permission_denied").await;
    let key = site.key(&[line]).await;
    all().key(&key).refused(401, "api_key_forbidden").await;
    let key = site.key(&[line, "GET /api/backend/formfunnel?action=submissions"]).await;
    all().key(&key).expect(200).await;
}

/// What a spreadsheet could take for a formula, and what it must show.
const NAMES: [&str; 9] = [
    "=1+1",
    "+49 30 1",
    "-2+3",
    "@SUM(A1:A2)",
    "=HYPERLINK(\"https://evil.example\",\"x\")",
    "Müller, \"Zoë\"; Ølgaard",
    "Grüße 🎉 日本",
    "=cmd|' /C calc'!A0",
    "plain",
];

/// Commas, quotes, UTF-8; numbers are recognised and formulas run, which is the worst.
const READ: &str = "Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,false,false,false,0,true";
/// The text as it is shown.
const SHOWN: &str = "csv:Text - txt - csv (StarCalc):44,34,76,1,,0,false,true,false";

fn converted(office: &str, folder: &Path, to: &str, made: &str) -> String {
    let home = format!("-env:UserInstallation=file://{}/home", folder.display());
    let mut command = Command::new(office);
    let read = format!("--infilter={READ}");
    command.args([&home, "--headless", &read, "--convert-to", to, "--outdir"]);
    let done = command.arg(folder.join("out")).arg(folder.join("inbox.csv")).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    std::fs::read_to_string(folder.join("out").join(made)).unwrap()
}

#[tokio::test]
async fn a_spreadsheet_shows_the_export_and_runs_nothing() {
    let Ok(office) = std::env::var("CMS_TEST_SPREADSHEET") else { return };
    let site = site().await;
    for name in NAMES {
        let visit = site.visit("leads").await;
        visit.answers(json!({"name": name, "mail": "a@example.org"})).await;
        visit.answers(json!({"budget": 12.5})).await;
        visit.complete(None).expect(200).await;
    }
    let export = at("GET", "export&funnel_id=leads&sort=submission_id");
    let csv = site.admin(&export).expect(200).await.text();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("inbox.csv"), &csv).unwrap();
    let read = |text: &str| {
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
        let head: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
        let rows = reader.records().map(|row| row.unwrap().iter().map(str::to_owned).collect());
        (head, rows.collect::<Vec<Vec<String>>>())
    };
    let shown = converted(&office, folder.path(), SHOWN, "inbox.csv");
    let (ours, theirs) =
        (read(csv.trim_start_matches('\u{feff}')), read(shown.trim_start_matches('\u{feff}')));
    assert_eq!(theirs.0, ours.0, "every column, in its order");
    let name = ours.0.iter().position(|column| column == "name").unwrap();
    for ((given, ours), theirs) in NAMES.iter().zip(&ours.1).zip(&theirs.1) {
        assert_eq!(theirs[name], ours[name]);
        assert_eq!(theirs[name].trim_start_matches('\''), *given, "umlauts and all");
    }
    assert_eq!(theirs.1.len(), NAMES.len());
    // The document itself holds no formula.
    let document = converted(&office, folder.path(), "fods", "inbox.fods");
    assert!(document.contains("Grüße 🎉 日本") && document.contains("=1+1"));
    assert!(!document.contains("table:formula"), "a formula was made of an answer");
    // Without the apostrophes there would be some.
    std::fs::write(folder.path().join("inbox.csv"), csv.replace('\'', "")).unwrap();
    let document = converted(&office, folder.path(), "fods", "inbox.fods");
    assert!(document.contains("table:formula"), "the program runs formulas");
}
