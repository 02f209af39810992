//! Changes of one node of a draft: moved among its neighbours, beyond them into the next column or
//! row, or into another parent that is chosen; removed; taken back and made again, only where
//! nobody has changed the node since.

use std::sync::Arc;

use cms_http::wire::pagebuilder::{MoveNode, Remove, Set, Values, WhichNode};

use super::PageTree;
use crate::{
    screens::{
        pages::{
            draft,
            hold::{Change, DraftView, OthersEdits},
            nodes,
        },
        prelude::*,
    },
    step::UndoOf,
};

/// Where a node stands: in what, at which place.
type Spot = (i64, i64);

fn spot(node: &Json) -> Spot {
    let number = |name: &str| node[name].as_i64().unwrap_or_default();
    (number("parent"), number("position"))
}

/// Writes values of a widget or an item.
pub(super) fn setting(node: &Json, data: &Map<String, Json>) -> Result<Calling, Fault> {
    let id = node["id"].as_i64();
    let which = match node["kind"] == "item" {
        true => WhichNode { widget_id: None, item_id: id },
        false => WhichNode { widget_id: id, item_id: None },
    };
    send::<Set>(&which, &Values { data: data.clone() })
}

/// Moves a node to a place.
pub(super) fn moving(node: &Json, (parent, position): Spot) -> Result<Calling, Fault> {
    let kind = node["kind"].as_str().unwrap_or_default();
    let parent = nodes::parent(kind, parent);
    let body = json!({"kind": kind, "id": node["id"], "parent": parent, "position": position});
    send_json::<MoveNode>(&NoQuery {}, body)
}

/// Removes a node with all that stands in it.
fn removing(node: &Json) -> Result<Calling, Fault> {
    let removal = json!({"kind": node["kind"], "id": node["id"]});
    let removal = serde_json::from_value(removal).map_err(|e| Fault::new(e.to_string()))?;
    get::<Remove>(&removal)
}

pub(super) fn ask_to_remove(seen: &DraftView, node: &Json) -> Step {
    let name = nodes::name(node);
    let below = node["below"].as_u64().unwrap_or_default() as usize;
    let with = match below {
        0 => String::new(),
        n => format!(", with {} and all that stands in it", count(n, nodes::inner(node))),
    };
    let text = format!(
        "Delete {name}{with} from the draft of {}? This cannot be taken back; visitors see it \
         until the next publication.",
        seen.name()
    );
    let (seen, node) = (seen.clone(), node.clone());
    Step::Confirm(Confirm::new(text, move || {
        let make = move || removing(&node);
        seen.change(make, move |_, others| Step::did(format!("{name} is deleted{others}"))).step()
    }))
}

/// Parents that take the node, in the order of the page.
fn parents(draft: &Json, node: &Json) -> Vec<Json> {
    let of = match node["kind"].as_str() {
        Some("col") => "row",
        Some("widget") => "col",
        Some("item") => "widget",
        _ => return Vec::new(),
    };
    let mut all = nodes::of_kind(draft, of);
    // Items move between widgets of the same name only.
    all.retain(|one| of != "widget" || one["widget"] == node["widget"]);
    all
}

/// Where a step leads: one place on, or beyond the edge into the parent beside it.
fn beside(draft: &Json, node: &Json, is_down: bool) -> Option<Spot> {
    let (parent, at) = spot(node);
    let last = node["siblings"].as_i64().unwrap_or_default() - 1;
    if is_down && at < last {
        return Some((parent, at + 1));
    }
    if !is_down && at > 0 {
        return Some((parent, at - 1));
    }
    let all = parents(draft, node);
    let here = all.iter().position(|one| one["id"] == parent)?;
    let to = all.get(if is_down { here + 1 } else { here.checked_sub(1)? })?;
    let id = to["id"].as_i64()?;
    Some((id, if is_down { 0 } else { to["below"].as_i64()? }))
}

impl PageTree {
    /// Moves the node under the cursor one place on.
    pub(super) fn step_node(&mut self, is_down: bool, node: &Json) -> Step {
        // Places are those of the draft that is seen.
        if self.sent.is_some() {
            return Step::tell("The change before this one is under way: press it again.");
        }
        let Some(to) = beside(&self.draft, node, is_down) else {
            let end = if is_down { "last" } else { "first" };
            return Step::Tell(format!("{} is the {end} one already.", nodes::name(node)));
        };
        self.sent.clone_from(&self.etag);
        moved(&self.draft_view(), node, to).by_key().step()
    }
}

fn moved(seen: &DraftView, node: &Json, to: Spot) -> Change {
    let page = seen.id();
    let (node, of) = (node.clone(), node.clone());
    let done = move |reply: &Reply, others: &OthersEdits| {
        let from = spot(&others.node_before(&of));
        let left = (to.0, reply.data["position"].as_i64().unwrap_or(to.1));
        let say = format!("{} is moved{others}", nodes::name(&of));
        edited(&of, say, Some(move_back(page, of.clone(), left, from)))
    };
    seen.change(move || moving(&node, to), done)
}

/// Asks for another parent; the node comes to its end.
pub(super) fn into(seen: &DraftView, draft: &Json, node: &Json) -> Step {
    let mut all = parents(draft, node);
    all.retain(|one| one["id"] != node["parent"]);
    if all.is_empty() {
        let why = "There is nothing else on this page that it could stand in.";
        return Step::tell(why);
    }
    let entry = |one: &Json| {
        let below = one["below"].as_u64().unwrap_or_default() as usize;
        format!("{}{} ({})", nodes::name(one), nodes::telling(one), count(below, nodes::inner(one)))
    };
    let entries = all.iter().map(entry).collect();
    let title = format!("{} into what?", nodes::name(node));
    let (seen, node) = (seen.clone(), node.clone());
    Step::Menu(Menu::new(title, entries, move |n| {
        let Some(to) = all.get(n) else { return Step::None };
        let number = |name: &str| to[name].as_i64().unwrap_or_default();
        moved(&seen, &node, (number("id"), number("below"))).step()
    }))
}

/// An act of one row.
pub(super) fn one(row: Checked) -> Undo {
    Undo { rows: vec![row], ..Undo::default() }
}

/// Reads the draft and finds the node in it; `call` checks both.
fn checked(
    page: i64,
    node: Json,
    call: impl Fn(&Json, &Json) -> Result<(Calling, Option<UndoOf>), Fault> + Send + Sync + 'static,
) -> Checked {
    let name = nodes::name(&node);
    let said = name.clone();
    let found = move |now: &Reply| {
        let kind = node["kind"].as_str().unwrap_or_default();
        let id = node["id"].as_i64().unwrap_or_default();
        let found = nodes::find(&now.data, kind, id);
        let found = found.ok_or_else(|| Fault::new(format!("{said} is there no longer")))?;
        let (call, undo) = call(&now.data, &found)?;
        Ok(BulkCall::new(said.clone(), call.if_match(now.etag.clone()), undo))
    };
    Checked {
        name,
        again: Arc::new(move || draft(page)),
        seen: Map::new(),
        wanted: Map::new(),
        merges: false,
        call: Arc::new(found),
    }
}

/// Writes values over those that an edit has left; refused if somebody changed these.
pub(super) fn values(
    page: i64,
    node: Json,
    left: Map<String, Json>,
    wanted: Map<String, Json>,
) -> Checked {
    let of = node.clone();
    checked(page, node, move |_, found| {
        if left.iter().any(|(row, value)| found["data"][row.as_str()] != *value) {
            return Err(Fault::new("somebody has changed the same values since"));
        }
        let (of, left, wanted) = (of.clone(), left.clone(), wanted.clone());
        let call = setting(&of, &wanted)?;
        let undo: UndoOf = Box::new(move |_| Some(values(page, of, wanted, left)));
        Ok((call, Some(undo)))
    })
}

/// Moves a node away from where an earlier move has put it.
fn move_back(page: i64, node: Json, left: Spot, wanted: Spot) -> Checked {
    let of = node.clone();
    checked(page, node, move |_, found| {
        if spot(found) != left {
            return Err(Fault::new("it stands elsewhere since"));
        }
        let of = of.clone();
        let call = moving(&of, wanted)?;
        let undo: UndoOf = Box::new(move |_| Some(move_back(page, of, wanted, left)));
        Ok((call, Some(undo)))
    })
}

/// Removes an added node if it is still as it was made.
pub(super) fn added(page: i64, node: Json) -> Checked {
    let made = node["data"].clone();
    checked(page, node, move |_, found| {
        is_as_made(found, &made)?;
        Ok((removing(found)?, None))
    })
}

/// Removes the row that was made for a widget, if it holds only this widget, unchanged.
pub(super) fn added_in_row(page: i64, row: i64, node: Json) -> Checked {
    let (made, id) = (node["data"].clone(), node["id"].as_i64().unwrap_or_default());
    let row = json!({"kind": "row", "id": row});
    checked(page, row, move |draft, row| {
        let gone = || Fault::new("the widget is there no longer");
        let found = nodes::find(draft, "widget", id).ok_or_else(gone)?;
        let col = nodes::find(draft, "col", found["parent"].as_i64().unwrap_or_default());
        let is_alone = found["siblings"] == 1 && row["below"] == 1;
        if !is_alone || col.is_none_or(|col| col["parent"] != row["id"]) {
            return Err(Fault::new("the row holds something else since"));
        }
        is_as_made(&found, &made)?;
        Ok((removing(row)?, None))
    })
}

fn is_as_made(found: &Json, made: &Json) -> Result<(), Fault> {
    match found["below"] == 0 {
        true if made.is_null() || found["data"] == *made => Ok(()),
        true => Err(Fault::new("somebody has changed its values since")),
        false => Err(Fault::new("something stands in it since")),
    }
}

/// The step after an edit: the cursor goes to this node, and undo takes the edit back.
pub(super) fn edited(node: &Json, say: String, undo: Option<Checked>) -> Step {
    let kind = node["kind"].as_str().unwrap_or_default();
    let key = nodes::key(kind, node["id"].as_i64().unwrap_or_default());
    Step::Several(vec![Step::Set("go", key), Step::undoable(say, undo.map(one))])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::screens::pages::nodes::tests::draft;

    #[test]
    fn a_step_beyond_the_edge_leads_into_the_parent_beside_it() {
        let draft = draft();
        let to = |kind: &str, id: i64, is_down: bool| {
            beside(&draft, &nodes::find(&draft, kind, id).expect("a node"), is_down)
        };
        assert_eq!(to("widget", 4, true), Some((2, 1)));
        assert_eq!(to("widget", 5, true), Some((3, 0)), "the first of the next column");
        assert_eq!(to("widget", 4, false), None, "there is no column before");
        assert_eq!(to("col", 3, true), Some((8, 0)), "into the next row");
        assert_eq!(to("item", 7, true), None, "no other widget of this name");
        assert_eq!(to("item", 7, false), Some((5, 0)));
        assert_eq!(to("row", 8, true), None);
        assert_eq!(to("row", 8, false), Some((9, 0)));
    }

    #[test]
    fn a_key_waits_for_the_draft_after_the_move_before() {
        let mut tree = PageTree::new(json!({"page_id": 9}));
        let read =
            |etag: &str| Reply { data: draft(), etag: Some(etag.to_owned()), ..Reply::default() };
        tree.put(read("a"));
        let widget = nodes::find(&draft(), "widget", 4).expect("a widget");
        assert!(matches!(tree.step_node(true, &widget), Step::Call(_)));
        assert!(matches!(tree.step_node(true, &widget), Step::Tell(_)), "it would be refused");
        // The tag of its reply, and a draft that was read before the move, change nothing in this.
        tree.set("etag", "b");
        tree.put(read("a"));
        assert!(matches!(tree.step_node(true, &widget), Step::Tell(_)), "it would be refused");
        tree.put(read("b"));
        assert!(matches!(tree.step_node(true, &widget), Step::Call(_)));
        // A change that leaves the draft as it is holds nothing up; a refusal opens the way too.
        tree.set("idle", "");
        tree.set("etag", "b");
        assert!(matches!(tree.step_node(true, &widget), Step::Call(_)));
    }
}
