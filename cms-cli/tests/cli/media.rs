//! `cms media`

use crate::support::{Served, cms, cms_env, cms_with, has, site};

const PDF: &[u8] = b"%PDF-1.7 a bill%%EOF";

#[test]
fn files_are_uploaded_shown_changed_and_deleted() {
    let dir = site();
    let bill = dir.path().join("bill.pdf");
    std::fs::write(&bill, PDF).expect("written");
    let bill = bill.to_str().expect("a path");
    let run = |args: &str| cms(dir.path(), &format!("media {args}"));
    let made = run(&format!("upload {bill} --folder bills --json")).json()["data"].clone();
    assert_eq!((&made["file_name"], &made["folder"]), (&"bill.pdf".into(), &"bills".into()));
    let path = made["path"].as_str().expect("a path");
    let again = run(&format!("upload {bill}"));
    assert!(again.err.contains("is there already"), "{again:?}");
    assert_eq!(run("list --folder bills --json").json()["data"][0]["id"], 1);
    assert_eq!(run("list --type image/").ok(), "");
    for file in ["1", path] {
        assert_eq!(run(&format!("show {file} --json")).json()["data"]["size"], PDF.len());
    }
    run("show /media/aa/none.pdf").fails(5);
    assert_eq!(run(&format!("uses {path}")).ok(), "");
    let setting = format!(r#"{{"name": "terms", "value": {{"file": "{path}"}}, "public": true}}"#);
    cms_with(dir.path(), "items create settings -", &setting).ok();
    let used = run("uses 1 --json").json()["data"]["uses"][0].clone();
    assert_eq!((&used["table"], &used["part"]), (&"settings".into(), &"value".into()));
    run("delete 1 --yes").fails(6).tells("settings terms (value)");
    run("uses 7").fails(5);
    let alt = r#"{"alt": {"en": "A bill"}}"#;
    let edited = cms_with(dir.path(), &format!("media edit {path} - --json"), alt).json();
    assert_eq!(edited["data"]["alt"]["en"], "A bill");
    assert_eq!(run("check --json").json()["data"]["files"], 1);
    let file = dir.path().join("data").join(path.trim_start_matches('/'));
    std::fs::write(&file, "cut").expect("written");
    run("check").fails(1).tells("upload these files again");
    run("delete 1").fails(2);
    run(&format!("delete {path} --yes --force")).ok();
    assert!(!file.exists());
    run("delete 1 --yes").fails(5);
    let text = dir.path().join("text.pdf");
    std::fs::write(&text, "no document").expect("written");
    let text = text.to_str().expect("a path");
    let refused = format!("error: {text}: ");
    for (files, code, left) in [
        (format!("{bill} {text}"), 8, ""),
        (format!("{bill} {text} {bill} {bill}"), 8, "not tried after it: 2 files"),
        (format!("{text} {bill}"), 1, "not tried after it: 1 file"),
    ] {
        let failed = run(&format!("upload {files}")).fails(code);
        failed.tells(&refused).tells("text/plain").tells(left);
    }
    let told = run(&format!("upload {text} {bill} --json")).fails(1).err;
    let told = serde_json::from_str(&told).expect("a document");
    has(&told, [("/file", text.into()), ("/uploaded", 0.into()), ("/not_tried", 1.into())]);
    run("upload /no/such/file").fails(1);
}

#[test]
fn a_file_is_sent_to_a_running_site() {
    let dir = site();
    let key = cms(dir.path(), "keys create -q --name r --right *").ok();
    let server = Served::start(dir.path(), &[]);
    let large = dir.path().join("large.pdf");
    std::fs::write(&large, [PDF, &vec![b'x'; 3 << 20], PDF].concat()).expect("written");
    let far = [("CMS_URL", server.url.as_str()), ("CMS_API_KEY", key.trim())];
    let upload = format!("media upload --json {}", large.display());
    let made = cms_env(dir.path(), &upload, &far).json();
    assert_eq!(made["data"]["size"], 2 * PDF.len() + (3 << 20));
    std::fs::write(dir.path().join("a\"b.pdf"), PDF).expect("written");
    let upload = format!("media upload --json {}/a\"b.pdf", dir.path().display());
    let made = cms_env(dir.path(), &upload, &far).json();
    assert_eq!(made["data"]["file_name"], "a\"b.pdf");
}
