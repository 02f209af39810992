//! Questions before something is lost.

use std::io::{self, BufRead, IsTerminal, Write};

use crate::{
    args::Global,
    exit::Exit,
    failure::{Done, Failure},
};

/// Asks on a terminal; without one, `--yes` must have been given.
pub(crate) fn confirm(global: &Global, question: &str) -> Done {
    if global.yes {
        return Ok(());
    }
    let (mut err, input) = (io::stderr(), io::stdin());
    if global.no_input || !input.is_terminal() || !err.is_terminal() {
        return Err(Failure::usage(format!("{question} Nobody is there to be asked")).hint("the same with --yes"));
    }
    write!(err, "{question} [y/N] ").and_then(|()| err.flush())?;
    let mut answer = String::new();
    input.lock().read_line(&mut answer)?;
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Failure::new(Exit::Cancelled, "cancelled; nothing was changed")),
    }
}
