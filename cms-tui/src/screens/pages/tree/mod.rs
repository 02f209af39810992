//! The draft of a page drawn as a tree, and edited there: what was read is put in its place, keys
//! fold, walk and move the other pane.
//!
//! ```text
//! draw     the tree, and beside it what is known of a node
//! edit     values of a widget or an item; rows, columns, widgets and items added
//! widgets  widgets as the registry knows them; a form from the menu of a widget
//! changes  nodes moved, removed; edits taken back
//! ```

mod changes;
mod draw;
mod edit;
mod widgets;

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
};

use super::{
    about, diff, draft,
    hold::DraftView,
    nodes::{self, key},
    page_id, record, wording,
};
use crate::screens::{pages, prelude::*};
use draw::NodeLines;
use widgets::WidgetRegistry;

/// Where replies go: the draft, what publishing would change, the registry of widgets, the record
/// of the page.
const DRAFT: u8 = 0;
const DIFFERS: u8 = 1;
const WIDGETS: u8 = 2;
const RECORD: u8 = 3;

/// The screen.
#[derive(Default)]
pub(crate) struct PageTree {
    page: Json,
    draft: Json,
    etag: Option<String>,
    nodes: List,
    folded: BTreeSet<String>,
    /// What differs from what visitors see, in the order of the service.
    found: Vec<Json>,
    /// Which of them are of a node; those that are gone are of none.
    differs: BTreeMap<String, Vec<usize>>,
    /// How much differs, of which edit of the draft.
    differing: Option<usize>,
    compared: Option<i64>,
    known: WidgetRegistry,
    fault: Option<String>,
    /// The tag with which a change was sent: a key that moves waits for the draft after it.
    sent: Option<String>,
    /// A node to go to once the draft has it.
    sought: Option<String>,
    is_beside: bool,
    is_zoomed: bool,
    beside_top: Cell<usize>,
    node_lines: RefCell<NodeLines>,
    /// Its record may be another by now.
    is_record_old: bool,
    /// How often what is shown became different.
    version: u64,
}

impl PageTree {
    pub(crate) fn new(page: Json) -> Self {
        Self { page, ..Self::default() }
    }

    /// The draft as the user sees it.
    fn draft_view(&self) -> DraftView {
        let seen = DraftView::of(&self.page, &self.draft, self.etag.clone());
        DraftView { is_shown: true, ..seen }
    }

    /// What differs at a node.
    fn differences(&self, node: &str) -> impl Iterator<Item = &Json> {
        self.differs.get(node).into_iter().flatten().filter_map(|at| self.found.get(*at))
    }
}

impl Screen for PageTree {
    fn noun(&self) -> &'static str {
        "page"
    }

    fn title(&self) -> String {
        let state = match (&self.draft["published"], &self.draft["revision"]) {
            _ if self.draft.is_null() => String::new(),
            (_, Json::Null) => " · never published".to_owned(),
            (Json::Bool(true), revision) => format!(" · revision {revision} published"),
            (_, revision) => format!(" · hidden, revision {revision} was the last"),
        };
        let changed = self.differing.filter(|n| *n > 0);
        let changed = changed.map(|n| format!(" · {} not published", count(n, "change")));
        format!("{}{state}{}", super::address(&self.page), changed.unwrap_or_default())
    }

    fn subject(&self) -> &Json {
        &self.page
    }

    fn load(&mut self) -> Step {
        let page = draft(page_id(&self.page)).slot(DRAFT);
        let widgets = match self.known.is_read {
            true => Step::None,
            false => {
                self.known.begin();
                widgets::all(None).slot(WIDGETS)
            }
        };
        let record = match std::mem::take(&mut self.is_record_old) {
            true => record(page_id(&self.page)).slot(RECORD),
            false => Step::None,
        };
        Step::Several(vec![page, widgets, record])
    }

    fn outdate(&mut self, _: bool) {
        self.is_record_old = true;
    }

    fn take(&mut self, slot: u8, outcome: Result<Reply, Fault>) -> (Step, bool) {
        match (slot, outcome) {
            // It was asked for another page.
            (DRAFT, Ok(reply)) if reply.data["page_id"] != page_id(&self.page) => {
                (Step::None, false)
            }
            (DRAFT, Ok(reply)) => {
                let changed = self.fault.is_some() || self.draft != reply.data;
                (self.put(reply), changed)
            }
            (DRAFT, Err(fault)) => {
                if fault.is_forbidden() {
                    self.forget();
                }
                self.fault = Some(fault.detail);
                (Step::None, true)
            }
            (DIFFERS, Ok(reply)) => {
                self.compare(&reply.data);
                (Step::None, true)
            }
            (DIFFERS, Err(_)) => {
                self.compared = None;
                (Step::None, false)
            }
            (RECORD, Ok(reply)) if reply.data["id"] == page_id(&self.page) => {
                self.page = about(&reply.data);
                self.lay();
                (Step::None, true)
            }
            (RECORD, _) => (Step::None, false),
            (_, outcome) => {
                self.version += 1;
                let next = self.known.take(outcome);
                let more = |next| widgets::all(Some(next)).slot(WIDGETS);
                (next.map(more).unwrap_or_default(), true)
            }
        }
    }

    fn is_read(&mut self, slot: u8) -> bool {
        slot == DRAFT
    }

    /// When the node under the cursor was removed, the next one is meant.
    fn acted(&mut self) {
        self.nodes.goes_on = true;
    }

    fn act(&mut self, verb: &str, _: &Scene<'_>) -> Step {
        if self.draft.is_null() {
            return Step::tell("The draft is not read yet.");
        }
        let node = self.row().cloned().unwrap_or_default();
        match verb {
            "fold" | "left" | "right" => self.fold(verb, &node),
            "edit" => edit::open(&self.draft_view(), &node),
            "add" => edit::begin(&self.draft_view(), &node, &self.known),
            "up" | "down" => self.step_node(verb == "down", &node),
            "into" => changes::into(&self.draft_view(), &self.draft, &node),
            "delete" => changes::ask_to_remove(&self.draft_view(), &node),
            "show" => Step::View(Viewer::json(nodes::name(&node), &node)),
            _ => pages::whole(verb, self.draft_view()),
        }
    }

    fn list(&self) -> Option<&List> {
        Some(&self.nodes)
    }

    fn move_list(&mut self, verb: &str) -> Step {
        self.walk(verb)
    }

    fn set(&mut self, what: &str, value: &str) -> Step {
        match what {
            "go" => self.go_to(value),
            "idle" => self.sent = None,
            // The draft of this tag is not read yet.
            "etag" if self.etag.as_deref() != Some(value) => {
                self.sent = self.etag.replace(value.to_owned());
            }
            "place" => return edit::chosen(&self.draft_view(), value, &self.known),
            _ => {}
        }
        Step::None
    }

    fn click(&mut self, at: Position) -> Clicked {
        match self.nodes.hit(at) {
            Hit::Row(row) if row == self.nodes.at() && !self.is_zoomed => Clicked::Again,
            Hit::Row(row) if !self.is_zoomed => {
                self.nodes.go(row);
                self.is_beside = false;
                Clicked::Moved(Box::default())
            }
            _ => Clicked::Nothing,
        }
    }

    fn back(&mut self) -> Option<Step> {
        let is_back = self.is_zoomed || self.is_beside;
        (self.is_zoomed, self.is_beside) = (false, false);
        is_back.then_some(Step::None)
    }

    fn follows(&self, event: &str) -> bool {
        event.starts_with("page.") || event.starts_with("item.pages.")
    }

    fn draw(&self, frame: &mut Frame<'_>, area: Rect, look: Look) {
        draw::draw(self, frame, area, look);
    }
}

impl PageTree {
    /// Lays the tree anew; the cursor stays on its node.
    fn lay(&mut self) {
        let rows = match self.draft.is_null() {
            true => Vec::new(),
            false => nodes::rows(&self.page, &self.draft, &self.folded),
        };
        self.nodes.replace(rows);
    }

    /// Takes the draft. What publishing would change is asked for when it was edited.
    fn put(&mut self, reply: Reply) -> Step {
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

    fn compare(&mut self, found: &Json) {
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
    fn forget(&mut self) {
        (self.draft, self.etag, self.compared, self.differing) = Default::default();
        self.differs.clear();
        self.found.clear();
        self.version += 1;
        self.nodes.forget();
    }

    /// Puts the cursor on a node once the draft has it.
    fn go_to(&mut self, node: &str) {
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

impl PageTree {
    fn walk(&mut self, verb: &str) -> Step {
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
    fn fold(&mut self, verb: &str, node: &Json) -> Step {
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
