//! `cms context`: names for running sites

use clap::Subcommand;
use serde_json::{Value as Json, json};

use crate::{
    contexts::{Contexts, Sessions},
    flags::Flags,
    output::{Done, Exit, Failure, Output, record::text, table},
};

#[derive(Debug, Subcommand)]
pub(crate) enum ContextCommand {
    /// List all contexts
    List,
    /// Name the address of --url; an existing name gets the new address
    #[command(after_help = "Example: cms context add prod --url https://cms.example.org")]
    Add {
        /// Its name: letters, digits, dashes, underscores and dots
        name: String,
    },
    /// Choose the context for commands outside of a site's folder
    #[command(
        after_help = "A command is about the first of these that is given: --url, --context or
CMS_CONTEXT, CMS_URL, the folder of --dir or CMS_DIR, the present folder when it holds a site, the
context chosen here. cms whoami tells which site it is."
    )]
    Use {
        /// Its name
        name: String,
    },
    /// Show one context
    Show {
        /// Its name; without it, the chosen one
        name: Option<String>,
    },
    /// Remove a name; a session at its address stays open
    Remove {
        /// Its name
        name: String,
    },
}

pub(crate) fn run(flags: &Flags, out: &Output, command: ContextCommand) -> Done {
    match command {
        ContextCommand::List => {
            let contexts = Contexts::load()?;
            let all: Vec<Json> = contexts.iter().map(shown).collect::<Done<_>>()?;
            if out.json {
                return Ok(out.data(&all.into())?);
            }
            if all.is_empty() {
                out.note("There are no contexts. cms context add NAME --url URL makes one.");
            }
            let columns = ["name", "url", "used", "username"];
            let row = |context: &Json| columns.map(|column| text(&context[column])).to_vec();
            Ok(table::rows(out, &columns, &all.iter().map(row).collect::<Vec<_>>())?)
        }
        ContextCommand::Add { name } => {
            let url = flags
                .url
                .as_deref()
                .ok_or_else(|| Failure::usage("--url URL is missing: the address of the site"))?;
            let url = cms_http::client::address(url).map_err(|e| Failure::usage(e.to_string()))?;
            Contexts::change(|contexts| contexts.add(&name, url))?;
            one(out, &name)
        }
        ContextCommand::Use { name } => {
            Contexts::change(
                |contexts| if contexts.choose(&name) { Ok(()) } else { Err(unknown(&name)) },
            )?;
            one(out, &name)
        }
        ContextCommand::Show { name } => {
            let chosen = || {
                Contexts::load().map(|contexts| contexts.used().map(|(name, _)| name.to_owned()))
            };
            let name = match name.or_else(|| flags.context.clone()) {
                Some(name) => name,
                None => chosen()?.ok_or_else(|| {
                    Failure::new(Exit::NotFound, "no context is chosen")
                        .hint("cms context use NAME, or --context NAME")
                })?,
            };
            one(out, &name)
        }
        ContextCommand::Remove { name } => {
            Contexts::change(
                |contexts| if contexts.remove(&name) { Ok(()) } else { Err(unknown(&name)) },
            )?;
            out.done(&json!({"deleted": [name]}), &format!("The context {name} is removed."))
        }
    }
}

fn one(out: &Output, name: &str) -> Done {
    let contexts = Contexts::load()?;
    let found = contexts.iter().find(|(known, ..)| *known == name).ok_or_else(|| unknown(name))?;
    let context = shown(found)?;
    if out.json {
        return Ok(out.data(&context)?);
    }
    let columns = ["name", "url", "used", "username", "expires_at"];
    Ok(table::pairs(out, &columns.map(|column| (column, text(&context[column]))))?)
}

/// A context with the session kept for its address.
fn shown((name, url, used): (&str, &str, bool)) -> Done<Json> {
    let session = Sessions::at(url)?;
    let (username, expires_at) =
        session.map(|session| (session.username, session.expires_at)).unzip();
    Ok(json!({
        "name": name,
        "url": url,
        "used": used,
        "username": username,
        "expires_at": expires_at,
    }))
}

fn unknown(name: &str) -> Failure {
    Failure::new(Exit::NotFound, format!("there is no context {name:?}")).hint("cms context list")
}
