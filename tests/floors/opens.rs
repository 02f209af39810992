//! Where cms-core opens files. A process that closes a descriptor of SQLite's file ends SQLite's
//! locks on it, so whoever opens a file by a path that might be the database's goes through
//! `db/files.rs`.

use std::{fs, path::Path};

/// The files that open others, and why these are never the database's.
const OPENS: [(&str, &str); 19] = [
    ("backup/cipher.rs", "a file of private keys, before a restore"),
    ("backup/journal.rs", "its own file, and folders"),
    ("backup/judge.rs", "archives, and files of settings"),
    ("backup/out.rs", "the archive"),
    ("backup/save.rs", "its own note of the last backup"),
    ("backup/scheduled.rs", "archives that were not finished"),
    ("backup/source.rs", "a copy of the database that nobody else opens"),
    ("backup/stage.rs", "files that did not exist"),
    ("db/files.rs", "keeps the database's own open"),
    ("db/save/sqlite.rs", "copies of the database that nobody else opens"),
    ("ground/private.rs", "a file that did not exist"),
    ("media/files.rs", "folders, and names of media alone"),
    ("media/store.rs", "a file that is on its way to a bucket"),
    ("outbound/local.rs", "/dev/null"),
    ("pages/widgets/picker.rs", "icons of plugins"),
    ("plugins/load.rs", "plugin.json"),
    ("scripts/confine.rs", "/proc, in a process of its own"),
    ("scripts/supervise.rs", "/proc, in a process of its own"),
    ("settings/layers.rs", "files of settings, before the database is known"),
];
/// What opens a file.
const CALLS: [&str; 9] = [
    "File::open(", "File::create(", "File::options(", "OpenOptions::new(", "fs::read(",
    "fs::read_to_string(", "fs::write(", "fs::copy(", "NamedTempFile::new(",
];

#[test]
fn files_are_opened_where_it_is_known_that_they_are_not_the_databases() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cms-core/src");
    let mut paths = Vec::new();
    super::collect(&src, &mut paths);
    let mut found = Vec::new();
    for path in paths {
        let name = path.strip_prefix(&src).expect("a file of src").display().to_string();
        let text = fs::read_to_string(&path).expect("a source file");
        // Tests stand at the end, or in files of their own.
        let program = text.split("\nmod tests {").next().expect("a beginning");
        if !name.ends_with("tests.rs") && CALLS.iter().any(|call| program.contains(call)) {
            found.push(name);
        }
    }
    found.sort();
    let known: Vec<&str> = OPENS.iter().map(|(name, _)| *name).collect();
    assert_eq!(found, known, "see the top of this file");
}
