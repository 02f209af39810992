//! `cms inbox`

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    os::unix::fs::PermissionsExt as _,
};

use serde_json::Value as Json;
use tempfile::TempDir;

use crate::{
    leaves::FUNNEL,
    support::{Served, both_ways, cms, cms_with, site},
};

/// A visitor's call.
fn call(server: &Served, action: &str, body: &str) -> Json {
    let host = server.url.strip_prefix("http://").expect("an address");
    let mut stream = TcpStream::connect(host).expect("connected");
    let head = format!(
        "POST /api/formfunnel/{action} HTTP/1.1\r\nhost: {host}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).expect("sent");
    let mut reply = String::new();
    stream.read_to_string(&mut reply).expect("a reply");
    let (_, body) = reply.split_once("\r\n\r\n").expect("a body");
    serde_json::from_str(body).expect(&reply)
}

fn send(server: &Served, mail: &str) {
    let started = call(server, "start", r#"{"funnel_id": "good"}"#);
    let session = started["session_uuid"].as_str().expect("a session").to_owned();
    let answers = format!(r#"{{"session_uuid": "{session}", "answers": {{"mail": "{mail}"}}}}"#);
    call(server, "step", &answers);
    let done = call(server, "complete", &format!(r#"{{"session_uuid": "{session}"}}"#));
    assert_eq!(done["status"], "completed");
}

/// A served site that three people have sent something to.
pub(crate) fn three_sent() -> (TempDir, Served) {
    let dir = site();
    cms_with(dir.path(), "funnels import -", FUNNEL).ok();
    cms(dir.path(), "funnels publish good").ok();
    let server = Served::start(dir.path(), &[]);
    for mail in ["ada@example.org", "bob@example.org", "cy@example.org"] {
        send(&server, mail);
    }
    (dir, server)
}

#[test]
fn submissions_are_listed_sorted_noted_and_taken_back() {
    let (dir, server) = three_sent();
    // Over the network as in the folder.
    for at in both_ways(dir.path(), &server) {
        let run = |args: &str| cms(dir.path(), &format!("inbox {args} {at}"));
        let page = run("list --json").json();
        assert_eq!(page["meta"]["counts"]["new"], 3);
        let found = run("list --search ADA").ok();
        assert!(found.contains("ada@example.org") && !found.contains("bob"), "{found}");
        run("show 1").shows("From \"Who\" to \"Thanks\".");
        run("show 9").fails(5);
        // By the reference, as a visitor reads it out.
        let detail = run("show 2 --json").json()["data"].clone();
        let reference = detail["reference"].as_str().expect("a reference").to_lowercase();
        let same = run(&format!("show '{}' --json", reference.replace('-', " "))).json();
        assert_eq!(same["data"]["submission_id"], 2);
        run(&format!("note {reference} Called")).ok();
        for unknown in ["0000-0000", "ghost"] {
            run(&format!("show {unknown}")).fails(5);
        }
        run("list --where inbox_state=new").fails(1);

        // A submission changes as it was seen.
        let rev = run("show 3 --json").json()["data"]["inbox_rev"].to_string();
        run(&format!("set-status contacted 3 --rev {rev}")).ok();
        run(&format!("note 3 Later --rev {rev}")).fails(6);
        run(&format!("assign nobody 3 --rev {rev}")).fails(6);
        run(&format!("delete 3 --rev {rev} --yes")).fails(6);
        run(&format!("set-status rejected 3 1 --rev {rev}")).fails(2);
        let done = run("set-status new 3 --json").json();
        assert_eq!((&done["data"]["id"], done["data"]["inbox_rev"].is_i64()), (&3.into(), true));

        let done = run("set-status qualified 1 2 --json").json();
        assert_eq!(done["data"], serde_json::json!({"matched": 2, "changed": 2}));
        run("set-status done 1").fails(1);
        run("set-status rejected 1 9").fails(5);
        run("set-status rejected").fails(2);
        run("set-status rejected --where inbox_status=new").fails(2);
        run("set-status rejected --where inbox_status=new --expected 2").fails(6);
        run("set-status rejected --where inbox_status=new --expected 1").ok();
        assert!(run("undo").err.contains("1 submission as before."));
        run("undo").fails(5);
        run("note 1 'Called on Monday'").ok();
        assert!(run("show 1").ok().contains("Called on Monday"));
        run("assign nobody 1").ok();
        run("assign ghost 1").fails(5);

        let table = run("export good --where submission_id=1").ok();
        let lines: Vec<_> = table.lines().collect();
        assert!(lines[0].starts_with("\u{feff}submission.id,"), "{table}");
        assert!(lines[0].ends_with(",mail,submission.inbox_notes,submission.more"), "{table}");
        assert!(lines[1].ends_with(",ada@example.org,Called on Monday,"), "{table}");
        let lines = run("export --format jsonl").ok();
        assert_eq!(lines.lines().count(), 3, "{lines}");
        let body = run("export --json --sort started_at").json();
        let ids = body["data"].as_array().expect("a list").iter().map(|one| &one["submission_id"]);
        assert_eq!(ids.collect::<Vec<_>>(), [1, 2, 3]);
        run("export none").fails(5);
        let file = dir.path().join("inbox.csv");
        run(&format!("export --no-bom --out {} --json", file.display())).json();
        let written = std::fs::read_to_string(&file).expect("a file");
        assert!(written.starts_with("submission.id,") && written.lines().count() == 4, "{written}");
        let mode = std::fs::metadata(&file).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "only its owner reads who has written");

        run("views save Mine --where inbox_status=qualified --sort score").ok();
        assert!(run("views list").ok().contains("Mine"));
        assert_eq!(run("list --view Mine --json").json()["data"][1]["submission_id"], 2);
        run("list --view None").fails(5);
        run("views delete Mine").ok();
        let watched = run("watch --no-follow").ok();
        assert_eq!(watched.lines().count(), 3, "{watched}");
        run("set-status new 1 2").ok();
    }
    let run = |args: &str| cms(dir.path(), &format!("inbox {args}"));
    // Help names every column of a list.
    let help = run("list --help").ok();
    let words: std::collections::BTreeSet<&str> = help.split_whitespace().collect();
    let row = run("list --json").json()["data"][0].clone();
    for column in row.as_object().expect("a submission").keys() {
        assert!(words.contains(column.as_str()), "{column}");
    }
    let alone = run("").fails(2);
    assert!(alone.err.contains("needs a terminal") && alone.err.contains("cms inbox list"));
    run("delete 1").fails(2);
    run("delete 1 2 --yes").ok();
    assert_eq!(run("list --json").json()["meta"]["counts"]["new"], 1);
}
