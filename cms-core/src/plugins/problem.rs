//! A fault of a manifest.

use std::fmt;

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
