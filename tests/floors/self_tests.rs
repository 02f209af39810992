//! The reader and the judge, on small crates.

use super::{
    edges::Modules,
    judge::{Floors, faults},
};

const FLOORS: Floors = &[&["crate"], &["ground"], &["db"], &["change"], &["keys", "pages"]];

/// The faults of a crate with these files beside an empty `lib.rs`, as `from -> to`.
fn found(files: &[(&str, &str)]) -> Vec<String> {
    let files = [("lib.rs", "mod ground; mod db; mod change; mod keys; mod pages;")]
        .into_iter()
        .chain(files.iter().copied());
    faults(FLOORS, &Modules::of(files))
        .into_keys()
        .map(|(from, to)| format!("{from} -> {to}"))
        .collect()
}

/// The faults that one file adds to a crate that has none.
fn added(file: &str, text: &str) -> Vec<String> {
    let mut files = vec![
        ("ground.rs", "pub struct Clock; pub mod inner { pub struct Deep; }"),
        ("db/mod.rs", "mod pool; pub use pool::Pool; use crate::ground::Clock;"),
        ("db/pool.rs", "pub struct Pool; use super::Db;"),
        ("change.rs", "use crate::db::{self, Pool as P}; pub struct Change;"),
        ("keys.rs", "use crate::{change::Change, db::Pool}; pub struct Key;"),
        ("pages/mod.rs", "pub struct Page; fn f() { crate::change::Change; }"),
    ];
    assert_eq!(found(&files), [""; 0]);
    files.retain(|(name, _)| *name != file);
    files.push((file, text));
    found(&files)
}

#[test]
fn an_import_upward_is_found_however_it_is_written() {
    for text in [
        "use crate::change::Change;",
        "use crate::{ground::Clock, change::{Change}};",
        "use super::change::Change as C;",
        "use crate::change::*;",
        "use crate::change;",
        "pub use crate::change::Change;",
        "fn f() -> crate::change::Change { loop {} }",
        "fn f() { use crate::change::Change; }",
        "fn f(c: &super::change::Change) {}",
        "mod inner { use super::super::change::Change; }",
        "macro_rules! m { () => { $crate::change::Change } }",
        "const TEXT: &str = \"\\\"\"; use crate::change::Change; // \"",
        "const TEXT: &str = r#\"\"use\"#; use crate::change::Change;",
        "fn f<'a>(x: &'a str) -> char { '\"' } use crate::change::Change;",
        "#[cfg(not(test))] use crate::change::Change;",
    ] {
        let found = added("db/mod.rs", &format!("mod pool; pub use pool::Pool; {text}"));
        let inner = if text.starts_with("mod inner") { "db::inner" } else { "db" };
        assert_eq!(found, [format!("{inner} -> change")], "{text}");
    }
}

#[test]
fn a_re_export_leads_to_where_the_item_is_defined() {
    let lib = "mod ground; mod db; mod change; pub use change::Change; pub use ground::*;";
    let db = |text| {
        found(&[
            ("lib.rs", lib),
            ("change.rs", "pub struct Change;"),
            ("ground.rs", "pub struct Clock;"),
            ("db.rs", text),
        ])
    };
    assert_eq!(db("use crate::Change;"), ["db -> change"]);
    assert_eq!(db("use super::{Change as C};"), ["db -> change"]);
    assert_eq!(db("fn f() { crate::Change::begin() }"), ["db -> change"]);
    assert_eq!(db("use crate::Clock;"), [""; 0]);
    let through = found(&[
        ("ground.rs", "use crate::db::Row;"),
        ("db/mod.rs", "mod row; pub use row::Row;"),
        ("db/row.rs", "pub struct Row;"),
    ]);
    assert_eq!(through, ["ground -> db::row"]);
    let module = found(&[
        ("ground.rs", "use crate::db; use db::row::Row; fn f() { db::pool::open() }"),
        ("db/mod.rs", "pub mod row; pub mod pool;"),
        ("db/row.rs", "pub struct Row;"),
        ("db/pool.rs", "pub fn open() {}"),
    ]);
    assert_eq!(module, ["ground -> db", "ground -> db::pool", "ground -> db::row"]);
}

#[test]
fn modules_on_one_floor_do_not_know_each_other() {
    assert_eq!(added("keys.rs", "use crate::pages::Page;"), ["keys -> pages"]);
}

#[test]
fn what_is_no_import_is_passed() {
    for text in [
        "// use crate::change::Change;",
        "/// [`Change`](crate::change::Change)\nstruct S;",
        "/* use /* nested */ crate::change::Change; */",
        "const S: &str = \"use crate::change::Change;\";",
        "#[cfg(test)] mod tests { use crate::change::Change; fn f() { if true {} } }",
        "#[cfg(test)]\n#[path = \"db_tests.rs\"]\nmod tests;",
        "#[cfg(test)] use crate::change::Change;",
        "#[cfg(test)] pub(crate) fn f() -> crate::change::Change { loop {} }",
        "pub(in crate::db) struct S;",
        "fn f(change: u8) -> u8 { change }",
        "use std::{fs, io}; fn f() { fs::read(io::empty()) }",
    ] {
        let found = added("db/mod.rs", &format!("mod pool; pub use pool::Pool; {text}"));
        assert_eq!(found, [""; 0], "{text}");
    }
}

#[test]
fn files_of_tests_are_passed() {
    let files = [
        ("db/mod.rs", "#[cfg(test)] mod tests; #[cfg(test)] pub(super) mod more;"),
        ("db/tests.rs", "use crate::change::Change;"),
        ("db/more/mod.rs", "use crate::change::Change;"),
        ("ground.rs", "#[cfg(test)] #[path = \"ground_tests.rs\"] mod tests;"),
        ("ground_tests.rs", "use crate::change::Change;"),
        ("change.rs", "pub struct Change;"),
    ];
    assert_eq!(found(&files), [""; 0]);
}

#[test]
fn a_circle_within_a_folder_is_found() {
    let mut files = vec![
        ("keys/mod.rs", "pub struct Key; mod a; mod b; mod c; fn f() { a::x(); }"),
        ("keys/a.rs", "use super::{Key, b::y}; pub fn x() {}"),
        ("keys/b/mod.rs", "mod deep; pub fn y() {}"),
        ("keys/b/deep.rs", "use super::super::c::Z;"),
        ("keys/c.rs", "pub struct Z;"),
    ];
    assert_eq!(found(&files), [""; 0]);
    files.pop();
    files.push(("keys/c.rs", "pub struct Z; use super::a::x;"));
    assert_eq!(
        found(&files),
        ["keys::a -> keys::b", "keys::b::deep -> keys::c", "keys::c -> keys::a"]
    );
}

#[test]
fn a_module_that_the_table_does_not_place_is_found() {
    assert_eq!(found(&[("attic.rs", "")]), ["attic -> "]);
}

#[test]
fn the_longest_entry_places_a_module_and_a_star_its_children() {
    const NOUNS: Floors = &[&["output"], &["commands::*"], &["commands"], &["crate"]];
    let files = |users| {
        [
            ("main.rs", "mod output; mod commands; use commands::users;"),
            ("output.rs", ""),
            ("commands/mod.rs", "pub mod users; pub mod groups;"),
            ("commands/groups.rs", "use crate::output; pub struct Group;"),
            ("commands/users/mod.rs", users),
            ("commands/users/one.rs", "use super::User;"),
        ]
    };
    let found = |users| {
        let modules = Modules::of(files(users));
        faults(NOUNS, &modules).into_keys().map(|(_, to)| to).collect::<Vec<_>>()
    };
    assert_eq!(found("mod one; pub struct User;"), [""; 0]);
    assert_eq!(
        found("mod one; pub struct User; use crate::commands::groups::Group;"),
        ["commands::groups"]
    );
}
