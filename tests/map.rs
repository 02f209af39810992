//! docs/map.md and the tree: every path it names exists, and every module has its place.

use std::{collections::BTreeSet, fs, path::Path};

/// The crate that a heading of the map is about, and where its paths begin.
const CRATES: [(&str, &str); 5] = [
    ("**cms-core**", "cms-core/src"),
    ("**cms-http**", "cms-http/src"),
    ("**cms-cli**", "cms-cli/src"),
    ("**cms-tui**", "cms-tui/src"),
    ("**around them**", "."),
];

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The paths that the map names, from the repository's root.
fn named() -> Vec<String> {
    let map = fs::read_to_string(root().join("docs/map.md")).expect("the page");
    let (mut paths, mut base) = (Vec::new(), "");
    for line in map.lines().filter(|line| line.starts_with('|')) {
        let mut cells = line.split('|').map(str::trim).skip(1);
        let (question, places) = (cells.next().unwrap_or(""), cells.next().unwrap_or(""));
        if let Some((_, folder)) = CRATES.iter().find(|(name, _)| *name == question) {
            base = folder;
        }
        let (mut folder, mut inside) = (String::new(), false);
        for (index, part) in places.split('`').enumerate() {
            if index % 2 == 0 {
                // `folder/` (`a.rs`, `b.rs`) names files of the folder.
                inside = (inside || part.contains('(')) && !part.contains(')');
                continue;
            }
            let path = if inside { format!("{folder}{part}") } else { part.to_owned() };
            if !inside {
                folder = part.to_owned();
            }
            paths.push(format!("{base}/{path}"));
        }
    }
    paths
}

#[test]
fn every_path_of_the_map_exists() {
    let paths = named();
    assert!(paths.len() > 80, "the map was read: {}", paths.len());
    for path in paths {
        assert!(root().join(fixed(&path)).exists(), "{path} is no longer there");
    }
}

/// `wire/<resource>.rs` and `tests/*.rs` stand for everything in the folder.
fn fixed(path: &str) -> &str {
    path.split(['<', '*']).next().expect("a beginning")
}

/// ARCHITECTURE and CONTRIBUTING name no file that is gone.
#[test]
fn every_file_that_the_pages_name_exists() {
    let mut files = Vec::new();
    for folder in ["cms-core", "cms-http", "cms-cli", "cms-tui", "migrations", "tests", "examples"]
    {
        collect(&root().join(folder), &mut files);
    }
    for page in ["ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = fs::read_to_string(root().join(page)).expect("the page");
        let names = text.split('`').skip(1).step_by(2).map(|name| fixed(name.trim()));
        let names: Vec<_> = names.filter(|name| name.ends_with(".rs")).collect();
        assert!(names.len() > 10, "{page} was read: {names:?}");
        for name in names {
            let is_it = |file: &String| format!("/{file}").ends_with(&format!("/{name}"));
            assert!(files.iter().any(is_it), "{page} names {name}, which is no longer there");
        }
    }
}

/// A file is on the map by its own name or by that of a folder around it.
#[test]
fn every_file_has_its_place_on_the_map() {
    let named = named();
    let named: BTreeSet<&str> = named.iter().map(|path| fixed(path)).collect();
    let mut files = Vec::new();
    for (_, folder) in CRATES.iter().filter(|(_, folder)| *folder != ".") {
        collect(&root().join(folder), &mut files);
    }
    assert!(files.len() > 500, "the crates were read: {}", files.len());
    let missing: Vec<&String> = files.iter().filter(|file| !on_the_map(file, &named)).collect();
    assert!(missing.is_empty(), "not on the map: {missing:#?}");
}

fn on_the_map(file: &str, named: &BTreeSet<&str>) -> bool {
    let path = Path::new(file);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let around = |folder: &Path| named.contains(format!("{}/", folder.display()).as_str());
    let of_its_folder = ["lib.rs", "main.rs", "mod.rs", "sql.rs", "tests.rs"].contains(&&*name)
        || name.ends_with("_tests.rs")
        || path.components().any(|part| part.as_os_str() == "tests");
    of_its_folder || named.contains(file) || path.ancestors().skip(1).any(around)
}

/// The Rust files below a folder, from the repository's root.
fn collect(folder: &Path, files: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let inside = path.strip_prefix(root()).expect("a path of the repository");
            files.push(inside.display().to_string());
        }
    }
}

/// The table of floors in ARCHITECTURE has the floors that the test of imports has, in their order.
#[test]
fn the_floors_are_those_that_are_tested() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("the page");
    let table = text.split("| floor of cms-core |").nth(1).expect("the table");
    let written: Vec<&str> = table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .flat_map(|line| {
            let mut cells = line.split('|').skip(1);
            let (floor, holds) = (cells.next().unwrap_or(""), cells.next().unwrap_or(""));
            // The rooms stand in one row, named in its second cell.
            let names = if floor.contains('`') { floor } else { holds };
            names.split('`').skip(1).step_by(2).map(|name| name.trim_end_matches('/'))
        })
        .collect();
    let source = fs::read_to_string(root().join("tests/floors/table.rs")).expect("the floors");
    let core = source.split("const CORE: Floors = &[").nth(1).expect("those of the core");
    let core = core.split("];").next().expect("their end");
    let tested: Vec<&str> =
        core.split('"').skip(1).step_by(2).filter(|name| *name != "crate").collect();
    assert_eq!(written, tested);
}
