//! `cms widgets place`

use std::path::PathBuf;

use clap::Args;
use cms_core::pages::builder::{NewNode, NodeKind, Parent};
use cms_http::client::Client;

use crate::{
    output::{Done, Output},
    reply::{
        self,
        draft::{Seen, add, values},
    },
};

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

/// Places a widget. A row and a column that were made for it stay when the widget is refused.
pub(crate) async fn run(out: &Output, client: &Client, args: &PlaceArgs) -> Done {
    let data = args.data.as_deref().map(values).transpose()?;
    let seen = Seen::find(client, &args.page).await?;
    let mut tag = seen.answer.etag.clone();
    let col = match args.col {
        Some(col) => col,
        None => {
            let page = Parent::of(NodeKind::Row, seen.draft.page_id);
            let (answer, row) = add(client, tag, &NewNode::new(NodeKind::Row, page)).await?;
            let row = Parent::of(NodeKind::Col, row.id);
            let (answer, col) = add(client, answer.etag, &NewNode::new(NodeKind::Col, row)).await?;
            tag = answer.etag;
            col.id
        }
    };
    let mut node = NewNode::new(NodeKind::Widget, Parent::of(NodeKind::Widget, col));
    node.widget = Some(args.widget.clone());
    (node.data, node.position) = (data, args.position);
    let (answer, placed) = add(client, tag, &node).await?;
    reply::show(out, &answer.body, &placed)
}
