//! One node of a draft: added, changed, moved, removed. A page as text: what stands in what, and a
//! line for each difference

use std::{fmt::Write as _, path::PathBuf};

use clap::Args;
use cms_core::pages::builder::{
    Difference, Happened, Move, NewNode, NodeKind, Parent, PlacedWidget, Tree,
};
use cms_http::{
    client::Client,
    wire::{
        NoBody,
        pagebuilder::{Compared, Diff, MoveNode, Set, Values, WhichNode},
        parameters::NoQuery,
    },
};
use serde_json::{Map, Value as Json, json};

use crate::{
    flags::Flags,
    input,
    output::{Done, Failure, Output, counted},
    prompt,
    reply::{
        self,
        draft::{DraftView, add, id_of, remove, values},
    },
};

/// What stands in a page.
const KINDS: [(NodeKind, &str); 4] = [
    (NodeKind::Row, "A row of a page"),
    (NodeKind::Col, "A column of a row"),
    (NodeKind::Widget, "A widget in a column"),
    (NodeKind::Item, "An item of a widget"),
];

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
    #[arg(value_parser = input::one_of(&KINDS, NodeKind::as_str))]
    kind: NodeKind,
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
    #[arg(value_parser = input::one_of(&KINDS, NodeKind::as_str))]
    kind: NodeKind,
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
    let kind = args.kind;
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
    let kind = args.kind;
    let what = format!("{} {}", kind.as_str(), args.id);
    prompt::confirm(flags, &format!("Remove {what} from the draft, with all that stands in it?"))?;
    let seen = DraftView::find(client, &args.page).await?;
    seen.holds(&args.page, kind, args.id)?;
    remove(client, seen.answer.etag, (kind, args.id)).await?;
    out.done(&json!({"removed": what}), &format!("Removed: {what}"))
}

/// Characters of a value that are shown.
const SHOWN: usize = 48;
/// Values that say what a widget is about, the best first.
const TELLING: [&str; 7] = ["title", "subtitle", "text", "image", "link", "form", "menu"];

/// A node, and those in it.
struct Branch {
    line: String,
    below: Vec<Branch>,
}

/// The tree, a line for each node.
pub(super) fn drawn(head: &str, tree: &Tree) -> String {
    let mut text = format!("{head}\n");
    let rows: Vec<_> = tree
        .rows
        .iter()
        .map(|row| Branch {
            line: format!("row {}", row.id),
            below: row
                .cols
                .iter()
                .map(|col| Branch {
                    line: format!("col {}", col.id),
                    below: col.widgets.iter().map(widget).collect(),
                })
                .collect(),
        })
        .collect();
    draw(&rows, "", &mut text);
    text
}

/// Its parts, counted.
pub(super) fn size(tree: &Tree) -> String {
    let cols: Vec<_> = tree.rows.iter().flat_map(|row| &row.cols).collect();
    let widgets: usize = cols.iter().map(|col| col.widgets.len()).sum();
    [(tree.rows.len(), "row"), (cols.len(), "column"), (widgets, "widget")]
        .map(|(n, what)| counted(n as u64, what))
        .join(", ")
}

fn widget(placed: &PlacedWidget) -> Branch {
    let items = placed.items.iter().map(|item| Branch {
        line: format!("item {}{}", item.id, about(&item.data)),
        below: Vec::new(),
    });
    Branch {
        line: format!("{} {}{}", placed.widget, placed.id, about(&placed.data)),
        below: items.collect(),
    }
}

/// The value that tells most, in quotes.
fn about(data: &Map<String, Json>) -> String {
    let telling = TELLING.iter().find_map(|name| data.get(*name)).or(data.values().next());
    let Some(value) = telling else { return String::new() };
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!(" {:?}…", &line[..end]),
        None => format!(" {line:?}"),
    }
}

fn draw(branches: &[Branch], margin: &str, text: &mut String) {
    for (at, branch) in branches.iter().enumerate() {
        let is_last = at + 1 == branches.len();
        let (fork, beside) = if is_last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        let _ = writeln!(text, "{margin}{fork}{}", branch.line);
        draw(&branch.below, &format!("{margin}{beside}"), text);
    }
}

#[derive(Args, Debug)]
#[command(after_help = "Examples:
  cms pages diff /
  cms pages diff / --from 2 --to 3")]
pub(crate) struct DiffArgs {
    /// Id, address or view of the page
    page: String,
    /// draft or a revision; otherwise what was published last
    #[arg(long, value_name = "STATE")]
    from: Option<String>,
    /// draft or a revision; otherwise the draft
    #[arg(long, value_name = "STATE")]
    to: Option<String>,
}

pub(super) async fn diff(out: &Output, client: &Client, args: DiffArgs) -> Done {
    let DiffArgs { page, from, to } = args;
    let compared = Compared { page_id: id_of(client, &page).await?, from, to };
    let (answer, found) = reply::call::<Diff>(client, &compared, &NoBody).await?;
    if out.json {
        out.line(&answer.body)?;
    } else {
        for one in &found.data {
            out.line(&line(one))?;
        }
    }
    if found.data.is_empty() {
        out.note("Nothing differs.");
    }
    Ok(())
}

/// `~ title 3: title "A" → "B"`.
fn line(one: &Difference) -> String {
    let name = one.widget.as_deref().unwrap_or(one.kind.as_str());
    let value = |value: &Option<Json>| value.as_ref().map_or("null".to_owned(), Json::to_string);
    let (from, to) = (value(&one.from), value(&one.to));
    let id = one.id;
    match one.change {
        Happened::Added => format!("+ {name} {id}"),
        Happened::Removed => format!("- {name} {id}"),
        Happened::Moved => format!("> {name} {id}: {from} → {to}"),
        Happened::Changed => {
            let column = one.column.as_deref().unwrap_or_default();
            format!("~ {name} {id}: {column} {from} → {to}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(id: i64, text: &str) -> Json {
        json!({"id": id, "base_id": id, "language_short": "en", "data": {"title": text}})
    }

    fn widget(id: i64, name: &str, data: Json, items: Json) -> Json {
        json!({"id": id, "widget": name, "data": data, "items": items})
    }

    #[test]
    fn a_tree_is_drawn_with_what_its_widgets_are_about() {
        let long = "many words ".repeat(9);
        let tree = json!({"rows": [
            {"id": 1, "cols": [
                {"id": 2, "widgets": [
                    widget(4, "title", json!({"level": "h1", "title": "Hello"}), json!([])),
                    widget(5, "uspIconList", json!({}), json!([item(6, "a"), item(7, "b")])),
                ]},
                {"id": 3, "widgets": []},
            ]},
            {"id": 8, "cols": [
                {"id": 9, "widgets": [widget(10, "html", json!({"text": long}), json!([]))]},
            ]},
        ]});
        let tree = serde_json::from_value(tree).expect("a tree");
        assert_eq!(
            drawn("/ Home", &tree),
            "/ Home
├─ row 1
│  ├─ col 2
│  │  ├─ title 4 \"Hello\"
│  │  └─ uspIconList 5
│  │     ├─ item 6 \"a\"
│  │     └─ item 7 \"b\"
│  └─ col 3
└─ row 8
   └─ col 9
      └─ html 10 \"many words many words many words many words many\"…
"
        );
        assert_eq!(size(&tree), "2 rows, 3 columns, 3 widgets");
    }
}
