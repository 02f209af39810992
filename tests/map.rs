//! ARCHITECTURE's map and the tree: every path it names exists, and every module has its place.

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
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("the page");
    let map = text.split("## Where is what?").nth(1).expect("the map");
    let map = map.split("\n## ").next().expect("its end");
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
        // `wire/<resource>.rs` and `tests/*.rs` stand for many.
        let fixed = path.split(['<', '*']).next().expect("a beginning");
        assert!(root().join(fixed).exists(), "{path} is no longer there");
    }
}

#[test]
fn every_module_has_its_place_on_the_map() {
    let named: BTreeSet<String> = named().into_iter().collect();
    for folder in ["cms-core/src", "cms-http/src", "cms-cli/src", "cms-tui/src"] {
        for entry in fs::read_dir(root().join(folder)).expect("a folder") {
            let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
            let path = format!("{folder}/{name}");
            let found = named.iter().any(|known| known.starts_with(&path));
            assert!(found || name == "lib.rs" || name == "main.rs", "{path} is not on the map");
        }
    }
}
