//! What the checks of a site found.

use cms_core::{Finding, Level, worst};

use super::{Done, Exit, Failure, Output, Part, Style};

/// Prints them; with `--quiet` only warnings and errors. Exits with 1 for an error.
pub(crate) fn print(out: &Output, findings: &[Finding]) -> Done {
    if out.json {
        out.data(&findings.iter().map(|finding| serde_json::json!(finding)).collect())?;
    } else {
        for finding in findings.iter().filter(|one| !out.quiet || one.level != Level::Ok) {
            line(out, finding)?;
        }
    }
    match worst(findings) {
        Level::Error => Err(Failure::silent(Exit::Failed)),
        Level::Ok | Level::Warning => Ok(()),
    }
}

fn line(out: &Output, finding: &Finding) -> Done {
    let Finding { check, level, found, remedy, .. } = finding;
    let level = level.as_str();
    if !out.table {
        return Ok(out.line(&format!("{level}\t{check}\t{found}\t{remedy}"))?);
    }
    let style = match finding.level {
        Level::Ok => Style::Good,
        Level::Warning => Style::Warn,
        Level::Error => Style::Bad,
    };
    let found = format!("  {check:17}  {found}\n");
    out.parts(&[Part::In(style, &format!("{level:7}")), Part::Plain(&found)])?;
    if !remedy.is_empty() {
        let (indent, remedy) = (" ".repeat(28), format!(" {remedy}\n"));
        out.parts(&[Part::Plain(&indent), Part::In(Style::Bold, "→"), Part::Plain(&remedy)])?;
    }
    Ok(())
}
