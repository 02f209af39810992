//! Visits by day, as lines of Braille.

use ratatui::{
    style::Style,
    symbols::Marker,
    widgets::{Axis, Chart, Dataset, GraphType},
};

use super::wording::count;
use crate::screens::prelude::*;

/// What is drawn of each day, and how it is said.
const DRAWN: [(&str, Role); 2] = [("started", Role::Key), ("completed", Role::Good)];

pub(super) fn draw(series: &[Json], day: usize, frame: &mut Frame<'_>, area: Rect, look: Look) {
    let theme = look.theme;
    let told = series.get(day).map(|day| {
        let of = |name: &str| format!("{name} {}", count(&day[name]));
        let date = day["date"].as_str().unwrap_or_default();
        format!("{date}  {}  {}  {}", of("started"), of("completed"), of("abandoned"))
    });
    let title = format!("Per day · {}", told.unwrap_or_else(|| "nothing yet".to_owned()));
    let inner = framed(frame, area, &title, false, theme);
    if series.len() < 2 || inner.height < 3 {
        return lines(frame, inner, Vec::new());
    }
    let points = |name: &str| -> Vec<(f64, f64)> {
        let at = |(n, day): (usize, &Json)| (n as f64, day[name].as_f64().unwrap_or(0.0));
        series.iter().enumerate().map(at).collect()
    };
    let drawn = DRAWN.map(|(name, role)| (points(name), role));
    let highest = drawn.iter().flat_map(|(points, _)| points).map(|(_, y)| *y).fold(1.0, f64::max);
    let last = (series.len() - 1) as f64;
    let here = [(day as f64, 0.0), (day as f64, highest)];
    let line = |points, style: Style| {
        Dataset::default()
            .marker(Marker::Braille)
            .graph_type(GraphType::Line)
            .style(style)
            .data(points)
    };
    let mut sets = vec![line(&here, theme.style(Role::Quiet))];
    sets.extend(drawn.iter().map(|(points, role)| line(points, theme.style(*role))));
    let date = |at: usize| {
        let date = series.get(at).and_then(|day| day["date"].as_str()).unwrap_or_default();
        Span::raw(date.get(5..).unwrap_or_default().to_owned())
    };
    let middle = (series.len() - 1) / 2;
    let x = Axis::default()
        .bounds([0.0, last])
        .labels([date(0), date(middle), date(series.len() - 1)])
        .style(theme.style(Role::Quiet));
    let y = Axis::default()
        .bounds([0.0, highest])
        .labels([Span::raw("0"), Span::raw(number(highest as i64))])
        .style(theme.style(Role::Quiet));
    let chart = Chart::new(sets).x_axis(x).y_axis(y);
    frame.render_widget(chart.legend_position(None).hidden_legend_constraints(NO_LEGEND), inner);
}

const NO_LEGEND: (Constraint, Constraint) = (Constraint::Length(0), Constraint::Length(0));
