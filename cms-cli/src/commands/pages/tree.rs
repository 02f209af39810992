//! A page as text: what stands in what, and a line for each difference

use std::fmt::Write as _;

use clap::Args;
use cms_core::pages::builder::{Difference, Happened, PlacedWidget, Tree};
use cms_http::{
    client::Client,
    wire::{
        NoBody,
        pagebuilder::{Compared, Diff},
    },
};
use serde_json::{Map, Value as Json};

use crate::{
    output::{Done, Output, counted},
    reply::{self, draft::id_of},
};

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
    use serde_json::json;

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
