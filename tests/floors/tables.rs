//! `cms-core/src/db` serves all rooms and knows none: it names no table of a room.

use std::{collections::BTreeSet, fs, path::Path};

/// What it may name: the crate and the table of migrations, the table of epochs, the channel on
/// which processes tell each other of commits, and the state of an unfinished copy.
const ITS_OWN: [&str; 5] =
    ["cms_migrations", "cms_table_epochs", "cms_followed", "cms_copy", "cms_copy_chunks"];

#[test]
fn the_database_names_no_table_of_a_room() {
    let db = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cms-core/src/db");
    let mut paths = Vec::new();
    super::collect(&db, &mut paths);
    assert!(paths.len() > 10, "the folder was read: {}", paths.len());
    let mut found = BTreeSet::new();
    for path in paths {
        let text = fs::read_to_string(&path).expect("a source file");
        for name in names(&text).filter(|name| !ITS_OWN.contains(name)) {
            found.insert(format!("{} names {name}", path.display()));
        }
    }
    assert!(found.is_empty(), "{found:#?}: see `PerEngine` in db/dialect");
}

/// The words of a text that begin as names of the service's own tables do.
fn names(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("cms_"))
}

#[test]
fn a_name_is_found_wherever_it_stands() {
    let text = "// of cms_pages\nr#\"select x from cms_events e\"# \"lock table cms_audit\"";
    assert_eq!(names(text).collect::<Vec<_>>(), ["cms_pages", "cms_events", "cms_audit"]);
}
