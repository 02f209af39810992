//! One node of a draft: added, changed, moved, removed

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use cms_core::pages::builder::{Move, NewNode, NodeKind, Parent};
use cms_http::{
    client::Client,
    wire::{
        pagebuilder::{MoveNode, Set, Values, WhichNode},
        parameters::NoQuery,
    },
};
use serde_json::json;

use crate::{
    flags::Flags,
    output::{Done, Failure, Output},
    prompt,
    reply::{
        self,
        draft::{DraftView, add, remove, values},
    },
};

/// What stands in a page.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Kind {
    /// A row of a page
    Row,
    /// A column of a row
    Col,
    /// A widget in a column
    Widget,
    /// An item of a widget
    Item,
}

impl From<Kind> for NodeKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Row => Self::Row,
            Kind::Col => Self::Col,
            Kind::Widget => Self::Widget,
            Kind::Item => Self::Item,
        }
    }
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cms pages add / row
  cms pages add / col --in 4
  echo '{\"title\":\"Fast\"}' | cms pages add / item --in 9 --data -")]
pub(crate) struct AddArgs {
    /// Id, address or view of the page
    page: String,
    /// What to add; widgets are placed by cms widgets place
    #[arg(value_parser = ["row", "col", "item"])]
    kind: String,
    /// Id of the row or the widget that it stands in; rows stand in the page
    #[arg(long = "in", value_name = "ID")]
    within: Option<i64>,
    /// Place there, counted from 0; at the end without it
    #[arg(long, value_name = "N")]
    position: Option<i64>,
    /// File with the values of an item: a JSON object; - for standard input
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(after_help = "Example: echo '{\"title\":\"Hello\"}' | cms pages edit / widget 7 -")]
pub(crate) struct EditArgs {
    /// Id, address or view of the page
    page: String,
    /// What changes
    #[arg(value_parser = ["widget", "item"])]
    kind: String,
    /// Its id
    id: i64,
    /// File with the values that change: a JSON object, null empties one; - for standard input
    values: PathBuf,
}

#[derive(Args, Debug)]
#[command(after_help = "Example: cms pages move / widget 7 --in 3 --position 0")]
pub(crate) struct MoveArgs {
    /// Id, address or view of the page
    page: String,
    /// What moves
    kind: Kind,
    /// Its id
    id: i64,
    /// Id of its new parent; without it, the node stays in its present parent
    #[arg(long = "in", value_name = "ID")]
    within: Option<i64>,
    /// Place there, counted from 0; at the end without it
    #[arg(long, value_name = "N")]
    position: Option<i64>,
}

#[derive(Args, Debug)]
pub(crate) struct RemoveArgs {
    /// Id, address or view of the page
    page: String,
    /// What goes
    kind: Kind,
    /// Its id
    id: i64,
}

pub(super) async fn added(out: &Output, client: &Client, args: &AddArgs) -> Done {
    let data = args.data.as_deref().map(values).transpose()?;
    let seen = DraftView::find(client, &args.page).await?;
    let (kind, above) = match args.kind.as_str() {
        "row" => (NodeKind::Row, None),
        "col" => (NodeKind::Col, Some(NodeKind::Row)),
        _ => (NodeKind::Item, Some(NodeKind::Widget)),
    };
    let within = match (above, args.within) {
        (None, _) => seen.draft.page_id,
        (Some(above), Some(id)) => {
            seen.holds(&args.page, above, id)?;
            id
        }
        _ => {
            return Err(Failure::usage(
                "--in names what it shall stand in: cms pages tree shows it",
            ));
        }
    };
    let mut node = NewNode::new(kind, Parent::of(kind, within));
    (node.data, node.position) = (data, args.position);
    let (answer, added) = add(client, seen.answer.etag, &node).await?;
    reply::show(out, &answer.body, &added)
}

pub(super) async fn edited(out: &Output, client: &Client, args: &EditArgs) -> Done {
    let data = values(&args.values)?;
    let seen = DraftView::find(client, &args.page).await?;
    let (kind, which) = match args.kind.as_str() {
        "widget" => (NodeKind::Widget, WhichNode { widget_id: Some(args.id), item_id: None }),
        _ => (NodeKind::Item, WhichNode { widget_id: None, item_id: Some(args.id) }),
    };
    seen.holds(&args.page, kind, args.id)?;
    seen.change::<Set>(out, client, &which, &Values { data }).await
}

pub(super) async fn moved(out: &Output, client: &Client, args: &MoveArgs) -> Done {
    let seen = DraftView::find(client, &args.page).await?;
    let kind = NodeKind::from(args.kind);
    seen.holds(&args.page, kind, args.id)?;
    let parent = args.within.map(|id| Parent::of(kind, id));
    let asked = Move { kind, id: args.id, parent, position: args.position };
    seen.change::<MoveNode>(out, client, &NoQuery {}, &asked).await
}

pub(super) async fn removed(
    flags: &Flags,
    out: &Output,
    client: &Client,
    args: &RemoveArgs,
) -> Done {
    let kind = NodeKind::from(args.kind);
    let what = format!("{} {}", kind.as_str(), args.id);
    prompt::confirm(flags, &format!("Remove {what} from the draft, with all that stands in it?"))?;
    let seen = DraftView::find(client, &args.page).await?;
    seen.holds(&args.page, kind, args.id)?;
    remove(client, seen.answer.etag, (kind, args.id)).await?;
    out.done(&json!({"removed": what}), &format!("Removed: {what}"))
}
