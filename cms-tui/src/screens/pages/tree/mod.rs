//! The draft of a page drawn as a tree, and edited there.
//!
//! ```text
//! draw    the tree, and beside it what is known of a node
//! read    what was read is put in its place
//! keys    what keys do to the tree: folds, walks, moves of the other pane
//! known   widgets as the registry knows them
//! fields  a form from the menu of a widget
//! edit    values of a widget or an item
//! add     rows, columns, widgets and items
//! moves   nodes up, down, into another
//! back    edits taken back
//! sent    calls that change one node; one removed with all that stands in it
//! ```

mod add;
mod back;
mod draw;
mod edit;
mod fields;
mod keys;
mod known;
mod moves;
mod read;
mod sent;

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet},
};

use super::{
    about, act, diff, draft,
    hold::DraftView,
    nodes::{self, key},
    page_id, record, wording,
};
use crate::screens::prelude::*;
use draw::NodeLines;
use known::WidgetRegistry;

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
                known::all(None).slot(WIDGETS)
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
                let more = |next| known::all(Some(next)).slot(WIDGETS);
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
            "add" => add::begin(&self.draft_view(), &node, &self.known),
            "up" | "down" => self.step_node(verb == "down", &node),
            "into" => moves::into(&self.draft_view(), &self.draft, &node),
            "delete" => sent::ask_to_remove(&self.draft_view(), &node),
            "show" => Step::View(Viewer::json(nodes::name(&node), &node)),
            _ => act::whole(verb, self.draft_view()),
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
            "place" => return add::chosen(&self.draft_view(), value, &self.known),
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
