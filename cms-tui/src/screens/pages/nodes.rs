//! A draft as the lines of a tree: the page, its rows, their columns, widgets and items.

use std::collections::BTreeSet;

use super::page_id;
use crate::screens::prelude::*;

/// Each kind, and the member that holds what stands in it.
const KINDS: [(&str, &str); 5] =
    [("page", "rows"), ("row", "cols"), ("col", "widgets"), ("widget", "items"), ("item", "")];
/// Values that say what a widget is about, the best first; as `cms pages tree` has them.
const TELLING: [&str; 7] = ["title", "subtitle", "text", "image", "link", "form", "menu"];
/// Characters of a value that are shown.
const SHOWN: usize = 48;

/// What tells a node from all others of its page: an id counts in its kind.
pub(super) fn key(kind: &str, id: i64) -> String {
    format!("{kind} {id}")
}

/// What a node stands in.
pub(super) fn above(node: &Json) -> Option<String> {
    let kind = node["kind"].as_str()?;
    let level = KINDS.iter().position(|(name, _)| *name == kind)?.checked_sub(1)?;
    Some(key(KINDS[level].0, node["parent"].as_i64()?))
}

/// The nodes that are seen, each after what it stands in.
pub(super) fn rows(page: &Json, draft: &Json, folded: &BTreeSet<String>) -> Vec<Row> {
    let mut walk = Walk { folded, rows: Vec::new() };
    let id = page_id(page);
    let mut top = json!({"kind": "page", "id": id, "name": super::address(page)});
    top["data"] = json!({"title": page["title"]});
    walk.note(top, below(draft, 0), String::new());
    if !folded.contains(&key("page", id)) {
        walk.go(draft, (0, id), "", None);
    }
    walk.rows
}

/// What stands in a node of this level.
fn below(node: &Json, level: usize) -> &[Json] {
    let name = KINDS.get(level).map_or("", |(_, name)| name);
    items(&node[name])
}

struct Walk<'f> {
    folded: &'f BTreeSet<String>,
    rows: Vec<Row>,
}

impl Walk<'_> {
    fn note(&mut self, mut node: Json, below: &[Json], lanes: String) {
        let kind = node["kind"].as_str().unwrap_or_default();
        let key = key(kind, node["id"].as_i64().unwrap_or_default());
        let is_folded = self.folded.contains(&key) && !below.is_empty();
        (node["lanes"], node["below"]) = (lanes.into(), below.len().into());
        node["folded"] = is_folded.into();
        self.rows.push(Row { id: key, json: node });
    }

    /// All that stands in a node. `widget`: the name of the widget that items are of.
    fn go(&mut self, of: &Json, (level, parent): (usize, i64), margin: &str, widget: Option<&str>) {
        let Some((kind, _)) = KINDS.get(level + 1) else { return };
        let all = below(of, level);
        for (at, node) in all.iter().enumerate() {
            let is_last = at + 1 == all.len();
            let (fork, beside) = if is_last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            let name = node["widget"].as_str().or(widget);
            let id = node["id"].as_i64().unwrap_or_default();
            let mut told = json!({
                "kind": kind, "id": id, "parent": parent, "position": at, "siblings": all.len(),
            });
            if let Some(name) = name {
                (told["widget"], told["data"]) = (name.into(), node["data"].clone());
            }
            self.note(told, below(node, level + 1), format!("{margin}{fork}"));
            if !self.folded.contains(&key(kind, id)) {
                self.go(node, (level + 1, id), &format!("{margin}{beside}"), name);
            }
        }
    }
}

/// How many rows, columns, widgets and items there are.
pub(super) fn sizes(draft: &Json) -> [usize; 4] {
    let (mut sizes, mut level) = ([0; 4], vec![draft]);
    for (at, size) in sizes.iter_mut().enumerate() {
        level = level.into_iter().flat_map(|node| below(node, at)).collect();
        *size = level.len();
    }
    sizes
}

/// A node by its kind and id.
pub(super) fn find(draft: &Json, kind: &str, id: i64) -> Option<Json> {
    let all = rows(&json!({"page_id": draft["page_id"]}), draft, &BTreeSet::new());
    all.into_iter().find(|row| row.id == key(kind, id)).map(|row| row.json)
}

/// All nodes of a kind, in the order of the page.
pub(super) fn of_kind(draft: &Json, kind: &str) -> Vec<Json> {
    let all = rows(&json!({"page_id": draft["page_id"]}), draft, &BTreeSet::new());
    all.into_iter().map(|row| row.json).filter(|node| node["kind"] == kind).collect()
}

/// What a node is called: `row 3`, `title 4`; a page by its address.
pub(super) fn name(node: &Json) -> String {
    let id = node["id"].as_i64().unwrap_or_default();
    match node["kind"].as_str() {
        Some("page") => plain_text(&node["name"]),
        Some("widget") => format!("{} {id}", plain_text(&node["widget"])),
        kind => key(kind.unwrap_or_default(), id),
    }
}

/// The value that tells most of a node, in quotes; of a folded one, how much is hidden.
pub(super) fn telling(node: &Json) -> String {
    let data = node["data"].as_object();
    let best = TELLING.iter().find_map(|name| data?.get(*name).filter(|value| !value.is_null()));
    let any = || data?.values().find(|value| !value.is_null());
    let said = best.or_else(any).map(|value| {
        let line = plain_text(value).split_whitespace().collect::<Vec<_>>().join(" ");
        format!(" \"{}\"", cut(&safe(&line), SHOWN))
    });
    let hidden = node["below"].as_u64().filter(|_| node["folded"] == true);
    let hidden = hidden.map(|n| format!(" ({})", count(n as usize, inner(node))));
    said.unwrap_or_default() + &hidden.unwrap_or_default()
}

/// What stands in a node, in one word.
pub(super) fn inner(node: &Json) -> &'static str {
    match node["kind"].as_str() {
        Some("page") => "row",
        Some("row") => "column",
        Some("col") => "widget",
        _ => "item",
    }
}

/// A node as one line, as `cms pages tree` draws it.
pub(super) fn line(node: &Json) -> String {
    format!("{}{}{}", node["lanes"].as_str().unwrap_or_default(), name(node), telling(node))
}

/// The member that names what a kind stands in.
pub(super) fn parent(kind: &str, id: i64) -> Json {
    let name = match kind {
        "row" => "page_id",
        "col" => "row_id",
        "widget" => "col_id",
        _ => "widget_id",
    };
    json!({name: id})
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Two rows; a column with a title and a repeater, and an empty one.
    pub(crate) fn draft() -> Json {
        let widget = |id: i64, name: &str, data: Json, items: Json| {
            let mut node = json!({"id": id, "widget": name, "data": data});
            node["items"] = items;
            node
        };
        let items = json!([
            {"id": 6, "data": {"title": "Fast"}}, {"id": 7, "data": {"title": "Light"}},
        ]);
        let cols = json!([
            {"id": 2, "widgets": [
                widget(4, "title", json!({"level": "h1", "title": "Hello"}), json!([])),
                widget(5, "uspIconList", json!({}), items),
            ]},
            {"id": 3, "widgets": []},
        ]);
        json!({"page_id": 9, "rev": 12, "rows": [
            {"id": 1, "cols": cols}, {"id": 8, "cols": []},
        ]})
    }

    fn drawn(folded: &[&str]) -> Vec<String> {
        let page = json!({"page_id": 9, "url_rewrite": "/", "title": "Home"});
        let folded = folded.iter().map(|one| (*one).to_owned()).collect();
        rows(&page, &draft(), &folded).iter().map(|row| line(&row.json)).collect()
    }

    #[test]
    fn a_draft_is_drawn_as_a_tree() {
        let whole = [
            "/ \"Home\"",
            "├─ row 1",
            "│  ├─ col 2",
            "│  │  ├─ title 4 \"Hello\"",
            "│  │  └─ uspIconList 5",
            "│  │     ├─ item 6 \"Fast\"",
            "│  │     └─ item 7 \"Light\"",
            "│  └─ col 3",
            "└─ row 8",
        ];
        assert_eq!(drawn(&[]), whole);
        let folded = ["/ \"Home\"", "├─ row 1 (2 columns)", "└─ row 8"];
        assert_eq!(drawn(&["row 1", "row 8"]), folded);
        assert_eq!(drawn(&["page 9"]), ["/ \"Home\" (2 rows)"]);
    }

    #[test]
    fn nodes_know_where_they_stand() {
        let node = find(&draft(), "item", 7).expect("an item");
        let place = ["parent", "position", "siblings"].map(|name| node[name].as_i64());
        assert_eq!(place, [Some(5), Some(1), Some(2)]);
        assert_eq!(node["widget"], "uspIconList", "items know the widget that they are of");
        assert!(find(&draft(), "col", 7).is_none(), "an id counts in its kind");
        assert_eq!(of_kind(&draft(), "widget").len(), 2);
        assert_eq!(sizes(&draft()), [2, 2, 2, 2]);
    }

    #[test]
    fn hostile_values_are_one_line() {
        let node = json!({"kind": "widget", "id": 1, "widget": "html\u{1b}[2J",
            "data": {"text": format!("a\n\u{202e}b\t{}", "x".repeat(99))}});
        let line = line(&node);
        assert!(!line.contains(char::is_control) && !line.contains('\u{202e}'), "{line:?}");
        assert!(line.ends_with("…\""), "{line}");
    }
}
