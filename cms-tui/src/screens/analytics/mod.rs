//! The analytics of a funnel: where visits ended, which branches they took, when they came
//! and from where. Steps stand on the left, branches and sources on the right, days below, as
//! lines of Braille. `wording` says figures in words and as bars.

mod wording;

use std::cell::Cell;

use cms_http::wire::inbox::{FunnelNumbers, Numbers};
use ratatui::{
    style::Style,
    symbols::Marker,
    widgets::{Axis, Chart, Dataset, GraphType},
};

pub(super) use wording::{count, percent};

use super::prelude::*;

/// Periods to choose from, in days.
const PERIODS: [i64; 4] = [7, 30, 90, 365];
/// The period of the service.
const USUAL: i64 = 30;
const DAY_MS: i64 = 86_400_000;

/// The screen.
#[derive(Default)]
pub(crate) struct Analytics {
    funnel: Json,
    /// What was read last.
    told: Json,
    /// Days up to today.
    days: i64,
    /// The nodes, each with what became of its visits.
    steps: List,
    /// Which day of the chart is told: so many before the last one.
    before_last: usize,
    fault: Option<String>,
    now: i64,
}

impl Analytics {
    pub(crate) fn new(funnel: Json) -> Self {
        Self { funnel, days: USUAL, ..Self::default() }
    }

    fn put(&mut self, told: Json) {
        (self.told, self.fault) = (told, None);
        let steps = items(&self.told["steps"]).to_vec();
        let row = |json: Json| Row { id: json["node_id"].to_string(), json };
        self.steps.replace(steps.into_iter().map(row).collect());
    }

    /// Opens the submissions of the visits that left at the step under the cursor, or
    /// came to this end.
    fn people(&self) -> Step {
        let Some(Row { json: node, .. }) = self.steps.row() else { return Step::None };
        let (funnel, id) = (acts::id(&self.funnel), &node["node_id"]);
        let from = plain_text(&self.told["range"]["from"]);
        let since = if from.is_empty() { from } else { format!(" since:{from}T00:00:00Z") };
        let word = match node["node_type"].as_str() {
            Some("end") => format!("end_node_id={id}"),
            Some("step") => format!("at:{id} !visit:completed"),
            _ => {
                return Step::tell("Nobody stops at a condition: choose a step or an end.");
            }
        };
        let words = format!("funnel:{funnel} {word} spam:no test:no{since}");
        Step::Open(Place::of("inbox").filtered(words))
    }

    fn choose_period(&self) -> Step {
        let entries = PERIODS.iter().map(|days| format!("the last {days} days")).collect();
        Step::Menu(Menu::new("Which period?", entries, |n| {
            Step::Set("days", PERIODS.get(n).map(i64::to_string).unwrap_or_default())
        }))
    }
}

impl Screen for Analytics {
    fn noun(&self) -> &'static str {
        "analytics"
    }

    fn title(&self) -> String {
        format!("{} · the last {} days", plain_text(&self.funnel["name"]), self.days)
    }

    fn subject(&self) -> &Json {
        &self.funnel
    }

    fn load(&mut self) -> Step {
        let from = moment::day(self.now - (self.days - 1) * DAY_MS);
        let asked = FunnelNumbers {
            funnel_id: acts::id(&self.funnel).to_string(),
            // For the usual period the service computes the days itself, in the funnel's time zone.
            from: (self.days != USUAL).then_some(from),
            ..FunnelNumbers::default()
        };
        get::<Numbers>(&asked).into()
    }

    fn take(&mut self, _: u8, outcome: Result<Reply, Fault>) -> (Step, bool) {
        match outcome {
            Ok(reply) => {
                let changed = self.fault.is_some() || self.told != reply.data;
                self.put(reply.data);
                (Step::None, changed)
            }
            Err(fault) => {
                if fault.is_forbidden() {
                    self.put(Json::Null);
                }
                self.fault = Some(fault.detail);
                (Step::None, true)
            }
        }
    }

    fn act(&mut self, verb: &str, _: &Scene<'_>) -> Step {
        let last = items(&self.told["series"]).len().saturating_sub(1);
        match verb {
            "period" => return self.choose_period(),
            "day_before" => self.before_last = (self.before_last + 1).min(last),
            "day_after" => self.before_last = self.before_last.saturating_sub(1),
            "graph" => return Step::Open(Place::about("funnel", &self.funnel)),
            "show" => {
                let title = format!("Analytics of {}", plain_text(&self.funnel["name"]));
                return Step::View(Viewer::json(title, &self.told));
            }
            _ => {}
        }
        Step::None
    }

    fn set(&mut self, what: &str, value: &str) -> Step {
        match (what, value.parse()) {
            ("days", Ok(days)) => {
                (self.days, self.before_last) = (days, 0);
                self.load()
            }
            _ => Step::None,
        }
    }

    fn list(&self) -> Option<&List> {
        Some(&self.steps)
    }

    fn move_list(&mut self, verb: &str) -> Step {
        if verb == "open" {
            return self.people();
        }
        self.steps.act(verb);
        Step::None
    }

    fn click(&mut self, at: Position) -> Clicked {
        match self.steps.hit(at) {
            Hit::Row(row) if row == self.steps.at() => Clicked::Again,
            Hit::Row(row) => {
                self.steps.go(row);
                Clicked::Moved(Box::default())
            }
            _ => Clicked::Nothing,
        }
    }

    fn tick(&mut self, now: i64) {
        self.now = now;
    }

    /// The figures are expensive, so they are read seldom.
    fn poll_s(&self) -> i64 {
        30
    }

    fn draw(&self, frame: &mut Frame<'_>, area: Rect, look: Look) {
        draw(self, frame, area, look);
    }
}

/// The numbers of the last thirty days.
pub(super) fn usual(funnel: &Json) -> Result<Calling, Fault> {
    let funnel_id = acts::id(funnel).to_string();
    get::<Numbers>(&FunnelNumbers { funnel_id, ..FunnelNumbers::default() })
}

/// From this width on, branches and sources stand beside the steps.
const BESIDE: u16 = 96;
/// From this height on there is a chart.
const CHART: u16 = 20;

fn draw(of: &Analytics, frame: &mut Frame<'_>, area: Rect, look: Look) {
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
        draw_days(series, day, frame, below, look);
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

/// What is drawn of each day, and how it is said.
const LINES: [(&str, Role); 2] = [("started", Role::Key), ("completed", Role::Good)];

fn draw_days(series: &[Json], day: usize, frame: &mut Frame<'_>, area: Rect, look: Look) {
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
    let drawn = LINES.map(|(name, role)| (points(name), role));
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
