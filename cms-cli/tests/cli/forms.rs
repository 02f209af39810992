//! `cms forms`

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    path::Path,
};

use crate::support::{Served, both_ways, cms, cms_with, site};

/// Submits the form as a page does.
fn submit(server: &Served, answers: &str) {
    let body = format!("{{\"form\":\"contact\",\"answers\":{answers}}}");
    let host = server.url.strip_prefix("http://").expect("an address");
    let mut stream = TcpStream::connect(host).expect("connected");
    let head = format!(
        "POST /api/form/submit HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).expect("sent");
    let mut reply = String::new();
    stream.read_to_string(&mut reply).expect("a reply");
    assert!(reply.starts_with("HTTP/1.1 201"), "{reply}");
}

fn make(dir: &Path) {
    let form = r#"{"name": "contact", "title": "Write to us",
                   "fields": [{"id": "name", "type": "short_text"}]}"#;
    cms_with(dir, "forms create -", form).ok();
}

#[test]
fn a_form_is_named_by_its_name_or_its_id() {
    let dir = site();
    make(dir.path());
    let run = |args: &str| cms(dir.path(), &format!("forms {args}"));
    for form in ["contact", "1"] {
        let shown = run(&format!("show {form} --json")).json();
        assert_eq!(shown["data"]["title"], "Write to us");
        run(&format!("submissions list {form}")).ok();
        run(&format!("export {form}")).ok();
        let edited = cms_with(dir.path(), &format!("forms edit {form} -"), r#"{"active": false}"#);
        assert!(edited.ok().contains("false"));
    }
    let wrong = r#"{"fields": [{"id": "a", "type": "x"}, {"id": "b c", "type": "nps"}]}"#;
    cms_with(dir.path(), "forms edit contact -", wrong)
        .fails(1)
        .tells("fields[0]")
        .tells("fields[1]");
    for form in ["none", "9"] {
        run(&format!("show {form}")).fails(5);
        run(&format!("delete {form} --yes")).fails(5);
        run(&format!("submissions list {form}")).fails(5);
        run(&format!("export {form}")).fails(5);
    }
    run("delete contact").fails(2);
    run("delete contact --yes").ok();
    assert_eq!(run("list").ok(), "");
}

#[test]
fn submissions_are_listed_exported_and_deleted() {
    let dir = site();
    make(dir.path());
    let server = Served::start(dir.path(), &[]);
    submit(&server, r#"{"name": "=1+1"}"#);
    submit(&server, r#"{"name": "Ada"}"#);
    // Over the network as in the folder.
    for at in both_ways(dir.path(), &server) {
        let run = |args: &str| cms(dir.path(), &format!("forms {args} {at}"));
        let list = run("submissions list contact --json").json();
        let rows = list["data"].as_array().expect("rows").iter();
        let names: Vec<_> = rows.map(|row| row["summary"].as_str().expect("a text")).collect();
        assert_eq!(names, ["Ada", "=1+1"]);
        run("submissions show 2").shows("name: Ada");
        let table = run("export contact").ok();
        let lines: Vec<_> = table.lines().collect();
        let names = "submission.id,submission.created_at,submission.spam,name,submission.more";
        assert_eq!(lines[0], format!("\u{feff}{names}"));
        assert!(run("export contact --no-bom").ok().starts_with(names));
        assert!(lines[1].contains("Ada") && lines[2].contains("'=1+1"), "{table}");
        let file = dir.path().join("contact.csv");
        let name = file.to_str().expect("a path");
        run(&format!("export contact --out {name}")).ok();
        assert_eq!(std::fs::read_to_string(&file).expect("a table"), table);
        run("export contact --json").fails(2);
        run(&format!("export contact --spam true --out {name}")).ok();
        assert_eq!(std::fs::read_to_string(&file).expect("a table").lines().count(), 1);
    }
    let run = |args: &str| cms(dir.path(), &format!("forms submissions {args}"));
    run("delete 1 9 --yes").fails(8).tells("Done before the failure: 1");
    run("show 1").fails(5);
    assert_eq!(run("list contact --spam true").ok(), "");
}
