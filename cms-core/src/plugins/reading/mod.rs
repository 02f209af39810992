//! Reads `plugin.json` and reports every fault of its form at once, each with its place.
//!
//! ```text
//! document  text → JSON with offsets; names byte order marks, comments, broken JSON
//! shape     JSON against the schema: unknown, missing, doubled, mistyped members
//! rules     what the parts of a schema say
//! ```

mod document;
mod rules;
mod shape;

use std::collections::BTreeSet;

use self::{document::Document, shape::Shape};
use super::{
    Manifest, Problem,
    problem::{Lines, Places},
};

/// A manifest as it was read.
pub(super) struct Reading {
    /// The manifest, with neutral values where the form is wrong; `None`: too little could
    /// be read.
    pub(super) manifest: Option<Manifest>,
    /// Faults of the form.
    pub(super) problems: Vec<Problem>,
    /// Pointers to faults of the form. Values there or below are not checked again.
    pub(super) faulty: BTreeSet<String>,
    /// The place of every value.
    pub(super) places: Places,
}

/// Reads a manifest.
pub(super) fn read(bytes: &[u8]) -> Reading {
    let mut problems = Vec::new();
    let text = match document::decode(bytes, &mut problems) {
        Ok(text) => text,
        Err(problem) => return Reading::broken(vec![problem]),
    };
    let lines = Lines::new(text);
    let document = Document::parse(text, shape::MAX_DEPTH + 1);
    problems.extend(
        document
            .faults
            .iter()
            .map(|(offset, remedy)| Problem::new("", remedy.as_str()).at(lines.place(*offset))),
    );
    let Some(root) = &document.root else { return Reading::broken(problems) };
    let mut shape = Shape::new();
    let mended = shape.check(root, &lines);
    problems.append(&mut shape.problems);
    let manifest = mended.map(serde_json::from_value).transpose();
    let manifest = manifest.unwrap_or_else(|error| {
        problems.push(Problem::new("", error.to_string()));
        None
    });
    Reading { manifest, problems, faulty: shape.faulty, places: shape.places }
}

impl Reading {
    /// The result when there is no text to read.
    pub(super) fn unreadable(why: String) -> Self {
        Self::broken(vec![Problem::new("", why)])
    }

    fn broken(problems: Vec<Problem>) -> Self {
        let (faulty, places) = (BTreeSet::new(), Places::default());
        Self { manifest: None, problems, faulty, places }
    }
}
