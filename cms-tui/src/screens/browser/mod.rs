//! A list with a preview, made from a declaration.
//!
//! ```text
//! spec    what a list is declared by
//! read    asks for pages and details, and takes them
//! act     what keys, clicks and the filter line do to the list and its preview
//! columns their order and widths, as the user wants them; what another call tells of the rows
//! parts   parts of the list that the service counts, one of which is seen
//! above   lines about the whole list
//! draw    how it looks
//! preview the lines about the row under the cursor
//! ```

mod above;
mod act;
mod columns;
mod draw;
mod parts;
mod preview;
mod read;
mod spec;

use std::cell::{Cell, RefCell};

use ratatui::{
    Frame,
    layout::{Position, Rect},
};
use serde_json::Value as Json;

pub(crate) use above::Above;
pub(crate) use columns::ExtraColumns;
pub(crate) use parts::Parts;
pub(crate) use spec::{ListQuery, Spec, by_id, listed};

use preview::CachedPreview;
use read::{Details, Reading};

use super::{Clicked, Look, Screen, cells::Column};
use crate::{
    actions::Scene,
    calls::{Fault, Reply},
    keys::Key,
    step::{Place, Step},
    widgets::{
        input::TOO_LONG,
        list::{List, Moved},
        shape::Shape,
        window::Row,
    },
};

/// Seconds between two searches through a long list that the service does not filter.
const SEARCH_POLL_S: i64 = 60;

/// A list with a preview.
pub(crate) struct Browser {
    spec: &'static Spec,
    subject: Json,
    columns: Vec<Column>,
    /// The user's columns and order of rows.
    shape: Shape,
    /// Replies about the list as a whole.
    above: Vec<Json>,
    /// The reply of the call that fills further columns; null: none.
    extra: Json,
    /// How many rows are in each part.
    counts: Json,
    /// Who the user is, once known.
    who: String,
    list: List,
    reading: Option<Reading>,
    /// All rows of a list that is filtered here.
    whole: Vec<Row>,
    /// The service does not filter the list, and it is too long to be held whole.
    is_large: bool,
    counted_at: Option<i64>,
    detail: Option<(String, Json)>,
    details: Details,
    /// The visible rows were all read a moment ago.
    is_fresh: bool,
    fault: Option<Fault>,
    is_preview_focused: bool,
    is_zoomed: bool,
    preview_top: Cell<usize>,
    preview: RefCell<CachedPreview>,
    /// Grows whenever something visible changes.
    version: u64,
    /// The filter in force.
    applied: String,
    now: i64,
    /// The time from which words such as `since:2d` count. It stays while later pages are held:
    /// their cursors are bound to the filter that the service was sent.
    filter_now: i64,
}

impl Browser {
    pub(crate) fn new(spec: &'static Spec, place: Place) -> Self {
        let columns = columns::arranged((spec.columns)(&place.subject), &place.shape);
        let mut list = List::filtered(&place.filter);
        list.look_for(&place.row);
        let sorts = (spec.sorts)(&place.subject);
        list.sort = place.shape.sort.clone().filter(|(column, _)| sorts.contains(column));
        Self {
            spec,
            subject: place.subject,
            columns,
            shape: place.shape,
            above: Vec::new(),
            extra: Json::Null,
            counts: Json::Null,
            who: String::new(),
            list,
            reading: None,
            whole: Vec::new(),
            is_large: false,
            counted_at: None,
            detail: None,
            details: Details::default(),
            is_fresh: false,
            fault: None,
            is_preview_focused: false,
            is_zoomed: false,
            preview_top: Cell::new(0),
            preview: RefCell::default(),
            version: 0,
            applied: place.filter,
            now: 0,
            filter_now: 0,
        }
    }
}

impl Browser {
    /// Rows that a search has looked at so far.
    fn looked(&self) -> i64 {
        let looked = self.reading.as_ref().map_or(0, |reading| reading.looked);
        i64::try_from(looked).unwrap_or(i64::MAX)
    }
}

impl Screen for Browser {
    fn noun(&self) -> &'static str {
        self.spec.noun
    }

    fn title(&self) -> String {
        (self.spec.title)(&self.subject)
    }

    fn subject(&self) -> &Json {
        &self.subject
    }

    fn load(&mut self) -> Step {
        self.details.age(self.now, self.spec.poll_s);
        let rows = self.read();
        Step::Several(vec![rows, self.ask_above(), self.ask_extra()])
    }

    fn outdate(&mut self, is_own: bool) {
        self.details.is_old = true;
        if is_own {
            self.counted_at = None;
        }
    }

    fn acted(&mut self) {
        self.list.goes_on = self.spec.parts.is_some();
    }

    fn meet(&mut self, who: &str, _: Option<&[String]>) {
        who.clone_into(&mut self.who);
    }

    fn take(&mut self, slot: u8, outcome: Result<Reply, Fault>) -> (Step, bool) {
        if slot == columns::EXTRA_SLOT {
            return self.take_extra(outcome);
        }
        if slot >= above::ABOVE {
            return (Step::None, self.take_above(slot, outcome));
        }
        self.take_reply(slot, outcome)
    }

    fn is_read(&mut self, slot: u8) -> bool {
        slot == read::ROWS && std::mem::take(&mut self.is_fresh)
    }

    fn act(&mut self, verb: &str, scene: &Scene<'_>) -> Step {
        (self.spec.act)(verb, scene)
    }

    fn list(&self) -> Option<&List> {
        Some(&self.list)
    }

    fn move_list(&mut self, verb: &str) -> Step {
        self.act_on_list(verb)
    }

    fn set(&mut self, what: &str, value: &str) -> Step {
        self.choose(what, value)
    }

    fn key(&mut self, key: Key) -> Option<Step> {
        if !self.list.is_filtering {
            return None;
        }
        let moved = self.list.filter_key(key);
        Some(if self.list.is_filtering { self.moved(moved) } else { self.decided(moved) })
    }

    fn paste(&mut self, text: &str) -> Step {
        if !self.list.is_filtering {
            return Step::None;
        }
        if !self.list.filter.insert(text) {
            return Step::Fault(Fault::new(TOO_LONG));
        }
        self.moved(Moved::Filtered)
    }

    fn click(&mut self, at: Position) -> Clicked {
        self.clicked(at)
    }

    fn pause(&mut self) -> (Step, bool) {
        let before = self.version;
        (self.after_pause(), self.version != before)
    }

    fn back(&mut self) -> Option<Step> {
        if self.is_zoomed || self.is_preview_focused {
            (self.is_zoomed, self.is_preview_focused) = (false, false);
            return Some(Step::None);
        }
        let moved = self.list.back()?;
        Some(self.decided(moved))
    }

    fn tick(&mut self, now: i64) {
        self.now = now;
    }

    fn poll_s(&self) -> i64 {
        // A search through a long list is expensive.
        let is_search = self.is_large && !self.applied.is_empty();
        if is_search { SEARCH_POLL_S } else { self.spec.poll_s }
    }

    fn follows(&self, event: &str) -> bool {
        (self.spec.follows)(event, &self.subject)
    }

    fn shape(&self) -> Option<Shape> {
        let mut shape = self.shape.clone();
        shape.sort.clone_from(&self.list.sort);
        Some(shape)
    }

    fn filter(&self) -> Option<&str> {
        Some(self.list.filter.text())
    }

    fn applied(&self) -> &str {
        &self.applied
    }

    #[cfg(test)]
    fn held(&self) -> usize {
        self.detail.as_ref().map_or(0, |(_, detail)| detail.to_string().len())
    }

    fn draw(&self, frame: &mut Frame<'_>, area: Rect, look: Look) {
        draw::draw(self, frame, area, look);
    }
}

#[cfg(test)]
mod tests;
