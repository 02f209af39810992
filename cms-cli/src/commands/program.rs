//! What `cms` says of itself: without a command, its version, its exit codes, its completions

use clap::{Args, Command};
use clap_complete::Shell;
use serde_json::json;

use crate::{
    flags::Flags,
    folder,
    output::{Done, Exit, Output},
    target::Target,
};

/// `cms` without a command: says what it is, and what to type next.
pub(crate) fn start(flags: &Flags, out: &Output) -> Done {
    let found = folder::settings(flags.dir(), &[], out).is_ok_and(|loaded| loaded.is_site());
    let (state, next) = match Target::of(flags)? {
        Target::Folder(dir) if found => (format!("Site: {}", dir.display()), "cms serve"),
        Target::Folder(dir) => (
            format!("There is no site in {} yet.", dir.display()),
            "cms init, or cms serve --demo --dir ./try",
        ),
        address => (format!("Site: {address}"), "cms items list pages"),
    };
    if out.json {
        return Ok(out.data(&json!({"version": cms_core::VERSION, "site": found, "next": next}))?);
    }
    Ok(out.raw(&format!(
        "cms {}: serve, administer and fill a CMS

  cms init              make a site in this folder
  cms serve             serve it over HTTP
  cms doctor            check it
  cms items list TABLE  rows of a content table
  cms keys create       an API key with limited rights
  cms users create      a person who may log in
  cms tui               see its content in the terminal
  cms help              all commands

{state}
Next: {next}
",
        cms_core::VERSION
    ))?)
}

/// `cms version`
pub(crate) fn version(out: &Output) -> Done {
    if out.json {
        return Ok(out.data(&json!({"version": cms_core::VERSION}))?);
    }
    Ok(out.line(&format!("cms {}", cms_core::VERSION))?)
}

/// The exit codes, one a line.
pub(crate) fn exit_code_table() -> String {
    let lines = Exit::ALL.map(|(exit, meaning)| format!("{:>5}  {meaning}", exit as u8));
    format!("Exit codes:\n{}", lines.join("\n"))
}

/// `cms exit-codes`, also as `cms help exit-codes`
pub(crate) fn exit_codes(out: &Output) -> Done {
    if out.json {
        let codes = Exit::ALL.map(
            |(exit, meaning)| json!({"code": exit as u8, "error": exit.name(), "meaning": meaning}),
        );
        return Ok(out.data(&json!(codes))?);
    }
    Ok(out.line(&exit_code_table())?)
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cms completions bash > /etc/bash_completion.d/cms
  cms completions zsh > ~/.zfunc/_cms")]
pub(crate) struct CompletionsArgs {
    /// bash, zsh, fish, elvish or powershell
    shell: Shell,
}

/// `cms completions`: prints the completions of `tree`, the whole command line.
pub(crate) fn completions(out: &Output, args: &CompletionsArgs, mut tree: Command) -> Done {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut tree, "cms", &mut script);
    let script = String::from_utf8_lossy(&script);
    if out.json {
        return Ok(out.data(&json!({"shell": args.shell.to_string(), "script": script}))?);
    }
    Ok(out.raw(&script)?)
}
