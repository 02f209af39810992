//! What a terminal would obey, and what turns the direction of text, is shown escaped.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
    path::Path,
};

use serde_json::Value as Json;

use crate::support::{Run, cms, cms_env, cms_with, site};

/// A screen is cleared by U+001B or U+009B; DEL; a text is turned.
const HOSTILE: &str = "a\u{1b}[2J\u{9b}2J\u{7f}\u{202e}z";
const ESCAPED: &str = r"a\u001b[2J\u009b2J\u007f\u202ez";

fn obeys(text: &str) -> bool {
    text.contains(['\u{1b}', '\u{7f}', '\u{9b}', '\u{202e}', '\u{85}'])
}

/// A strange server that gives every request this answer.
fn stranger(status: u16, body: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    let kind = if status == 200 { "application/json" } else { "application/problem+json" };
    let reply = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\nconnection: close\r\ncontent-length: \
         {}\r\n\r\n{body}",
        body.len()
    );
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut reader = BufReader::new(stream.try_clone().expect("a clone"));
            let (mut line, mut length) = (String::new(), 0);
            while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
                let named = line.to_lowercase();
                if let Some(bytes) = named.strip_prefix("content-length:") {
                    length = bytes.trim().parse().expect("a number");
                }
                line.clear();
            }
            let _ = reader.take(length).read_to_end(&mut Vec::new());
            let _ = stream.write_all(reply.as_bytes());
        }
    });
    url
}

fn remote(dir: &Path, url: &str, args: &str) -> Run {
    cms_env(dir, args, &[("CMS_URL", url), ("CMS_API_KEY", "k")])
}

#[test]
fn records_are_shown_escaped_and_json_means_the_same() {
    let dir = site();
    let body = serde_json::json!({"text": HOSTILE, "n": 1}).to_string();
    cms_with(dir.path(), "items create notes -", &body).ok();
    let run = |args: &str| cms(dir.path(), args).ok();
    for args in [
        "items list notes",
        "items get notes 1",
        "items list notes --json",
        "items export notes --json",
        "items export notes --format jsonl",
    ] {
        let out = run(args);
        assert!(!obeys(&out) && out.contains(r"\u009b2J"), "{args:?} {out:?}");
    }
    let list: Json = serde_json::from_str(&run("items list notes --json")).unwrap();
    assert_eq!(list["data"][0]["text"], HOSTILE);
    // A file is no terminal: what is imported again must be what was exported.
    assert!(run("items export notes --format csv").contains(HOSTILE));
}

#[test]
fn no_server_moves_the_terminal() {
    let dir = site();
    let key = format!(
        r#"{{"data":{{"id":1,"name":"{0}","prefix":"p","expires_on":null,
        "active":true,"rights":[],"requests":0,"denied":0,"last_used_at":null,"created_at":"x",
        "key":"k{0}"}}}}"#,
        "a\u{9b}2J\u{7f}\u{202e}z"
    );
    let url = stranger(200, &key);
    for args in ["keys rotate 1 --yes --json", "keys rotate 1 --yes"] {
        let run = remote(dir.path(), &url, args);
        assert!(!obeys(&run.out) && !obeys(&run.err), "{run:?}");
        assert!(format!("{run:?}").contains("u009b"), "{run:?}");
    }
    let problem = serde_json::json!({"type": "urn:x", "title": HOSTILE, "status": 422,
        "detail": HOSTILE, "error": "validation_failed", "request_id": "\u{9b}",
        "errors": [{"field": HOSTILE, "code": "x", "message": "line\n\u{85}next"}]});
    let url = stranger(422, &problem.to_string());
    for args in ["items list notes", "items list notes --json"] {
        let run = remote(dir.path(), &url, args).fails(1);
        assert!(!obeys(&run.err) && run.out.is_empty(), "{run:?}");
        assert!(run.err.contains(ESCAPED), "{run:?}");
    }
}

#[test]
fn names_are_refused_with_the_field() {
    let dir = site();
    for name in ["a\u{202e}b", "a\u{9b}b", "a\nb"] {
        let run = cms(dir.path(), &format!("keys create --name '{name}'")).fails(1);
        assert!(run.err.contains("name: no control characters") && !obeys(&run.err), "{run:?}");
    }
}
