//! Questions before something is lost, and for secrets, which the command line never takes.

use std::io::{self, BufRead, IsTerminal, Read, Write};

use cms_core::{Secret, accounts::password_problem, plain::shown};
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    flags::Flags,
    output::{Done, Exit, Failure},
};

/// The longest line of standard input that can be a password.
const MAX_LINE_BYTES: u64 = 8 << 10;

/// Asks on a terminal. Without a terminal, `--yes` is needed.
pub(crate) fn confirm(flags: &Flags, question: &str) -> Done {
    if flags.yes {
        return Ok(());
    }
    if !can_ask(flags) {
        return Err(Failure::usage(format!("{question} There is no terminal to ask on"))
            .hint("the same with --yes"));
    }
    match ask(&format!("{question} [y/N] "))?.to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Failure::new(Exit::Cancelled, "cancelled; nothing was changed")),
    }
}

/// Whether questions can be asked.
pub(crate) fn can_ask(flags: &Flags) -> bool {
    !flags.no_input && io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Fails when `what` cannot be asked for. `flag` gives it without a question.
pub(crate) fn expect_terminal(flags: &Flags, what: &str, flag: &str) -> Done {
    if can_ask(flags) {
        return Ok(());
    }
    Err(Failure::usage(format!("{what} is needed, and there is no terminal to ask on"))
        .hint(format!("the same with {flag}")))
}

/// Asks for a line.
pub(crate) fn ask(question: &str) -> Done<String> {
    let mut err = io::stderr();
    write!(err, "{}", shown(question)).and_then(|()| err.flush())?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(answer.trim().to_owned())
}

/// Asks for a line without showing it.
pub(crate) fn secret(question: &str) -> Done<Secret> {
    match rpassword::prompt_password(shown(question)) {
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

/// A new password for a user: the first line of standard input, or typed twice.
pub(crate) fn new_password(flags: &Flags, user: &str, from_stdin: bool) -> Done<Secret> {
    if from_stdin {
        return line_of_stdin("the password");
    }
    expect_terminal(flags, "the password", "--password-stdin")?;
    let password = secret("New password: ")?;
    if let Some(problem) = password_problem(user, password.expose()) {
        return Err(Failure::new(Exit::Failed, format!("the password is refused: {problem}"))
            .hint("the same again, with another password"));
    }
    if secret("Again: ")?.expose() != password.expose() {
        return Err(Failure::new(Exit::Cancelled, "the two passwords differ; nothing was changed"));
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

/// Runs a command that asks for secrets. Ctrl-C becomes an error here, so that the terminal's
/// echo is restored; ending the process would leave the echo off.
pub(crate) async fn interruptible(run: impl Future<Output = Done>) -> Done {
    let mut interrupts = signal(SignalKind::interrupt())?;
    tokio::select! {
        biased;
        outcome = run => outcome,
        _ = interrupts.recv() => Err(Failure::silent(Exit::Interrupted)),
    }
}
