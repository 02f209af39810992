//! The result of a check.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;

/// The remedy for a damaged database.
pub(super) const RESTORE: &str = "restore the database from a backup";

/// How bad it is.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// It is well.
    Ok,
    /// The site works; somebody should look at it.
    Warning,
    /// Something does not work, or is not safe.
    Error,
}

impl Level {
    /// Its name, as in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// What a check found: one sentence, and what helps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[non_exhaustive]
pub struct Finding {
    /// The check.
    pub check: String,
    /// How bad it is.
    pub level: Level,
    /// What was found.
    pub found: String,
    /// What helps, with commands in backticks; empty when all is well.
    pub remedy: String,
    /// What it is about, where that has a name or an id: `3` for a webhook.
    pub about: Option<String>,
}

impl Finding {
    /// What this check found about nothing in particular.
    pub fn new(
        check: impl Into<String>,
        level: Level,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let (check, found, remedy) = (check.into(), found.into(), remedy.into());
        Self { check, level, found, remedy, about: None }
    }
}

/// The level of the worst finding.
#[must_use]
pub fn worst(findings: &[Finding]) -> Level {
    findings.iter().map(|finding| finding.level).max().unwrap_or(Level::Ok)
}

/// The findings of one check so far.
#[derive(Debug)]
pub(super) struct Findings {
    check: &'static str,
    pub(super) findings: Vec<Finding>,
}

impl Findings {
    pub(super) fn of(check: &'static str) -> Self {
        Self { check, findings: Vec::new() }
    }

    pub(super) fn ok(&mut self, found: impl Into<String>) {
        self.push(Level::Ok, found.into(), String::new());
    }

    pub(super) fn warning(&mut self, found: impl Into<String>, remedy: impl Into<String>) {
        self.push(Level::Warning, found.into(), remedy.into());
    }

    pub(super) fn error(&mut self, found: impl Into<String>, remedy: impl Into<String>) {
        self.push(Level::Error, found.into(), remedy.into());
    }

    /// Names the subject of the last finding.
    pub(super) fn about(&mut self, what: impl ToString) {
        if let Some(last) = self.findings.last_mut() {
            last.about = Some(what.to_string());
        }
    }

    /// The check itself failed.
    pub(super) fn failed(&mut self, error: &Error) {
        let remedy = if error.is_damaged() { RESTORE } else { "correct what the error names" };
        self.error(error.with_cause(), remedy);
    }

    /// Messages from elsewhere may have several lines; a finding has one.
    fn push(&mut self, level: Level, found: String, remedy: String) {
        let found = found.lines().map(str::trim).collect::<Vec<_>>().join(" ");
        self.findings.push(Finding::new(self.check, level, found, remedy));
    }
}

/// A path as a word on a shell's command line.
pub(super) fn word(path: &Path) -> String {
    let path = path.display().to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%".contains(c);
    match path.chars().all(is_plain) {
        true => path,
        false => format!("'{}'", path.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_has_one_line_and_the_worst_counts() {
        let mut found = Findings::of("x");
        found.ok("well");
        assert_eq!(worst(&found.findings), Level::Ok);
        found.error("one\n  two", "`cms x`");
        found.about(3);
        found.warning("w", "r");
        assert_eq!(worst(&found.findings), Level::Error);
        assert_eq!(found.findings[1].found, "one two");
        assert_eq!(found.findings[1].about.as_deref(), Some("3"));
        assert_eq!(worst(&[]), Level::Ok);
    }

    #[test]
    fn a_path_is_one_word_of_a_shell() {
        for (path, shown) in [("/a/b.db", "/a/b.db"), ("/a b", "'/a b'"), ("/it's", "'/it'\\''s'")]
        {
            assert_eq!(word(Path::new(path)), shown);
        }
    }
}
