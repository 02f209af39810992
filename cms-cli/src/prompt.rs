//! Questions: before something is lost, and for secrets, which are never read from the command
//! line.

use std::io::{self, BufRead, IsTerminal, Read, Write};

use cms_core::settings::Secret;
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    flags::Flags,
    output::{Done, Exit, Failure},
};

/// A longer line of standard input is no password.
const MAX_LINE_BYTES: u64 = 8 << 10;

/// Asks on a terminal; without one, `--yes` must have been given.
pub(crate) fn confirm(flags: &Flags, question: &str) -> Done {
    if flags.yes {
        return Ok(());
    }
    if !somebody_is_there(flags) {
        return Err(Failure::usage(format!("{question} Nobody is there to be asked"))
            .hint("the same with --yes"));
    }
    match ask(&format!("{question} [y/N] "))?.to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Failure::new(Exit::Cancelled, "cancelled; nothing was changed")),
    }
}

/// Whether questions can be answered.
pub(crate) fn somebody_is_there(flags: &Flags) -> bool {
    !flags.no_input && io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Refuses where a question would be needed; `flag` answers it.
pub(crate) fn expect_somebody(flags: &Flags, what: &str, flag: &str) -> Done {
    if somebody_is_there(flags) {
        return Ok(());
    }
    Err(Failure::usage(format!("{what} is needed, and nobody is there to be asked"))
        .hint(format!("the same with {flag}")))
}

/// A line that may be seen.
pub(crate) fn ask(question: &str) -> Done<String> {
    let mut err = io::stderr();
    write!(err, "{question}").and_then(|()| err.flush())?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(answer.trim().to_owned())
}

/// A line that is typed unseen.
pub(crate) fn secret(question: &str) -> Done<Secret> {
    match rpassword::prompt_password(question) {
        Ok(text) => Ok(Secret::new(text)),
        Err(error) if error.kind() == io::ErrorKind::Interrupted => {
            Err(Failure::silent(Exit::Interrupted))
        }
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            Err(Failure::new(Exit::Cancelled, "cancelled"))
        }
        Err(error) => {
            Err(Failure::new(Exit::Failed, format!("the terminal cannot be read: {error}")))
        }
    }
}

/// A password to be given to somebody: the first line of standard input, or typed twice.
pub(crate) fn new_password(flags: &Flags, from_stdin: bool) -> Done<Secret> {
    if from_stdin {
        return line_of_stdin("the password");
    }
    expect_somebody(flags, "the password", "--password-stdin")?;
    let password = secret("New password: ")?;
    if secret("Again: ")?.expose() != password.expose() {
        return Err(Failure::new(Exit::Cancelled, "the two are not the same; no password was set"));
    }
    Ok(password)
}

/// The next line of standard input.
pub(crate) fn line_of_stdin(what: &str) -> Done<Secret> {
    let mut line = String::new();
    io::stdin().lock().take(MAX_LINE_BYTES).read_line(&mut line)?;
    let line = Secret::new(line);
    let text = line.expose().trim_end_matches(['\r', '\n']);
    if text.is_empty() {
        return Err(Failure::usage(format!("{what} is missing on standard input")));
    }
    Ok(Secret::new(text))
}

/// Runs something that asks for secrets. At Ctrl-C the question gives the terminal its echo back
/// and is an error; a signal that ended the process would not.
pub(crate) async fn interruptible(run: impl Future<Output = Done>) -> Done {
    let mut interrupts = signal(SignalKind::interrupt())?;
    tokio::select! {
        biased;
        outcome = run => outcome,
        _ = interrupts.recv() => Err(Failure::silent(Exit::Interrupted)),
    }
}
