//! A fault of a manifest.

use std::fmt;

use serde::Serialize;

use crate::Error;

/// A fault, where it is, and how to fix it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// JSON pointer to the member (RFC 6901). Empty for the whole document.
    pub pointer: String,
    /// Line of `plugin.json`, from 1; None for a plugin without a file.
    pub line: Option<usize>,
    /// What to write instead.
    pub remedy: String,
}

impl Problem {
    pub(super) fn new(pointer: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), line: None, remedy: remedy.into() }
    }
}

impl From<Error> for Problem {
    /// Refuses a whole plugin.
    fn from(error: Error) -> Self {
        Self::new("", error.detail())
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        if !self.pointer.is_empty() {
            write!(f, "{}: ", self.pointer)?;
        }
        f.write_str(&self.remedy)
    }
}
