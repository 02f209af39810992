//! `cms widgets`: the widgets that pages are made of, from `/api/backend/pagebuilder/`

use std::{io::Write as _, path::PathBuf};

use clap::{Args, Subcommand};
use cms_core::pages::{
    builder::{Edited, NewNode, NodeKind, Parent},
    widgets::PickedWidget,
};
use cms_http::{
    client::{Answer, Client},
    wire::{
        NoBody,
        parameters::NoQuery,
        widgets::{Read, ShowComponents, WhichWidgets},
    },
};
use serde_json::json;

use crate::{
    flags::Flags,
    output::{Done, Exit, Failure, Output, WholeFile},
    reply::{
        self, Paging,
        draft::{DraftView, add, remove, values},
    },
    site::Site,
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

pub(crate) async fn run(_: &Flags, out: &Output, site: &Site, command: WidgetsCommand) -> Done {
    let client = &site.client;
    match command {
        WidgetsCommand::List(paging) => {
            let columns = ["name", "group", "title", "plugin", "version", "fields", "pending"];
            let query = |limit, cursor| WhichWidgets { limit, cursor, ..WhichWidgets::default() };
            reply::list_as::<Read>(out, client, &paging, (&columns, cell), query).await
        }
        WidgetsCommand::Show { name } => {
            let asked = WhichWidgets { widget: Some(name), ..WhichWidgets::default() };
            reply::record::<Read>(out, client, &asked, &NoBody).await
        }
        WidgetsCommand::Place(args) => place(out, client, &args).await,
        WidgetsCommand::Rebuild { out: file } => rebuild(out, client, file).await,
    }
}

/// Shows the names of the fields in a widget's menu instead of the menu.
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

#[derive(Args, Debug)]
#[command(
    after_help = "Example: echo '{\"title\":\"Welcome\"}' | cms widgets place title / --data -"
)]
pub(crate) struct PlaceArgs {
    /// Name of the widget: cms widgets list
    widget: String,
    /// Id, address or view of the page
    page: String,
    /// Column to place it in; without it a new row at the end of the page is made
    #[arg(long, value_name = "ID")]
    col: Option<i64>,
    /// Place in the column, counted from 0; at the end without it
    #[arg(long, value_name = "N", requires = "col")]
    position: Option<i64>,
    /// File with its values: a JSON object; - for standard input
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
}

/// Places a widget.
pub(crate) async fn place(out: &Output, client: &Client, args: &PlaceArgs) -> Done {
    let data = args.data.as_deref().map(values).transpose()?;
    let seen = DraftView::find(client, &args.page).await?;
    let widget = |col| {
        let mut node = NewNode::new(NodeKind::Widget, Parent::of(NodeKind::Widget, col));
        node.widget = Some(args.widget.clone());
        (node.data, node.position) = (data, args.position);
        node
    };
    let (answer, placed) = match args.col {
        Some(col) => {
            seen.holds(&args.page, NodeKind::Col, col)?;
            add(client, seen.answer.etag, &widget(col)).await?
        }
        None => in_own_row(client, &args.page, seen, widget).await?,
    };
    reply::show(out, &answer.body, &placed)
}

/// Makes a row and a column and places the widget there. A failure removes the row again.
async fn in_own_row(
    client: &Client,
    page: &str,
    seen: DraftView,
    widget: impl FnOnce(i64) -> NewNode,
) -> Done<(Answer, Edited)> {
    let parent = Parent::of(NodeKind::Row, seen.draft.page_id);
    let row = NewNode::new(NodeKind::Row, parent);
    let (answer, row) = add(client, seen.answer.etag, &row).await?;
    let (mut tag, row) = (answer.etag, row.id);
    let placed = async {
        let col = NewNode::new(NodeKind::Col, Parent::of(NodeKind::Col, row));
        let (answer, col) = add(client, tag.clone(), &col).await?;
        tag = answer.etag;
        add(client, tag.clone(), &widget(col.id)).await
    };
    let mut failure = match placed.await {
        Ok(placed) => return Ok(placed),
        Err(failure) => failure,
    };
    if let Err(why) = remove(client, tag, (NodeKind::Row, row)).await {
        failure.what = format!("{}\n  row {row}, made for it, stays: {}", failure.what, why.what);
        failure.exit = Exit::Partly;
        let next = format!("cms pages tree {page}, then cms pages remove {page} row {row}");
        failure = failure.fact("row", row).hint(next);
    }
    Err(failure)
}
