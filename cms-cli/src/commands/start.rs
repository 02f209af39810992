//! `cms` without a command: says what it is, and what to type next

use serde_json::json;

use crate::{
    flags::Flags,
    folder,
    output::{Done, Output},
    target::Target,
};

pub(crate) fn run(flags: &Flags, out: &Output) -> Done {
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
