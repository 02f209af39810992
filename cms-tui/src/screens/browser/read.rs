//! Reads pages and details.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::{Browser, ListQuery};
use crate::{
    calls::{Fault, Reply},
    step::Step,
    widgets::window::{Page, Row},
};

/// Places for replies: pages, details of the row under the cursor, the number of rows.
pub(super) const ROWS: u8 = 0;
const DETAIL: u8 = 1;
const COUNT: u8 = 2;
/// A list that the service does not filter is read whole up to this many rows. A longer one is a
/// window, and its filter searches for up to this many hits.
const WHOLE: usize = 2_000;
/// Time between two counts, because counting a large table takes long.
const COUNT_EVERY_MS: i64 = 30_000;

/// Pages that are being read. They are shown together, so that rows never jump.
#[derive(Default)]
pub(super) struct Reading {
    /// The page that was asked for last, and the last one to read.
    page: usize,
    last: usize,
    /// The read is for rows that are not visible, or only partly.
    is_beside: bool,
    read: Vec<Page>,
    /// For a list that is read whole: its rows so far, and how many rows were looked at.
    rows: Vec<Row>,
    pub(super) looked: usize,
}

/// The details of the row under the cursor.
#[derive(Default)]
pub(super) struct Details {
    /// The row whose details were asked for last, and the time.
    asked: Option<String>,
    asked_at: i64,
    is_waited_for: bool,
    /// Whether the details may have changed since.
    pub(super) is_old: bool,
}

impl Details {
    /// Makes the details old after a while, because not every change is reported.
    pub(super) fn age(&mut self, now: i64, after_s: i64) {
        self.is_old |= (now - self.asked_at).abs() >= after_s * 1000;
    }
}

impl Browser {
    /// Whether the list is a window of pages; otherwise it is held whole.
    fn is_window(&self) -> bool {
        self.spec.tokens.is_some() || (self.is_large && self.applied.is_empty())
    }

    /// Reads the visible rows again, in place.
    pub(super) fn read(&mut self) -> Step {
        let (list, mut reading) = (&self.list, Reading::default());
        if self.is_window() {
            let (top, at) = (list.top.get(), list.at());
            reading.page = list.window.page_of(top.min(at));
            reading.last = list.window.page_of((top + list.height.get()).max(at));
        }
        let cursor = list.window.cursor(reading.page);
        // Other pages are read again when they become visible.
        self.list.window.outdate();
        self.ask(reading, cursor)
    }

    /// Reads it from the beginning.
    pub(super) fn restart(&mut self) -> Step {
        self.list.restart();
        self.whole.clear();
        self.counted_at = None;
        self.version += 1;
        self.read()
    }

    fn query(&self, cursor: Option<String>) -> ListQuery<'_> {
        let order = |(column, down): &(String, bool)| {
            if *down { format!("-{column}") } else { column.clone() }
        };
        ListQuery {
            subject: &self.subject,
            cursor,
            filter: if self.spec.tokens.is_some() { &self.applied } else { "" },
            sort: self.list.sort.as_ref().map(order),
            who: &self.who,
            now: self.filter_now,
        }
    }

    fn ask(&mut self, reading: Reading, cursor: Option<String>) -> Step {
        if cursor.is_none() && !self.list.window.holds(1) {
            self.filter_now = self.now;
        }
        match (self.spec.list)(&self.query(cursor)) {
            Ok(call) => {
                self.reading = Some(reading);
                self.list.filter_fault = None;
                Step::Call(call.slot(ROWS))
            }
            Err(fault) => {
                self.reading = None;
                self.list.filter_fault = Some(fault.detail);
                self.forget_counts();
                Step::None
            }
        }
    }

    /// Reads the page that the cursor comes near to, and the details under it.
    pub(super) fn along(&mut self) -> Step {
        let page = match self.wanted().filter(|_| self.reading.is_none() && self.is_window()) {
            Some(page) => {
                let reading = Reading { page, last: page, is_beside: true, ..Reading::default() };
                self.ask(reading, self.list.window.cursor(page))
            }
            None => Step::None,
        };
        Step::Several(vec![page, self.wait_for_detail()])
    }

    /// The page to read: a visible one that is old, or one that the cursor has come near to.
    fn wanted(&self) -> Option<usize> {
        let (window, at) = (&self.list.window, self.list.at());
        let (top, height) = (self.list.top.get(), self.list.height.get());
        let mut seen = window.page_of(top.min(at))..=window.page_of((top + height).max(at));
        let old = seen.find(|page| self.fault.is_none() && window.is_old(*page));
        old.or_else(|| window.wanted(at))
    }

    /// The first details are asked for at once, later ones when the cursor rests.
    fn wait_for_detail(&mut self) -> Step {
        match self.detail {
            None => self.ask_detail(),
            Some(_) if self.spec.detail.is_some() => Step::Pause,
            Some(_) => Step::None,
        }
    }

    pub(super) fn ask_detail(&mut self) -> Step {
        let (Some(detail), Some(row)) = (self.spec.detail, self.list.row()) else {
            return Step::None;
        };
        let is_same = self.details.asked.as_ref() == Some(&row.id);
        // Asking again before the reply comes would make each reply stale.
        if is_same && (self.details.is_waited_for || !self.details.is_old) {
            return Step::None;
        }
        let (asked, call) = (Some(row.id.clone()), detail(&row.json, &self.subject));
        let is_waited_for = call.is_ok();
        self.details = Details { asked, asked_at: self.now, is_waited_for, is_old: false };
        if self.detail.as_ref().is_none_or(|(id, _)| *id != row.id) {
            self.preview_top.set(0);
        }
        match call {
            Ok(call) => Step::Call(call.slot(DETAIL)),
            Err(_) => Step::None,
        }
    }

    /// Counts rows, after they were read: counting may take long.
    fn ask_count(&mut self) -> Step {
        let is_due = self.counted_at.is_none_or(|at| self.now - at >= COUNT_EVERY_MS);
        let Some(count) = self.spec.count.filter(|_| is_due) else { return Step::None };
        self.counted_at = Some(self.now);
        match count(&self.query(None)) {
            Ok(call) => Step::Call(call.slot(COUNT)),
            Err(_) => Step::None,
        }
    }

    pub(super) fn take_reply(&mut self, slot: u8, outcome: Result<Reply, Fault>) -> (Step, bool) {
        let (step, changed) = match (slot, outcome) {
            (ROWS, Ok(reply)) => self.take_rows(reply),
            (ROWS, Err(fault)) => {
                self.refused(fault);
                (Step::None, true)
            }
            (DETAIL, outcome) => (Step::None, self.take_detail(outcome)),
            // This is the count for an earlier filter.
            (COUNT, Ok(_)) if self.list.filter_fault.is_some() => (Step::None, false),
            (COUNT, Ok(reply)) => (Step::None, self.take_counts(&reply)),
            (COUNT, Err(fault)) if fault.is_forbidden() => (Step::None, self.take_count(None)),
            _ => (Step::None, false),
        };
        self.version += u64::from(changed);
        (step, changed)
    }

    /// Takes details. Returns whether they are different.
    fn take_detail(&mut self, outcome: Result<Reply, Fault>) -> bool {
        self.details.is_waited_for = false;
        let detail = match (outcome, &self.details.asked) {
            (Ok(reply), Some(id)) => Some((id.clone(), reply.data)),
            (Err(fault), _) if fault.is_forbidden() => None,
            _ => return false,
        };
        let before = std::mem::replace(&mut self.detail, detail);
        before != self.detail
    }

    /// Takes the number of rows, in all or in each part.
    fn take_counts(&mut self, reply: &Reply) -> bool {
        if reply.counts.is_null() {
            return self.take_count(reply.total);
        }
        let total = self.take_count(self.total_of(&reply.counts));
        self.counted_at = Some(self.now);
        std::mem::replace(&mut self.counts, reply.counts.clone()) != reply.counts || total
    }

    fn take_count(&mut self, total: Option<i64>) -> bool {
        std::mem::replace(&mut self.list.window.total, total) != total
    }

    fn refused(&mut self, fault: Fault) {
        self.reading = None;
        if fault.code == "bad_query" || fault.code == "validation_failed" {
            self.list.filter_fault = Some(fault.detail.clone());
            self.forget_counts();
        }
        if fault.is_forbidden() {
            self.forget_all();
        }
        self.fault = Some(fault);
    }

    fn forget_counts(&mut self) {
        self.counts = Json::Null;
        self.list.window.total = None;
    }

    /// Forgets rows that the caller may no longer read.
    pub(super) fn forget_all(&mut self) {
        self.list.forget();
        self.whole.clear();
        (self.detail, self.counted_at, self.details) = Default::default();
        self.counts = Json::Null;
        self.version += 1;
    }

    fn take_rows(&mut self, reply: Reply) -> (Step, bool) {
        let Some(reading) = self.reading.take() else { return (Step::None, false) };
        let counted = !reply.counts.is_null() && self.take_counts(&reply);
        let mut rows = (self.spec.rows)(&self.subject, reply.data);
        self.put_extra(&mut rows);
        if self.is_window() {
            let (step, changed) = self.take_page(reading, rows, reply.next);
            (step, changed || counted)
        } else {
            self.take_part(reading, rows, reply.next)
        }
    }

    fn take_page(
        &mut self,
        mut reading: Reading,
        rows: Vec<Row>,
        next: Option<String>,
    ) -> (Step, bool) {
        let number = reading.page;
        let page = Page { number, rows, next: next.clone() };
        let has_moved = self.list.window.has_moved(&page);
        reading.read.push(page);
        let goes_on = number < reading.last
            || (has_moved && self.list.window.holds(number + 1))
            || (number == reading.last && self.cursor_is_missing(&reading));
        if let (Some(cursor), true) = (next, goes_on) {
            reading.page += 1;
            return (self.ask(reading, Some(cursor)), false);
        }
        self.is_fresh = !reading.is_beside;
        let changed = self.list.put(reading.read);
        self.settle(changed)
    }

    /// Whether the row under the cursor has left the pages that were read. It may be
    /// on the next one.
    fn cursor_is_missing(&self, reading: &Reading) -> bool {
        let window = &self.list.window;
        let Some(id) = self.list.id() else { return false };
        let Some(at) = window.position(id) else { return false };
        let is_read = |page: usize| reading.read.iter().any(|one| one.number == page);
        let mut rows = reading.read.iter().flat_map(|page| &page.rows);
        is_read(window.page_of(at)) && !rows.any(|row| row.id == id)
    }

    /// A part of a list that is read whole.
    fn take_part(
        &mut self,
        mut reading: Reading,
        rows: Vec<Row>,
        next: Option<String>,
    ) -> (Step, bool) {
        reading.looked += rows.len();
        let hits = rows.into_iter().filter(|row| !self.is_large || self.fits(row));
        reading.rows.extend(hits);
        match next {
            Some(next) if reading.rows.len() < WHOLE => {
                return (self.ask(reading, Some(next)), self.is_large);
            }
            Some(_) if !self.is_large => {
                self.is_large = true;
                self.applied = self.list.filter.text().to_owned();
                self.whole.clear();
                self.list.window.clear();
                return (self.read(), false);
            }
            _ => {}
        }
        let changed = !self.list.window.loaded || self.whole != reading.rows;
        if changed {
            self.whole = reading.rows;
            let there: BTreeSet<&str> = self.whole.iter().map(|row| row.id.as_str()).collect();
            if !self.is_large {
                self.list.marks.retain(|id, _| there.contains(id.as_str()));
            }
            self.filter_here();
        }
        self.is_fresh = true;
        self.settle(changed)
    }

    /// After the rows: reads what depends on them.
    fn settle(&mut self, changed: bool) -> (Step, bool) {
        let had_fault = self.fault.take().is_some();
        self.details.is_old |= changed;
        (Step::Several(vec![self.along(), self.ask_count()]), changed || had_fault)
    }
}
