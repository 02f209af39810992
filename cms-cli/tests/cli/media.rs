//! `cms media`

use crate::support::{Served, cms, cms_with, command, finish, site};

const PDF: &[u8] = b"%PDF-1.7 a bill%%EOF";

#[test]
fn files_are_uploaded_shown_changed_and_deleted() {
    let dir = site();
    let bill = dir.path().join("bill.pdf");
    std::fs::write(&bill, PDF).expect("written");
    let bill = bill.to_str().expect("a path");
    let run = |args: &[&str]| cms(dir.path(), &[&["media"], args].concat());
    let made = run(&["upload", bill, "--folder", "bills", "--json"]).json()["data"].clone();
    assert_eq!((&made["file_name"], &made["folder"]), (&"bill.pdf".into(), &"bills".into()));
    let path = made["path"].as_str().expect("a path");
    let again = run(&["upload", bill]);
    assert!(again.err.contains("is there already"), "{again:?}");
    assert_eq!(run(&["list", "--folder", "bills", "--json"]).json()["data"][0]["id"], 1);
    assert_eq!(run(&["list", "--type", "image/"]).ok(), "");
    for file in ["1", path] {
        assert_eq!(run(&["show", file, "--json"]).json()["data"]["size"], PDF.len());
    }
    run(&["show", "/media/aa/none.pdf"]).fails(5);
    assert_eq!(run(&["uses", path]).ok(), "");
    let setting = format!(r#"{{"name": "terms", "value": {{"file": "{path}"}}, "public": true}}"#);
    cms_with(dir.path(), &["items", "create", "settings", "-"], &setting).ok();
    let used = run(&["uses", "1", "--json"]).json()["data"]["uses"][0].clone();
    assert_eq!((&used["table"], &used["part"]), (&"settings".into(), &"value".into()));
    let refused = run(&["delete", "1", "--yes"]).fails(6);
    assert!(refused.err.contains("settings terms (value)"), "{refused:?}");
    run(&["uses", "7"]).fails(5);
    let alt = r#"{"alt": {"en": "A bill"}}"#;
    let edited = cms_with(dir.path(), &["media", "edit", path, "-", "--json"], alt).json();
    assert_eq!(edited["data"]["alt"]["en"], "A bill");
    assert_eq!(run(&["check", "--json"]).json()["data"]["files"], 1);
    let file = dir.path().join("data").join(path.trim_start_matches('/'));
    std::fs::write(&file, "cut").expect("written");
    let lost = run(&["check"]).fails(1);
    assert!(lost.err.contains("upload these files again"), "{lost:?}");
    run(&["delete", "1"]).fails(2);
    run(&["delete", path, "--yes", "--force"]).ok();
    assert!(!file.exists());
    run(&["delete", "1", "--yes"]).fails(5);
    let text = dir.path().join("text.pdf");
    std::fs::write(&text, "no document").expect("written");
    let refused = run(&["upload", bill, text.to_str().expect("a path")]).fails(8);
    assert!(refused.err.contains("text/plain"), "{refused:?}");
    run(&["upload", "/no/such/file"]).fails(1);
}

#[test]
fn a_file_is_sent_to_a_running_site() {
    let dir = site();
    let key = cms(dir.path(), &["keys", "create", "-q", "--name", "r", "--right", "*"]).ok();
    let server = Served::start(dir.path(), &[]);
    let large = dir.path().join("large.pdf");
    std::fs::write(&large, [PDF, &vec![b'x'; 3 << 20], PDF].concat()).expect("written");
    let mut command = command(dir.path());
    command.args(["media", "upload", "--json"]).arg(&large);
    command.env("CMS_URL", &server.url).env("CMS_API_KEY", key.trim());
    let made = finish(command, None).json();
    assert_eq!(made["data"]["size"], 2 * PDF.len() + (3 << 20));
}
