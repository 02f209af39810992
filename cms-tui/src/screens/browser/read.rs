//! Asks for pages and details, and takes them.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::{Browser, ListQuery};
use crate::{
    calls::{Fault, Reply},
    step::Step,
    widgets::window::{Page, Row},
};

/// Where replies go: pages, details of the row under the cursor, how many rows there are.
pub(super) const ROWS: u8 = 0;
const DETAIL: u8 = 1;
const COUNT: u8 = 2;
/// A list that the service does not filter is read whole up to so many rows. A longer one is a
/// window, and its filter looks through it up to so many hits.
const WHOLE: usize = 2_000;
/// Time between two counts: a large table is not counted at each look.
const COUNT_EVERY_MS: i64 = 30_000;

/// A reading under way. Its pages are put together, so that rows never jump.
#[derive(Default)]
pub(super) struct Reading {
    /// The page that was asked for last, and the last one to read.
    page: usize,
    last: usize,
    /// It is not seen yet, or a part of what is seen.
    is_beside: bool,
    read: Vec<Page>,
    /// Of a list that is read whole: rows so far, and how many were looked at.
    rows: Vec<Row>,
    pub(super) looked: usize,
}

/// The details of the row under the cursor.
#[derive(Default)]
pub(super) struct Details {
    /// The row that they were asked for last, and when.
    asked: Option<String>,
    asked_at: i64,
    is_waited_for: bool,
    /// Something may be different since.
    pub(super) is_old: bool,
}

impl Details {
    /// Nothing tells of every change: they are old after a while too.
    pub(super) fn age(&mut self, now: i64, after_s: i64) {
        self.is_old |= (now - self.asked_at).abs() >= after_s * 1000;
    }
}

impl Browser {
    /// Whether pages are held of it; else it is held whole.
    pub(super) fn is_window(&self) -> bool {
        self.spec.tokens.is_some() || (self.is_large && self.applied.is_empty())
    }

    /// Reads what is seen again, in its place.
    pub(super) fn read(&mut self) -> Step {
        let (list, mut reading) = (&self.list, Reading::default());
        if self.is_window() {
            let (top, at) = (list.top.get(), list.at());
            reading.page = list.window.page_of(top.min(at));
            reading.last = list.window.page_of((top + list.height.get()).max(at));
        }
        let cursor = list.window.cursor(reading.page);
        // Pages beside them are read again when they are seen.
        self.list.window.outdate();
        self.ask(reading, cursor)
    }

    /// Reads it from the beginning.
    pub(super) fn read_anew(&mut self) -> Step {
        self.list.restart();
        self.whole.clear();
        self.counted_at = None;
        self.version += 1;
        self.read()
    }

    fn asked(&self, cursor: Option<String>) -> ListQuery<'_> {
        let order = |(column, down): &(String, bool)| {
            if *down { format!("-{column}") } else { column.clone() }
        };
        ListQuery {
            subject: &self.subject,
            cursor,
            filter: if self.spec.tokens.is_some() { &self.applied } else { "" },
            sort: self.list.sort.as_ref().map(order),
            who: &self.who,
            now: self.now,
        }
    }

    fn ask(&mut self, reading: Reading, cursor: Option<String>) -> Step {
        match (self.spec.list)(&self.asked(cursor)) {
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

    /// Asks for what the cursor has come near to, and for the details under it.
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

    /// The page to read: one that is seen and old, or one that the cursor has come near to.
    fn wanted(&self) -> Option<usize> {
        let (window, at) = (&self.list.window, self.list.at());
        let (top, height) = (self.list.top.get(), self.list.height.get());
        let mut seen = window.page_of(top.min(at))..=window.page_of((top + height).max(at));
        let old = seen.find(|page| self.fault.is_none() && window.is_old(*page));
        old.or_else(|| window.wanted(at))
    }

    /// Details are asked for when the cursor rests; the first at once.
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
        // Asked for again before the reply comes, it would never come.
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

    /// Rows come first; how many there are may take its time.
    fn ask_count(&mut self) -> Step {
        let is_due = self.counted_at.is_none_or(|at| self.now - at >= COUNT_EVERY_MS);
        let Some(count) = self.spec.count.filter(|_| is_due) else { return Step::None };
        self.counted_at = Some(self.now);
        match count(&self.asked(None)) {
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
            // It counts what an earlier filter shows.
            (COUNT, Ok(_)) if self.list.filter_fault.is_some() => (Step::None, false),
            (COUNT, Ok(reply)) => (Step::None, self.take_counts(&reply)),
            (COUNT, Err(fault)) if fault.is_forbidden() => (Step::None, self.take_count(None)),
            _ => (Step::None, false),
        };
        self.version += u64::from(changed);
        (step, changed)
    }

    /// Returns whether they are different.
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

    /// How many there are, in all or in each part.
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

    /// What was read is not for this caller any more.
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
        self.put_beside(&mut rows);
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

    /// Whether the row under the cursor left the pages that were read; it may be on the next one.
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

    /// Rows are there: what hangs on them comes next.
    fn settle(&mut self, changed: bool) -> (Step, bool) {
        let had_fault = self.fault.take().is_some();
        self.details.is_old |= changed;
        (Step::Several(vec![self.along(), self.ask_count()]), changed || had_fault)
    }
}
