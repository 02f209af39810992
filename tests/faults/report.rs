//! What was found: a table for the terminal, and docs/faults.md.

use std::{
    fmt::{Display, Write},
    path::Path,
};

use crate::lab::{self, Engine};

/// A thing that must hold, and what was measured.
pub struct Finding {
    pub criterion: String,
    pub measured: String,
    pub pass: bool,
}

impl Finding {
    pub fn new(criterion: impl Display, measured: impl Display, pass: bool) -> Self {
        Self { criterion: criterion.to_string(), measured: measured.to_string(), pass }
    }

    /// The measured number must not be above the limit.
    pub fn at_most<T: Display + PartialOrd>(
        criterion: impl Display,
        measured: T,
        limit: T,
    ) -> Self {
        Self::new(format!("{criterion} ≤ {limit}"), &measured, measured <= limit)
    }

    pub fn equal<T: Display + PartialEq>(
        criterion: impl Display,
        measured: T,
        expected: T,
    ) -> Self {
        Self::new(format!("{criterion} = {expected}"), &measured, measured == expected)
    }
}

/// A fault on an engine.
pub struct Outcome {
    pub number: u8,
    pub name: &'static str,
    pub engine: Engine,
    pub findings: Vec<Finding>,
}

impl Outcome {
    pub fn passed(&self) -> bool {
        self.findings.iter().all(|finding| finding.pass)
    }
}

fn verdict(finding: &Finding) -> &'static str {
    if finding.pass { "pass" } else { "FAIL" }
}

/// A line for each criterion.
pub fn table(outcomes: &[Outcome]) -> String {
    let mut text = String::new();
    for outcome in outcomes {
        for finding in &outcome.findings {
            let _ = writeln!(
                text,
                "{:>2} {:<10} {:<4}  {:<70} {}",
                outcome.number,
                outcome.engine.to_string(),
                verdict(finding),
                finding.criterion,
                finding.measured
            );
        }
    }
    text
}

/// Rewrites docs/faults.md.
pub fn write(outcomes: &[Outcome]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/faults.md");
    std::fs::write(path, document(outcomes)).expect("docs/faults.md can be written");
}

fn document(outcomes: &[Outcome]) -> String {
    let failed = outcomes
        .iter()
        .flat_map(|outcome| &outcome.findings)
        .filter(|finding| !finding.pass)
        .count();
    let total: usize = outcomes.iter().map(|outcome| outcome.findings.len()).sum();
    let mut text = format!(
        "# Fault report of webhooks\n\n\
         Written by `.ci/postgres --durable cargo bench -p cms-tests --bench faults` on {}; do \
         not\nedit. {} of {total} criteria hold.\n\n\
         Real processes run on loopback and are really killed. Each criterion is read from the \
         database\n\
         and from what the receiver recorded: delivery id, event id, SHA-256 of the body, time, \
         and\nwhether the signature fits. Logs are never read. Random moments have the seed \
         {:#x}, plus the\n\
         number of the fault. A fault marked \"in process\" runs as a test whose clock is moved; \
         the\ntest is named.\n",
        lab::today(),
        total - failed,
        lab::SEED,
    );
    let mut number = 0;
    for outcome in outcomes {
        if outcome.number != number {
            number = outcome.number;
            let _ = write!(
                text,
                "\n## {number}: {}\n\n| engine | must hold | measured | |\n|---|---|---|---|\n",
                outcome.name
            );
        }
        for finding in &outcome.findings {
            let measured = finding.measured.replace('|', "\\|");
            let _ = writeln!(
                text,
                "| {} | {} | {measured} | {} |",
                outcome.engine,
                finding.criterion,
                verdict(finding)
            );
        }
    }
    text
}
