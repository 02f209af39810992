//! Nouns for tables that the core declares, each with plain records, through `/api/backend/item`.
//! Their verbs, flags and help are made from the declaration

use clap::{
    Arg, ArgAction, ArgMatches, Args as _, Command, Error, FromArgMatches, Subcommand,
    error::ErrorKind,
};
use cms_core::content::{RESOURCES, Resource};
use cms_http::client::Ask;
use serde_json::{Map, Value as Json};

use super::{
    ITEM,
    rows::{DeleteArgs, Filters, delete, print, tag},
};
use crate::{
    flags::{EMPTY, Flags, NO_CHANGE, flag, given},
    output::{Done, Failure, Output},
    reply::{self, Paging},
    site::Site,
};

/// A verb of one of these nouns.
#[derive(Debug)]
pub(crate) struct ResourceCommand {
    resource: &'static Resource,
    verb: Verb,
}

#[derive(Debug)]
enum Verb {
    List(Filters, Paging),
    Show(String),
    Create(Map<String, Json>),
    Edit(String, Map<String, Json>),
    Delete(Vec<String>),
}

const ID: &str = "id";

impl Subcommand for ResourceCommand {
    fn augment_subcommands(cli: Command) -> Command {
        RESOURCES.iter().fold(cli, |cli, resource| cli.subcommand(noun(resource)))
    }

    fn augment_subcommands_for_update(cli: Command) -> Command {
        Self::augment_subcommands(cli)
    }

    fn has_subcommand(name: &str) -> bool {
        RESOURCES.iter().any(|resource| resource.noun == name)
    }
}

impl FromArgMatches for ResourceCommand {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let unknown = || Error::new(ErrorKind::InvalidSubcommand);
        let (name, below) = matches.subcommand().ok_or_else(unknown)?;
        let resource = RESOURCES.iter().find(|resource| resource.noun == name);
        let (verb, args) = below.subcommand().ok_or_else(unknown)?;
        let id = || args.get_one::<String>(ID).cloned().unwrap_or_default();
        let resource = resource.ok_or_else(unknown)?;
        let verb = match verb {
            "list" => Verb::List(Filters::from_arg_matches(args)?, Paging::from_arg_matches(args)?),
            "show" => Verb::Show(id()),
            "create" => Verb::Create(body(resource, args)),
            "edit" => Verb::Edit(id(), body(resource, args)),
            "delete" => {
                Verb::Delete(args.get_many::<String>(ID).unwrap_or_default().cloned().collect())
            }
            _ => return Err(unknown()),
        };
        Ok(Self { resource, verb })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn noun(resource: &Resource) -> Command {
    let verb = |name: &'static str, about: &'static str| Command::new(name).about(about);
    let id = || Arg::new(ID).value_name("ID").required(true).help("Id of the row");
    // The groups of flags would bring their own help texts.
    let list = Paging::augment_args(Filters::augment_args(Command::new("list")));
    let written = || resource.columns.iter().filter(|column| column.is_written);
    let create = verb("create", "Add a row").args(written().map(|one| flag(one, one.is_required)));
    let edit = verb("edit", "Change columns of a row, if nobody else changes it meanwhile")
        .arg(id())
        .args(written().map(|one| flag(one, false)));
    Command::new(resource.noun)
        .about(resource.about)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(list.about("List rows").long_about(None))
        .subcommand(verb("show", "Show a row").arg(id()))
        .subcommand(create.after_help(EMPTY))
        .subcommand(edit.after_help(EMPTY))
        .subcommand(
            verb("delete", "Delete rows that nobody else changes meanwhile")
                .arg(id().num_args(1..).action(ArgAction::Append).help("Ids of the rows")),
        )
}

fn body(resource: &Resource, args: &ArgMatches) -> Map<String, Json> {
    given(resource.columns.iter().filter(|column| column.is_written), args)
}

pub(crate) async fn run(
    flags: &Flags,
    out: &Output,
    site: &Site,
    command: ResourceCommand,
) -> Done {
    let (client, table) = (&site.client, command.resource.table);
    match command.verb {
        Verb::List(filters, paging) => {
            reply::records(out, client, &paging, filters.ask(table)).await
        }
        Verb::Show(id) => {
            print(out, client, Ask::get(ITEM).query("table", table).query(ID, id)).await
        }
        Verb::Create(body) => {
            let ask = Ask::post(ITEM).query("table", table);
            print(out, client, ask.text(Json::Object(body).to_string())).await
        }
        Verb::Edit(_, body) if body.is_empty() => Err(Failure::usage(NO_CHANGE)),
        Verb::Edit(id, body) => {
            let tag = tag(client, table, &id, None).await?;
            let ask = Ask::patch(ITEM).query("table", table).query(ID, id).if_match(tag);
            print(out, client, ask.text(Json::Object(body).to_string())).await
        }
        Verb::Delete(ids) => delete(flags, out, client, &DeleteArgs::of(table, ids)).await,
    }
}
