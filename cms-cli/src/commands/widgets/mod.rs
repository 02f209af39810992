//! `cms widgets`: what pages can be made of, from `/api/backend/pagebuilder/`

mod place;

use std::{io::Write as _, path::PathBuf};

use clap::Subcommand;
use cms_core::pages::widgets::PickedWidget;
use cms_http::{
    client::Client,
    wire::{
        NoBody,
        parameters::NoQuery,
        widgets::{Read, ShowComponents, WhichWidgets},
    },
};
use serde_json::json;

use self::place::PlaceArgs;
use crate::{
    flags::Flags,
    output::{Done, Exit, Failure, Output, WholeFile},
    reply::{self, Paging},
    site,
};

#[derive(Debug, Subcommand)]
pub(crate) enum WidgetsCommand {
    /// List the widgets that can be placed, in the order of the picker
    List(Paging),
    /// Show a widget: its menu, and the menu of its items
    #[command(after_help = "Example: cms widgets show gallery")]
    Show {
        /// Its name
        name: String,
    },
    /// Place a widget in the draft of a page
    Place(PlaceArgs),
    /// Write which component shows each template, as JSON, for the build of a front end
    #[command(after_help = "Example: cms widgets rebuild --out theme/widgets.json

Run it when the folder of a plugin's widget has changed. Without --out the JSON goes to standard
output. Templates without a file are named; the exit code is then 8.")]
    Rebuild {
        /// File that is replaced
        #[arg(long, alias = "output", value_name = "FILE")]
        out: Option<PathBuf>,
    },
}

pub(crate) async fn run(flags: &Flags, out: &Output, command: WidgetsCommand) -> Done {
    site::with(flags, out, async |site| at(out, &site.client, command).await).await
}

async fn at(out: &Output, client: &Client, command: WidgetsCommand) -> Done {
    match command {
        WidgetsCommand::List(paging) => {
            let columns = ["name", "group", "title", "plugin", "version", "fields", "pending"];
            let query = |limit, cursor| WhichWidgets { widget: None, limit, cursor };
            reply::list_as::<Read>(out, client, &paging, (&columns, cell), query).await
        }
        WidgetsCommand::Show { name } => {
            let asked = WhichWidgets { widget: Some(name), ..WhichWidgets::default() };
            reply::record::<Read>(out, client, &asked, &NoBody).await
        }
        WidgetsCommand::Place(args) => place::run(out, client, &args).await,
        WidgetsCommand::Rebuild { out: file } => rebuild(out, client, file).await,
    }
}

/// The rows that a widget asks for, in place of its menu.
fn cell(widget: &PickedWidget, column: &str) -> Option<String> {
    let rows = || {
        let rows: Vec<_> = widget.menu.iter().map(|field| field.row.as_str()).collect();
        let items: Vec<_> = widget.item_menu.iter().map(|field| field.row.as_str()).collect();
        match items.as_slice() {
            [] => rows.join(" "),
            items => format!("{} [{}]", rows.join(" "), items.join(" ")),
        }
    };
    (column == "fields").then(rows)
}

async fn rebuild(out: &Output, client: &Client, file: Option<PathBuf>) -> Done {
    let (answer, found) = reply::call::<ShowComponents>(client, &NoQuery {}, &NoBody).await?;
    let found = found.data;
    let text = serde_json::to_string_pretty(&found.components).map_err(Failure::unexpected)?;
    match &file {
        None if out.json => out.line(&answer.body)?,
        None => out.line(&text)?,
        Some(file) => {
            let mut whole = WholeFile::create(file)?;
            writeln!(whole, "{text}")?;
            whole.done()?;
            let count = found.components.len();
            let told = format!("{count} templates are written to {}.", file.display());
            out.done(&json!({"file": file.display().to_string(), "templates": count}), &told)?;
        }
    }
    if found.missing.is_empty() {
        return Ok(());
    }
    let names = found.missing.join(", ");
    let what = format!("no template/index.vue in the folders of {names}");
    Err(Failure::new(Exit::Partly, what)
        .hint("plugins/PLUGIN/widgets/WIDGET/template/index.vue is where it is looked for"))
}
