//! The differences between two trees. Pure.

use std::collections::{BTreeSet, HashMap};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::tree::{Node, NodeKind, Tree};

/// One difference between two states of a page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PageDifference")]
#[non_exhaustive]
pub struct Difference {
    /// What happened to the node.
    pub change: Happened,
    /// What it is.
    pub kind: NodeKind,
    /// Its id.
    pub id: i64,
    /// Of widgets: the name in the registry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub widget: Option<String>,
    /// Of a value that changed: its column.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<String>,
    /// As it was: a value, or the place of a node that was moved. Null: not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Json>,
    /// As it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Json>,
}

/// What happened to a node of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Happened {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// It stands elsewhere.
    Moved,
    /// One of its values is another.
    Changed,
}

/// The differences that lead from one tree to another: removed nodes first, then the others in the
/// order of the page. Nodes that only made room for others are not listed.
pub(super) fn between(from: &Tree, to: &Tree) -> Vec<Difference> {
    let (old, new) = (from.nodes(0), to.nodes(0));
    let key = |node: &Node<'_>| (node.kind, node.id);
    let before: HashMap<_, _> = old.iter().map(|node| (key(node), node)).collect();
    let after: HashMap<_, _> = new.iter().map(|node| (key(node), node)).collect();
    let stayed = unmoved(&old, &new);
    let mut found = Vec::new();
    for node in old.iter().filter(|node| !after.contains_key(&key(node))) {
        found.push(difference(Happened::Removed, node));
    }
    for node in &new {
        let Some(was) = before.get(&key(node)) else {
            found.push(difference(Happened::Added, node));
            continue;
        };
        if !stayed.contains(&key(node)) {
            let spot = |node: &Node<'_>| {
                serde_json::json!({
                    node.kind.parent(): node.spot.parent, "position": node.spot.at,
                })
            };
            let mut moved = difference(Happened::Moved, node);
            (moved.from, moved.to) = (Some(spot(was)), Some(spot(node)));
            found.push(moved);
        }
        let empty = Map::new();
        let (was, is) = (was.data.unwrap_or(&empty), node.data.unwrap_or(&empty));
        let columns: BTreeSet<_> = was.keys().chain(is.keys()).collect();
        for column in columns.into_iter().filter(|column| was.get(*column) != is.get(*column)) {
            let mut changed = difference(Happened::Changed, node);
            changed.column = Some(column.clone());
            let value =
                |of: &Map<String, Json>| Some(of.get(column).cloned().unwrap_or(Json::Null));
            (changed.from, changed.to) = (value(was), value(is));
            found.push(changed);
        }
    }
    found
}

fn difference(change: Happened, node: &Node<'_>) -> Difference {
    Difference {
        change,
        kind: node.kind,
        id: node.id,
        widget: node.widget.map(str::to_owned),
        column: None,
        from: None,
        to: None,
    }
}

/// Nodes that have the same parent as before and keep their order. Of each parent this is the
/// longest such list, so that as few nodes as possible count as moved.
fn unmoved(old: &[Node<'_>], new: &[Node<'_>]) -> BTreeSet<(NodeKind, i64)> {
    let before: HashMap<_, _> = old.iter().map(|node| ((node.kind, node.id), node.spot)).collect();
    let mut lists: HashMap<_, Vec<(usize, (NodeKind, i64))>> = HashMap::new();
    for node in new {
        let key = (node.kind, node.id);
        // The parent of a row is the page, which is the same in both trees.
        if let Some(was) = before.get(&key).filter(|was| was.parent == node.spot.parent) {
            lists.entry((node.kind, was.parent)).or_default().push((was.at, key));
        }
    }
    lists.into_values().flat_map(|list| rising(&list)).collect()
}

/// The longest subsequence whose first members increase.
fn rising<T: Copy>(list: &[(usize, T)]) -> Vec<T> {
    // `ends[n]`: index of the last member of the best part of n + 1 members; `before[i]`: index of
    // the member before `i`.
    let (mut ends, mut before): (Vec<usize>, Vec<Option<usize>>) = (Vec::new(), Vec::new());
    for (at, (value, _)) in list.iter().enumerate() {
        let length = ends.partition_point(|end| list[*end].0 < *value);
        before.push(length.checked_sub(1).map(|n| ends[n]));
        match ends.get_mut(length) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let mut part = Vec::new();
    let mut next = ends.last().copied();
    while let Some(at) = next {
        part.push(list[at].1);
        next = before[at];
    }
    part.reverse();
    part
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::tree::PageRow, *};

    fn tree(json: Json) -> Tree {
        serde_json::from_value(json).expect("a tree")
    }

    fn widget(id: i64, data: Json) -> Json {
        json!({"id": id, "widget": "title", "data": data, "items": []})
    }

    fn one_col(widgets: Vec<Json>) -> Tree {
        tree(json!({"rows": [{"id": 1, "cols": [{"id": 2, "widgets": widgets}]}]}))
    }

    #[test]
    fn what_happened_is_told_by_node_and_column() {
        let from = one_col(vec![
            widget(3, json!({"title": "A", "text": "t"})),
            widget(4, json!({})),
            widget(5, json!({})),
        ]);
        let to = one_col(vec![
            widget(6, json!({})),
            widget(5, json!({})),
            widget(3, json!({"title": "B", "size": 2})),
        ]);
        let found: Vec<_> = between(&from, &to)
            .into_iter()
            .map(|one| (one.change, one.id, one.column, one.from, one.to))
            .collect();
        let spot = |at| Some(json!({"col_id": 2, "position": at}));
        assert_eq!(
            found,
            [
                (Happened::Removed, 4, None, None, None),
                (Happened::Added, 6, None, None, None),
                (Happened::Moved, 5, None, spot(2), spot(1)),
                (Happened::Changed, 3, Some("size".into()), Some(json!(null)), Some(json!(2))),
                (Happened::Changed, 3, Some("text".into()), Some(json!("t")), Some(json!(null))),
                (Happened::Changed, 3, Some("title".into()), Some(json!("A")), Some(json!("B"))),
            ]
        );
        assert_eq!(between(&from, &from), []);
    }

    #[test]
    fn who_makes_room_is_not_moved() {
        let rows = |ids: &[i64]| Tree {
            rows: ids.iter().map(|id| PageRow { id: *id, cols: Vec::new() }).collect(),
        };
        let moved = |from: &[i64], to: &[i64]| -> Vec<i64> {
            let found = between(&rows(from), &rows(to));
            found.iter().filter(|one| one.change == Happened::Moved).map(|one| one.id).collect()
        };
        assert_eq!(moved(&[1, 2, 3, 4], &[4, 1, 2, 3]), [4]);
        assert_eq!(moved(&[1, 2, 3, 4], &[2, 3, 4]), [0; 0]);
        assert_eq!(moved(&[1, 2, 3], &[3, 2, 1]).len(), 2);
    }
}
