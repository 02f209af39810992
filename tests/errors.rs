//! The documentation names exactly the codes there are, with their statuses.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use cms_core::Code;
use serde_json::Value as Json;

use crate::support::{TestDatabase, process};

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
        let calls = ["invalid_field(", " add("].map(|call| text.split(call).skip(1));
        let arguments = calls.into_iter().flatten().filter_map(second_argument);
        let codes = members.chain(arguments);
        let codes = codes.filter(|code| code.bytes().all(|b| b.is_ascii_lowercase()));
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
