//! Each crate is built in floors: a module imports only from floors below its own, and no imports
//! run in a circle. Read from the text of the files; tests do not count.

mod edges;
mod judge;
mod module;
mod opens;
mod self_tests;
mod table;
mod tables;
mod tokens;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use edges::Modules;
use judge::faults;
use table::{ALLOWED, CRATES, FLAT};

#[test]
fn no_import_goes_up_a_floor_or_closes_a_circle() {
    let mut complaints = Vec::new();
    for (name, floors) in CRATES {
        let found = faults(floors, &modules(name));
        let allowed: BTreeSet<(&str, &str)> = ALLOWED
            .iter()
            .filter(|(krate, ..)| *krate == name)
            .map(|(_, from, to)| (*from, *to))
            .collect();
        for ((from, to), why) in &found {
            if !allowed.contains(&(from.as_str(), to.as_str())) {
                complaints.push(format!("{name}: {from:?} imports {to:?}: {why}"));
            }
        }
        for (from, to) in allowed {
            if !found.contains_key(&(from.to_owned(), to.to_owned())) {
                complaints
                    .push(format!("{name}: {from:?} -> {to:?} is mended: take it from ALLOWED"));
            }
        }
    }
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

#[test]
fn every_crate_of_the_workspace_is_judged() {
    let manifest = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../Cargo.toml"));
    let manifest = manifest.expect("the workspace");
    let members = manifest.split("members = [").nth(1).expect("its members");
    let members = members.split(']').next().expect("their end");
    let members: BTreeSet<&str> = members.split('"').skip(1).step_by(2).collect();
    let known: BTreeSet<&str> = CRATES.iter().map(|(name, _)| *name).chain(FLAT).collect();
    assert_eq!(members, known, "give a new crate its floors in tests/floors/table.rs");
}

/// The modules of a crate of this workspace.
fn modules(name: &str) -> Modules {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src");
    let mut paths = Vec::new();
    collect(&src, &mut paths);
    let files: Vec<(String, String)> = paths
        .iter()
        .map(|path| {
            let inside = path.strip_prefix(&src).expect("a file of src").display().to_string();
            (inside, fs::read_to_string(path).expect("a source file"))
        })
        .collect();
    assert!(!files.is_empty(), "{} holds no source", src.display());
    Modules::of(files.iter().map(|(file, text)| (file.as_str(), text.as_str())))
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}
