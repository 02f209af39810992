//! A fault of a manifest, and its place in the file.

use std::{collections::BTreeMap, fmt};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;

/// Line and column, from 1. Columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) line: usize,
    pub(super) column: usize,
}

/// A fault, where it is, and how to fix it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PluginProblem")]
#[non_exhaustive]
pub struct Problem {
    /// JSON pointer to the member (RFC 6901). Empty for the whole document.
    pub pointer: String,
    /// Line of `plugin.json`, from 1; None for a plugin without a file.
    pub line: Option<usize>,
    /// Column in that line, from 1, counted in characters.
    pub column: Option<usize>,
    /// What to write instead.
    pub remedy: String,
}

impl Problem {
    pub(super) fn new(pointer: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), line: None, column: None, remedy: remedy.into() }
    }

    /// A fault of the whole plugin.
    pub(crate) fn whole(remedy: String) -> Self {
        Self::new("", remedy)
    }

    pub(super) fn at(self, Place { line, column }: Place) -> Self {
        Self { line: Some(line), column: Some(column), ..self }
    }
}

impl From<Error> for Problem {
    /// Turns an error into a problem of the whole plugin.
    fn from(error: Error) -> Self {
        Self::new("", error.detail())
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}")?;
            if let Some(column) = self.column {
                write!(f, ", column {column}")?;
            }
            f.write_str(": ")?;
        }
        if !self.pointer.is_empty() {
            write!(f, "{}: ", self.pointer)?;
        }
        f.write_str(&self.remedy)
    }
}

/// The starts of a text's lines.
pub(super) struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self { text, starts: std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect() }
    }

    pub(super) fn place(&self, offset: usize) -> Place {
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self.starts.get(line.saturating_sub(1)).copied().unwrap_or(0);
        let before = self.text.get(start..offset).unwrap_or_default();
        Place { line, column: before.chars().count() + 1 }
    }
}

/// The places of values, by their pointers.
#[derive(Default)]
pub(super) struct Places {
    pub(super) of: BTreeMap<String, Place>,
    /// Members that the file spells differently from the pointers of checks.
    pub(super) spelled: Vec<(&'static str, &'static str)>,
}

impl Places {
    /// The pointer as the file spells it, and the place of the deepest known value on its path.
    pub(super) fn find(&self, pointer: &str) -> (String, Option<Place>) {
        let other = self.spelled.iter().find_map(|(name, spelling)| {
            let rest = pointer.strip_prefix(name)?;
            (rest.is_empty() || rest.starts_with('/')).then(|| format!("{spelling}{rest}"))
        });
        let pointer = other.unwrap_or_else(|| pointer.to_owned());
        let mut part = pointer.as_str();
        loop {
            if let Some(place) = self.of.get(part) {
                return (pointer.clone(), Some(*place));
            }
            match part.rfind('/') {
                Some(end) => part = &part[..end],
                None => return (pointer, None),
            }
        }
    }
}
