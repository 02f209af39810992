//! `cms exit-codes`, also as `cms help exit-codes`

use serde_json::json;

use crate::output::{Done, Exit, Output};

/// The codes, one a line.
pub(crate) fn table() -> String {
    let lines = Exit::ALL.map(|(exit, meaning)| format!("{:>5}  {meaning}", exit as u8));
    format!("Exit codes:\n{}", lines.join("\n"))
}

pub(crate) fn run(out: &Output) -> Done {
    if out.json {
        let codes = Exit::ALL.map(
            |(exit, meaning)| json!({"code": exit as u8, "error": exit.name(), "meaning": meaning}),
        );
        return Ok(out.data(&json!(codes))?);
    }
    Ok(out.line(&table())?)
}
