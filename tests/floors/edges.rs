//! Which module imports from which: every path is followed to the module that defines its end.

use std::collections::{BTreeMap, BTreeSet};

use super::module::{Module, join, read};

/// A crate as its modules.
pub(super) struct Modules(BTreeMap<String, Module>);

/// An import: from a module, to a module. The crate's root is the empty name.
pub(super) type Edge = (String, String);

/// What a path leads to.
enum Found {
    Module(String),
    /// An item of this module.
    Item(String),
}

/// Re-exports of re-exports end; circles of them do not.
const DEPTH: usize = 16;

impl Modules {
    /// Reads files, each by its path inside `src`.
    pub(super) fn of<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut modules = BTreeMap::new();
        for (file, text) in files {
            modules.extend(read(&name_of(file), text));
        }
        let tests: Vec<String> = modules
            .iter()
            .flat_map(|(name, module)| module.tests.iter().map(move |test| test_name(name, test)))
            .collect();
        modules.retain(|name, _| !tests.iter().any(|test| within(name, test)));
        Self(modules)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// All imports. Re-exports of a module's own children, and those of the root, do not count.
    pub(super) fn edges(&self) -> BTreeSet<Edge> {
        let mut edges = BTreeSet::new();
        for (name, module) in &self.0 {
            for import in &module.imports {
                let Some(to) = self.target(name, &import.path, 0) else { continue };
                let re_export = import.public && (name.is_empty() || within(&to, name));
                if !re_export {
                    edges.insert((name.clone(), to));
                }
            }
            for path in &module.paths {
                edges.extend(self.target(name, path, 0).map(|to| (name.clone(), to)));
            }
        }
        edges.retain(|(from, to)| from != to);
        edges
    }

    fn target(&self, from: &str, path: &[String], depth: usize) -> Option<String> {
        self.follow(from, path, depth).map(|found| match found {
            Found::Module(name) | Found::Item(name) => name,
        })
    }

    /// Follows a path; None when it leads out of the crate.
    fn follow(&self, from: &str, path: &[String], depth: usize) -> Option<Found> {
        let (mut at, mut rest) = match path.first()?.as_str() {
            "crate" => (String::new(), &path[1..]),
            "self" => (from.to_owned(), &path[1..]),
            "super" => (parent(from), &path[1..]),
            first => match self.step(from, first, depth)? {
                Found::Module(name) => (name, &path[1..]),
                item => return Some(item),
            },
        };
        while let [word, more @ ..] = rest {
            rest = more;
            if word == "super" {
                at = parent(&at);
                continue;
            }
            match self.step(&at, word, depth) {
                Some(Found::Module(name)) => at = name,
                Some(item) => return Some(item),
                None => return Some(Found::Item(at)),
            }
        }
        Some(Found::Module(at))
    }

    /// What a name means in a module.
    fn step(&self, at: &str, word: &str, depth: usize) -> Option<Found> {
        let child = join(at, word);
        if self.0.contains_key(&child) {
            return Some(Found::Module(child));
        }
        let module = self.0.get(at)?;
        if module.items.contains(word) {
            return Some(Found::Item(at.to_owned()));
        }
        if depth == DEPTH {
            return None;
        }
        let named = module.imports.iter().find(|import| import.name.as_deref() == Some(word));
        if let Some(import) = named {
            // `use word;` names a crate.
            let own = import.path.first().is_some_and(|first| first == word);
            return if own { None } else { self.follow(at, &import.path, depth + 1) };
        }
        let globs = module.imports.iter().filter(|import| import.name.is_none());
        globs
            .filter_map(|import| self.target(at, &import.path, depth + 1))
            .find_map(|glob| if glob == at { None } else { self.step(&glob, word, depth + 1) })
    }
}

/// Whether a module is another one, or inside it.
pub(super) fn within(name: &str, other: &str) -> bool {
    other.is_empty() || name == other || name.starts_with(&format!("{other}::"))
}

/// The module around; the root's is the root.
pub(super) fn parent(name: &str) -> String {
    name.rsplit_once("::").map_or(String::new(), |(parent, _)| parent.to_owned())
}

/// `webhooks/mod.rs` is the module `webhooks`.
fn name_of(file: &str) -> String {
    let name = file.strip_suffix(".rs").unwrap_or(file);
    let name = name.strip_suffix("/mod").unwrap_or(name);
    if ["lib", "main"].contains(&name) { String::new() } else { name.replace('/', "::") }
}

/// The module of tests that `module` declares, by name or by file.
fn test_name(module: &str, declared: &str) -> String {
    match declared.strip_suffix(".rs") {
        Some(file) => join(&parent(module), file),
        None => join(module, declared),
    }
}
