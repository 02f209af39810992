//! What was read is put in its place: the draft, what differs, the node that is sought.

use std::collections::BTreeSet;

use super::{DIFFERS, PageTree, diff, key, nodes, page_id};
use crate::screens::prelude::*;

impl PageTree {
    /// Lays the tree anew; the cursor stays on its node.
    pub(super) fn lay(&mut self) {
        let rows = match self.draft.is_null() {
            true => Vec::new(),
            false => nodes::rows(&self.page, &self.draft, &self.folded),
        };
        self.nodes.replace(rows);
    }

    /// Takes the draft. What publishing would change is asked for when it was edited.
    pub(super) fn put(&mut self, reply: Reply) -> Step {
        // What was read before a move of one's own arrived is no answer to it.
        self.sent.take_if(|sent| reply.etag.as_ref() != Some(sent));
        (self.draft, self.etag, self.fault) = (reply.data, reply.etag, None);
        self.version += 1;
        self.unfold();
        self.lay();
        let rev = self.draft["rev"].as_i64();
        if self.compared == rev {
            return Step::None;
        }
        self.compared = rev;
        diff(page_id(&self.page), None, None).slot(DIFFERS)
    }

    pub(super) fn compare(&mut self, found: &Json) {
        let found = items(found);
        self.differing = Some(found.len());
        self.differs.clear();
        self.version += 1;
        self.found = found.to_vec();
        for (at, one) in found.iter().enumerate() {
            let id = one["id"].as_i64().unwrap_or_default();
            let node = key(one["kind"].as_str().unwrap_or_default(), id);
            self.differs.entry(node).or_default().push(at);
        }
    }

    /// What was read is not for this caller any more.
    pub(super) fn forget(&mut self) {
        (self.draft, self.etag, self.compared, self.differing) = Default::default();
        self.differs.clear();
        self.found.clear();
        self.version += 1;
        self.nodes.forget();
    }

    /// Puts the cursor on a node once the draft has it.
    pub(super) fn go_to(&mut self, node: &str) {
        self.nodes.look_for(node);
        self.sought = Some(node.to_owned());
    }

    /// Unfolds what the sought node stands in.
    fn unfold(&mut self) {
        let Some(mut node) = self.sought.take() else { return };
        let all = nodes::rows(&self.page, &self.draft, &BTreeSet::new());
        let find = |node: &str| all.iter().find(|row| row.id == node);
        while let Some(above) = find(&node).and_then(|row| nodes::above(&row.json)) {
            self.folded.remove(&above);
            node = above;
        }
    }
}
