//! What is wrong with the imports of a crate: those that go up, and those that close a circle.

use std::collections::{BTreeMap, BTreeSet};

use super::edges::{Edge, Modules, parent, within};

/// The floors of a crate, from the bottom. Modules on one floor may not import each other;
/// `noun::*` stands for all modules inside `noun`. The crate's root has the name `crate`.
pub(super) type Floors = &'static [&'static [&'static str]];

/// An import that is wrong, and why.
pub(super) type Faults = BTreeMap<Edge, String>;

/// All faults of a crate.
pub(super) fn faults(floors: Floors, modules: &Modules) -> Faults {
    let edges = modules.edges();
    let mut faults: Faults = unplaced(floors, modules);
    for (from, to) in &edges {
        if let Some(why) = upward(floors, from, to) {
            faults.insert((from.clone(), to.clone()), why);
        }
    }
    faults.extend(circles(modules, &edges));
    faults
}

/// Modules that stand on no floor.
fn unplaced(floors: Floors, modules: &Modules) -> Faults {
    let missing = modules.names().filter(|name| place(floors, name).is_none());
    missing
        .map(|name| ((name.to_owned(), String::new()), format!("{name:?} stands on no floor")))
        .collect()
}

fn upward(floors: Floors, from: &str, to: &str) -> Option<String> {
    let ((lower, own), (upper, other)) = (place(floors, from)?, place(floors, to)?);
    if lower < upper {
        return Some(format!("{to:?} stands on a higher floor"));
    }
    (lower == upper && own != other).then(|| format!("{to:?} stands beside it"))
}

/// The floor of a module, and the entry of the table that places it: the longest that fits.
fn place(floors: Floors, name: &str) -> Option<(usize, String)> {
    let entries = floors
        .iter()
        .enumerate()
        .flat_map(|(floor, row)| row.iter().map(move |entry| (floor, *entry)));
    let fitting = entries.filter_map(|(floor, entry)| Some((floor, fits(entry, name)?)));
    fitting.max_by_key(|(_, entry)| entry.len())
}

/// What an entry places, if it places this module: itself, or the child that `*` stands for.
fn fits(entry: &str, name: &str) -> Option<String> {
    if entry == "crate" {
        return name.is_empty().then(String::new);
    }
    let Some(folder) = entry.strip_suffix("::*") else {
        return within(name, entry).then(|| entry.to_owned());
    };
    let inside = name.strip_prefix(folder)?.strip_prefix("::")?;
    Some(format!("{folder}::{}", inside.split("::").next()?))
}

/// Imports among the modules of one folder that lead back to where they began. A folder's own
/// `mod.rs` holds the words that all of its modules share, so it is not asked.
fn circles(modules: &Modules, edges: &BTreeSet<Edge>) -> Faults {
    let folders: BTreeSet<String> = modules
        .names()
        .filter(|name| !name.is_empty())
        .map(parent)
        .filter(|f| !f.is_empty())
        .collect();
    let mut faults = Faults::new();
    for folder in folders {
        let inside: Vec<(String, String, &Edge)> = edges
            .iter()
            .filter_map(|edge| Some((child(&folder, &edge.0)?, child(&folder, &edge.1)?, edge)))
            .filter(|(from, to, _)| from != to)
            .collect();
        let steps: BTreeSet<(&str, &str)> =
            inside.iter().map(|(from, to, _)| (from.as_str(), to.as_str())).collect();
        for (from, to, edge) in &inside {
            if reaches(&steps, to, from) {
                let why = format!("it closes a circle: {to:?} leads back to {from:?}");
                faults.insert((*edge).clone(), why);
            }
        }
    }
    faults
}

/// The module right inside `folder` that a module is, or is part of.
fn child(folder: &str, name: &str) -> Option<String> {
    let inside = name.strip_prefix(folder)?.strip_prefix("::")?;
    Some(format!("{folder}::{}", inside.split("::").next()?))
}

fn reaches(steps: &BTreeSet<(&str, &str)>, from: &str, to: &str) -> bool {
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(at) = open.pop() {
        if at == to {
            return true;
        }
        if seen.insert(at) {
            open.extend(steps.iter().filter(|(start, _)| *start == at).map(|(_, end)| *end));
        }
    }
    false
}
