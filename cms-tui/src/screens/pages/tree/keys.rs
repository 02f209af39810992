//! What keys do to the tree: folds, walks, moves of the other pane.

use super::{PageTree, edit, key, nodes};
use crate::screens::prelude::*;

impl PageTree {
    pub(super) fn walk(&mut self, verb: &str) -> Step {
        if self.is_beside && ["down", "up", "half_down", "half_up"].contains(&verb) {
            let (top, by) = (self.beside_top.get(), if verb.starts_with("half") { 10 } else { 1 });
            let is_down = verb.ends_with("down");
            self.beside_top.set(if is_down { top + by } else { top.saturating_sub(by) });
            return Step::None;
        }
        match verb {
            "open" => {
                let node = self.row().cloned().unwrap_or_default();
                return match node["kind"].as_str() {
                    Some("widget" | "item") => edit::open(&self.draft_view(), &node),
                    _ => self.fold("fold", &node),
                };
            }
            "pane" => self.is_beside = !self.is_beside,
            "zoom" => {
                self.is_zoomed = !self.is_zoomed;
                self.is_beside = self.is_zoomed;
            }
            _ => {
                self.nodes.act(verb);
                self.beside_top.set(0);
            }
        }
        Step::None
    }

    /// Folds or unfolds; to the left also to what the node stands in.
    pub(super) fn fold(&mut self, verb: &str, node: &Json) -> Step {
        let (kind, id) = (node["kind"].as_str().unwrap_or_default(), node["id"].as_i64());
        let Some(id) = id else { return Step::None };
        let node_key = key(kind, id);
        let has_below = node["below"].as_u64() > Some(0);
        match (verb, node["folded"] == true) {
            ("fold" | "right", true) => {
                self.folded.remove(&node_key);
            }
            ("fold" | "left", false) if has_below => {
                self.folded.insert(node_key);
            }
            ("left", _) => {
                self.go_above(node);
                return Step::None;
            }
            ("right", false) if has_below => {
                self.nodes.act("down");
                return Step::None;
            }
            ("fold", false) => return Step::tell("Nothing stands in it."),
            _ => return Step::None,
        }
        self.lay();
        Step::None
    }

    fn go_above(&mut self, node: &Json) {
        let parent = nodes::above(node).and_then(|above| self.nodes.window.position(&above));
        if let Some(at) = parent {
            self.nodes.go(at);
        }
    }
}
