//! Nodes up and down among their neighbours, beyond them into the next column or row, and into
//! another parent that is chosen.

use super::{
    super::{
        hold::{Change, DraftView, OthersEdits},
        nodes,
    },
    PageTree, back,
    sent::{Spot, moving, spot},
};
use crate::screens::prelude::*;

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
        back::done(&of, say, Some(back::moved(page, of.clone(), left, from)))
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

#[cfg(test)]
mod tests {
    use super::{super::super::nodes::tests::draft, *};

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
