//! The documentation names exactly the codes there are, with their statuses.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use cms_core::{Code, settings::Settings};
use cms_http::Peer;
use serde_json::Value as Json;

use crate::support::{Site, TestDatabase, log::Log, process};

const TEXT: &str = include_str!("../docs/errors.md");

/// The first two cells of each row of the table below a heading.
fn rows(heading: &str) -> Vec<(String, String)> {
    let section = TEXT.split("\n## ").find(|section| section.starts_with(heading));
    let lines = section.expect(heading).lines().filter(|line| line.starts_with("| `"));
    lines
        .map(|row| {
            let mut cells = row.split('|').map(str::trim).skip(1);
            let code = cells.next().unwrap().trim_matches('`').to_owned();
            (code, cells.next().unwrap().to_owned())
        })
        .filter(|(code, _)| code != "code")
        .collect()
}

#[test]
fn the_documentation_lists_every_code() {
    let documented: Vec<(String, u16)> = rows("Codes")
        .into_iter()
        .map(|(code, status)| (code, status.parse().expect("a status")))
        .collect();
    let actual: Vec<_> = Code::ALL
        .iter()
        .map(|code| (code.as_str().to_owned(), cms_http::status_of(*code).as_u16()))
        .collect();
    assert_eq!(documented, actual);
}

/// Source files of a crate.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(path);
        }
    }
}

/// The second argument of a call, if it is a literal: `a, "format", b)`.
fn second_argument(call: &str) -> Option<&str> {
    let (mut depth, mut quoted, mut before) = (0, false, ' ');
    let comma = call.find(|c: char| {
        quoted ^= c == '"' && before != '\\';
        before = c;
        match c {
            '(' | '[' | '{' if !quoted => depth += 1,
            ')' | ']' | '}' if !quoted => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0 && !quoted
    })?;
    call[comma + 1..].trim_start().strip_prefix('"')?.split('"').next()
}

#[test]
fn the_documentation_lists_every_code_of_a_field() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for folder in ["cms-core/src", "cms-http/src"] {
        sources(&root.join(folder), &mut files);
    }
    let mut used = BTreeSet::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let members = text.split(" code: \"").skip(1).filter_map(|rest| rest.split('"').next());
        let calls = ["invalid_field(", " add(", "(unfit("].map(|call| text.split(call).skip(1));
        let arguments = calls.into_iter().flatten().filter_map(second_argument);
        let codes = members.chain(arguments);
        // Those of several words belong to one room, whose page explains them.
        let codes = codes
            .filter(|code| *code == "read_only" || code.bytes().all(|b| b.is_ascii_lowercase()));
        used.extend(codes.map(str::to_owned));
    }
    let documented: BTreeSet<_> = rows("Fields").into_iter().map(|(code, _)| code).collect();
    assert_eq!(documented, used);
}

#[tokio::test]
async fn the_documentation_lists_every_code_of_the_command_line() {
    let database = TestDatabase::new().await;
    let told: Json =
        serde_json::from_str(&process::run(&database, &["exit-codes", "--json"])).unwrap();
    let told = told["data"].as_array().unwrap().iter().filter(|one| one["code"] != 0);
    let told: Vec<_> = told
        .map(|one| (one["error"].as_str().unwrap().to_owned(), one["code"].to_string()))
        .collect();
    assert_eq!(rows("The command line"), told);
}

/// Reply, problem document and log name a request as a trusted proxy does; others name nothing.
#[tokio::test]
async fn a_trusted_proxy_names_the_request() {
    let behind = |settings: &mut Settings| {
        settings.trusted_proxies = vec!["10.0.0.0/8".parse().unwrap()];
    };
    let site = Site::with(behind).await;
    site.database.run("alter table cms_menu_items rename to cms_menu_gone").await;
    let (id, trace) = ("lb-1.a:7", "0af7651916cd43dd8448eb211c80319c");
    let parent = format!("00-{trace}-b7ad6b7169203331-01");
    let ask = |peer: &str| {
        let ask = site.ask("GET /api/menu").peer(Peer(peer.parse().unwrap()));
        ask.header("traceparent", parent.as_str())
    };
    let log = Log::begin();
    let named = ask("10.0.0.1:1").header("x-request-id", id).send().await;
    let traced = ask("10.0.0.1:1").send().await;
    let stranger = ask("192.0.2.1:1").header("x-request-id", id).send().await;
    let log = log.end();
    for (reply, expected) in [(&named, id), (&traced, trace)] {
        assert_eq!(reply.header("x-request-id"), expected);
        assert_eq!(reply.json()["request_id"], expected);
        let is_its = |line: &&str| line.contains(" ERROR ") && line.contains(expected);
        let line = log.lines().find(is_its).expect("a line");
        assert!(line.contains(trace) && line.contains("(cause: "), "{line}");
    }
    let own = stranger.header("x-request-id");
    assert!(own.len() == 24 && own != id, "{own}");
    let lines: Vec<_> = log.lines().filter(|line| line.contains(own)).collect();
    assert!(!lines.is_empty() && lines.iter().all(|line| !line.contains(trace)), "{log}");
}
