//! A list with a preview, made from a declaration.
//!
//! ```text
//! read   asks for pages and details, and takes them
//! act    what keys, clicks and the filter line do to the list and its preview
//! parts  parts of the list, of which one is seen; its columns, as the user wants them
//! draw   how it looks
//! ```

mod act;
mod draw;
mod parts;
mod read;
#[cfg(test)]
mod tests;

use std::cell::{Cell, RefCell};

use cms_http::wire::{
    NoBody, Operation,
    parameters::{self, Limit, OneOrList},
};
use ratatui::{
    Frame,
    layout::{Position, Rect},
};
use serde_json::Value as Json;

pub(crate) use draw::Above;
pub(crate) use parts::{ExtraColumns, Parts};

use super::{Clicked, Look, Screen, cells::Column};
use crate::{
    actions::Scene,
    calls::{Fault, Reply},
    keys::Key,
    step::{Calling, Place, Step, get},
    theme::Role,
    widgets::{
        input::TOO_LONG,
        list::{List, Moved},
        shape::Shape,
        window::{PAGE, Row},
    },
};
use draw::CachedPreview;
use read::{Details, Reading};

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
        let columns = parts::arranged((spec.columns)(&place.subject), &place.shape);
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
        if slot == parts::EXTRA_SLOT {
            return self.take_extra(outcome);
        }
        if slot >= draw::ABOVE {
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

/// What is asked of the service for a list.
#[derive(Debug, Default)]
pub(crate) struct ListQuery<'a> {
    pub(crate) subject: &'a Json,
    pub(crate) cursor: Option<String>,
    /// The words of the filter.
    pub(crate) filter: &'a str,
    pub(crate) now: i64,
    pub(crate) sort: Option<String>,
    /// Who the user is, once known.
    pub(crate) who: &'a str,
}

impl ListQuery<'_> {
    /// A page of a list that the service sorts by any column.
    pub(crate) fn page(&self) -> parameters::ListQuery {
        let page = parameters::ListQuery::page(Limit(PAGE), self.cursor.clone());
        parameters::ListQuery { sort: self.sort.clone(), ..page }
    }
}

/// Counts the rows that fit.
type Count = fn(&ListQuery<'_>) -> Result<Calling, Fault>;
/// Reads a row whole: the row, the subject.
type Detail = fn(&Json, &Json) -> Result<Calling, Fault>;
/// Lines about a row: the row, its details once read, the subject, the time.
type Preview = fn(&Json, Option<&Json>, &Json, i64) -> Vec<(Role, String)>;

/// A list's declaration.
pub(crate) struct Spec {
    pub(crate) noun: &'static str,
    pub(crate) title: fn(&Json) -> String,
    pub(crate) columns: fn(&Json) -> Vec<Column>,
    pub(crate) list: fn(&ListQuery<'_>) -> Result<Calling, Fault>,
    /// Counts the rows; None: the service cannot count them.
    pub(crate) count: Option<Count>,
    /// Parts of it, one of which is seen.
    pub(crate) parts: Option<&'static Parts>,
    /// Lines about the whole list.
    pub(crate) above: Option<&'static Above>,
    /// Another call that fills columns.
    pub(crate) extra: Option<&'static ExtraColumns>,
    /// Reads one row whole, for the preview.
    pub(crate) detail: Option<Detail>,
    /// The rows of a reply.
    pub(crate) rows: fn(&Json, Json) -> Vec<Row>,
    pub(crate) preview: Preview,
    /// Help for the filter; None: the service does not filter, so the rows are filtered here.
    pub(crate) tokens: Option<fn(&Json) -> String>,
    /// Columns that can be sorted by.
    pub(crate) sorts: fn(&Json) -> Vec<String>,
    pub(crate) act: fn(&str, &Scene<'_>) -> Step,
    /// Whether `*` marks all rows that match, not only those that are loaded.
    pub(crate) marks_all: bool,
    /// What Enter opens.
    pub(crate) open: Option<fn(&Json, &Json) -> Step>,
    pub(crate) empty: &'static str,
    pub(crate) poll_s: i64,
    pub(crate) follows: fn(&str, &Json) -> bool,
}

impl Spec {
    /// A declaration with the values that most lists share.
    pub(crate) const fn new(
        noun: &'static str,
        title: fn(&Json) -> String,
        columns: fn(&Json) -> Vec<Column>,
        list: fn(&ListQuery<'_>) -> Result<Calling, Fault>,
        act: fn(&str, &Scene<'_>) -> Step,
    ) -> Self {
        Self {
            noun,
            title,
            columns,
            list,
            count: None,
            parts: None,
            above: None,
            extra: None,
            detail: None,
            rows: |_, data| by_id(data, "id"),
            preview: |row, detail, _, _| crate::widgets::viewer::json_lines(detail.unwrap_or(row)),
            tokens: None,
            sorts: |_| Vec::new(),
            act,
            marks_all: false,
            open: None,
            empty: "Nothing here.",
            poll_s: 5,
            follows: |_, _| false,
        }
    }
}

#[cfg(test)]
impl Spec {
    /// What the service is asked for this filter.
    pub(crate) fn asks(&self, subject: &Json, filter: &str) -> Result<String, Fault> {
        let asked = ListQuery { subject, filter, ..ListQuery::default() };
        (self.list)(&asked).map(|call| call.ask.line())
    }
}

/// Asks for a page of a list that the service sorts by any column.
pub(crate) fn listed<O>(asked: &ListQuery<'_>) -> Result<Calling, Fault>
where
    O: Operation<Query: From<OneOrList>, Body = NoBody>,
{
    get::<O>(&OneOrList { id: None, list: asked.page() }.into())
}

/// All columns of a list of the service's own.
pub(crate) fn sorted<O: Operation>(_: &Json) -> Vec<String> {
    O::sorts()
}

/// Rows identified by a member.
pub(crate) fn by_id(data: Json, name: &str) -> Vec<Row> {
    let Json::Array(rows) = data else { return Vec::new() };
    let id = |row: &Json| row[name].as_str().map_or_else(|| row[name].to_string(), str::to_owned);
    rows.into_iter().map(|json| Row { id: id(&json), json }).collect()
}
