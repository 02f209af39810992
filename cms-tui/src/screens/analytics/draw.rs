//! The layout of the figures: steps on the left, branches and sources on the right, days below.

use std::cell::Cell;

use super::{Analytics, chart, wording};
use crate::screens::prelude::*;

/// From this width on, branches and sources stand beside the steps.
const BESIDE: u16 = 96;
/// From this height on there is a chart.
const CHART: u16 = 20;

pub(super) fn draw(of: &Analytics, frame: &mut Frame<'_>, area: Rect, look: Look) {
    let high = if area.height >= CHART { (area.height / 3).clamp(7, 14) } else { 0 };
    let [head, middle, below] =
        Layout::vertical([Constraint::Length(4), Constraint::Fill(1), Constraint::Length(high)])
            .areas(area);
    draw_head(of, frame, head, look);
    if area.width >= BESIDE {
        let [left, right] =
            Layout::horizontal([Constraint::Percentage(58), Constraint::Fill(1)]).areas(middle);
        draw_steps(of, frame, left, look);
        draw_more(of, frame, right, look);
    } else {
        draw_steps(of, frame, middle, look);
    }
    if high > 0 {
        let series = items(&of.told["series"]);
        let day = series.len().saturating_sub(1 + of.before_last);
        chart::draw(series, day, frame, below, look);
    }
}

fn draw_head(of: &Analytics, frame: &mut Frame<'_>, area: Rect, look: Look) {
    let inner = framed(frame, area, &of.title(), false, look.theme);
    let all = match (&of.fault, of.told.is_null()) {
        (Some(fault), _) => vec![(Role::Bad, format!("✗ {}", safe(fault)))],
        (None, true) => vec![loading()],
        _ => wording::totals(&of.told),
    };
    text_in(frame, inner, &all, &Cell::default(), 2, look.theme);
}

fn draw_steps(of: &Analytics, frame: &mut Frame<'_>, area: Rect, look: Look) {
    let title = "Who came, and who left · Enter shows them";
    let inner = framed(frame, area, title, true, look.theme);
    let (height, cells) = (usize::from(inner.height), usize::from(inner.width).saturating_sub(3));
    let list = &of.steps;
    list.rows_at.set(inner);
    let entered = |row: &Json| row["entered"].as_f64().unwrap_or(0.0);
    let most = list.window.rows().map(|row| entered(&row.json)).fold(0.0, f64::max);
    let lost = |row: &Json| row["exited"].as_i64().unwrap_or(0);
    let worst = list.window.rows().map(|row| lost(&row.json)).max().filter(|worst| *worst > 0);
    let mut all = Vec::new();
    for (row, is_here) in list.seen(height) {
        let (bar, tail) = wording::step(&row.json, most, cells);
        let sign = if is_here { "▶ " } else { "  " };
        let role = match (row.json["node_type"].as_str(), worst == Some(lost(&row.json))) {
            (Some("end"), _) => Role::Good,
            (_, true) => Role::Warn,
            _ => Role::Plain,
        };
        let room = cells.saturating_sub(width(&bar));
        let line = Line::from(vec![
            Span::styled(sign, look.theme.style(Role::Marked)),
            Span::styled(bar, look.theme.style(role)),
            Span::styled(fitted(&tail, room), look.theme.style(role)),
        ]);
        all.push(if is_here { line.patch_style(look.theme.style(Role::Cursor)) } else { line });
    }
    if list.window.len() == 0 && !of.told.is_null() {
        all.push(Line::styled("  Nobody came in this time.", look.theme.style(Role::Quiet)));
    }
    lines(frame, inner, all);
}

fn draw_more(of: &Analytics, frame: &mut Frame<'_>, area: Rect, look: Look) {
    let inner = framed(frame, area, "Branches and sources", false, look.theme);
    let cells = usize::from(inner.width).saturating_sub(2);
    let mut all = wording::branches(&of.told, cells);
    let sources = wording::sources(&of.told, cells);
    if !sources.is_empty() {
        all.push((Role::Title, "Sources".to_owned()));
        all.extend(sources);
    }
    let inbox = &of.told["inbox"];
    if inbox.is_object() {
        let states = ["new", "qualified", "contacted", "converted", "rejected"];
        let said = states.map(|state| format!("{state} {}", wording::count(&inbox[state])));
        all.push((Role::Title, "In the inbox".to_owned()));
        all.extend(paragraph(Role::Plain, "", &said.join(" · "), cells));
        let hours = inbox["median_first_touch_h"].as_f64();
        let said = hours.map(|hours| format!("half are touched within {hours:.1} hours"));
        all.extend(said.map(|said| (Role::Quiet, said)));
    }
    text_in(frame, inner, &all, &Cell::default(), 2, look.theme);
}
