//! The analytics of a funnel: where visits ended, which branches they took, when they came
//! and from where.
//!
//! ```text
//! wording  figures in words, bars
//! chart    visits by day
//! draw     where all of it stands
//! ```

mod chart;
mod draw;
mod wording;

use cms_http::wire::inbox::{FunnelNumbers, Numbers};

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
        draw::draw(self, frame, area, look);
    }
}

/// The numbers of the last thirty days.
pub(super) fn usual(funnel: &Json) -> Result<Calling, Fault> {
    let funnel_id = acts::id(funnel).to_string();
    get::<Numbers>(&FunnelNumbers { funnel_id, ..FunnelNumbers::default() })
}
