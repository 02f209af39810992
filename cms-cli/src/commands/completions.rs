//! `cms completions`: what a shell needs to complete commands

use clap::{Args, Command};
use clap_complete::Shell;
use serde_json::json;

use crate::output::{Done, Output};

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cms completions bash > /etc/bash_completion.d/cms
  cms completions zsh > ~/.zfunc/_cms")]
pub(crate) struct CompletionsArgs {
    /// bash, zsh, fish, elvish or powershell
    shell: Shell,
}

/// Prints the completions of `tree`, the whole command line.
pub(crate) fn run(out: &Output, args: &CompletionsArgs, mut tree: Command) -> Done {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut tree, "cms", &mut script);
    let script = String::from_utf8_lossy(&script);
    if out.json {
        return Ok(out.data(&json!({"shell": args.shell.to_string(), "script": script}))?);
    }
    Ok(out.raw(&script)?)
}
