//! `cms items`: rows of content tables, through `/api/backend/item`

mod export;
mod import;
pub(crate) mod resources;
mod rows;

use std::path::{Path, PathBuf};

use clap::{Subcommand, ValueEnum};
use cms_http::{
    client::Ask,
    wire::{
        NoBody,
        tables::{Read, WhichTables},
    },
};

use self::{
    export::ExportArgs,
    import::ImportArgs,
    rows::{DeleteArgs, Filters, delete, print, tag},
};
use crate::{
    flags::Flags,
    input,
    output::{Done, Exit, Output},
    reply::{self, Paging},
    site::Site,
};

const ITEM: &str = "/api/backend/item";

#[derive(Debug, Subcommand)]
pub(crate) enum ItemsCommand {
    /// List rows of a table
    #[command(after_help = "Examples:
  cms items list blog --where published=true --sort -published_at --limit 5
  cms items list orders --where 'total:gte=100' --where 'status:in=new,paid' --count")]
    List {
        /// Content table
        table: String,
        #[command(flatten)]
        filters: Filters,
        #[command(flatten)]
        paging: Paging,
        /// Also count all matching rows
        #[arg(long)]
        count: bool,
    },
    /// Show a row
    Get {
        /// Content table
        table: String,
        /// Id of the row
        id: String,
        /// The version in this language
        #[arg(long, alias = "lang", value_name = "LANGUAGE")]
        language: Option<String>,
    },
    /// Add a row (a JSON object), or several (an array: all rows or none)
    #[command(after_help = "Example: echo '{\"name\":\"Ada\"}' | cms items create authors -")]
    Create {
        /// Content table
        table: String,
        /// File with the JSON; - for standard input
        file: PathBuf,
    },
    /// Change the columns named in a JSON object, if nobody else changes the row meanwhile
    Update {
        /// Content table
        table: String,
        /// Id of the row
        id: String,
        /// File with the JSON; - for standard input
        file: PathBuf,
        /// Only if the row still has this entity tag, which cms items get -v prints; without it
        /// the row is read first
        #[arg(long, value_name = "ETAG")]
        if_match: Option<String>,
        /// The version in this language
        #[arg(long, alias = "lang", value_name = "LANGUAGE")]
        language: Option<String>,
    },
    /// Delete rows that nobody else changes meanwhile
    Delete(DeleteArgs),
    /// Add the rows of a CSV or JSON Lines file
    Import(ImportArgs),
    /// Write rows into a CSV or JSON Lines file, or to standard output
    Export(ExportArgs),
}

pub(crate) async fn run(flags: &Flags, out: &Output, site: &Site, command: ItemsCommand) -> Done {
    let client = &site.client;
    match command {
        ItemsCommand::List { table, filters, paging, count } => {
            let ask = filters.ask(&table).maybe("count", count.then_some(true));
            reply::records(out, client, &paging, ask).await
        }
        ItemsCommand::Get { table, id, language } => {
            let ask = Ask::get(ITEM).query("table", table).query("id", id);
            print(out, client, ask.maybe("language", language)).await
        }
        ItemsCommand::Create { table, file } => {
            let ask = Ask::post(ITEM).query("table", table).text(input::text(&file)?);
            print(out, client, ask).await
        }
        ItemsCommand::Update { table, id, file, if_match, language } => {
            let tag = match if_match {
                None => tag(client, &table, &id, language.as_deref()).await?,
                seen => seen,
            };
            let ask =
                Ask::patch(ITEM).query("table", table).query("id", id).maybe("language", language);
            print(out, client, ask.text(input::text(&file)?).if_match(tag)).await
        }
        ItemsCommand::Delete(args) => delete(flags, out, client, &args).await,
        ItemsCommand::Import(args) => import::run(out, site, args).await,
        ItemsCommand::Export(args) => export::run(out, site, &args).await,
    }
}

/// The format of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Column names on the first line, then rows; an empty cell is null, "" is an empty text
    Csv,
    /// A JSON object on each line
    Jsonl,
}

impl Format {
    /// The format that a file's name tells.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "csv" => Some(Self::Csv),
            "jsonl" | "ndjson" => Some(Self::Jsonl),
            _ => None,
        }
    }
}

/// Which CSV columns hold JSON.
#[derive(Clone, Debug)]
pub(crate) enum JsonColumns {
    /// These columns.
    Known(Vec<String>),
    /// These columns, and every cell that holds an object or an array.
    Guessed(Vec<String>),
}

impl JsonColumns {
    /// Asks the site. Guesses where the caller may not see the columns of the table.
    pub(crate) async fn of(out: &Output, site: &Site, table: &str, given: &[String]) -> Done<Self> {
        if let Some(cms) = &site.cms {
            let known = cms.tables().find(table).map(|table| {
                let json =
                    table.columns.iter().filter(|column| column.kind == cms_core::db::Kind::Json);
                json.map(|column| column.name.clone()).chain(given.iter().cloned()).collect()
            });
            return Ok(known.map_or_else(|| Self::Guessed(given.to_vec()), Self::Known));
        }
        let asked = WhichTables { name: Some(table.to_owned()), ..WhichTables::default() };
        match reply::data::<Read>(&site.client, &asked, &NoBody).await {
            Ok(found) => {
                let json = found.columns.into_iter().filter(|column| column.r#type == "json");
                let names = json.map(|column| column.name).chain(given.iter().cloned());
                Ok(Self::Known(names.collect()))
            }
            // Who may not read a table does not learn whether it exists.
            Err(failure) if matches!(failure.exit, Exit::NoRight | Exit::NotFound) => {
                // Who names columns knows.
                if given.is_empty() {
                    out.note(&format!(
                        "You may not see the columns of {table}: those with objects or arrays are \
                         taken for JSON. Name others with --json-column."
                    ));
                }
                Ok(Self::Guessed(given.to_vec()))
            }
            Err(failure) => Err(failure),
        }
    }

    pub(crate) fn named(&self, column: &str) -> bool {
        let (Self::Known(names) | Self::Guessed(names)) = self;
        names.iter().any(|name| name == column)
    }
}
