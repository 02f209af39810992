//! A real spreadsheet program opens the export: `CMS_TEST_SPREADSHEET=soffice`, as `.ci/full` does.

use std::{path::Path, process::Command};

use serde_json::json;

use super::{at, site};

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
        let bare = theirs[name].trim_start_matches('\'');
        assert_eq!(bare, *given, "umlauts and all");
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
