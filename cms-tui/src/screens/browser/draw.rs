//! The look of a list: the lines above it, its rows, the preview of the row under the cursor.

use std::cell::Cell;

use ratatui::{
    Frame,
    layout::{Constraint, Layout, Rect},
    text::{Line, Span},
};
use serde_json::Value as Json;

use super::Browser;
use crate::{
    calls::{Fault, Reply},
    screens::{Look, Screen, cells::Column},
    step::{Calling, IntoStep, Step},
    text::{cut, fitted, number, safe, width, wrapped, wrapped_to},
    theme::{Role, Theme},
    widgets::draw::{filtering, framed, lines, text_in},
};

/// Below this size there is one pane.
const BOTH: (u16, u16) = (80, 20);
/// From this width on, the preview is beside the list.
const BESIDE: u16 = 110;

pub(super) fn draw(browser: &Browser, frame: &mut Frame<'_>, area: Rect, look: Look) {
    if browser.is_zoomed {
        return draw_preview(browser, frame, area, look);
    }
    let area = browser.draw_above(frame, area, look);
    if area.width < BOTH.0 || area.height + 4 < BOTH.1 {
        return list(browser, frame, area, look);
    }
    let [first, second] = if area.width >= BESIDE {
        Layout::horizontal([Constraint::Percentage(58), Constraint::Fill(1)]).areas(area)
    } else {
        Layout::vertical([Constraint::Percentage(60), Constraint::Fill(1)]).areas(area)
    };
    list(browser, frame, first, look);
    draw_preview(browser, frame, second, look);
}

fn heading(browser: &Browser) -> String {
    let mut title = browser.title();
    if browser.list.filter_fault.is_none() && !browser.list.filter.text().is_empty() {
        title = format!("{title} · {}", browser.list.filter.text());
    }
    if let Some((column, down)) = &browser.list.sort {
        title = format!("{title} · {column}{}", if *down { '▼' } else { '▲' });
    }
    if browser.list.is_all {
        title = format!("{title} · all that match are marked");
    } else if !browser.list.marks.is_empty() {
        title = format!("{title} · {} marked", browser.list.marks.len());
    }
    title
}

fn list(browser: &Browser, frame: &mut Frame<'_>, area: Rect, look: Look) {
    let (list, theme) = (&browser.list, look.theme);
    let inner = framed(frame, area, &heading(browser), !browser.is_preview_focused, theme);
    let cells = usize::from(inner.width);
    let (seen, widths) = seen(&browser.columns, cells);
    let head = seen.iter().zip(&widths);
    let head: Vec<_> = head.map(|(column, width)| fitted(&safe(&column.title), *width)).collect();
    let parts = browser.parts_line(inner, theme);
    let (mut shown, mut clicks): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
    let above = shown.len();
    let foot = foot(browser, cells, usize::from(inner.height / 3), theme);
    let height = usize::from(inner.height).saturating_sub(1 + above + foot.len());
    shown.push(Line::styled(format!("  {}", head.join(" ")), theme.style(Role::Title)));
    let first = inner.y + above as u16;
    list.rows_at.set(Rect { y: first + 1, height: height as u16, ..inner });
    clicks.push(heads(&seen, &widths, Rect { y: first, ..inner }));
    list.heads_at.replace(clicks.concat());
    for (row, is_here) in list.seen(height) {
        let is_marked = list.is_marked(&row.id);
        let sign = match (is_here, is_marked) {
            (true, _) => "▶",
            (_, true) => "✓",
            _ => " ",
        };
        let mark = if is_marked { "✓" } else { " " };
        let sign = if is_here { format!("{sign}{mark}") } else { format!("{sign} ") };
        let mut spans = vec![Span::styled(sign, theme.style(Role::Marked))];
        for (column, width) in seen.iter().zip(&widths) {
            let (text, role) = (column.show)(&row.json, &column.name, look.now);
            spans.push(Span::styled(fitted(&text, *width) + " ", theme.style(role)));
        }
        let line = Line::from(spans);
        shown.push(match (is_here, browser.is_preview_focused) {
            (true, false) => line.patch_style(theme.style(Role::Cursor)),
            (true, true) => line.patch_style(theme.style(Role::CursorElsewhere)),
            _ => line,
        });
    }
    if list.window.len() == 0 {
        let why = wrapped(&why_empty(browser), cells.saturating_sub(3)).into_iter();
        let line = |line: String| Line::styled(format!("  {line}"), theme.style(Role::Quiet));
        shown.extend(why.map(line));
    }
    shown.resize(height + 1 + above, Line::default());
    shown.extend(foot);
    lines(frame, inner, shown);
}

/// The lines below the rows: the filter while it is typed, or its fault; then the words that the
/// list understands, or the position of the cursor. Each part has at most `most` lines.
fn foot(browser: &Browser, cells: usize, most: usize, theme: Theme) -> Vec<Line<'static>> {
    let list = &browser.list;
    let said = |text: &str, role: Role| -> Vec<Line<'static>> {
        let lines = wrapped_to(text, cells.saturating_sub(1), most).into_iter();
        lines.map(|line| Line::styled(format!(" {line}"), theme.style(role))).collect()
    };
    let mut foot = Vec::new();
    if list.is_filtering {
        foot.push(filtering(&list.filter, cells, theme));
    } else if let Some(fault) = &list.filter_fault {
        let text = format!("✗ {}: {}", safe(list.filter.text()), safe(fault));
        foot.extend(said(&text, Role::Bad));
    }
    match count(browser) {
        none if none.is_empty() => foot.push(Line::default()),
        count => foot.extend(said(&count, Role::Quiet)),
    }
    foot
}

/// The areas of the column heads, for the mouse.
fn heads(columns: &[&Column], widths: &[usize], inner: Rect) -> Vec<(Rect, String)> {
    let mut x = inner.x + 2;
    let head = |(column, width): (&&Column, &usize)| {
        let area = Rect::new(x, inner.y, *width as u16, 1);
        x += *width as u16 + 1;
        (area, column.name.clone())
    };
    columns.iter().zip(widths).map(head).collect()
}

fn why_empty(browser: &Browser) -> String {
    match &browser.fault {
        Some(fault) => format!("✗ {}", safe(&fault.detail)),
        None if browser.list.filter_fault.is_some() => "This filter cannot be read.".to_owned(),
        None if !browser.list.window.loaded => match browser.looked() {
            0 => "Loading …".to_owned(),
            looked => format!("Looking through the list, {} rows so far …", number(looked)),
        },
        None if browser.list.filter.text().is_empty() => browser.spec.empty.to_owned(),
        None => format!("Nothing fits {}. Esc clears the filter.", browser.list.filter.text()),
    }
}

/// The last line: where the cursor is, and of how many.
fn count(browser: &Browser) -> String {
    let list = &browser.list;
    let window = &list.window;
    if list.is_filtering
        && let Some(tokens) = browser.spec.tokens
    {
        return tokens(&browser.subject);
    }
    if window.len() == 0 {
        return String::new();
    }
    if list.is_lost() {
        return "The row you were on is gone: j or k selects another.".to_owned();
    }
    let at = window.before() + list.at() + 1;
    let known = window.before() + window.len();
    let of = match (window.total, window.has_more()) {
        (Some(total), _) => number(total),
        (None, true) => format!("{known}+"),
        (None, false) => known.to_string(),
    };
    let range = if list.is_in_range() { " · v marks to here" } else { "" };
    let old = if browser.fault.is_some() { " · not up to date" } else { "" };
    format!("{at} of {of}{range}{old}")
}

/// The columns that fit into so many cells, and their widths. The last one is narrowed if its
/// head still fits, otherwise left out.
fn seen(columns: &[Column], cells: usize) -> (Vec<&Column>, Vec<usize>) {
    let mut seen: Vec<&Column> = columns.iter().filter(|one| one.from <= cells).collect();
    let room = cells.saturating_sub(2);
    loop {
        let mut widths = widths(&seen, room);
        let used: usize = widths.iter().map(|cells| cells + 1).sum();
        let over = used.saturating_sub(room + 1);
        let (Some(column), Some(last)) = (seen.last(), widths.last_mut()) else {
            return (seen, widths);
        };
        if seen.len() == 1 || *last >= over + width(&column.title) {
            *last = last.saturating_sub(over);
            return (seen, widths);
        }
        seen.pop();
    }
}

/// Widths of the columns: those without one share what is left.
fn widths(columns: &[&Column], cells: usize) -> Vec<usize> {
    let least = |column: &Column| match column.cells {
        0 => 0,
        cells => cells.max(width(&column.title)),
    };
    let fixed: usize = columns.iter().map(|column| least(column) + 1).sum();
    let free = columns.iter().filter(|column| column.cells == 0).count();
    let share = cells.saturating_sub(fixed).checked_div(free).unwrap_or(0).max(8);
    let given = |column: &&Column| if column.cells == 0 { share } else { least(column) };
    columns.iter().map(given).collect()
}

/// The most lines of one row.
const MOST_LINES: usize = 5_000;
/// Ages in the preview are renewed after this time.
const AGED_MS: i64 = 10_000;

/// The lines, and the row, state and time that they belong to.
#[derive(Default)]
pub(super) struct CachedPreview {
    id: String,
    version: u64,
    aged: i64,
    pub(super) lines: Vec<(Role, String)>,
}

impl Browser {
    /// Makes the lines again if the row, its state or the time has changed.
    fn keep_preview(&self, now: i64) {
        let Some(row) = self.list.row() else { return };
        let mut kept = self.preview.borrow_mut();
        let (version, aged) = (self.version, now / AGED_MS);
        if (kept.id.as_str(), kept.version, kept.aged) == (row.id.as_str(), version, aged) {
            return;
        }
        let detail = self.detail.as_ref().filter(|(id, _)| *id == row.id).map(|(_, json)| json);
        let mut lines = (self.spec.preview)(&row.json, detail, &self.subject, now);
        if lines.len() > MOST_LINES {
            let more = lines.len() - MOST_LINES;
            lines.truncate(MOST_LINES);
            lines.push((Role::Warn, format!("… {more} more lines")));
        }
        *kept = CachedPreview { id: row.id.clone(), version, aged, lines };
    }
}

fn draw_preview(browser: &Browser, frame: &mut Frame<'_>, area: Rect, look: Look) {
    let row = browser.list.row();
    let title = row.map_or_else(
        || "—".to_owned(),
        |row| {
            let name = ["name", "title", "username", "origin", "event", "endpoint", "contact_name"];
            let name = name.iter().find_map(|name| row.json[*name].as_str());
            match name {
                Some(name) if name != row.id => format!("{name} {}", row.id),
                _ => row.id.clone(),
            }
        },
    );
    let title = cut(&title, 60);
    let inner = framed(frame, area, title.trim(), browser.is_preview_focused, look.theme);
    if row.is_none() {
        return;
    }
    browser.keep_preview(look.now);
    let kept = browser.preview.borrow();
    text_in(frame, inner, &kept.lines, &browser.preview_top, 1, look.theme);
}

/// The first place for replies of these calls.
pub(super) const ABOVE: u8 = 8;
/// Smaller screens show the list alone.
const LEAST: u16 = 20;

/// Makes the lines out of the replies; null: no reply yet.
type Lines = fn(&[Json], i64) -> Vec<(Role, String)>;

/// What is asked for, and the lines out of the replies.
pub(crate) struct Above {
    pub(crate) title: &'static str,
    pub(crate) asks: &'static [fn() -> Result<Calling, Fault>],
    pub(crate) height: u16,
    pub(crate) lines: Lines,
}

impl Browser {
    pub(super) fn ask_above(&self) -> Step {
        let asks = self.spec.above.map_or(&[][..], |above| above.asks);
        let call = |(slot, ask): (u8, &fn() -> Result<Calling, Fault>)| ask().slot(slot);
        Step::Several((ABOVE..).zip(asks).map(call).collect())
    }

    /// Takes a reply, and returns whether it brought something new. A forbidden call clears the
    /// lines; the list itself shows the refusal.
    pub(super) fn take_above(&mut self, slot: u8, outcome: Result<Reply, Fault>) -> bool {
        let data = match outcome {
            Ok(reply) => reply.data,
            Err(fault) if fault.is_forbidden() => Json::Null,
            Err(_) => return false,
        };
        let at = usize::from(slot - ABOVE);
        if self.above.len() <= at {
            self.above.resize(at + 1, Json::Null);
        }
        let changed = self.above[at] != data;
        self.above[at] = data;
        changed
    }

    /// Draws the lines, and returns the area that is left for the list.
    fn draw_above(&self, frame: &mut Frame<'_>, area: Rect, look: Look) -> Rect {
        let Some(above) = self.spec.above.filter(|_| area.height >= LEAST) else { return area };
        let [top, rest] =
            Layout::vertical([Constraint::Length(above.height + 2), Constraint::Fill(1)])
                .areas(area);
        let inner = framed(frame, top, above.title, false, look.theme);
        let shown = (above.lines)(&self.above, look.now);
        text_in(frame, inner, &shown, &Cell::default(), 1, look.theme);
        rest
    }
}
