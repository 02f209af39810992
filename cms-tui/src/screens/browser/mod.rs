//! A list with a preview, made from a declaration.

mod draw;

use std::cell::Cell;

use ratatui::{Frame, layout::Rect};
use serde_json::Value as Json;

use super::{Look, Screen, cells::Column};
use crate::{
    actions::Scene,
    calls::{Fault, Reply},
    keys::Key,
    step::{Calling, Menu, Place, Step},
    theme::Role,
    widgets::{
        input::Input,
        list::{List, Moved},
        window::Row,
    },
};

/// Where replies go: pages, details of the row under the cursor.
const ROWS: u8 = 0;
const DETAIL: u8 = 1;
/// Lists that the service does not filter are read whole, up to so many rows.
const WHOLE: usize = 2_000;

/// What is asked for.
#[derive(Debug, Default)]
pub(crate) struct Asked<'a> {
    pub(crate) subject: &'a Json,
    pub(crate) cursor: Option<String>,
    /// The words of the filter.
    pub(crate) filter: &'a str,
    pub(crate) now: i64,
    pub(crate) sort: Option<String>,
}

/// Reads a row whole: the row, the subject.
type Detail = fn(&Json, &Json) -> Result<Calling, Fault>;
/// Lines about a row: the row, its details once read, the subject, the time.
type Preview = fn(&Json, Option<&Json>, &Json, i64) -> Vec<(Role, String)>;

/// A list's declaration.
pub(crate) struct Spec {
    pub(crate) noun: &'static str,
    pub(crate) title: fn(&Json) -> String,
    pub(crate) columns: fn(&Json) -> Vec<Column>,
    pub(crate) list: fn(&Asked<'_>) -> Result<Calling, Fault>,
    /// Reads one row whole, for the preview.
    pub(crate) detail: Option<Detail>,
    /// The rows of a reply.
    pub(crate) rows: fn(&Json, Json) -> Vec<Row>,
    pub(crate) preview: Preview,
    /// What to type in the filter; None: the service does not filter, the rows are filtered here.
    pub(crate) tokens: Option<fn(&Json) -> String>,
    /// Columns that can be sorted by.
    pub(crate) sorts: fn(&Json) -> Vec<String>,
    pub(crate) act: fn(&str, &Scene<'_>) -> Step,
    /// What Enter opens.
    pub(crate) open: Option<fn(&Json, &Json) -> Step>,
    pub(crate) empty: &'static str,
    pub(crate) poll_s: i64,
    pub(crate) follows: fn(&str, &Json) -> bool,
}

/// A list with a preview.
pub(crate) struct Browser {
    spec: &'static Spec,
    subject: Json,
    columns: Vec<Column>,
    list: List,
    /// The page that was asked for, and whether it replaces all.
    asked: Option<(usize, bool)>,
    /// All rows, of a list that is filtered here; and those of a reading that is under way.
    whole: Vec<Row>,
    fresh: Vec<Row>,
    detail: Option<(String, Json)>,
    detail_asked: Option<String>,
    fault: Option<Fault>,
    is_preview_focused: bool,
    is_zoomed: bool,
    preview_top: Cell<usize>,
    /// The filter in force.
    applied: String,
    now: i64,
}

impl Spec {
    /// What most lists have in common; noun, title, columns and calls are missing.
    pub(crate) const fn new(
        noun: &'static str,
        title: fn(&Json) -> String,
        columns: fn(&Json) -> Vec<Column>,
        list: fn(&Asked<'_>) -> Result<Calling, Fault>,
        act: fn(&str, &Scene<'_>) -> Step,
    ) -> Self {
        Self {
            noun,
            title,
            columns,
            list,
            detail: None,
            rows: |_, data| by_id(data, "id"),
            preview: |row, detail, _, _| crate::widgets::viewer::json_lines(detail.unwrap_or(row)),
            tokens: None,
            sorts: |_| Vec::new(),
            act,
            open: None,
            empty: "Nothing here.",
            poll_s: 5,
            follows: |_, _| false,
        }
    }
}

/// Rows by a member that tells them apart.
pub(crate) fn by_id(data: Json, name: &str) -> Vec<Row> {
    let Json::Array(rows) = data else { return Vec::new() };
    let id = |row: &Json| row[name].as_str().map_or_else(|| row[name].to_string(), str::to_owned);
    rows.into_iter().map(|json| Row { id: id(&json), json }).collect()
}

impl Browser {
    pub(crate) fn new(spec: &'static Spec, place: Place) -> Self {
        let columns = (spec.columns)(&place.subject);
        let mut list = List::filtered(&place.filter);
        list.look_for(&place.row);
        Self {
            spec,
            subject: place.subject,
            columns,
            list,
            asked: None,
            whole: Vec::new(),
            fresh: Vec::new(),
            detail: None,
            detail_asked: None,
            fault: None,
            is_preview_focused: false,
            is_zoomed: false,
            preview_top: Cell::new(0),
            applied: place.filter,
            now: 0,
        }
    }

    fn ask(&mut self, page: usize, cursor: Option<String>, alone: bool) -> Step {
        let is_whole = self.spec.tokens.is_none();
        let order = |(column, down): &(String, bool)| {
            if *down { format!("-{column}") } else { column.clone() }
        };
        let asked = Asked {
            subject: &self.subject,
            cursor,
            filter: if is_whole { "" } else { &self.applied },
            sort: self.list.sort.as_ref().map(order),
            now: self.now,
        };
        match (self.spec.list)(&asked) {
            Ok(call) => {
                self.asked = Some((page, alone));
                self.list.filter_fault = None;
                Step::Call(call.slot(ROWS))
            }
            Err(fault) => {
                self.list.filter_fault = Some(fault.detail);
                Step::None
            }
        }
    }

    /// Asks for what the cursor has come near to, and for the details under it.
    fn along(&mut self) -> Step {
        let wanted = self.list.window.wanted(self.list.at());
        let page = match wanted.filter(|_| self.asked.is_none() && self.spec.tokens.is_some()) {
            Some(page) => self.ask(page, self.list.window.cursor(page), false),
            None => Step::None,
        };
        Step::Several(vec![page, self.wait_for_detail()])
    }

    /// Details are asked for when the cursor rests; the first at once.
    fn wait_for_detail(&mut self) -> Step {
        match self.detail {
            None => self.ask_detail(),
            Some(_) if self.spec.detail.is_some() => Step::Pause,
            Some(_) => Step::None,
        }
    }

    fn ask_detail(&mut self) -> Step {
        let (Some(detail), Some(row)) = (self.spec.detail, self.list.row()) else {
            return Step::None;
        };
        if self.detail_asked.as_ref() == Some(&row.id) {
            return Step::None;
        }
        self.detail_asked = Some(row.id.clone());
        if self.detail.as_ref().is_none_or(|(id, _)| *id != row.id) {
            self.preview_top.set(0);
        }
        match detail(&row.json, &self.subject) {
            Ok(call) => Step::Call(call.slot(DETAIL)),
            Err(_) => Step::None,
        }
    }

    fn moved(&mut self, moved: Moved) -> Step {
        match moved {
            Moved::Along => self.along(),
            Moved::Filtered if self.spec.tokens.is_none() => {
                self.filter_here();
                self.along()
            }
            // The service is asked after a pause, the first key at once.
            Moved::Filtered if self.applied.is_empty() => self.pause(),
            Moved::Filtered => Step::Pause,
            Moved::Here | Moved::No => Step::None,
        }
    }

    /// Filters rows that the service does not filter.
    fn filter_here(&mut self) -> bool {
        let wanted = self.list.filter.text().to_lowercase();
        let fits = |row: &&Row| {
            let cells = self.columns.iter().map(|c| (c.show)(&row.json, &c.name, 0).0);
            let text = cells.collect::<Vec<_>>().join(" ").to_lowercase();
            wanted.split_whitespace().all(|word| match word.strip_prefix('!') {
                Some(word) => !text.contains(word),
                None => text.contains(word),
            })
        };
        let rows = self.whole.iter().filter(fits).cloned().collect();
        self.list.put(0, rows, None, true)
    }

    fn take_rows(&mut self, reply: Reply) -> (Step, bool) {
        let Some((page, alone)) = self.asked.take() else { return (Step::None, false) };
        let had_fault = self.fault.take().is_some();
        let rows = (self.spec.rows)(&self.subject, reply.data);
        if self.spec.tokens.is_some() {
            let changed = self.list.put(page, rows, reply.next, alone);
            if reply.total.is_some() {
                self.list.window.total = reply.total;
            }
            if changed {
                self.detail_asked = None;
            }
            return (self.along(), changed || had_fault);
        }
        self.fresh.extend(rows);
        if let (Some(next), true) = (reply.next, self.fresh.len() < WHOLE) {
            return (self.ask(0, Some(next), true), false);
        }
        let fresh = std::mem::take(&mut self.fresh);
        let changed = !self.list.window.loaded || self.whole != fresh;
        if changed {
            self.whole = fresh;
            self.filter_here();
            self.detail_asked = None;
        }
        (self.along(), changed || had_fault)
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
        self.fresh.clear();
        let page = self.list.window.page_of(self.list.at());
        self.ask(page, self.list.window.cursor(page), true)
    }

    fn outdate(&mut self) {
        self.detail_asked = None;
    }

    fn take(&mut self, slot: u8, outcome: Result<Reply, Fault>) -> (Step, bool) {
        match (slot, outcome) {
            (ROWS, Ok(reply)) => self.take_rows(reply),
            (DETAIL, Ok(reply)) => {
                let Some(id) = self.detail_asked.clone() else { return (Step::None, false) };
                let detail = Some((id, reply.data));
                let changed = self.detail != detail;
                self.detail = detail;
                (Step::None, changed)
            }
            (_, Err(fault)) => {
                if slot == ROWS {
                    self.asked = None;
                    if fault.code == "bad_query" || fault.code == "validation_failed" {
                        self.list.filter_fault = Some(fault.detail.clone());
                    }
                    self.fault = Some(fault);
                }
                (Step::None, true)
            }
            _ => (Step::None, false),
        }
    }

    fn act(&mut self, verb: &str, scene: &Scene<'_>) -> Step {
        (self.spec.act)(verb, scene)
    }

    fn row(&self) -> Option<&Json> {
        self.list.row().map(|row| &row.json)
    }

    fn list(&self) -> Option<&List> {
        Some(&self.list)
    }

    fn move_list(&mut self, verb: &str) -> Step {
        if self.is_preview_focused && ["down", "up", "half_down", "half_up"].contains(&verb) {
            let (top, by) = (self.preview_top.get(), if verb.starts_with("half") { 10 } else { 1 });
            let down = verb.ends_with("down");
            self.preview_top.set(if down { top + by } else { top.saturating_sub(by) });
            return Step::None;
        }
        match verb {
            "open" => match (self.spec.open, self.row()) {
                (Some(open), Some(row)) => open(row, &self.subject),
                (None, Some(_)) => {
                    self.is_zoomed = true;
                    self.is_preview_focused = true;
                    Step::None
                }
                _ => Step::None,
            },
            "pane" => {
                self.is_preview_focused = !self.is_preview_focused;
                Step::None
            }
            "zoom" => {
                self.is_zoomed = !self.is_zoomed;
                self.is_preview_focused = self.is_zoomed;
                Step::None
            }
            "sort" => {
                let sorts = (self.spec.sorts)(&self.subject);
                if sorts.is_empty() {
                    return Step::Tell("This list has one order only.".to_owned());
                }
                let entries = sorts.clone();
                Step::Menu(Menu::new("Sort by", entries, move |n| {
                    Step::Set("sort", sorts.into_iter().nth(n).unwrap_or_default())
                }))
            }
            "reverse" => match self.list.sort.take() {
                Some((column, down)) => {
                    self.list.sort = Some((column, !down));
                    self.list.restart();
                    self.load()
                }
                None => Step::Tell("Choose an order first: o.".to_owned()),
            },
            _ => {
                let moved = self.list.act(verb);
                self.moved(moved)
            }
        }
    }

    fn set(&mut self, what: &str, value: &str) -> Step {
        match what {
            "sort" => self.list.sort = Some((value.to_owned(), false)),
            "filter" => {
                self.list.filter = Input::of(value);
                self.applied = value.to_owned();
            }
            name => {
                self.subject[name] = if value.is_empty() { Json::Null } else { Json::from(value) };
                // Another language: an id that was marked would name another version.
                self.list.forget();
            }
        }
        self.list.restart();
        self.load()
    }

    fn key(&mut self, key: Key) -> Option<Step> {
        if !self.list.is_filtering {
            return None;
        }
        let moved = self.list.filter_key(key);
        Some(self.moved(moved))
    }

    fn paste(&mut self, text: &str) {
        if self.list.is_filtering {
            self.list.filter.insert(text);
        }
    }

    fn pause(&mut self) -> Step {
        if self.spec.tokens.is_some() && self.applied != self.list.filter.text() {
            self.applied = self.list.filter.text().to_owned();
            self.list.restart();
            return self.load();
        }
        self.ask_detail()
    }

    fn back(&mut self) -> Option<Step> {
        if self.is_zoomed || self.is_preview_focused {
            (self.is_zoomed, self.is_preview_focused) = (false, false);
            return Some(Step::None);
        }
        let moved = self.list.back()?;
        Some(self.moved(moved))
    }

    fn tick(&mut self, now: i64) {
        self.now = now;
    }

    fn poll_s(&self) -> i64 {
        self.spec.poll_s
    }

    fn follows(&self, event: &str) -> bool {
        (self.spec.follows)(event, &self.subject)
    }

    fn filter(&self) -> Option<&str> {
        Some(self.list.filter.text())
    }

    fn applied(&self) -> &str {
        &self.applied
    }

    fn draw(&self, frame: &mut Frame<'_>, area: Rect, look: Look) {
        draw::draw(self, frame, area, look);
    }
}
