//! The checks, and how they are printed

use serde_json::json;

use crate::output::{Done, Output, Part, Style};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ok,
    Warn,
    Fail,
}

#[derive(Debug)]
struct Check {
    name: &'static str,
    state: State,
    found: String,
    remedy: String,
}

/// The checks made so far.
#[derive(Debug, Default)]
pub(super) struct Checks(Vec<Check>);

impl Checks {
    pub(super) fn ok(&mut self, name: &'static str, found: impl Into<String>) {
        self.push(name, State::Ok, found.into(), String::new());
    }

    pub(super) fn warn(
        &mut self,
        name: &'static str,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.push(name, State::Warn, found.into(), remedy.into());
    }

    pub(super) fn fail(
        &mut self,
        name: &'static str,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.push(name, State::Fail, found.into(), remedy.into());
    }

    /// Messages of others may have several lines; a check has one.
    fn push(&mut self, name: &'static str, state: State, found: String, remedy: String) {
        let found = found.lines().map(str::trim).collect::<Vec<_>>().join(" ");
        self.0.push(Check { name, state, found, remedy });
    }

    /// Whether a check failed.
    pub(super) fn failed(&self) -> bool {
        self.0.iter().any(|check| check.state == State::Fail)
    }

    /// Prints all checks; with `--quiet` only warnings and failures.
    pub(super) fn print(&self, out: &Output) -> Done {
        let word = |state| match state {
            State::Ok => ("ok", Style::Good),
            State::Warn => ("warn", Style::Warn),
            State::Fail => ("fail", Style::Bad),
        };
        if out.json {
            let shown = self.0.iter().map(|check| {
                json!({
                    "check": check.name,
                    "state": word(check.state).0,
                    "found": check.found,
                    "remedy": check.remedy,
                })
            });
            return Ok(out.data(&shown.collect::<Vec<_>>().into())?);
        }
        for check in self.0.iter().filter(|check| !out.quiet || check.state != State::Ok) {
            let (word, style) = word(check.state);
            if out.table {
                let found = format!("  {:17}  {}\n", check.name, check.found);
                out.parts(&[Part::In(style, &format!("{word:4}")), Part::Plain(&found)])?;
                if !check.remedy.is_empty() {
                    let (indent, remedy) = (" ".repeat(25), format!(" {}\n", check.remedy));
                    let arrow = Part::In(Style::Bold, "→");
                    out.parts(&[Part::Plain(&indent), arrow, Part::Plain(&remedy)])?;
                }
            } else {
                out.line(&format!("{word}\t{}\t{}\t{}", check.name, check.found, check.remedy))?;
            }
        }
        Ok(())
    }
}
